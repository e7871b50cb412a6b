/* tokens.c: signing secrets of interrupt tokens; see host.h. */
#include "base/clock.h"
#include "codec/ident.h"
#include "host/host.h"

int token_secret_rotate(struct store *s, struct arena *a, struct token_secret *out,
                        struct wopr_error *err) {
    char kid[ULID_LEN + 1];
    ulid_new(kid);
    struct token_secret t = {.kid = arena_str(a, str_c(kid)), .created_ms = clock_wall_ms()};
    if (!t.kid.p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    rng_bytes(t.secret, sizeof t.secret);
    int rc = store_token_secret_put(s, &t, err);
    if (rc == 0) *out = t;
    return rc;
}
