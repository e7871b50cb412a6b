/*
 * fuzz_rpc.c: the answer to one JSON-RPC request, out of any bytes.
 *  - however the bytes are cut, the same is kept;
 *  - what is kept out of a stream reads as the response to the request, or there is nothing;
 *  - a response has a result or an error, and reading it twice gives the same.
 */
#include "codec/rpc.h"

enum { FUZZ_BYTES_MAX = 1 << 14, FUZZ_ID = 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int kept(struct str text, size_t max, uint32_t cuts, struct rpc_reader *r) {
    int rc = 0;
    rpc_reader_init(r, FUZZ_ID, max);
    while (rc == 0 && text.n > 0) {
        cuts = cuts * 1664525u + (cuts ? 1013904223u : 0);
        size_t n = cuts ? 1 + (cuts >> 16) % 33 : text.n;
        if (n > text.n) n = text.n;
        rc = rpc_reader_take(r, str_n(text.p, n));
        text = str_n(text.p + n, text.n - n);
    }
    return rc;
}

static void response_look(const struct rpc_reader *r, int rc) {
    struct rpc_response got = {0}, again = {0};
    struct arena *a = arena_new(1 << 22);
    if (!a) return;
    struct str body = rpc_reader_body(r);
    const char *why = rpc_response_read(body, FUZZ_ID, a, &got);
    ASSERT(rc != 1 || r->form == RPC_STREAM);
    ASSERT(r->form != RPC_STREAM || r->found == (body.n > 0));
    ASSERT((why == NULL) == (rpc_response_read(body, FUZZ_ID, a, &again) == NULL));
    ASSERT(why || (got.result.p == again.result.p && got.code == again.code));
    ASSERT(why || got.result.n > 0 || json_get(body, "error").n > 0 ||
           json_type_of(body) == JSON_ARRAY);
    arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len < 5 || len > FUZZ_BYTES_MAX) return 0;
    uint32_t cuts;
    struct rpc_reader whole, cut;
    size_t max = 64 + (size_t)data[0] * 16;
    memcpy(&cuts, data + 1, sizeof cuts);
    struct str text = str_n((const char *)data + 5, len - 5);
    int rc = kept(text, max, 0, &whole);
    ASSERT(rc == 0 || rc == 1 || rc == WOPR_E_TOO_BIG);
    ASSERT(kept(text, max, cuts | 1u, &cut) == rc);
    ASSERT(rc < 0 || str_eq(rpc_reader_body(&whole), rpc_reader_body(&cut)));
    if (rc >= 0) response_look(&whole, rc);
    rpc_reader_fini(&whole);
    rpc_reader_fini(&cut);
    return 0;
}
