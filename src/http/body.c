/*
 * body.c: request bodies: type, bound and syntax (HTTP-8, HTTP-9), before any handler sees a byte.
 */
#include "http/exchange.h"
#include "http/ratelimit.h"
#include "http/server.h"

/* application/json, or a structured type built on it; parameters do not matter. */
static bool type_is_json(struct str type) {
    struct str main_type, rest;
    if (!str_cut(type, ';', &main_type, &rest)) main_type = type;
    main_type = str_trim(main_type);
    if (str_eq_nocase(main_type, STR("application/json"))) return true;
    struct str top, sub;
    if (!str_cut(main_type, '/', &top, &sub) || top.n == 0 || sub.n <= 5) return false;
    return str_eq_nocase(str_n(sub.p + sub.n - 5, 5), STR("+json"));
}

static int body_too_large(const struct exchange *x, struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_BODY_TOO_LARGE, "the request body is larger than %zu bytes",
                          x->pub.op->body_max);
}

static int rate_refuse(struct exchange *x, const struct limit_state *st, struct wopr_error *err) {
    x->refusal = REFUSED_LARGE_BODIES;
    return limiter_refuse(st, "tenant",
                          "bodies of more than 64 KiB arrive faster than large-body-rate allows "
                          "for this tenant",
                          err);
}

/* The holders of a tenant's interrupt tokens share a bucket of their own: they take nothing of what
 * the tenant's keys may send.  No tenant's name has a line break. */
static struct str rate_holder(const struct exchange *x) {
    struct str tenant = x->pub.who.tenant;
    if ((x->pub.op->flags & OP_TOKEN) == 0) return tenant;
    return arena_printf(x->pub.arena, STR_FMT "\ntokens", STR_ARG(tenant));
}

/* A declared length is judged before a byte of it is read; a chunked body when it turns out to be
 * large: that much of it is paid for then, the rest when it is complete, so that what came in
 * parallel is owed. */
static int rate_admit(struct exchange *x, uint64_t n, struct wopr_error *err) {
    struct limit_state st = {0};
    if (n <= HTTP_LARGE_BODY) return 0;
    struct limiter *l = x->pub.server->rates.large_bodies;
    size_t now = x->head.chunked ? HTTP_LARGE_BODY : (size_t)n;
    bool ok = limiter_spend(l, rate_holder(x), now, &st);
    return ok ? 0 : rate_refuse(x, &st, err);
}

static void rate_count(const struct exchange *x, size_t n) {
    if (x->head.chunked && n > HTTP_LARGE_BODY)
        limiter_charge(x->pub.server->rates.large_bodies, rate_holder(x), n - HTTP_LARGE_BODY);
}

int body_admit(struct exchange *x, struct wopr_error *err) {
    size_t max = x->pub.op->body_max;
    bool has_body = x->head.chunked || x->head.body_length > 0;
    if (max == 0) { /* the operation takes none: read past it */
        x->body.discard = has_body;
        return x->head.body_length > HTTP_DISCARD_MAX ? body_too_large(x, err) : 0;
    }
    if (x->head.body_length > max) return body_too_large(x, err);
    if (has_body && x->head.content_type.n > 0 && (x->pub.op->flags & OP_BYTES) == 0 &&
        !type_is_json(x->head.content_type))
        return wopr_error_set(err, WOPR_E_MEDIA_TYPE, "the body must be sent as application/json");
    buf_init(&x->body.bytes, max);
    int rc = budget_take(x, (size_t)x->head.body_length, err); /* 503 costs the tenant nothing */
    return rc != 0 ? rc : rate_admit(x, x->head.body_length, err);
}

/* A chunked body is counted as it grows; without room it is refused at once. */
static bool body_room(struct exchange *x, size_t n) {
    struct wopr_error err = {0};
    if (!x->head.chunked || x->body.bytes.len + n <= x->share.bytes ||
        x->body.bytes.len + n < BUDGET_SMALL)
        return true;
    if (budget_take(x, x->body.bytes.len + n - x->share.bytes + BUDGET_SMALL, &err) == 0)
        return true;
    http_fail(&x->pub, &err);
    buf_fini(&x->body.bytes);
    exchange_give_back(x);
    x->close_after = true;
    return false;
}

bool body_add(struct exchange *x, const char *p, size_t n) {
    struct wopr_error err = {0};
    x->body.seen += n;
    if (x->body.discard && x->body.seen <= HTTP_DISCARD_MAX) return true;
    if (x->pub.status != 0 || !body_room(x, n)) return false;
    bool grows_large = x->body.seen > HTTP_LARGE_BODY && x->body.seen - n <= HTTP_LARGE_BODY;
    if (x->body.discard || n > x->body.bytes.max - x->body.bytes.len) (void)body_too_large(x, &err);
    else if (!x->head.chunked || !grows_large || rate_admit(x, x->body.seen, &err) == 0) {
        buf_add(&x->body.bytes, p, n);
        if (!buf_failed(&x->body.bytes)) return true;
        (void)wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory to read the body");
    }
    http_fail(&x->pub, &err);
    return false;
}

int body_finish(struct exchange *x, struct wopr_error *err) {
    size_t max = x->pub.op->body_max;
    if (max == 0) return 0;
    struct str body = buf_str(&x->body.bytes);
    rate_count(x, body.n);
    if ((x->pub.op->flags & OP_BYTES) != 0) {
        x->pub.body = body;
        return 0;
    }
    if (body.n == 0) {
        if ((x->pub.op->flags & OP_BODY_OPTIONAL) == 0)
            return wopr_error_set(err, WOPR_E_VALIDATION,
                                  "a JSON object is required as the request body");
        x->pub.body = STR("{}");
        return 0;
    }
    struct json_limits lim = {.bytes_max = max, .depth_max = JSON_LIMITS_DEFAULT.depth_max};
    struct wopr_error why = {0};
    int rc = json_check(body, &lim, &why);
    if (rc == WOPR_E_NO_MEMORY) return wopr_error_set(err, rc, "no memory to read the body");
    /* json_check's pointer has the caller's member names, which no answer repeats (HTTP-14). */
    if (rc != 0)
        return wopr_error_set(err, WOPR_E_VALIDATION, "the body is not acceptable JSON: %s",
                              why.message);
    if (json_type_of(body) != JSON_OBJECT)
        return wopr_error_set(err, WOPR_E_VALIDATION, "the body must be a JSON object");
    x->pub.body = body;
    return 0;
}
