/*
 * router.c: the operation table compiled into a tree of path segments.
 *
 * The raw path is split at '/', then each segment is decoded (D5).  A literal child wins over a
 * parameter; a verb is cut at the last colon of the last segment, only when the table has that verb
 * at that place (HTTP-6, D6).
 */
#include "http/router.h"

struct rop {
    const struct http_op *op;
    size_t no;
    struct str names[4];
    struct rop *next;
};
struct rnode {
    struct str text; /* literal segment, or the verb */
    struct rnode *literals, *param, *verbs, *next;
    struct rop *ops;
    const char *allow;
};
struct router {
    struct arena *arena;
    struct rnode root;
};
enum { ROUTER_ARENA_MAX = 1024 * 1024, ALLOW_MAX = 96 };

/* In the order of the table, whose first rows are asked for most. */
static struct rnode *node_child(struct arena *a, struct rnode **list, struct str text) {
    for (; *list; list = &(*list)->next)
        if (str_eq((*list)->text, text)) return *list;
    *list = ARENA_NEW(a, struct rnode);
    if (*list) (*list)->text = text;
    return *list;
}

static int pattern_refuse(const struct http_op *op, const char *why, struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_CONFIG, "operation %s: pattern %s: %s", op->id, op->pattern,
                          why);
}

/* One segment of a pattern below n. */
static int segment_add(struct router *r, struct rnode **n, struct str seg, bool last,
                       struct rop *rop, size_t *names_nr, struct wopr_error *err) {
    if (seg.n == 0 || seg.p[0] != '{') {
        *n = node_child(r->arena, &(*n)->literals, seg);
        return *n ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the router");
    }
    struct str name, rest;
    if (!str_cut(str_n(seg.p + 1, seg.n - 1), '}', &name, &rest))
        return pattern_refuse(rop->op, "missing }", err);
    if (*names_nr == 4) return pattern_refuse(rop->op, "more than 4 parameters", err);
    rop->names[(*names_nr)++] = name;
    if (!(*n)->param) (*n)->param = ARENA_NEW(r->arena, struct rnode);
    *n = (*n)->param;
    if (*n && rest.n > 0) {
        if (!last || rest.p[0] != ':' || rest.n == 1)
            return pattern_refuse(rop->op, "a verb ends the path", err);
        *n = node_child(r->arena, &(*n)->verbs, str_n(rest.p + 1, rest.n - 1));
    }
    return *n ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the router");
}

static int op_add(struct router *r, const struct http_op *op, size_t no, struct wopr_error *err) {
    struct rop *rop = ARENA_NEW(r->arena, struct rop);
    if (!rop) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the router");
    rop->op = op;
    rop->no = no;
    struct str rest = str_c(op->pattern), seg;
    if (rest.n == 0 || rest.p[0] != '/') return pattern_refuse(op, "does not begin with /", err);
    struct rnode *n = &r->root;
    size_t names_nr = 0, segments = 0;
    for (bool more = true; more;) {
        rest = str_n(rest.p + 1, rest.n - 1);
        const char *slash = rest.n > 0 ? memchr(rest.p, '/', rest.n) : NULL;
        more = slash != NULL;
        seg = more ? str_n(rest.p, (size_t)(slash - rest.p)) : rest;
        if (++segments > HTTP_PATH_SEGMENTS_MAX)
            return pattern_refuse(op, "too many segments", err);
        int rc = segment_add(r, &n, seg, !more, rop, &names_nr, err);
        if (rc != 0) return rc;
        rest = str_n(seg.p + seg.n, rest.n - seg.n);
    }
    for (struct rop *o = n->ops; o; o = o->next)
        if (strcmp(o->op->method, op->method) == 0) return pattern_refuse(op, "occurs twice", err);
    rop->next = n->ops;
    n->ops = rop;
    return 0;
}

/* "GET, HEAD, OPTIONS" for every node with operations (HTTP-3, HTTP-18). */
static int allow_build(struct arena *a, struct rnode *n) {
    if (n->ops) {
        struct buf b;
        buf_init(&b, ALLOW_MAX);
        for (struct rop *o = n->ops; o; o = o->next) {
            buf_addz(&b, o->op->method);
            buf_addz(&b, (o->op->flags & OP_HEAD) != 0 ? ", HEAD, " : ", ");
        }
        buf_addz(&b, "OPTIONS");
        n->allow = buf_failed(&b) ? NULL : arena_cstr(a, buf_str(&b));
        buf_fini(&b);
        if (!n->allow) return WOPR_E_NO_MEMORY;
    }
    if (n->param && allow_build(a, n->param) != 0) return WOPR_E_NO_MEMORY;
    for (struct rnode *c = n->literals; c; c = c->next)
        if (allow_build(a, c) != 0) return WOPR_E_NO_MEMORY;
    for (struct rnode *c = n->verbs; c; c = c->next)
        if (allow_build(a, c) != 0) return WOPR_E_NO_MEMORY;
    return 0;
}

int router_new(const struct http_op *ops, size_t n, size_t first_no, struct router **out,
               struct wopr_error *err) {
    struct arena *a = arena_new(ROUTER_ARENA_MAX);
    struct router *r = a ? ARENA_NEW(a, struct router) : NULL;
    int rc = 0;
    if (!r) {
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the router");
        goto fail;
    }
    r->arena = a;
    for (size_t i = 0; i < n; i++) {
        rc = op_add(r, &ops[i], first_no + i, err);
        if (rc != 0) goto fail;
    }
    rc = allow_build(a, &r->root);
    if (rc != 0) {
        (void)wopr_error_set(err, rc, "no memory for the router");
        goto fail;
    }
    *out = r;
    return 0;
fail:
    arena_free(a);
    return rc;
}

void router_free(struct router *r) {
    if (r) arena_free(r->arena);
}

struct walk {
    struct str seg[HTTP_PATH_SEGMENTS_MAX]; /* decoded */
    size_t n;
    struct str values[4];
    size_t values_nr;
};

/* HTTP-5: what cannot be an id is an unknown id. */
static bool value_valid(struct str v) {
    if (v.n == 0 || !utf8_valid(v)) return false;
    for (size_t i = 0; i < v.n; i++)
        if ((unsigned char)v.p[i] < 0x20 || v.p[i] == 0x7f) return false;
    return true;
}

static bool value_push(struct walk *w, struct str v) {
    if (w->values_nr == 4 || !value_valid(v)) return false;
    w->values[w->values_nr++] = v;
    return true;
}

static const struct rnode *path_walk_param(struct walk *w, const struct rnode *p, size_t i);

/* Depth is bounded by HTTP_PATH_SEGMENTS_MAX. */
static const struct rnode *path_walk(struct walk *w, const struct rnode *n, size_t i) {
    if (i == w->n) return n->ops ? n : NULL;
    for (const struct rnode *c = n->literals; c; c = c->next) {
        if (!str_eq(c->text, w->seg[i])) continue;
        size_t keep = w->values_nr;
        const struct rnode *found = path_walk(w, c, i + 1);
        if (found) return found;
        w->values_nr = keep;
    }
    return n->param ? path_walk_param(w, n->param, i) : NULL;
}

static const struct rnode *path_walk_param(struct walk *w, const struct rnode *p, size_t i) {
    struct str id, verb;
    size_t keep = w->values_nr;
    if (i + 1 == w->n && p->verbs && str_cut_last(w->seg[i], ':', &id, &verb))
        for (const struct rnode *v = p->verbs; v; v = v->next)
            if (str_eq(v->text, verb)) return value_push(w, id) ? v : NULL;
    const struct rnode *found = value_push(w, w->seg[i]) ? path_walk(w, p, i + 1) : NULL;
    if (!found) w->values_nr = keep;
    return found;
}

static int route_unknown(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such resource");
}

static bool path_split(struct walk *w, struct str path, struct arena *a) {
    if (path.n == 0 || path.p[0] != '/') return false;
    for (size_t at = 1;;) {
        size_t end = at;
        while (end < path.n && path.p[end] != '/') end++;
        if (w->n == HTTP_PATH_SEGMENTS_MAX) return false;
        if (!uri_decode(a, str_n(path.p + at, end - at), false, &w->seg[w->n++])) return false;
        if (end == path.n) return true;
        at = end + 1;
    }
}

static const struct rop *node_op(const struct rnode *n, struct str method) {
    bool head = str_eq(method, STR("HEAD"));
    for (const struct rop *o = n->ops; o; o = o->next) {
        if (str_eqc(method, o->op->method)) return o;
        if (head && (o->op->flags & OP_HEAD) != 0 && strcmp(o->op->method, "GET") == 0) return o;
    }
    return NULL;
}

int router_match(const struct router *r, struct str method, struct str path, struct arena *a,
                 struct route *out, struct wopr_error *err) {
    struct walk w = {.n = 0};
    *out = (struct route){.op = NULL};
    const struct rnode *n = path_split(&w, path, a) ? path_walk(&w, &r->root, 0) : NULL;
    if (arena_failed(a)) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the path");
    if (!n) return route_unknown(err);
    out->allow = n->allow;
    const struct rop *o = node_op(n, method);
    if (!o)
        return wopr_error_set(err, WOPR_E_METHOD,
                              "the method is not allowed here; see the Allow header");
    for (size_t i = 0; i < w.values_nr; i++) {
        struct str value = w.values[i];
        bool token = str_eq(o->names[i], STR("token"));
        size_t max = o->op->flags & OP_LONG_NAMES ? HTTP_NAME_BYTES_MAX : HTTP_PARAM_BYTES_MAX;
        if (!token && value.n > max) return route_unknown(err);
        if (token && value.n > HTTP_TOKEN_BYTES_MAX) value = STR(""); /* the wire layer's 404 */
        out->params[i] = (struct http_param){o->names[i], value};
    }
    out->params_nr = w.values_nr;
    out->op = o->op;
    out->op_no = o->no;
    return 0;
}
