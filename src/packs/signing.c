/*
 * signing.c: see signing.h.  The DER around an Ed25519 key never varies, so it is compared and not
 * parsed (RFC 8410).
 */
#include "packs/signing.h"
#include "base/mem.h"

static const unsigned char SPKI_HEAD[12] = {0x30, 0x2A, 0x30, 0x05, 0x06, 0x03,
                                            0x2B, 0x65, 0x70, 0x03, 0x21, 0x00};
static const unsigned char PKCS8_HEAD[16] = {0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
                                             0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};
enum { KEY_BYTES = 32, KEY_TEXT_MAX = 4096, DER_MAX = sizeof PKCS8_HEAD + KEY_BYTES };

void pack_sri(const struct sha256 *d, struct buf *out) {
    buf_addz(out, "sha256-");
    base64_encode(out, str_n((const char *)d->b, sizeof d->b));
}

bool pack_sri_read(struct str text, struct sha256 *out) {
    struct buf b;
    if (text.n != PACK_SRI_BYTES || !str_starts(text, STR("sha256-"))) return false;
    buf_init(&b, sizeof out->b);
    bool ok = base64_decode(str_n(text.p + 7, text.n - 7), &b, NULL) == 0 && b.len == sizeof out->b;
    if (ok) memcpy(out->b, b.p, sizeof out->b);
    buf_fini(&b);
    return ok;
}

/* --- keys --- */

static void blanks_drop(struct str in, struct buf *out) {
    for (size_t i = 0; i < in.n; i++)
        if (!strchr(" \t\r\n", in.p[i]) || in.p[i] == '\0') buf_addc(out, in.p[i]);
}

/* The base64 of a PEM block of this label, or the whole text when there is no block. */
static bool pem_body(struct str text, const char *begin, const char *end, struct str *out) {
    struct str b = str_c(begin), e = str_c(end);
    text = str_trim(text);
    while (text.n > 0 && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r')) text.n--;
    if (!str_starts(text, STR("-----"))) {
        *out = text;
        return true;
    }
    if (!str_starts(text, b) || !str_ends(text, e) || text.n < b.n + e.n) return false;
    *out = str_n(text.p + b.n, text.n - b.n - e.n);
    return true;
}

/* The 32 bytes behind head, out of the base64 of a DER text. */
static bool der_read(struct str base64, const unsigned char *head, size_t head_n, uint8_t key[32]) {
    struct buf text, der;
    buf_init(&text, KEY_TEXT_MAX);
    buf_init(&der, DER_MAX);
    blanks_drop(base64, &text);
    bool ok = !buf_failed(&text) && base64_decode(buf_str(&text), &der, NULL) == 0 &&
              der.len == head_n + KEY_BYTES && memcmp(der.p, head, head_n) == 0;
    if (ok) memcpy(key, der.p + head_n, KEY_BYTES);
    if (der.p) mem_wipe(der.p, der.len);
    if (text.p) mem_wipe(text.p, text.len);
    buf_fini(&text);
    buf_fini(&der);
    return ok;
}

int pack_key_read(struct str text, uint8_t pub[32], struct wopr_error *err) {
    struct str body;
    if (pem_body(text, "-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----", &body) &&
        der_read(body, SPKI_HEAD, sizeof SPKI_HEAD, pub))
        return 0;
    return wopr_error_set(err, WOPR_E_VALIDATION,
                          "this is no public Ed25519 key: PEM (BEGIN PUBLIC KEY) or the base64 of "
                          "its SubjectPublicKeyInfo is taken");
}

static void der_text(const unsigned char *head, size_t head_n, const uint8_t key[32],
                     struct buf *out) {
    char der[DER_MAX];
    memcpy(der, head, head_n);
    memcpy(der + head_n, key, KEY_BYTES);
    base64_encode(out, str_n(der, head_n + KEY_BYTES));
    mem_wipe(der, sizeof der);
}

void pack_key_text(const uint8_t pub[32], struct buf *out) {
    der_text(SPKI_HEAD, sizeof SPKI_HEAD, pub, out);
}

void pack_key_pem(const uint8_t pub[32], struct buf *out) {
    buf_addz(out, "-----BEGIN PUBLIC KEY-----\n");
    pack_key_text(pub, out);
    buf_addz(out, "\n-----END PUBLIC KEY-----\n");
}

struct pack_key_id pack_key_id(const uint8_t pub[32]) {
    struct pack_key_id id;
    char hex[65];
    struct sha256 d = sha256_of2(str_n((const char *)SPKI_HEAD, sizeof SPKI_HEAD),
                                 str_n((const char *)pub, KEY_BYTES));
    sha256_hex(&d, hex);
    memcpy(id.text, hex, PACK_KEY_ID_BYTES);
    id.text[PACK_KEY_ID_BYTES] = '\0';
    return id;
}

int pack_secret_read(struct str text, struct ed25519_key *out, struct wopr_error *err) {
    uint8_t secret[KEY_BYTES];
    struct str body;
    if (!pem_body(text, "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", &body) ||
        !der_read(body, PKCS8_HEAD, sizeof PKCS8_HEAD, secret))
        return wopr_error_set(err, WOPR_E_VALIDATION,
                              "this is no private Ed25519 key in PEM (BEGIN PRIVATE KEY); wopr "
                              "packs keygen makes one");
    int rc = ed25519_from_secret(secret, out, err);
    mem_wipe(secret, sizeof secret);
    return rc;
}

void pack_secret_pem(const struct ed25519_key *k, struct buf *out) {
    buf_addz(out, "-----BEGIN PRIVATE KEY-----\n");
    der_text(PKCS8_HEAD, sizeof PKCS8_HEAD, k->secret, out);
    buf_addz(out, "\n-----END PRIVATE KEY-----\n");
}

int pack_rotation_text(struct str kid, struct str public_key, struct str valid_from,
                       struct buf *out) {
    buf_adds(out, kid);
    buf_adds(out, public_key);
    buf_adds(out, valid_from);
    return buf_failed(out) ? WOPR_E_NO_MEMORY : 0;
}
