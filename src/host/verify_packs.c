/*
 * verify_packs.c: what is stored of packs against its digests (PACK-26; P1 and P4 of
 * store/packs.h).
 */
#include "host/verify_int.h"
#include "packs/judge.h"
#include "store/packs.h"

/* Removed since it was listed, a pack is no finding. */
static bool still_wanted(struct verify *v, const struct sha256 *before,
                         const struct sha256 *digest) {
    struct sha256 now;
    return store_pack_blob_next(v->store, before, &now, NULL) == 0 && sha256_eq(&now, digest);
}

static int blob_check(struct verify *v, const struct sha256 *before, const struct sha256 *digest,
                      struct wopr_error *err) {
    struct wopr_error why = {0};
    struct buf body;
    char hex[65];
    sha256_hex(digest, hex);
    buf_init(&body, PACK_TARBALL_BYTES_MAX);
    int rc = store_pack_blob(v->store, digest, &body, &why);
    buf_fini(&body);
    if (rc == WOPR_E_CORRUPT || rc == WOPR_E_TOO_BIG)
        finding_report(v, str_c(hex), "packs", "its bytes have another digest");
    else if (rc == WOPR_E_NOT_FOUND && still_wanted(v, before, digest))
        finding_report(v, str_c(hex), "packs", "its bytes are gone");
    else if (rc != 0 && rc != WOPR_E_NOT_FOUND) return wopr_error_set(err, rc, "%s", why.message);
    return 0;
}

int verify_packs(struct verify *v, struct wopr_error *err) {
    struct sha256 before = {{0}}, digest;
    int rc = store_pack_blob_next(v->store, &before, &digest, err);
    while (rc == 0) {
        rc = blob_check(v, &before, &digest, err);
        before = digest;
        if (rc == 0) rc = store_pack_blob_next(v->store, &before, &digest, err);
    }
    return rc == WOPR_E_NOT_FOUND ? 0 : rc;
}
