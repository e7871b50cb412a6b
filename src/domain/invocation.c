/*
 * invocation.c: see invocation.h.
 */
#include "domain/invocation.h"

#define IDENTITY_MAX (1024u * 1024)

static void id_of(struct buf *b, char out[65]) {
    struct sha256 d = sha256_of(buf_str(b));
    sha256_hex(&d, out);
    buf_fini(b);
}

void invocation_id_of(struct str run_id, struct str node_id, int32_t attempt,
                      struct str provider_key, int64_t ordinal, char out[INVOCATION_ID_LEN + 1]) {
    struct buf b;
    buf_init(&b, IDENTITY_MAX);
    buf_addf(&b, STR_FMT ":" STR_FMT ":%d:" STR_FMT, STR_ARG(run_id), STR_ARG(node_id), attempt,
             STR_ARG(provider_key));
    if (ordinal > 0) buf_addf(&b, "#%lld", (long long)ordinal);
    id_of(&b, out);
}

void effect_id_of(struct str run_id, struct str node_id, int64_t ordinal,
                  char out[EFFECT_ID_LEN + 1]) {
    char hex[65];
    struct buf b;
    buf_init(&b, IDENTITY_MAX);
    buf_addf(&b, "effect:" STR_FMT ":" STR_FMT ":%lld", STR_ARG(run_id), STR_ARG(node_id),
             (long long)ordinal);
    id_of(&b, hex);
    memcpy(out, "eff_", 4);
    memcpy(out + 4, hex, 32);
    out[EFFECT_ID_LEN] = '\0';
}

struct sha256 request_digest(struct str method, struct str url, struct str body) {
    struct sha256 head = sha256_of2(method, url), rest = sha256_of(body);
    return sha256_of2(str_n((const char *)head.b, sizeof head.b),
                      str_n((const char *)rest.b, sizeof rest.b));
}
