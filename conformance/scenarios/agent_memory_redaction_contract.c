/* agent_memory_redaction_contract.c: public scenario agentMemoryRedactionContract (MEM-10, MEM-32,
 * FIX-40). */
#include "memory_kit.h"

SCENARIO(agent_memory_redaction_contract);

static const char *const FLOW = "conformance-agent-memory-redaction";
static const char *const MARKER = "[REDACTED:conformance-test-secret]";

Test(agent_memory_redaction_contract, a_resolved_secret_is_stored_as_its_name) {
    need_memory(FLOW);
    struct str e = variable_of(run_to_end(FLOW, NULL, "completed"), "memoryReadback");
    const char *content = fmt(STR_FMT, STR_ARG(text_at(e, "content")));
    entry_check(e);
    cr_expect_not_null(strstr(content, MARKER), "%s", content);
}

/* The value of the canary is not known here; it is a text of 64 hexadecimal digits. */
static bool has_digits(const char *text) {
    size_t n = 0;
    for (; *text && n < 64; text++)
        n = (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f') ? n + 1 : 0;
    return n == 64;
}

Test(agent_memory_redaction_contract, its_value_is_in_no_event_and_no_snapshot) {
    need_memory(FLOW);
    const char *run = create_run(FLOW, NULL);
    struct str snap = wait_status(run, "completed", 30000);
    cr_expect(!has_digits(fmt(STR_FMT, STR_ARG(variable_of(snap, "memoryReadback")))));
    struct json_elements ev = json_events(run);
    for (size_t i = 0; i < ev.n; i++)
        cr_expect(!has_digits(fmt(STR_FMT, STR_ARG(at(ev.v[i], "payload")))), STR_FMT,
                  STR_ARG(ev.v[i]));
}
