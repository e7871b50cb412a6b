/*
 * body.c: request bodies: type, bound and syntax (HTTP-8, HTTP-9), before any handler sees a byte.
 */
#include "http/http_internal.h"

/* application/json, or a structured type built on it; parameters do not matter. */
static bool is_json(struct str type) {
    struct str main_type, rest;
    if (!str_cut(type, ';', &main_type, &rest)) main_type = type;
    main_type = str_trim(main_type);
    if (str_eq_nocase(main_type, STR("application/json"))) return true;
    struct str top, sub;
    if (!str_cut(main_type, '/', &top, &sub) || top.n == 0 || sub.n <= 5) return false;
    return str_eq_nocase(str_n(sub.p + sub.n - 5, 5), STR("+json"));
}

static int too_large(const struct call *c, struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_BODY_TOO_LARGE, "the request body is larger than %zu bytes",
                          c->pub.op->body_max);
}

int body_admit(struct call *c, struct wopr_error *err) {
    size_t max = c->pub.op->body_max;
    bool has_body = c->chunked || c->body_declared > 0;
    if (max == 0) { /* nobody asked for one: read past it */
        c->discard = has_body;
        return c->body_declared > HTTP_DISCARD_MAX ? too_large(c, err) : 0;
    }
    if (c->body_declared > max) return too_large(c, err);
    if (has_body && c->content_type.n > 0 && !is_json(c->content_type))
        return wopr_error_set(err, WOPR_E_MEDIA_TYPE, "the body must be sent as application/json");
    buf_init(&c->body, max);
    return budget_take(c, (size_t)c->body_declared, err);
}

/* A chunked body is counted as it grows; without room it is refused at once. */
static bool room_for(struct call *c, size_t n) {
    struct wopr_error err = {0};
    if (!c->chunked || c->body.len + n <= c->bytes || c->body.len + n < BUDGET_SMALL) return true;
    if (budget_take(c, c->body.len + n - c->bytes + BUDGET_SMALL, &err) == 0) return true;
    http_fail(&c->pub, &err);
    buf_fini(&c->body);
    call_give_back(c);
    c->close_after = true;
    return false;
}

bool body_add(struct call *c, const char *p, size_t n) {
    struct wopr_error err = {0};
    c->body_seen += n;
    if (c->discard && c->body_seen <= HTTP_DISCARD_MAX) return true;
    if (c->pub.status != 0 || !room_for(c, n)) return false;
    if (c->discard || n > c->body.max - c->body.len) (void)too_large(c, &err);
    else {
        buf_add(&c->body, p, n);
        if (!buf_failed(&c->body)) return true;
        (void)wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory to read the body");
    }
    http_fail(&c->pub, &err);
    return false;
}

int body_finish(struct call *c, struct wopr_error *err) {
    size_t max = c->pub.op->body_max;
    if (max == 0) return 0;
    struct str body = buf_str(&c->body);
    if (body.n == 0) {
        if ((c->pub.op->flags & OP_BODY_OPTIONAL) == 0)
            return wopr_error_set(err, WOPR_E_VALIDATION,
                                  "a JSON object is required as the request body");
        c->pub.body = STR("{}");
        return 0;
    }
    struct json_limits lim = {.bytes_max = max, .depth_max = JSON_LIMITS_DEFAULT.depth_max};
    struct wopr_error why = {0};
    int rc = json_check(body, &lim, &why);
    if (rc == WOPR_E_NO_MEMORY) return wopr_error_set(err, rc, "no memory to read the body");
    /* json_check's pointer holds the caller's member names: not for an answer (HTTP-14). */
    if (rc != 0)
        return wopr_error_set(err, WOPR_E_VALIDATION, "the body is not acceptable JSON: %s",
                              why.message);
    if (json_type_of(body) != JSON_OBJECT)
        return wopr_error_set(err, WOPR_E_VALIDATION, "the body must be a JSON object");
    c->pub.body = body;
    return 0;
}
