/*
 * fuzz_worker.c: what a worker says (B4; WASM-11, WASM-15), as one sends it that was taken over.
 *  - any bytes on its socket, then its end: a report, an object with an outcome, or a code;
 *  - a report of any form gives its node an end: outputs, an error with a code, a question, or one
 *    more execution, which is asked for once; and only effects that a module may have.
 * First byte odd: the rest is a frame's text, with a head that fits; else the bytes as they come.
 */
#include "base/clock.h"
#include "nodes/nodes.h"
#include "sandbox/frame.h"
#include "sandbox/sandbox_int.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FUZZ_BYTES_MAX = 32768, ARENA_BYTES = 64 << 20, WAIT_MS = 10000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* What the host makes of these bytes; the caller frees report. */
static int hear(const uint8_t *data, size_t len, struct buf *report) {
    int ends[2];
    ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    ASSERT(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    for (size_t at = 0; at < len;) {
        ssize_t n = send(ends[1], data + at, len - at, MSG_NOSIGNAL);
        ASSERT(n > 0);
        at += (size_t)n;
    }
    close(ends[1]);
    struct child c = {0, ends[0]};
    int rc = slot_report_read(&c, report, clock_mono_ms() + WAIT_MS);
    close(ends[0]);
    return rc;
}

static bool effect_right(const struct node_effect *x) {
    return x->kind == EFFECT_LOG ||
           ((x->kind == EFFECT_VARIABLE || x->kind == EFFECT_CHANNEL) && x->value.n > 0);
}

static void take(struct str report, struct arena *a) {
    static const struct wasm_type type = {
        .type_id = "vendor.fuzz.it", .digest = "0", .time_ms = 1000};
    static struct wf_node def;
    static struct workflow wf;
    static struct node_state state;
    static struct run_state run;
    def = (struct wf_node){.id = STR("n")};
    wf = (struct workflow){.nodes = &def, .nodes_nr = 1};
    state = (struct node_state){.status = NODE_RUNNING};
    run = (struct run_state){.wf = &wf, .nodes = &state};
    struct node_answer answer = {.status = 200, .body = report};
    struct node_call call = {.a = a,
                             .run = &run,
                             .def = &def,
                             .config = STR("{}"),
                             .inputs = STR("{}"),
                             .answers = &answer,
                             .answers_nr = 1,
                             .type_ctx = (void *)(uintptr_t)&type};
    struct node_result out = {0};
    exec_wasm(&call, &out);
    if (arena_failed(a)) return;
    switch (out.outcome) {
    case NODE_OUT_DONE:
        ASSERT(out.outputs.n == 0 || json_type_of(out.outputs) == JSON_OBJECT);
        break;
    case NODE_OUT_FAIL:
        ASSERT(out.error_code.n > 0 && out.error_message.n > 0);
        break;
    case NODE_OUT_SUSPEND:
        ASSERT(out.prompt.kind != NULL && json_type_of(out.prompt.data) == JSON_OBJECT);
        break;
    default:
        ASSERT(out.outcome == NODE_OUT_CALL && out.request_ordinal == 1);
    }
    for (size_t i = 0; i < out.effects_nr; i++) ASSERT(effect_right(&out.effects[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    uint8_t framed[FRAME_HEAD + FUZZ_BYTES_MAX];
    if (len < 1 || len > FUZZ_BYTES_MAX) return 0;
    bool whole = data[0] & 1;
    const struct frame f = {FRAME_REPORT, (uint32_t)len - 1, 0};
    struct buf report;
    buf_init(&report, FRAME_REPORT_MAX);
    frame_head_write(&f, framed);
    memcpy(framed + FRAME_HEAD, data + 1, len - 1);
    int rc = whole ? hear(framed, FRAME_HEAD + len - 1, &report) : hear(data + 1, len - 1, &report);
    ASSERT(rc == 0 || rc == WOPR_E_CLOSED || rc == WOPR_E_INTERNAL);
    if (rc == 0) {
        struct arena *a = arena_new(ARENA_BYTES);
        ASSERT(a != NULL);
        ASSERT(json_type_of(json_get(buf_str(&report), "outcome")) == JSON_STRING);
        take(buf_str(&report), a);
        arena_free(a);
    }
    buf_fini(&report);
    return 0;
}
