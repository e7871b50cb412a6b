/*
 * ports.c: the inputs of a node (NODE-6, WF-4) and the part of a run that expressions see (WF-9,
 * WF-10).
 */
#include "base/mem.h"
#include "codec/jobj.h"
#include "domain/expr_int.h"
#include "domain/sched_int.h"

#include <stdio.h>

struct
    run_scope { /* of one node's ports; roots are built once, in the arena of the first look-up */
    struct run_state *run;
    int node;       /* whose config */
    int64_t now_ms; /* clock of channels (CHAN-17) */
    bool no_memory;
    bool have[ROOT_NR];
    struct str root[ROOT_NR];
};

static struct str member_raw(struct str text, struct str key, struct arena *a) {
    struct json_members m;
    if (text.n == 0 || json_type_of(text) != JSON_OBJECT) return STR_NONE;
    if (json_members(text, a, &m, NULL) != 0) return STR_NONE;
    for (size_t i = 0; i < m.n; i++)
        if (str_eq(m.v[i].key, key)) return m.v[i].raw;
    return STR_NONE;
}

static struct str root_build(struct run_scope *sc, enum run_root which, struct arena *a) {
    struct str text = STR_NONE;
    int rc = 0;
    switch (which) {
    case ROOT_CONFIG:
        return sc->run->wf->nodes[sc->node].config;
    case ROOT_INPUTS:
        rc = root_inputs(sc->run, false, a, &text);
        break;
    case ROOT_VARIABLES:
    case ROOT_CHANNELS:
        rc = root_object(sc->run, which, false, sc->now_ms, a, &text);
        break;
    default: /* of edges only */
        break;
    }
    if (rc != 0) sc->no_memory = true;
    return text;
}

static struct str scope_lookup(void *ctx, struct str root, struct arena *a) {
    struct run_scope *sc = ctx;
    enum run_root i = run_root_of(root);
    if (i == ROOT_NR) return STR_NONE;
    if (!sc->have[i]) sc->root[i] = root_build(sc, i, a);
    sc->have[i] = true;
    return sc->root[i].n > 0 ? sc->root[i] : STR_NONE;
}

static struct expr_scope run_scope_of(struct run_scope *sc, uint64_t *steps) {
    return (struct expr_scope){.lookup = scope_lookup, .ctx = sc, .steps = steps};
}

/* CHAN-28: a channel without declaration is read as the variable of its name. */
static int scope_shadow(struct run_scope *sc, struct str name, struct arena *a, struct str *value) {
    const struct chan_state *c = run_state_chan(sc->run, name);
    struct buf b;
    if (c == NULL || c->decl != NULL || c->n == 0) return 0;
    buf_init(&b, SCOPE_BYTES_MAX);
    int rc = chan_value(c, sc->now_ms, &b);
    struct str text = rc == 0 && !buf_failed(&b) ? arena_str(a, buf_str(&b)) : STR_NONE;
    buf_fini(&b);
    if (text.p == NULL) return WOPR_E_NO_MEMORY;
    *value = text;
    return 0;
}

/* Name of the channel that a path reads; all of them for bare "channels".  A pointer has the name
 * first (RFC 6901). */
static bool path_reads(const struct expr *e, struct str channel, struct arena *a) {
    struct str first = e->raw, rest;
    struct buf b;
    if (first.n == 0) return true;
    first = str_n(first.p + 1, first.n - 1);
    (void)str_cut(first, '/', &first, &rest);
    if (!memchr(first.p, '~', first.n)) return str_eq(first, channel);
    buf_init(&b, first.n);
    for (size_t i = 0; i < first.n; i++) {
        char ch = first.p[i];
        if (ch == '~' && i + 1 < first.n) ch = first.p[++i] == '1' ? '/' : '~';
        buf_addc(&b, ch);
    }
    struct str name = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    return !name.p || str_eq(name, channel);
}

/* CHAN-5, CHAN-6: the first declared channel that the expression reads and the node may not. */
static const struct wf_channel *port_denied(const struct workflow *w, const struct wf_node *n,
                                            const struct expr *e, struct arena *a) {
    if (e == NULL) return NULL;
    for (size_t i = 0; e->op == EXPR_PATH && str_eqc(e->root, "channels") && i < w->channels_nr;
         i++)
        if (!channel_admits(&w->channels[i].readers, n) && path_reads(e, w->channels[i].name, a))
            return &w->channels[i];
    const struct wf_channel *c = port_denied(w, n, e->a, a);
    return c != NULL ? c : port_denied(w, n, e->b, a);
}

/* *value: STR_NONE when an optional port has nothing to give. */
static int port_value(struct run_scope *sc, const struct wf_port *p, struct arena *a,
                      uint64_t *steps, struct str *value, struct wopr_error *err) {
    uint64_t left = *steps < EXPR_STEPS_MAX ? *steps : EXPR_STEPS_MAX, given = left;
    struct expr_scope scope = run_scope_of(sc, &left);
    const struct var_state *v;
    int rc = 0;
    *value = STR_NONE;
    switch (p->kind) {
    case PORT_STATIC:
        *value = p->value;
        break;
    case PORT_EXPRESSION:
        rc = expr_eval(p->expr, &scope, a, value, err);
        *steps -= given - left;
        if (rc == WOPR_E_NO_MEMORY || sc->no_memory)
            return wopr_error_set(err, WOPR_E_NO_MEMORY,
                                  "no memory to resolve the inputs of a node");
        return rc;
    case PORT_CONNECTION:
        *value = member_raw(node_outputs_clear(&sc->run->nodes[p->node]), p->output_key, a);
        break;
    case PORT_VARIABLE:
        v = run_state_var(sc->run, p->variable);
        if (v != NULL && v->value.n > 0) *value = text_str(&v->value);
        else if ((rc = scope_shadow(sc, p->variable, a, value)) != 0)
            return wopr_error_set(err, rc, "no memory to resolve the inputs of a node");
    }
    if (value->p == NULL && !p->optional)
        return wopr_error_set(err, WOPR_E_VALIDATION, "%s",
                              p->kind == PORT_VARIABLE
                                  ? "the variable of a required input has no value"
                                  : "the connected output of a required input does not exist");
    return 0;
}

const struct wf_channel *ports_denied(const struct run_state *s, int node, struct arena *a) {
    const struct wf_node *n = &s->wf->nodes[node];
    const struct wf_channel *c = NULL;
    for (size_t i = 0; c == NULL && i < n->ports_nr; i++)
        if (n->ports[i].kind == PORT_EXPRESSION) c = port_denied(s->wf, n, n->ports[i].expr, a);
    return c;
}

static int ports_render(struct run_state *s, int node, struct arena *a, struct str *out,
                        struct wopr_error *err) {
    const struct wf_node *n = &s->wf->nodes[node];
    struct run_scope sc = {.run = s, .node = node, .now_ms = s->last_ts_ms};
    uint64_t steps = PORTS_STEPS_MAX;
    struct wopr_error why;
    struct jobj o;
    jobj_begin(&o, PORTS_BYTES_MAX);
    for (size_t i = 0; i < n->ports_nr; i++) {
        struct str value;
        wopr_error_clear(&why);
        int rc = port_value(&sc, &n->ports[i], a, &steps, &value, &why);
        if (rc != 0) {
            char pointer[sizeof(why.pointer)];
            snprintf(pointer, sizeof(pointer), "/inputs/%.*s", (int)(n->ports[i].name.n & 0x7f),
                     n->ports[i].name.p);
            jobj_drop(&o);
            return wopr_error_at(err, rc, pointer, "%.400s", why.message);
        }
        if (value.p == NULL) continue;
        jw_key_str(&o.w, n->ports[i].name);
        jw_raw(&o.w, value);
    }
    struct str text = jobj_end(&o, a);
    if (arena_failed(a) || text.p == NULL)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to resolve the inputs of a node");
    *out = text;
    return 0;
}

/* Uses an arena of its own, so that a node's share of memory does not depend on what ran before
 * it. */
int ports_resolve(struct run_state *s, int node, struct arena *a, struct str *out,
                  struct wopr_error *err) {
    uint64_t refused = mem_refused();
    struct arena *own = s->wf->nodes[node].ports_nr > 0 ? arena_new(PORTS_SCRATCH_MAX) : a;
    struct str text = STR_NONE;
    int rc = own ? ports_render(s, node, own, &text, err)
                 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the inputs of a node");
    if (rc == 0 && own != a) text = arena_str(a, text);
    if (rc == 0 && !text.p)
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the inputs of a node");
    if (own != a) arena_free(own);
    if (rc == 0) *out = text;
    if (mem_verdict(rc, refused) == rc) return rc;
    return wopr_error_at(err, WOPR_E_VALIDATION, err->pointer,
                         "the inputs of the node take more memory than a node may have; let it "
                         "read less, or compute in smaller steps");
}
