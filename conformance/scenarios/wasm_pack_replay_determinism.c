/* wasm_pack_replay_determinism.c: public scenario wasm-pack-replay-determinism (WASM-16). */
#include "suite.h"

#define FLOW "conformance-wasm-pack-roundtrip"

SCENARIO(wasm_pack_replay_determinism);

static struct str greeting(const char *run) {
    (void)wait_terminal(run, 15000);
    struct str done = first_of(json_events(run), "node.completed");
    cr_assert_not_null(done.p);
    return text_at(done, "payload.outputs.greeting");
}

Test(wasm_pack_replay_determinism, equal_inputs_give_equal_greetings) {
    need_flag("capabilities.nodePackRuntimes.wasm.supported");
    need_fixture(FLOW);
    struct str a = greeting(create_run(FLOW, "\"inputs\":{\"name\":\"determinism-probe\"}"));
    struct str b = greeting(create_run(FLOW, "\"inputs\":{\"name\":\"determinism-probe\"}"));
    cr_expect(str_eq(a, b));
    cr_expect(str_eqc(a, "Hello, determinism-probe!"));
}

/* Plus: a replay gives it again. */
Test(wasm_pack_replay_determinism, a_replay_gives_the_same_greeting) {
    need_flag("capabilities.nodePackRuntimes.wasm.supported");
    need_flag("replay.supported");
    need_fixture(FLOW);
    const char *run = create_run(FLOW, "\"inputs\":{\"name\":\"again\"}");
    struct str first = greeting(run);
    struct reply r =
        ask("POST", run_path(run, ":fork"), "{\"mode\":\"replay\",\"fromSeq\":0}", NULL);
    cr_assert_eq(r.status, 201);
    const char *fork = fmt("%.*s", (int)text_at(r.json, "runId").n, text_at(r.json, "runId").p);
    cr_expect(str_eq(first, greeting(fork)));
}
