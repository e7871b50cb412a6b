/*
 * keys.c: the keyring of tokens (WR-111 to WR-113): a row of the file, sealed with a data key of
 * the installation, so that neither the database nor a backup of it can sign.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "rail/rail_int.h"
#include "store/vault.h"

enum { KEYRING_ARENA = 65536, KEYRING_TRIES = 4, KEYRING_TEXT_MAX = 512 };
static const struct seal_place PLACE = {.scope = {"x-workrail keyring", 18}, .at = 1};

static int key_fail(struct wr_fault *f, int rc) {
    if (rc == WOPR_E_CORRUPT)
        return wr_fail(f, WR_KEYRING_CORRUPTION_DETECTED, "",
                       "the keyring of tokens does not open with the key of this installation; "
                       "restore it from a backup, or remove it to make all tokens void");
    return wr_fail_as(f, WR_KEYRING_IO_ERROR, rc);
}

static int keyring_open(struct rail *r, const struct plan_sealed *row, struct arena *a,
                        struct wr_keyring *out, struct wr_fault *f) {
    struct str clear;
    int rc = vault_open(r->cfg.vault, &PLACE, row, a, &clear, &f->e);
    if (rc != 0) return key_fail(f, rc);
    rc = wr_keyring_read(clear, out, f);
    mem_wipe((char *)(uintptr_t)clear.p, clear.n);
    return rc;
}

/* was: the box that it replaces, or empty. */
static int keyring_store(struct rail *r, const struct wr_keyring *k, struct str was,
                         struct arena *a, struct wr_fault *f) {
    struct plan_sealed row = {.seq = 0};
    struct buf b;
    buf_init(&b, KEYRING_TEXT_MAX);
    wr_keyring_write(k, &b);
    int rc = buf_failed(&b) ? WOPR_E_NO_MEMORY
                            : vault_seal(r->cfg.vault, &PLACE, buf_str(&b), a, &row, &f->e);
    mem_wipe(b.p, b.len);
    buf_fini(&b);
    return rc == 0 ? store_keyring_put(r->cfg.store, &row, was, clock_wall_ms(), &f->e) : rc;
}

static void keyring_fresh(struct wr_keyring *k) {
    *k = (struct wr_keyring){.has_previous = false};
    rng_bytes(k->current, sizeof k->current);
}

/* Read it, or make it, turn it if asked for, and store that; STALE: another process was faster. */
static int keyring_turn(struct rail *r, bool rotate, struct wr_keyring *out, struct arena *a,
                        struct wr_fault *f) {
    struct plan_sealed row = {.seq = 0};
    uint8_t key[WR_KEY_BYTES];
    int rc = store_keyring_get(r->cfg.store, a, &row, &f->e);
    bool none = rc == WOPR_E_NOT_FOUND;
    if (rc != 0 && !none) return key_fail(f, rc);
    if (none) keyring_fresh(out);
    else if ((rc = keyring_open(r, &row, a, out, f)) != 0) return rc;
    if (!none && !rotate) return 0;
    if (rotate) {
        rng_bytes(key, sizeof key);
        wr_keyring_rotate(out, key);
        mem_wipe(key, sizeof key);
    }
    return keyring_store(r, out, none ? STR_NONE : row.box, a, f);
}

static int keyring_get(struct rail *r, bool rotate, struct wr_keyring *out, struct wr_fault *f) {
    if (!r->cfg.vault)
        return wr_fail(f, WR_KEYRING_IO_ERROR, "",
                       "tokens need the key file of this installation (--seal-key-file)");
    struct arena *a = arena_new(KEYRING_ARENA);
    int rc = a ? WOPR_E_STALE : wr_no_memory(f);
    for (int i = 0; (rc == WOPR_E_STALE || rc == WOPR_E_UNAVAILABLE) && i < KEYRING_TRIES; i++) {
        arena_reset(a);
        rc = keyring_turn(r, rotate, out, a, f);
    }
    arena_free(a);
    if (rc == 0) return 0;
    mem_wipe(out, sizeof *out);
    return f->code != WR_FINE ? rc : key_fail(f, rc);
}

int rail_keyring(struct rail *r, struct wr_keyring *out, struct wr_fault *f) {
    f->code = WR_FINE;
    return keyring_get(r, false, out, f);
}

int rail_keyring_rotate(struct rail *r, struct wr_fault *f) {
    struct wr_keyring k;
    f->code = WR_FINE;
    int rc = keyring_get(r, true, &k, f);
    mem_wipe(&k, sizeof k);
    return rc;
}
