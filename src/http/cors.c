/*
 * cors.c: browsers of configured origins (HTTP-18; none by default).
 */
#include "http/exchange.h"
#include "http/server.h"

bool cors_allows(const struct http_server *s, struct str origin) {
    if (!s->cfg.cors_origins || origin.n == 0) return false;
    for (const char *const *o = s->cfg.cors_origins; *o; o++)
        if (strcmp(*o, "*") == 0 || str_eqc(origin, *o)) return true;
    return false;
}

void cors_headers(struct exchange *x, struct MHD_Response *r) {
    struct http_server *s = x->pub.server;
    (void)MHD_add_response_header(r, "Vary", "Origin");
    if (!cors_allows(s, x->head.origin)) return;
    char *origin = arena_cstr(x->pub.arena, x->head.origin);
    if (!origin) return;
    (void)MHD_add_response_header(r, "Access-Control-Allow-Origin", origin);
    const struct http_mount *mt = &x->mount->as;
    if (mt->cors_expose)
        (void)MHD_add_response_header(r, "Access-Control-Expose-Headers", mt->cors_expose);
    if (!str_eq(x->pub.method, STR("OPTIONS")) || !x->allow) return;
    (void)MHD_add_response_header(r, "Access-Control-Allow-Methods", x->allow);
    if (mt->cors_allow)
        (void)MHD_add_response_header(r, "Access-Control-Allow-Headers", mt->cors_allow);
    (void)MHD_add_response_header(r, "Access-Control-Max-Age", "600");
}
