/*
 * bytes.c: text forms of bytes (RFC 4648), and GnuTLS wrapped in our own types.
 */
#include "codec/bytes.h"
#include "base/clock.h"
#include "base/mem.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

enum { CHUNK_BYTES = 768 }; /* a multiple of 3: no rest inside a base64 text */

static const char B64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char B64URL[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* --- base64 --- */

/* Text of at most CHUNK_BYTES bytes; returns its length. */
static size_t encode_chunk(const char *abc, bool pad, const unsigned char *p, size_t n, char *out) {
    size_t len = 0, i = 0;
    for (; n - i >= 3; i += 3) {
        unsigned v = (unsigned)p[i] << 16 | (unsigned)p[i + 1] << 8 | p[i + 2];
        out[len++] = abc[v >> 18];
        out[len++] = abc[v >> 12 & 63];
        out[len++] = abc[v >> 6 & 63];
        out[len++] = abc[v & 63];
    }
    if (n == i) return len;
    unsigned v = (unsigned)p[i] << 16 | (n - i == 2 ? (unsigned)p[i + 1] << 8 : 0);
    out[len++] = abc[v >> 18];
    out[len++] = abc[v >> 12 & 63];
    if (n - i == 2) out[len++] = abc[v >> 6 & 63];
    while (pad && len % 4 != 0) out[len++] = '=';
    return len;
}

static void base64_put(struct buf *b, const char *abc, bool pad, struct str in) {
    char out[CHUNK_BYTES / 3 * 4];
    for (size_t i = 0, n; i < in.n; i += n) {
        n = in.n - i < CHUNK_BYTES ? in.n - i : CHUNK_BYTES;
        buf_add(b, out, encode_chunk(abc, pad, (const unsigned char *)in.p + i, n, out));
    }
}

void base64url_encode(struct buf *b, struct str in) { base64_put(b, B64URL, false, in); }
void base64_encode(struct buf *b, struct str in) { base64_put(b, B64, true, in); }

static int base64_value(char c, bool url) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == (url ? '-' : '+')) return 62;
    if (c == (url ? '_' : '/')) return 63;
    return -1;
}

/* Take back what was added and report why it failed. n: bytes that were to be added. */
static int output_failed(struct buf *out, size_t start, size_t n, struct wopr_error *err) {
    bool too_big = n > out->max - start;
    out->len = start;
    if (out->p) out->p[start] = '\0';
    return wopr_error_set(err, too_big ? WOPR_E_TOO_BIG : WOPR_E_NO_MEMORY,
                          too_big ? "the decoded bytes exceed the limit" : "out of memory");
}

static int base64_read(struct str in, bool url, struct buf *out, struct wopr_error *err) {
    size_t start = out->len, full = in.n / 4 * 3 + (in.n % 4 ? in.n % 4 - 1 : 0);
    unsigned acc = 0, bits = 0;
    char chunk[CHUNK_BYTES];
    size_t len = 0;
    if (in.n % 4 == 1) goto malformed;
    for (size_t i = 0; i < in.n; i++) {
        int v = base64_value(in.p[i], url);
        if (v < 0) goto malformed;
        acc = (acc << 6 | (unsigned)v) & 0xFFF; /* more than 11 bits are never pending */
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        chunk[len++] = (char)(acc >> bits & 0xFF);
        if (len < sizeof chunk) continue;
        buf_add(out, chunk, len);
        len = 0;
    }
    /* One value has one spelling only: the bits that no byte uses must be zero. */
    if (acc & ((1u << bits) - 1)) goto malformed;
    buf_add(out, chunk, len);
    if (out->failed) return output_failed(out, start, full, err);
    return WOPR_OK;
malformed:
    out->len = start;
    if (out->p) out->p[start] = '\0';
    return wopr_error_set(err, WOPR_E_SYNTAX, "malformed base64%s text", url ? "url" : "");
}

int base64url_decode(struct str in, struct buf *out, struct wopr_error *err) {
    return base64_read(in, true, out, err);
}

int base64_decode(struct str in, struct buf *out, struct wopr_error *err) {
    if (in.n % 4 != 0) return wopr_error_set(err, WOPR_E_SYNTAX, "malformed base64 text");
    for (int i = 0; i < 2 && in.n > 0 && in.p[in.n - 1] == '='; i++) in.n--;
    return base64_read(in, false, out, err);
}

/* --- hex --- */

static size_t hex_chunk(const unsigned char *p, size_t n, char *out) {
    static const char HEX[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = HEX[p[i] >> 4];
        out[2 * i + 1] = HEX[p[i] & 15];
    }
    return 2 * n;
}

void percent_encode(struct buf *b, struct str in) {
    static const char HEX[] = "0123456789ABCDEF";
    for (size_t i = 0; i < in.n; i++) {
        unsigned char ch = (unsigned char)in.p[i];
        bool plain = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
                     (ch >= '0' && ch <= '9') || ch == '-' || ch == '_' || ch == '.' || ch == '~';
        if (plain) {
            buf_addc(b, (char)ch);
        } else {
            buf_addc(b, '%');
            buf_addc(b, HEX[ch >> 4]);
            buf_addc(b, HEX[ch & 15]);
        }
    }
}

void hex_encode(struct buf *b, struct str in) {
    char out[2 * CHUNK_BYTES];
    for (size_t i = 0, n; i < in.n; i += n) {
        n = in.n - i < CHUNK_BYTES ? in.n - i : CHUNK_BYTES;
        buf_add(b, out, hex_chunk((const unsigned char *)in.p + i, n, out));
    }
}

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

int hex_decode(struct str in, struct buf *out, struct wopr_error *err) {
    size_t start = out->len;
    bool good = in.n % 2 == 0;
    for (size_t i = 0; good && i < in.n; i += 2) {
        int hi = hex_value(in.p[i]), lo = hex_value(in.p[i + 1]);
        good = hi >= 0 && lo >= 0;
        if (good) buf_addc(out, (char)(hi << 4 | lo));
    }
    if (good && out->failed) return output_failed(out, start, in.n / 2, err);
    if (good) return WOPR_OK;
    out->len = start;
    if (out->p) out->p[start] = '\0';
    return wopr_error_set(err, WOPR_E_SYNTAX, "malformed hexadecimal text");
}

/* --- digests --- */

static const char *bytes_of(struct str s) { return s.n > 0 ? s.p : ""; }

struct sha256 sha256_of(struct str in) {
    struct sha256 d;
    /* Fails only when the library lacks the algorithm, which no caller could handle. */
    ASSERT(gnutls_hash_fast(GNUTLS_DIG_SHA256, bytes_of(in), in.n, d.b) == 0);
    return d;
}

struct sha256 sha256_of2(struct str a, struct str b) {
    char both[512];
    if (a.n <= sizeof both && b.n <= sizeof both - a.n) {
        if (a.n > 0) memcpy(both, a.p, a.n);
        if (b.n > 0) memcpy(both + a.n, b.p, b.n);
        return sha256_of((struct str){both, a.n + b.n});
    }
    struct sha256 d;
    gnutls_hash_hd_t h;
    ASSERT(gnutls_hash_init(&h, GNUTLS_DIG_SHA256) == 0);
    ASSERT(gnutls_hash(h, bytes_of(a), a.n) == 0 && gnutls_hash(h, bytes_of(b), b.n) == 0);
    gnutls_hash_deinit(h, d.b);
    return d;
}

struct sha256 hmac_sha256(struct str key, struct str in) {
    struct sha256 d;
    ASSERT(gnutls_hmac_fast(GNUTLS_MAC_SHA256, bytes_of(key), key.n, bytes_of(in), in.n, d.b) == 0);
    return d;
}

struct hmac_key {
    gnutls_hmac_hd_t begun; /* has taken in the key and nothing else; it is only copied */
    uint8_t key[32];        /* for the moment in which there is no memory for a copy */
};

struct hmac_key *hmac_key_new(const uint8_t key[32]) {
    struct hmac_key *k = MEM_NEW(struct hmac_key);
    if (k == NULL) return NULL;
    memcpy(k->key, key, sizeof k->key);
    if (gnutls_hmac_init(&k->begun, GNUTLS_MAC_SHA256, key, sizeof k->key) == 0) return k;
    mem_free(k);
    return NULL;
}

struct sha256 hmac_key_of(const struct hmac_key *k, struct str in) {
    struct sha256 d;
    gnutls_hmac_hd_t h = gnutls_hmac_copy(k->begun);
    if (h == NULL) return hmac_sha256(str_n((const char *)k->key, sizeof k->key), in);
    int rc = gnutls_hmac(h, bytes_of(in), in.n);
    gnutls_hmac_deinit(h, d.b);
    ASSERT(rc == 0);
    return d;
}

void hmac_key_free(struct hmac_key *k) {
    if (k == NULL) return;
    gnutls_hmac_deinit(k->begun, NULL);
    gnutls_memset(k->key, 0, sizeof k->key);
    mem_free(k);
}

void sha256_hex(const struct sha256 *d, char out[65]) {
    out[hex_chunk(d->b, sizeof d->b, out)] = '\0';
}

bool sha256_eq(const struct sha256 *x, const struct sha256 *y) {
    return gnutls_memcmp(x->b, y->b, sizeof x->b) == 0;
}

/* --- Ed25519 --- */

enum { ED_BYTES = 32, ED_SIG_BYTES = 64 };

static int crypto_failed(int rc, const char *what, struct wopr_error *err) {
    int code = rc == GNUTLS_E_MEMORY_ERROR ? WOPR_E_NO_MEMORY : WOPR_E_INTERNAL;
    return wopr_error_set(err, code, "Ed25519: %s failed: %s", what, gnutls_strerror(rc));
}

/* GnuTLS derives the public key only when it reads PKCS #8 (RFC 8410, section 7). */
static int import_secret(const uint8_t secret[32], gnutls_x509_privkey_t *out) {
    unsigned char der[16 + ED_BYTES] = {0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
                                        0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};
    memcpy(der + 16, secret, ED_BYTES);
    gnutls_x509_privkey_t k;
    int rc = gnutls_x509_privkey_init(&k);
    if (rc >= 0) {
        gnutls_datum_t d = {der, sizeof der};
        rc = gnutls_x509_privkey_import_pkcs8(k, &d, GNUTLS_X509_FMT_DER, NULL, GNUTLS_PKCS_PLAIN);
        if (rc >= 0) *out = k;
        else gnutls_x509_privkey_deinit(k);
    }
    gnutls_memset(der, 0, sizeof der);
    return rc;
}

int ed25519_from_secret(const uint8_t secret[32], struct ed25519_key *out, struct wopr_error *err) {
    gnutls_x509_privkey_t k;
    gnutls_ecc_curve_t curve;
    gnutls_datum_t x = {0}, priv = {0};
    int rc = import_secret(secret, &k);
    if (rc < 0) return crypto_failed(rc, "reading the secret key", err);
    rc = gnutls_x509_privkey_export_ecc_raw(k, &curve, &x, NULL, &priv);
    gnutls_x509_privkey_deinit(k);
    if (rc < 0) return crypto_failed(rc, "deriving the public key", err);
    bool whole = x.size == ED_BYTES && priv.size == ED_BYTES;
    if (whole) {
        memcpy(out->secret, secret, ED_BYTES);
        memcpy(out->pub, x.data, ED_BYTES);
    }
    if (priv.data) gnutls_memset(priv.data, 0, priv.size);
    gnutls_free(priv.data);
    gnutls_free(x.data);
    return whole ? WOPR_OK : crypto_failed(GNUTLS_E_INTERNAL_ERROR, "deriving the public key", err);
}

int ed25519_generate(struct ed25519_key *out, struct wopr_error *err) {
    uint8_t secret[ED_BYTES];
    rng_bytes(secret, sizeof secret);
    int rc = ed25519_from_secret(secret, out, err);
    gnutls_memset(secret, 0, sizeof secret);
    return rc;
}

int ed25519_sign(const struct ed25519_key *k, struct str msg, uint8_t sig[64],
                 struct wopr_error *err) {
    gnutls_privkey_t p;
    struct ed25519_key copy = *k; /* gnutls_datum_t takes no const */
    gnutls_datum_t x = {copy.pub, ED_BYTES}, secret = {copy.secret, ED_BYTES}, s = {0};
    gnutls_datum_t m = {(unsigned char *)(uintptr_t)bytes_of(msg), (unsigned)msg.n};
    if (msg.n > UINT32_MAX) return wopr_error_set(err, WOPR_E_TOO_BIG, "Ed25519: message too long");
    int rc = gnutls_privkey_init(&p);
    if (rc >= 0) {
        rc = gnutls_privkey_import_ecc_raw(p, GNUTLS_ECC_CURVE_ED25519, &x, NULL, &secret);
        if (rc >= 0) rc = gnutls_privkey_sign_data2(p, GNUTLS_SIGN_EDDSA_ED25519, 0, &m, &s);
        gnutls_privkey_deinit(p);
    }
    gnutls_memset(&copy, 0, sizeof copy);
    if (rc >= 0 && s.size != ED_SIG_BYTES) rc = GNUTLS_E_INTERNAL_ERROR;
    if (rc >= 0) memcpy(sig, s.data, ED_SIG_BYTES);
    gnutls_free(s.data);
    return rc >= 0 ? WOPR_OK : crypto_failed(rc, "signing", err);
}

bool ed25519_verify(const uint8_t pub[32], struct str msg, const uint8_t sig[64]) {
    gnutls_pubkey_t p;
    uint8_t x_bytes[ED_BYTES], sig_bytes[ED_SIG_BYTES];
    memcpy(x_bytes, pub, sizeof x_bytes);
    memcpy(sig_bytes, sig, sizeof sig_bytes);
    gnutls_datum_t x = {x_bytes, ED_BYTES}, s = {sig_bytes, ED_SIG_BYTES};
    gnutls_datum_t m = {(unsigned char *)(uintptr_t)bytes_of(msg), (unsigned)msg.n};
    if (msg.n > UINT32_MAX || gnutls_pubkey_init(&p) < 0) return false;
    int rc = gnutls_pubkey_import_ecc_raw(p, GNUTLS_ECC_CURVE_ED25519, &x, NULL);
    if (rc >= 0) rc = gnutls_pubkey_verify_data2(p, GNUTLS_SIGN_EDDSA_ED25519, 0, &m, &s);
    gnutls_pubkey_deinit(p);
    return rc >= 0;
}
