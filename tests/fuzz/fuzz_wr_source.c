/*
 * fuzz_wr_source.c: sources of WorkRail workflows.
 *  - any bytes compile, or are refused with problems that have a place;
 *  - what compiles reads back to the same bytes and hash, whatever the spelling of the source;
 *  - an agent that does every step with full output comes to an end, or the host says why not;
 *    each state on the way is a snapshot that reads back.
 */
#include "workrail/compile.h"
#include "workrail/interpret.h"
#include "workrail/prompt.h"

enum { FUZZ_BYTES_MAX = 1 << 16, STEPS_WALKED = 60 };
#define ARENA_BYTES ((size_t)256 << 20)
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_snapshot(struct arena *a, const struct wr_state *s) {
    struct str one, two;
    struct wr_state back;
    struct wr_fault f;
    ASSERT(wr_snapshot_write(s, a, &one, &f) == 0);
    ASSERT(wr_snapshot_read(one, a, &back, &f) == 0);
    ASSERT(wr_snapshot_write(&back, a, &two, &f) == 0 && str_eq(one, two));
}

static void walk(struct arena *a, const struct wr_workflow *w, uint8_t how) {
    struct wr_state at = {.kind = WR_S_INIT};
    struct str context = how & 1 ? STR("{\"n\":3,\"flag\":true,\"name\":\"Ada\"}") : STR_NONE;
    for (int i = 0; i < STEPS_WALKED && at.kind != WR_S_COMPLETE; i++) {
        struct wr_control said = {STR_NONE, (how >> (i % 7) & 1) != 0};
        struct wr_controls controls = {&said, how & 2 ? 1 : 0};
        struct wr_next next;
        struct wr_fault f = {.code = WR_FINE};
        struct str text;
        if (wr_interpret(w, &at, context, &controls, a, &next, &f) != 0) {
            ASSERT(f.code == WR_INTERNAL_ERROR || f.code == WR_OUT_OF_MEMORY);
            return;
        }
        at = next.state;
        check_snapshot(a, &at);
        if (at.kind == WR_S_COMPLETE) return;
        size_t step = wr_workflow_step(w, at.step.step_id);
        ASSERT(at.kind == WR_S_RUNNING && at.pending == 1 && step != WR_NO_AT);
        ASSERT(wr_prompt_text(w, &w->steps.v[step], STR_NONE, a, &text) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len > FUZZ_BYTES_MAX) return 0;
    struct arena *a = arena_new(ARENA_BYTES);
    struct wr_workflow w, again;
    struct wr_problems problems;
    struct wr_fault f = {.code = WR_FINE};
    struct str in = str_n((const char *)data, len), spelled;
    ASSERT(a != NULL);
    int rc = wr_compile(in, WR_PROJECT, a, &w, &problems, &f);
    if (rc != 0) {
        ASSERT(f.code == WR_COMPILE_ERROR || f.code == WR_OUT_OF_MEMORY);
        ASSERT(f.code == WR_OUT_OF_MEMORY || problems.nr > 0);
    } else {
        ASSERT(wr_workflow_read(w.bytes, a, &again, &f) == 0);
        ASSERT(memcmp(again.hash.s, w.hash.s, sizeof w.hash.s) == 0);
        ASSERT(wr_canonical(in, &JSON_LIMITS_STORED, a, &spelled, &f) == 0);
        ASSERT(wr_compile(spelled, WR_PROJECT, a, &again, &problems, &f) == 0);
        ASSERT(str_eq(again.bytes, w.bytes));
        walk(a, &w, len > 0 ? data[len / 2] : 0);
    }
    arena_free(a);
    return 0;
}
