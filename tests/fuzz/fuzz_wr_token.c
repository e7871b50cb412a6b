/*
 * fuzz_wr_token.c: tokens and keyrings of WorkRail sessions (section 5 of the contract).
 *  - any bytes are refused with a TOKEN_ code that tells nothing of them, or are the very text that
 *    minting the same claims gives (so there is one text for each claim);
 *  - a payload of any bytes under a right signature is refused or read whole;
 *  - any keyring is refused as damaged, or written back as the same keys.
 */
#include "base/arena.h"
#include "codec/bytes.h"
#include "workrail/token.h"

enum { FUZZ_BYTES_MAX = 4096, ARENA_BYTES = 8 << 20 };
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct wr_keyring KEYS = {.current = {7, 7, 7}, .previous = {9}, .has_previous = true};

static struct str minted_again(struct arena *a, const struct wr_token *t) {
    struct str s = wr_token_mint(&KEYS, t, a);
    ASSERT(s.p != NULL);
    return s;
}

static void check_text(struct arena *a, struct str text) {
    static const char *const PARAMETERS[] = {"stateToken", "ackToken", "checkpointToken"};
    for (int want = WR_TOKEN_STATE; want <= WR_TOKEN_CHECKPOINT; want++) {
        struct wr_token t;
        struct wr_fault f = {.code = WR_FINE};
        int rc = wr_token_read(&KEYS, text, (enum wr_token_kind)want, PARAMETERS[want], a, &t, &f);
        if (rc != 0) {
            ASSERT(f.code >= WR_TOKEN_INVALID_FORMAT && f.code <= WR_TOKEN_BAD_SIGNATURE);
            ASSERT(f.e.message[0] != '\0' && rc == f.e.code);
            continue;
        }
        ASSERT(t.kind == want);
        struct str again = minted_again(a, &t), head, tail, ours, sig;
        ASSERT(str_cut_last(text, '.', &head, &tail) && str_cut_last(again, '.', &ours, &sig));
        ASSERT(str_eq(head, ours)); /* the signature may be the older key's */
    }
}

static struct str signed_payload(struct arena *a, const char *prefix, struct str payload) {
    struct sha256 mac = hmac_sha256(str_n((const char *)KEYS.current, WR_KEY_BYTES), payload);
    struct buf b;
    buf_init(&b, (size_t)4 * FUZZ_BYTES_MAX);
    buf_addf(&b, "%s.v1.", prefix);
    base64url_encode(&b, payload);
    buf_addc(&b, '.');
    base64url_encode(&b, str_n((const char *)mac.b, sizeof mac.b));
    struct str s = arena_str(a, buf_str(&b));
    buf_fini(&b);
    ASSERT(s.p != NULL);
    return s;
}

static void check_keyring(struct str text) {
    struct wr_keyring k, again;
    struct wr_fault f = {.code = WR_FINE};
    struct buf b;
    if (wr_keyring_read(text, &k, &f) != 0) {
        ASSERT(f.code == WR_KEYRING_CORRUPTION_DETECTED || f.code == WR_OUT_OF_MEMORY);
        return;
    }
    buf_init(&b, FUZZ_BYTES_MAX);
    wr_keyring_write(&k, &b);
    ASSERT(wr_keyring_read(buf_str(&b), &again, &f) == 0);
    ASSERT(memcmp(again.current, k.current, WR_KEY_BYTES) == 0);
    ASSERT(again.has_previous == k.has_previous);
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len > FUZZ_BYTES_MAX) return 0;
    struct arena *a = arena_new(ARENA_BYTES);
    struct str in = str_n((const char *)data, len);
    ASSERT(a != NULL);
    check_text(a, in);
    check_text(a, signed_payload(a, "st", in));
    check_text(a, signed_payload(a, "ack", in));
    check_text(a, signed_payload(a, "chk", in));
    check_keyring(in);
    arena_free(a);
    return 0;
}
