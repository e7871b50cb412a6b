/*
 * test_message.c: bodies and signatures (HOOK-5, HOOK-8 to HOOK-10).  What is expected was made by
 * other implementations: the vectors of RFC 4231, and hmac and hashlib of Python.
 */
#include "base/mem.h"
#include "hooks/message.h"

#include <criterion/criterion.h>

Test(hook_message, signatures_are_hmac_sha256 /* RFC 4231, test cases 2 and 1 */) {
    char out[HOOK_SIGNATURE_SIZE];
    hook_sign(STR("Jefe"), STR("what do ya want for nothing?"), out);
    cr_expect_str_eq(out,
                     "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    hook_sign(
        STR("\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b"),
        STR("Hi There"), out);
    cr_expect_str_eq(out,
                     "sha256=b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
}

/* python3: hmac.new(("ab" * 32).encode(), b'1700000000.{"a":1}', "sha256").hexdigest() */
Test(hook_message, the_key_is_the_text_of_the_secret /* HOOK-9 */) {
    char out[HOOK_SIGNATURE_SIZE];
    hook_sign(STR("abababababababababababababababababababababababababababababababab"),
              STR("1700000000.{\"a\":1}"), out);
    cr_expect_str_eq(out,
                     "sha256=c1358124b3a94733bcf78018138779e2b252e542185db6079095ee4b3c5356c6");
}

/* python3: hashlib.sha256(("ab" * 32).encode()).hexdigest()[:8] */
Test(hook_message, a_fingerprint_is_the_beginning_of_the_digest_of_the_text /* HOOK-5 */) {
    char out[HOOK_FINGERPRINT_LEN + 1];
    hook_fingerprint(STR("abababababababababababababababababababababababababababababababab"), out);
    cr_expect_str_eq(out, "271a413b");
}

static void doc_render(struct str run_id, const struct event *e, struct buf *out) {
    buf_addf(out, "{\"of\":\"" STR_FMT "\",\"sequence\":%d}", STR_ARG(run_id), (int)e->seq);
}

Test(hook_message, the_body_holds_the_event_as_it_is_rendered_elsewhere /* HOOK-10 */) {
    const struct event e = {.seq = 7};
    size_t body_at = 0;
    struct buf b;
    buf_init(&b, 4096);
    hook_message(doc_render, STR("run_1"), STR("ten\"ant"), &e, 1700000000, &b, &body_at);
    cr_assert_not(buf_failed(&b));
    cr_expect_str_eq(b.p,
                     "1700000000.{\"runId\":\"run_1\",\"workspaceId\":\"ten\\\"ant\",\"event\":"
                     "{\"of\":\"run_1\",\"sequence\":7}}");
    cr_expect_eq(b.p[body_at], '{');
    cr_expect_eq(body_at, 11);
    buf_fini(&b);
}

Test(hook_message, an_event_that_is_too_large_is_seen) {
    const struct event e = {.seq = 7};
    size_t body_at = 0;
    struct buf b;
    buf_init(&b, 40);
    hook_message(doc_render, STR("run_1"), STR("t"), &e, 1700000000, &b, &body_at);
    cr_expect(buf_failed(&b));
    buf_fini(&b);
}
