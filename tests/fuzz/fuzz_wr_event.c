/*
 * fuzz_wr_event.c: stored bytes of WorkRail sessions: events, manifest records, snapshots, compiled
 * workflows; and arguments of the tools.
 *  - any bytes are refused with a named fault, or read, and writing what was read gives the bytes;
 *  - lines are folded into a session as events: what the fold takes, the projections can read.
 */
#include "base/arena.h"
#include "workrail/resume.h"

enum { FUZZ_BYTES_MAX = 1 << 15, LINES_MAX = 200 };
#define ARENA_BYTES ((size_t)256 << 20)
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool known(const struct wr_fault *f) {
    return f->code == WR_SCHEMA_INVALID || f->code == WR_SCHEMA_UNKNOWN_VERSION ||
           f->code == WR_OUT_OF_MEMORY;
}

static bool check_event(struct arena *a, struct str in, struct wr_event *e) {
    struct wr_fault f = {.code = WR_FINE};
    if (wr_event_read(in, a, e, &f) != 0) {
        ASSERT(known(&f));
        return false;
    }
    struct wr_event again = *e;
    ASSERT(wr_event_seal(&again, a, &f) == 0 && str_eq(again.bytes, in));
    return true;
}

static void check_documents(struct arena *a, struct str in) {
    struct wr_record r;
    struct wr_state s;
    struct wr_workflow w;
    struct wr_fault f = {.code = WR_FINE};
    struct str bytes;
    if (wr_record_read(in, a, &r, &f) == 0)
        ASSERT(wr_record_seal(&r, a, &f) == 0 && str_eq(r.bytes, in));
    else ASSERT(known(&f));
    if (wr_snapshot_read(in, a, &s, &f) == 0)
        ASSERT(wr_snapshot_write(&s, a, &bytes, &f) == 0 && str_eq(bytes, in));
    else ASSERT(known(&f));
    if (wr_workflow_read(in, a, &w, &f) == 0)
        ASSERT(wr_workflow_seal(&w, a, &f) == 0 && str_eq(w.bytes, in));
    else ASSERT(known(&f));
}

static void check_calls(struct arena *a, struct str in) {
    const struct json_limits lim = {FUZZ_BYTES_MAX, 128};
    struct wr_call call;
    if (json_check(in, &lim, NULL) != 0) return;
    for (int tool = 0; tool < WR_TOOLS; tool++) {
        struct wr_fault f = {.code = WR_FINE};
        if (wr_call_read((enum wr_tool)tool, in, a, &call, &f) != 0)
            ASSERT(f.code == WR_VALIDATION_ERROR || f.code == WR_OUT_OF_MEMORY);
    }
}

static void check_projections(struct arena *a, const struct wr_session *s) {
    for (size_t run = 0; run < s->runs_nr; run++) {
        struct wr_tip *tips, preferred;
        struct wr_gap *gaps;
        enum wr_run_status status;
        struct wr_fault f;
        size_t nr;
        ASSERT(wr_run_tips(s, run, a, &tips, &nr, &preferred) == 0);
        ASSERT((preferred.node == WR_NO_NODE) == (s->runs[run].nodes_nr == 0));
        ASSERT(wr_run_gaps(s, run, a, &gaps, &nr) == 0);
        for (int state = WR_S_INIT; state <= WR_S_COMPLETE; state++)
            ASSERT(wr_run_status(s, run, preferred.node, state, &status, &f) == 0);
    }
    for (size_t node = 0; node < s->nodes_nr; node++) {
        const struct wr_event **v;
        size_t nr;
        ASSERT(wr_node_outputs(s, node, WR_RECAP, a, &v, &nr) == 0 && nr <= 1);
        ASSERT((nr == 1) == (s->nodes[node].recap != NULL));
        (void)wr_node_preferences(s, node, INT64_MAX);
        (void)wr_node_context(s, node);
        (void)wr_node_capability(s, node, WR_DELEGATION, true);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len > FUZZ_BYTES_MAX) return 0;
    struct arena *a = arena_new(ARENA_BYTES);
    struct str rest = str_n((const char *)data, len), line;
    ASSERT(a != NULL);
    struct wr_session *s = wr_session_new(a);
    ASSERT(s != NULL);
    check_documents(a, rest);
    check_calls(a, rest);
    for (int i = 0; i < LINES_MAX && rest.n > 0; i++) {
        struct str more = STR_NONE;
        struct wr_event *e = ARENA_NEW(a, struct wr_event);
        if (!str_cut(rest, '\n', &line, &more)) line = rest;
        rest = more;
        ASSERT(e != NULL);
        /* The first refusal ends the session (session.h). */
        if (!check_event(a, line, e) || wr_session_add(s, e, NULL) != 0) break;
    }
    check_projections(a, s);
    wr_session_free(s);
    arena_free(a);
    return 0;
}
