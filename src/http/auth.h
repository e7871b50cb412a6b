/*
 * auth.h: who asks, and may they: API keys, scopes, stream tickets.  Layer: http.
 */
#ifndef WOPR_HTTP_AUTH_H
#define WOPR_HTTP_AUTH_H

#include "http/http.h"

struct exchange;
/* --- auth.c --- */
MUST_CHECK int auth_check(struct exchange *x, struct wopr_error *err);
MUST_CHECK int auth_scope(struct exchange *x, struct wopr_error *err);

/* --- key.c --- */
bool key_visible(struct str s); /* could be a key: visible ASCII, of a key's length */
/* Keys that are valid at this server: stored ones and those of its settings. */
MUST_CHECK int server_key_check(const struct http_server *s, struct str credential,
                                const struct sha256 *digest, int64_t now_ms, struct arena *a,
                                struct api_key *out, struct wopr_error *err);
MUST_CHECK int server_key_find(const struct http_server *s, struct str key_id, int64_t now_ms,
                               struct arena *a, struct api_key *out, struct wopr_error *err);
int key_state(const struct api_key *k, int64_t now_ms, struct wopr_error *err);
/* Was the key revoked, or has it expired, since it was let in?  Asks the store at most once a
 * second per key; when the store cannot be read, the answer is no.  A token (token_ends_ms > 0)
 * ends by the clock. */
bool key_gone(const struct http_server *s, struct str key_id, int64_t token_ends_ms);
/* Is this the first use of the key within its hour, as far as this host knows?  Asking says so: the
 * next answer is no.  Two of very many keys may make each other new again. */
bool key_use_is_new(struct http_server *s, struct str key_id, int64_t now_ms);
void principal_of(const struct api_key *k, struct principal *out);

/* --- ticket.c --- */
MUST_CHECK int ticket_check(struct exchange *x, struct str ticket, struct wopr_error *err);

#endif
