/* stream_text.c: ours, on the fixture conformance-stream-text: tokens of a mocked AI call in
 * messages mode (OPT-9, WF-34, SSE-19, FIX-23). */
#include "suite.h"

SCENARIO(stream_text);

static const char *start(const char *provider) {
    need_fixture("conformance-stream-text");
    if (!list_has(at(discovery(), "testing.mockProviders"), "stream-text"))
        cr_skip("testing.mockProviders does not list stream-text");
    return fmt("{\"workflowId\":\"conformance-stream-text\",\"configurable\":{\"mockProvider\":{"
               "\"id\":\"%s\",\"config\":{\"tokens\":[\"Hello\",\" \",\"world\",\"!\"],"
               "\"delayMsPerToken\":20,\"finishReason\":\"stop\",\"usage\":{\"promptTokens\":5,"
               "\"completionTokens\":4,\"totalTokens\":9}}}}}",
               provider);
}

Test(stream_text, messages_carry_the_tokens_in_order) {
    static const char *const tokens[] = {"Hello", " ", "world", "!"};
    struct reply r = ask("POST", "/v1/runs", start("stream-text"), NULL);
    cr_assert_eq(r.status, 201, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    const char *run = arena_cstr(test_arena(), text_at(r.json, "runId"));
    struct stream st = stream(run, "?streamMode=messages", NULL, 20000);
    cr_assert_eq(st.status, 200);
    cr_expect(st.closed_by_server);
    cr_assert_eq(st.n, COUNT(tokens), STR_FMT, STR_ARG(st.raw));
    for (size_t i = 0; i < st.n; i++) {
        bool last = false;
        cr_expect(str_eqc(st.v[i].event, "ai.message.chunk"));
        cr_expect(str_eqc(text_at(st.v[i].data, "chunk"), tokens[i]));
        cr_expect(str_eqc(text_at(st.v[i].data, "runId"), run));
        cr_assert(json_bool(at(st.v[i].data, "isLast"), &last));
        cr_expect_eq(last, i + 1 == st.n);
    }
    struct str end = st.v[st.n - 1].data;
    cr_expect(str_eqc(text_at(end, "meta.finishReason"), "stop"));
    cr_expect_eq(int_at(end, "meta.usage.totalTokens"), 9);
    cr_expect(str_eqc(text_at(wait_terminal(run, lifecycle_ms()), "status"), "completed"));
}

Test(stream_text, an_unknown_mock_provider_is_refused) {
    struct reply r = ask("POST", "/v1/runs", start("no-such-provider"), NULL);
    cr_assert_eq(r.status, 400, "%ld", r.status);
    cr_expect(str_eqc(text_at(r.json, "error"), "unsupported_mock_provider"));
}
