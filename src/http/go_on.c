/*
 * go_on.c: a call goes on as another operation of its mount (http_go_on).
 *
 *   handler ── http_go_on ──► the exchange's operation, path, query, body and headers are the
 *                             other's; its scopes are judged here
 *   request.c ── go_on_begin ──► at the gate (with a key) or at the handler, phase 0
 *   request.c ── go_on_answered ──► the first handler's word on the answer
 *   request.c ── go_on_back ──► the first handler again, when the answer was one of several
 */
#include "codec/bytes.h"
#include "http/auth.h"
#include "http/exchange.h"
#include "http/server.h"

enum { PATH_BYTES_MAX = 4096 };

static const struct http_op *op_find(struct exchange *x, const char *id) {
    const struct mount *mt = x->mount;
    size_t first = 0;
    for (const struct mount *m = x->pub.server->mounts.v; m != mt; m++) first += m->as.ops_nr;
    for (size_t i = 0; i < mt->as.ops_nr; i++) {
        if (strcmp(mt->as.ops[i].id, id) != 0) continue;
        x->op_no = first + i;
        return &mt->as.ops[i];
    }
    return NULL;
}

/* The path that a client would have sent: keys of idempotency and the audit log have it. */
static struct str path_of(const struct http_op *op, const struct http_as *as, struct arena *a) {
    struct str rest = str_c(op->pattern), before, name;
    struct buf b;
    buf_init(&b, PATH_BYTES_MAX);
    while (str_cut(rest, '{', &before, &rest) && str_cut(rest, '}', &name, &rest)) {
        buf_adds(&b, before);
        for (size_t i = 0; i < as->params_nr; i++)
            if (str_eq(as->params[i].name, name)) percent_encode(&b, as->params[i].value);
    }
    buf_adds(&b, rest);
    struct str path = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    return path;
}

struct go_on_first {
    const struct http_op *op;
    size_t op_no;
    struct str method, path, body, idempotency_key;
    struct http_param params[4];
    size_t params_nr;
    struct http_param *query;
    size_t query_nr;
    struct head_field *fields;
    size_t fields_nr;
    unsigned scopes;
    int phase;
};

static bool first_keep(struct exchange *x) {
    struct http_call *p = &x->pub;
    struct go_on_first *f = ARENA_NEW(p->arena, struct go_on_first);
    if (!f) return false;
    *f = (struct go_on_first){.op = p->op,
                              .op_no = x->op_no,
                              .method = p->method,
                              .path = p->path,
                              .body = p->body,
                              .idempotency_key = x->head.idempotency_key,
                              .params_nr = p->params_nr,
                              .query = p->query,
                              .query_nr = p->query_nr,
                              .fields = x->head.fields,
                              .fields_nr = x->head.fields_nr,
                              .scopes = p->who.scopes,
                              .phase = p->phase};
    memcpy(f->params, p->params, sizeof f->params);
    x->go_on.first = f;
    return true;
}

static void first_restore(struct exchange *x, const struct go_on_first *f) {
    struct http_call *p = &x->pub;
    p->op = f->op;
    x->op_no = f->op_no;
    p->method = f->method;
    p->path = f->path;
    p->body = f->body;
    memcpy(p->params, f->params, sizeof p->params);
    p->params_nr = f->params_nr;
    p->query = f->query;
    p->query_nr = f->query_nr;
    x->head.idempotency_key = f->idempotency_key;
    x->head.fields = f->fields;
    x->head.fields_nr = f->fields_nr;
    p->who.scopes = f->scopes;
    p->phase = f->phase + 1;
    p->has_idem = false;
}

static bool request_become(struct exchange *x, const struct http_op *op, const struct http_as *as) {
    struct http_call *p = &x->pub;
    struct str path = path_of(op, as, p->arena);
    struct head_field *fields = ARENA_ARRAY(p->arena, struct head_field, 1);
    if (!path.p || !fields) return false;
    p->op = op;
    p->method = str_c(op->method);
    p->path = path;
    memcpy(p->params, as->params, sizeof p->params);
    p->params_nr = as->params_nr;
    p->query = as->query;
    p->query_nr = as->query_nr;
    p->body = as->body;
    x->head.idempotency_key = as->idempotency_key.n > 0 ? as->idempotency_key : STR_NONE;
    fields[0] = (struct head_field){.name = STR("Idempotency-Key"), .value = as->idempotency_key};
    x->head.fields = fields;
    x->head.fields_nr = as->idempotency_key.n > 0 ? 1 : 0;
    return true;
}

static void own_give_up(struct http_call *p) {
    if (p->user_free) p->user_free(p->user);
    p->user = NULL;
    p->user_free = NULL;
}

int http_go_on(struct http_call *c, const struct http_as *as) {
    struct exchange *x = exchange_of(c);
    struct wopr_error err = {0};
    ASSERT(!x->go_on.asked && !x->go_on.answered);
    own_give_up(c);
    x->go_on = (struct exchange_go_on){.answered = as->answered, .of = as->of};
    bool kept = first_keep(x); /* before the operation is looked for, which changes op_no */
    const struct http_op *op = op_find(x, as->op_id);
    ASSERT(op && (op->flags & (OP_PUBLIC | OP_TOKEN)) == 0);
    int rc = kept && request_become(x, op, as)
                 ? auth_scope(x, &err)
                 : wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory for the operation");
    if (rc != 0) {
        http_fail(c, &err);
        return HTTP_DONE;
    }
    c->who.scopes &= ~as->without;
    x->go_on.asked = true;
    return HTTP_GOES_ON;
}

bool go_on_begin(struct exchange *x) {
    struct wopr_error err = {0};
    if (!x->go_on.asked) return false;
    x->go_on.asked = false;
    x->handler_ran = false;
    x->pub.phase = 0;
    bool keyed = (x->pub.op->flags & OP_IDEMPOTENT) != 0 && x->head.idempotency_key.p;
    x->stage = keyed ? EXCHANGE_IDEM : EXCHANGE_HANDLER;
    if (!keyed || idem_prepare(x, x->head.idempotency_key, &err) == 0) return true;
    http_fail(&x->pub, &err);
    x->stage = EXCHANGE_REPLY;
    return true;
}

void go_on_answered(struct exchange *x) {
    void (*fn)(struct http_call *, void *) = x->go_on.answered;
    x->go_on.answered = NULL;
    if (!fn) return;
    x->go_on.status = x->pub.status;
    fn(&x->pub, x->go_on.of);
}

void http_go_back(struct http_call *c) {
    struct exchange *x = exchange_of(c);
    ASSERT(x->go_on.first);
    x->go_on.back = true;
}

bool go_on_back(struct exchange *x) {
    struct http_call *p = &x->pub;
    if (!x->go_on.back) return false;
    first_restore(x, x->go_on.first);
    x->go_on = (struct exchange_go_on){.asked = false};
    x->handler_ran = false;
    x->stage = EXCHANGE_HANDLER;
    p->status = 0;
    p->reply = STR_NONE;
    p->content_type = "application/json";
    p->cache_control = "no-store";
    p->headers_nr = 0;
    return true;
}
