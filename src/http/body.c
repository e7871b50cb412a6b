/*
 * body.c: request bodies: type, bound and syntax (HTTP-8, HTTP-9), before any handler sees a byte.
 */
#include "base/clock.h"
#include "http/http_internal.h"

/* application/json, or a structured type built on it; parameters do not matter. */
static bool is_json(struct str type) {
    struct str main_type, rest;
    if (!str_cut(type, ';', &main_type, &rest)) main_type = type;
    main_type = str_trim(main_type);
    if (str_eq_nocase(main_type, STR("application/json"))) return true;
    size_t n = main_type.n;
    return n > 5 && str_eq_nocase(str_n(main_type.p + n - 5, 5), STR("+json"));
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
    return 0;
}

bool body_add(struct call *c, const char *p, size_t n) {
    uint64_t elapsed_ms = (clock_mono_ns() - c->start_ns) / 1000000;
    if (elapsed_ms > (uint64_t)c->pub.server->cfg.read_timeout_s * 1000)
        return false; /* a trickle is no progress */
    c->body_seen += n;
    if (c->discard) return c->body_seen <= HTTP_DISCARD_MAX;
    if (c->too_big) return c->body_seen <= HTTP_OVERRUN_MAX;
    if (n > c->body.max - c->body.len) { /* chunked: libmicrohttpd cannot answer before the end, so
                                            drop the rest */
        c->too_big = true;
        buf_fini(&c->body);
        return true;
    }
    buf_add(&c->body, p, n);
    return !buf_failed(&c->body);
}

int body_finish(struct call *c, struct wopr_error *err) {
    size_t max = c->pub.op->body_max;
    if (max == 0) return 0;
    if (c->too_big) {
        c->close_after = true;
        return too_large(c, err);
    }
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
