/*
 * tickets.c: POST /v1/host/wopr/runs/{runId}/stream-ticket, a host extension
 * (docs/api-extensions.md): a short-lived credential for one run's stream, for clients that cannot
 * set headers.
 */
#include "codec/bytes.h"
#include "wire/v1/wire_int.h"

int v1_mint_stream_ticket(struct http_call *c) {
    struct wopr_error err = {0};
    struct run_head head;
    struct str ticket = STR_NONE, base;
    int64_t expires_ms = 0, lifetime = v1_of(c)->cfg.ticket_lifetime_ms;
    int rc = wire_run_of(c, &head, &err);
    if (rc == 0) rc = wire_body_parse(c->body, &V1_STREAM_TICKET_REQUEST, c->arena, NULL, &err);
    if (rc == 0)
        rc = http_ticket_mint(c, head.run_id, head.run_no, lifetime, &ticket, &expires_ms, &err);
    if (rc != 0) return wire_fail(c, &err);
    struct buf url;
    struct jobj o;
    base = http_base_url(c);
    buf_init(&url, WIRE_BODY_SMALL);
    buf_addf(&url, STR_FMT "/v1/runs/" STR_FMT "/events?ticket=", STR_ARG(base),
             STR_ARG(head.run_id));
    percent_encode(&url, ticket);
    jobj_begin(&o, WIRE_BODY_SMALL);
    jw_kstr(&o.w, "ticket", ticket);
    v1_time_member(&o.w, "expiresAt", expires_ms);
    jw_kstr(&o.w, "eventsUrl", buf_str(&url));
    if (buf_failed(&url)) jobj_fail(&o);
    buf_fini(&url);
    return wire_reply_object(c, 200, &o);
}
