/*
 * operations.c: GET /v1/host/wopr/operations (host extension, docs/api-extensions.md): the hosts on
 * the database, and the figures of this one, for the operator's page.
 *
 * The figures are those of /metrics, from its text: what is added there is here, under the same
 * name, and nothing is described twice.
 */
#include "store/peers.h"
#include "wire/v1/wire_int.h"

enum { FIGURES_BYTES_MAX = 8 * 1024 * 1024, NAMES_CHARS = 4096, RUNS_COUNTED_MAX = 100000 };

static const char *state_shown(enum holder_state s) {
    return s == HOLDER_ALIVE ? "alive" : s == HOLDER_DEAD ? "dead" : "unknown";
}

static void hosts_render(struct store *s, struct jw *w, const struct holder_view_list *l) {
    int64_t runs = 0;
    jw_key(w, "hosts");
    jw_array(w);
    for (size_t i = 0; i < l->n; i++) {
        const struct holder_view *h = &l->v[i];
        runs += h->runs;
        jw_object(w);
        jw_kstr(w, "name", h->name);
        jw_kbool(w, "self", h->self);
        jw_kstrz(w, "state", state_shown(store_holder_state(s, h->holder_no)));
        jw_kint(w, "runs", h->runs);
        jw_kint(w, "leaseMs", h->ttl_ms);
        v1_time_member(w, "leasedUntil", h->until_ms);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_kbool(w, "runsCounted", runs < RUNS_COUNTED_MAX);
}

/* The name without what the samples of a histogram add to it. */
static struct str family_of(struct str name) {
    static const char *const parts[] = {"_bucket", "_sum", "_count"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct str part = str_c(parts[i]);
        if (str_ends(name, part)) return str_n(name.p, name.n - part.n);
    }
    return name;
}

static bool name_wanted(struct str wanted, struct str name) {
    struct str one, rest = wanted, family = family_of(name);
    bool more = wanted.n > 0;
    if (!more) return true;
    while (more) {
        more = str_cut(rest, ',', &one, &rest);
        if (!more) one = rest;
        if (str_eq(one, name) || str_eq(one, family)) return true;
    }
    return false;
}

/* NAME="VALUE",NAME="VALUE": labels are ours, and nothing in them is escaped (base/metric.h). */
static void labels_render(struct jw *w, struct str labels) {
    struct str name, value;
    jw_key(w, "labels");
    jw_object(w);
    while (str_cut(labels, '=', &name, &labels) && str_cut(labels, '"', &value, &labels) &&
           str_cut(labels, '"', &value, &labels)) {
        jw_key_str(w, name);
        jw_str(w, value);
        if (labels.n > 0) labels = str_n(labels.p + 1, labels.n - 1); /* the comma */
    }
    jw_end_object(w);
}

static void figures_render(struct jw *w, struct str text, struct str wanted) {
    struct str line, name, value, labels;
    jw_key(w, "metrics");
    jw_array(w);
    while (str_cut(text, '\n', &line, &text)) {
        if (line.n == 0 || line.p[0] == '#' || !str_cut_last(line, ' ', &name, &value)) continue;
        labels = STR("");
        if (str_cut(name, '{', &name, &labels)) labels = str_n(labels.p, labels.n - 1);
        if (!name_wanted(wanted, name)) continue;
        jw_object(w);
        jw_kstr(w, "name", name);
        if (labels.n > 0) labels_render(w, labels);
        jw_kraw(w, "value", value);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static int wanted_read(const struct http_call *c, struct str *out, struct wopr_error *err) {
    bool found = false;
    *out = http_query(c, "metrics", &found);
    if (found && (out->n == 0 || out->n > NAMES_CHARS))
        return wire_param_error(err, "metrics",
                                "metrics must be names separated by commas, 1 to 4096 characters");
    return 0;
}

static void operations_answer(struct http_call *c) {
    struct wopr_error err = {0};
    struct holder_view_list hosts;
    struct store *s = wire_of(c)->store;
    struct str wanted = STR("");
    struct buf text;
    struct jobj o;
    int rc = wanted_read(c, &wanted, &err);
    if (rc == 0) rc = store_holders_view(s, RUNS_COUNTED_MAX, c->arena, &hosts, &err);
    if (rc != 0) {
        (void)wire_fail(c, &err);
        return;
    }
    buf_init(&text, FIGURES_BYTES_MAX);
    http_metrics(c, &text);
    jobj_begin(&o, FIGURES_BYTES_MAX);
    hosts_render(s, &o.w, &hosts);
    figures_render(&o.w, buf_str(&text), wanted);
    if (buf_failed(&text)) jobj_fail(&o);
    (void)wire_reply_object(c, 200, &o);
    buf_fini(&text);
}

/* Figures of a store are a query, and so are its hosts. */
int v1_get_operations(struct http_call *c) { return http_offload(c, operations_answer); }
