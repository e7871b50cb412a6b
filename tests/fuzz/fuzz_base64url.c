/*
 * fuzz_base64url.c: a text that decodes is the one and only spelling of its bytes, in both
 * alphabets; bytes come back from their text.
 */
#include "codec/bytes.h"

enum { FUZZ_BYTES_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

typedef int decode_fn(struct str in, struct buf *out, struct wopr_error *err);
typedef void encode_fn(struct buf *b, struct str in);

static void check(struct str in, decode_fn *decode, encode_fn *encode) {
    struct buf x, y;
    struct wopr_error err;
    buf_init(&x, FUZZ_BYTES_MAX * 3);
    buf_init(&y, FUZZ_BYTES_MAX * 3);
    if (decode(in, &x, &err) == 0) {
        encode(&y, buf_str(&x));
        ASSERT(str_eq(buf_str(&y), in));
    } else {
        ASSERT(err.code == WOPR_E_SYNTAX && x.len == 0);
    }
    buf_reset(&x);
    buf_reset(&y);
    encode(&x, in);
    ASSERT(decode(buf_str(&x), &y, &err) == 0);
    ASSERT(str_eq(buf_str(&y), in));
    buf_fini(&y);
    buf_fini(&x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len > FUZZ_BYTES_MAX) return 0;
    struct str in = {(const char *)data, len};
    check(in, base64url_decode, base64url_encode);
    check(in, base64_decode, base64_encode);
    return 0;
}
