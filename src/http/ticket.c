/*
 * ticket.c: short-lived stream tickets for clients that cannot send headers.
 *
 * ticket = base64url(payload) "." base64url(HMAC(secret, label payload)); payload = "1 <keyId>
 * <runNo> <expires> <runId>". It opens only operations that take tickets (OP_TICKET), only for that
 * run, and only while the key it came from lives.
 */
#include "base/clock.h"
#include "http/auth.h"
#include "http/exchange.h"
#include "http/server.h"

enum { TICKET_MAX = 1024, TICKET_LIFETIME_MS_MAX = 24 * 3600 * 1000 };

static struct sha256 ticket_sign(const struct http_server *s, struct str payload,
                                 struct buf *scratch) {
    buf_reset(scratch);
    buf_adds(scratch,
             STR("wopr stream ticket 1:")); /* so that no other text with this secret is a ticket */
    buf_adds(scratch, payload);
    return hmac_sha256(str_n((const char *)s->ticket_secret, sizeof s->ticket_secret),
                       buf_str(scratch));
}

int http_ticket_mint(struct http_call *c, struct str run_id, int64_t run_no, int64_t lifetime_ms,
                     struct str *ticket, int64_t *expires_ms, struct wopr_error *err) {
    if (!c->who.authenticated || c->who.ticket_run_no > 0 || c->who.token_ends_ms > 0)
        return wopr_error_set(err, WOPR_E_FORBIDDEN, "a ticket is given for an API key only");
    if (lifetime_ms <= 0 || lifetime_ms > TICKET_LIFETIME_MS_MAX)
        return wopr_error_set(err, WOPR_E_VALIDATION, "a ticket lives at most a day");
    int64_t expires = clock_wall_ms() + lifetime_ms;
    struct str payload =
        arena_printf(c->arena, "1 " STR_FMT " %lld %lld " STR_FMT, STR_ARG(c->who.key_id),
                     (long long)run_no, (long long)expires, STR_ARG(run_id));
    struct buf b, scratch;
    buf_init(&b, TICKET_MAX);
    buf_init(&scratch, TICKET_MAX);
    struct sha256 mac = ticket_sign(c->server, payload, &scratch);
    base64url_encode(&b, payload);
    buf_addc(&b, '.');
    base64url_encode(&b, str_n((const char *)mac.b, sizeof mac.b));
    struct str out = payload.p && !buf_failed(&b) && !buf_failed(&scratch)
                         ? arena_str(c->arena, buf_str(&b))
                         : STR_NONE;
    buf_fini(&scratch);
    buf_fini(&b);
    if (!out.p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the ticket");
    *ticket = out;
    *expires_ms = expires;
    return 0;
}

struct ticket {
    struct str key_id, run_id;
    int64_t run_no, expires_ms;
};

static bool ticket_parse(struct str payload, struct ticket *t) {
    struct str version, rest, no, at;
    return str_cut(payload, ' ', &version, &rest) && str_eq(version, STR("1")) &&
           str_cut(rest, ' ', &t->key_id, &rest) && str_cut(rest, ' ', &no, &rest) &&
           str_i64(no, &t->run_no) && t->run_no > 0 && str_cut(rest, ' ', &at, &t->run_id) &&
           str_i64(at, &t->expires_ms) && t->run_id.n > 0;
}

/* The payload, when the signature is ours. */
static bool ticket_open(const struct http_server *s, struct str text, struct arena *a,
                        struct str *payload) {
    struct str head, tail;
    if (text.n > TICKET_MAX || !str_cut(text, '.', &head, &tail)) return false;
    struct buf b, mac, scratch;
    buf_init(&b, TICKET_MAX);
    buf_init(&mac, TICKET_MAX);
    buf_init(&scratch, TICKET_MAX + 64);
    bool ok = base64url_decode(head, &b, NULL) == 0 && base64url_decode(tail, &mac, NULL) == 0;
    struct sha256 want = ok ? ticket_sign(s, buf_str(&b), &scratch) : (struct sha256){{0}};
    ok = ok && !buf_failed(&scratch) &&
         str_eq_secret(buf_str(&mac), str_n((const char *)want.b, sizeof want.b));
    if (ok) *payload = arena_str(a, buf_str(&b));
    buf_fini(&scratch);
    buf_fini(&mac);
    buf_fini(&b);
    return ok && payload->p != NULL;
}

int ticket_check(struct exchange *x, struct str ticket, struct wopr_error *err) {
    struct http_server *s = x->pub.server;
    struct str payload = STR_NONE;
    struct ticket t;
    int64_t now = clock_wall_ms();
    x->head.authorizations = 1; /* a credential was presented: the challenge says so */
    bool ok = ticket_open(s, ticket, x->pub.arena, &payload) && ticket_parse(payload, &t);
    if (!ok || now >= t.expires_ms || !str_eq(t.run_id, http_param(&x->pub, "runId")))
        return wopr_error_set(err, WOPR_E_UNAUTHENTICATED,
                              "the ticket is not valid here; get a new one");
    struct api_key k;
    int rc = server_key_find(s, t.key_id, now, x->pub.arena, &k, err);
    if (rc != 0) return rc;
    principal_of(&k, &x->pub.who);
    x->pub.who.ticket_run_no = t.run_no;
    x->pub.who.ticket_run_id = t.run_id;
    return 0;
}
