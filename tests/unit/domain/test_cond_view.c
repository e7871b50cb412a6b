/* test_cond_view.c: what conditions see of a run (WF-9, WF-10, CHAN-28): at random places of random
 * runs it is what is found in the whole texts of the roots, and it costs the same steps.  The work
 * that finds it does not grow with what a condition does not read. */
#include "domain/cond_view.h"

#include "base/buf.h"
#include "base/mem.h"
#include "codec/jobj.h"
#include "codec/json_index.h"
#include "domain/sched_int.h"
#include "fold_world.h"

#include <stdlib.h>

/* --- the definition: whole texts, searched member by member --- */

struct naive {
    struct run_state *s;
    const struct node_state *node;
    const struct wf_node *wf_node;
    struct str output_key;
    int64_t now_ms;
    bool failed;
};

static bool hidden(const struct run_state *s, struct str name) {
    const struct wf_variable *d = workflow_variable(s->wf, name);
    return d && d->sensitive;
}

static void naive_channels(struct naive *n, struct jw *w, bool declared) {
    for (size_t i = 0; i < n->s->channels.n; i++) {
        const struct chan_state *c = &n->s->channels.v[i];
        struct buf b;
        if ((c->decl != NULL) != declared || (declared && c->decl->sensitive)) continue;
        buf_init(&b, SCOPE_BYTES_MAX);
        if (chan_shown(c, n->s->wf->masking_mode, n->now_ms, &b) != 0) n->failed = true;
        else if (b.len > 0) jw_kraw(w, text_str(&c->name).p, buf_str(&b));
        buf_fini(&b);
    }
}

static struct str naive_root(struct naive *n, struct str root, struct arena *a) {
    struct jobj o;
    struct json_members m = {0};
    if (str_eqc(root, "status"))
        return arena_printf(a, "\"%s\"", node_status_name(n->node->status));
    if (str_eqc(root, "output")) return text_str(&n->node->outputs);
    if (str_eqc(root, "config")) return n->wf_node->config;
    if (str_eqc(root, "value")) {
        cr_assert_eq(json_members(text_str(&n->node->outputs), a, &m, NULL), 0);
        for (size_t i = 0; i < m.n; i++)
            if (str_eq(m.v[i].key, n->output_key)) return m.v[i].raw;
        return STR_NONE;
    }
    jobj_begin(&o, SCOPE_BYTES_MAX);
    if (str_eqc(root, "inputs")) {
        cr_assert_eq(json_members(n->s->meta.inputs, a, &m, NULL), 0);
        for (size_t i = 0; i < m.n; i++) {
            if (hidden(n->s, m.v[i].key)) continue;
            jw_key_str(&o.w, m.v[i].key);
            jw_raw(&o.w, m.v[i].raw);
        }
    } else if (str_eqc(root, "variables")) {
        for (size_t i = 0; i < n->s->variables.n; i++) {
            const struct var_state *v = &n->s->variables.v[i];
            if (hidden(n->s, text_str(&v->name)) || var_shown(v).n == 0) continue;
            jw_key_str(&o.w, text_str(&v->name));
            jw_raw(&o.w, var_shown(v));
        }
        naive_channels(n, &o.w, false);
    } else if (!str_eqc(root, "channels")) {
        jobj_drop(&o);
        return STR_NONE;
    } else {
        naive_channels(n, &o.w, true);
    }
    struct str text = jobj_end(&o, a);
    if (!text.p) n->failed = true;
    return text;
}

static struct str naive_step(struct str text, struct str token, struct arena *a) {
    struct json_members m;
    struct json_elements e;
    char index[24];
    if (json_type_of(text) == JSON_OBJECT && json_members(text, a, &m, NULL) == 0) {
        for (size_t i = 0; i < m.n; i++)
            if (str_eq(m.v[i].key, token)) return m.v[i].raw;
    } else if (json_type_of(text) == JSON_ARRAY && json_elements(text, a, &e, NULL) == 0) {
        for (size_t i = 0; i < e.n; i++) {
            snprintf(index, sizeof index, "%zu", i);
            if (str_eqc(token, index)) return e.v[i];
        }
    }
    return STR_NONE;
}

static struct str naive_find(void *ctx, const struct expr_place *at, struct arena *a,
                             size_t *bytes) {
    struct str text = naive_root(ctx, at->root, a), rest = at->path, token;
    *bytes = text.n;
    bool more = rest.n > 0;
    while (more && text.p) {
        if (at->dotted) {
            more = str_cut(rest, '.', &token, &rest);
            if (!more) token = rest;
        } else if (!(more = json_pointer_cut(&rest, &token, a))) {
            break;
        }
        text = naive_step(text, token, a);
    }
    return text;
}

/* --- random values, places, runs --- */

static uint64_t seed, dice;

static unsigned roll(unsigned n) {
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice >> 33) % n;
}

/* JSON text of names; some need an escape in a pointer, in a text, or look like a path. */
static const char *const NAMES[] = {"a", "b", "c", "a.b", "x/y",     "~",
                                    "",  "0", "2", "q\"", "\xc3\xa9"};
enum { NAMES_NR = sizeof NAMES / sizeof *NAMES };

static void value_random(struct buf *b, unsigned depth, bool large) {
    unsigned kind = depth == 0 ? 2 + roll(4) : roll(6);
    if (kind < 2) {
        unsigned n = large && roll(2) == 0 ? 200 : roll(5), from = roll(NAMES_NR);
        buf_addc(b, kind == 0 ? '{' : '[');
        for (unsigned i = 0; i < n; i++) {
            if (i > 0) buf_addz(b, roll(3) == 0 ? " , " : ",");
            if (kind == 0 && i < NAMES_NR) json_quote(b, str_c(NAMES[(from + i) % NAMES_NR]));
            else if (kind == 0) buf_addf(b, "\"more\\u0020%u\"", i);
            if (kind == 0) buf_addz(b, roll(3) == 0 ? " : " : ":");
            value_random(b, n > 100 && i > 3 ? 0 : depth - 1, large);
        }
        buf_addc(b, kind == 0 ? '}' : ']');
    } else if (kind == 2) {
        buf_addc(b, '"');
        for (unsigned i = 0, n = large && roll(8) == 0 ? 3000 : roll(12); i < n; i++)
            buf_addz(b, roll(20) == 0 ? "\\\"}" : "s");
        buf_addc(b, '"');
    } else {
        static const char *const WORDS[] = {"null", "true", "false", "17", "-0.5", "3"};
        buf_addz(b, WORDS[roll(6)]);
    }
}

static struct expr_place place_random(struct arena *a) {
    static const char *const ROOTS[] = {"status",   "output", "value",  "variables", "variables",
                                        "channels", "inputs", "config", "other"};
    struct expr_place at = {.root = str_c(ROOTS[roll(9)]), .dotted = roll(2) == 0};
    struct buf b;
    buf_init(&b, 4096);
    for (unsigned i = 0, n = roll(5); i < n; i++) {
        const char *name = roll(6) == 0 ? "log" : roll(6) == 0 ? "doc" : NAMES[roll(NAMES_NR)];
        char more[32];
        if (roll(8) == 0) {
            snprintf(more, sizeof more, roll(2) ? "%u" : "more %u", roll(220));
            name = more;
        }
        if (!at.dotted || i > 0) buf_addc(&b, at.dotted ? '.' : '/');
        for (const char *p = name; *p; p++)
            if (!at.dotted && (*p == '~' || *p == '/')) buf_addz(&b, *p == '~' ? "~0" : "~1");
            else buf_addc(&b, *p);
    }
    at.path = arena_str(a, buf_str(&b));
    buf_fini(&b);
    return at;
}

/* clang-format off */
static const char *const DEF =
    "{\"id\":\"w\",\"name\":\"w\",\"version\":\"1\",\"nodes\":["
    "{\"id\":\"n\",\"typeId\":\"core.noop\",\"name\":\"n\","
    "\"config\":{\"a\":{\"b\":[1,2]},\"ttlMs\":9}},"
    "{\"id\":\"m\",\"typeId\":\"core.noop\",\"name\":\"m\"}],"
    "\"edges\":[{\"id\":\"e\",\"sourceNodeId\":\"n\",\"targetNodeId\":\"m\"}],"
    "\"variables\":[{\"name\":\"a\",\"type\":\"object\"},"
    "{\"name\":\"b\",\"type\":\"array\",\"sensitive\":true},"
    "{\"name\":\"c\",\"type\":\"string\",\"defaultValue\":\"d\"}],"
    "\"channels\":{\"log\":{\"reducer\":\"append\",\"ttlMs\":9},\"doc\":{\"reducer\":\"merge\"},"
    "\"a\":{\"reducer\":\"replace\",\"schema\":{}},\"2\":{\"reducer\":\"append\"},"
    "\"0\":{\"reducer\":\"append\",\"sensitive\":true}}}";
/* clang-format on */

static void write_random(struct fold_world *w, bool large) {
    struct buf b;
    static const char *const CHANNELS[] = {"log", "log", "doc", "a", "2", "0", "x/y", "~", "c"};
    buf_init(&b, 1 << 22);
    if (roll(3) == 0) {
        const char *name = roll(9) == 0 ? "more" : NAMES[roll(NAMES_NR)];
        buf_addz(&b, "{\"name\":");
        json_quote(&b, str_c(*name ? name : "q\""));
        buf_addz(&b, ",\"next\":");
        value_random(&b, 4, large);
    } else {
        const char *name = CHANNELS[roll(9)];
        const char *reducer = roll(8) == 0               ? "replace"
                              : strcmp(name, "doc") == 0 ? "merge"
                                                         : "append";
        buf_addf(&b, "{\"channel\":\"%s\",\"reducer\":\"%s\",\"value\":", name, reducer);
        if (strcmp(reducer, "merge") == 0) {
            buf_addz(&b, "{\"a\":");
            value_random(&b, 3, large);
            buf_addz(&b, "}");
        } else value_random(&b, 4, large);
    }
    buf_addc(&b, '}');
    bool variable = strncmp(b.p, "{\"name", 6) == 0;
    if (roll(4) == 0) w->now_ms += 5;
    fw_take(w, variable ? EV_VARIABLE_CHANGED : EV_CHANNEL_WRITTEN, "n", b.p);
    buf_fini(&b);
}

static void same_everywhere(struct fold_world *w, bool large) {
    struct naive n = {.s = w->s,
                      .node = &w->s->nodes[0],
                      .wf_node = &w->wf->nodes[0],
                      .now_ms = w->s->last_ts_ms};
    struct cond_view *v = cond_view_new(w->s, 0, n.now_ms);
    uint64_t steps = 1;
    for (unsigned i = 0; i < 120; i++) {
        struct arena *a = arena_new(64u << 20);
        struct expr_place at = place_random(a);
        size_t want_bytes, bytes;
        n.output_key = str_c(roll(3) == 0 ? "" : NAMES[roll(3)]);
        n.failed = false;
        struct str want = naive_find(&n, &at, a, &want_bytes);
        struct expr_scope scope = cond_view_edge(v, n.output_key, &steps);
        struct str got = scope.find(scope.ctx, &at, a, &bytes);
        cr_assert(str_eq(got, want) && (got.n == 0) == (want.n == 0),
                  "seed %llu large %d: %s at %s '%s':\n%.300s\nnot\n%.300s",
                  (unsigned long long)seed, large, at.dotted ? "dotted" : "pointer", at.root.p,
                  at.path.p, got.p ? got.p : "-", want.p ? want.p : "-");
        cr_assert(at.dotted || bytes == want_bytes, "seed %llu: %s '%s' %zu bytes, not %zu",
                  (unsigned long long)seed, at.root.p, at.path.p, bytes, want_bytes);
        cr_assert_eq(cond_view_failed(v), n.failed);
        arena_free(a);
    }
    cond_view_free(v);
}

Test(cond_view, conditions_see_what_is_in_the_texts_of_the_roots /* WF-9, CHAN-28 */) {
    const char *env = getenv("WOPR_TEST_SEED"), *more = getenv("WOPR_TEST_ROUNDS");
    unsigned rounds = more ? (unsigned)strtoul(more, NULL, 10) : 60;
    seed = env ? strtoull(env, NULL, 10) : 20261122u;
    for (unsigned i = 0; i < rounds; i++, seed++) {
        struct fold_world w;
        struct buf in, out;
        bool large = i % 2 == 1;
        dice = seed;
        buf_init(&in, 1 << 22);
        buf_init(&out, 1 << 22);
        buf_addz(&in, "{\"a\":");
        value_random(&in, 4, large);
        buf_addz(&in, ",\"b\":[\"secret\"],\"c\":");
        value_random(&in, 3, large);
        buf_addz(&in, "}");
        buf_addz(&out, "{\"outputs\":{\"a\":");
        value_random(&out, 4, large);
        buf_addz(&out, ",\"b\":");
        value_random(&out, 4, large);
        buf_addz(&out, "}}");
        fw_up(&w, DEF, in.p);
        fw_start(&w);
        fw_node(&w, EV_NODE_STARTED, "n");
        for (unsigned k = 0; k < 20; k++) write_random(&w, large);
        fw_take(&w, EV_NODE_COMPLETED, "n", out.p);
        same_everywhere(&w, large);
        fw_down(&w);
        buf_fini(&in);
        buf_fini(&out);
    }
}

/* --- work --- */

enum { EDGES = 5000, LARGE_NR = 14, LARGE_BYTES = 1000 * 1000 };

/* A node with many conditions; %u in one becomes the number of its edge. */
static struct workflow *many(const char *condition) {
    struct buf b;
    buf_init(&b, 4u << 20);
    buf_addz(&b, "{\"id\":\"w\",\"name\":\"w\",\"version\":\"1\",\"nodes\":["
                 "{\"id\":\"a\",\"typeId\":\"core.noop\",\"name\":\"n\"},"
                 "{\"id\":\"t\",\"typeId\":\"core.noop\",\"name\":\"n\"}],\"edges\":[");
    for (unsigned i = 0; i < EDGES; i++) {
        buf_addf(&b,
                 "%s{\"id\":\"e%u\",\"sourceNodeId\":\"a\",\"targetNodeId\":\"t\",\"condition\":{",
                 i ? "," : "", i);
        buf_addf(&b, condition, i);
        buf_addz(&b, "}}");
    }
    buf_addz(&b, "]}");
    struct workflow *wf = fw_compile(b.p);
    buf_fini(&b);
    return wf;
}

static struct str large_value(struct buf *b, const char *before, const char *after) {
    buf_init(b, LARGE_BYTES + 4096);
    buf_addz(b, before);
    for (unsigned i = 0; b->len < LARGE_BYTES; i++) buf_addf(b, "%s\"k%u\":%u", i ? "," : "", i, i);
    buf_addz(b, after);
    return buf_str(b);
}

struct settled {
    uint64_t work;
    unsigned turns, yes;
};

/* The state just before a has ended; its outputs are large, and so are `large` variables. */
static struct settled settle(const char *condition, unsigned large) {
    enum { TURN = 1 << 20 };
    struct fold_world w = {.wf = many(condition), .now_ms = FW_T0};
    struct settled r = {0};
    struct buf b;
    w.s = fw_state(w.wf, "{}");
    fw_start(&w);
    fw_node(&w, EV_NODE_STARTED, "a");
    for (unsigned i = 0; i < large; i++) {
        char before[64];
        snprintf(before, sizeof before, "{\"name\":\"large%u\",\"next\":{", i);
        fw_take(&w, EV_VARIABLE_CHANGED, "a", large_value(&b, before, "}}").p);
        buf_fini(&b);
    }
    fw_take(&w, EV_VARIABLE_CHANGED, "a", "{\"name\":\"small\",\"next\":{\"x\":1}}");
    struct str outputs = large_value(&b, "{\"outputs\":{", "}}");
    struct event e = {.seq = w.s->next_seq,
                      .kind = EV_NODE_COMPLETED,
                      .type = str_c(event_name(EV_NODE_COMPLETED)),
                      .node_id = STR("a"),
                      .causation_seq = -1,
                      .ts_ms = ++w.now_ms,
                      .schema_version = 1,
                      .engine_version = 1,
                      .payload = outputs};
    const struct run_pace pace = {.bytes_max = TURN};
    cr_assert_eq(run_state_begin(w.s, &e, &w.err), 0, "%s", w.err.message);
    for (; run_state_busy(w.s); r.turns++) {
        uint64_t before = w.s->sched.settling.work;
        cr_assert_eq(run_state_finish(w.s, &pace, &w.err), 0);
        /* a turn ends with the condition that goes beyond it */
        cr_expect_leq(w.s->sched.settling.work - before, TURN + 14u * LARGE_BYTES);
    }
    r.work = w.s->sched.settling.work;
    for (size_t i = 0; i < w.wf->edges_nr; i++) r.yes += w.s->sched.edges[i] == EDGE_TRUE;
    buf_fini(&b);
    fw_down(&w);
    return r;
}

Test(cond_view, what_a_condition_does_not_read_costs_it_nothing /* WF-9, RUN-20 */) {
    static const char *const CONDITIONS[] = {
        "\"left\":\"variables.small.x\",\"right\":1",
        "\"type\":\"expression\",\"expression\":\"%u < 200 && variables.small.x == 1\"",
    };
    for (unsigned i = 0; i < 2; i++) {
        struct settled none = settle(CONDITIONS[i], 0), large = settle(CONDITIONS[i], LARGE_NR);
        cr_expect_eq(large.yes, i == 0 ? EDGES : 200u);
        cr_expect_eq(none.yes, large.yes);
        cr_expect_leq(large.work, none.work + 200u * LARGE_NR, "%s: %u instead of %u bytes",
                      CONDITIONS[i], (unsigned)large.work, (unsigned)none.work);
        cr_expect_leq(large.turns, 8u);
    }
}

Test(cond_view, a_large_value_is_read_once_whatever_asks /* WF-9 */) {
    static const char *const CONDITIONS[] = {
        "\"left\":\"output.k%u\",\"right\":1",
        "\"left\":\"variables.large3.k%u\",\"right\":1",
        "\"left\":\"variables.large3.absent%u\",\"right\":1",
        "\"sourceOutput\":\"k7\",\"left\":\"variables.large3.k%u\",\"right\":1",
    };
    for (unsigned i = 0; i < 4; i++) {
        struct settled r = settle(CONDITIONS[i], LARGE_NR);
        cr_expect_leq(r.yes, 1u);
        cr_expect_leq(r.work, 8u * LARGE_BYTES, "%s: %u bytes", CONDITIONS[i], (unsigned)r.work);
        cr_expect_leq(r.turns, 10u);
    }
}

/* What reads all of a root pays for it, and the turns are as many as that needs. */
Test(cond_view, turns_are_bounded_in_bytes_not_in_conditions /* WF-9 */) {
    struct settled r = settle("\"type\":\"expression\",\"expression\":"
                              "\"%u < 40 && contains(variables, 'no')\"",
                              4);
    cr_expect_eq(r.yes, 0u);
    cr_expect_geq(r.turns, 40u); /* one each, and the others in few */
    cr_expect_leq(r.turns, 48u);
}
