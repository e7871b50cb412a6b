/* canary.c: see canary.h. */
#include "host/canary.h"

#include "base/clock.h"
#include "codec/bytes.h"

#include <stdio.h>

/* The second is that of MEM-32. */
static const char *const NAMES[] = {"openwop-conformance-canary-secret", "conformance-test-secret"};

static int canary_one(struct store *s, struct vault *v, const struct credential *c, struct arena *a,
                      struct wopr_error *err) {
    struct credential known;
    uint8_t random[32];
    char hex[65];
    int rc = store_credential_find(s, &c->id, a, &known, err);
    if (rc != WOPR_E_NOT_FOUND) return rc;
    rng_bytes(random, sizeof random);
    struct sha256 d = sha256_of(str_n((const char *)random, sizeof random));
    sha256_hex(&d, hex);
    return credential_put(s, v, c, str_n(hex, 64), err);
}

int canary_provide(struct store *s, struct vault *v, struct str tenant, struct wopr_error *err) {
    struct arena *a = arena_new(1024 * 1024);
    struct credential c = {
        .id = {.tenant = tenant}, .kind = CREDENTIAL_CUSTOM, .updated_ms = clock_wall_ms()};
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a credential");
    c.id.issuer = c.id.subject = c.provider = STR("");
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < 2 * sizeof NAMES / sizeof *NAMES; i++) {
        c.id.name = str_c(NAMES[i / 2]);
        c.id.test_mode = i % 2 != 0;
        rc = canary_one(s, v, &c, a, err);
    }
    arena_free(a);
    return rc;
}
