/*
 * test_modules.c: node types of packs in runs (WASM-10 to WASM-18, FIX-52), with the program itself
 * as worker of the sandbox; what the modules do: tests/sandbox/kit.c.
 */
#include "base/fs.h"
#include "base/mem.h"
#include "engine_world.h"
#include "fork_kit.h"
#include "nodes/nodes.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>

static struct sandbox *BOX;
static char DIGEST[SANDBOX_DIGEST + 1];
static const char *const NAMES[] = {
    "vendor.test.kit.echo",   "vendor.test.kit.reads",     "vendor.test.kit.writes",
    "vendor.test.kit.asks",   "vendor.test.kit.suspends",  "vendor.test.kit.fails",
    "vendor.test.kit.spins",  "vendor.test.kit.grows",     "vendor.test.kit.recurs",
    "vendor.test.kit.noJson", "vendor.test.kit.noOutcome", "vendor.test.kit.judged"};
enum { NAMES_NR = sizeof NAMES / sizeof *NAMES };
static struct wasm_type TYPES[NAMES_NR];

static void box_up(const char *program) {
    const struct sandbox_config cfg = {program, 1, 64u * 1024 * 1024, 0};
    struct buf b;
    cr_assert_eq(sandbox_new(&cfg, &BOX, NULL), 0);
    cr_assert_eq(fs_read(WOPR_MODULES "/kit.wasm", SANDBOX_MODULE_MAX, &b), FS_READ_OK);
    cr_assert_eq(sandbox_keep(BOX, buf_str(&b), DIGEST, NULL), 0);
    buf_fini(&b);
    W.cfg.sandbox = BOX;
}

static void types_add(void) {
    for (int i = 0; i < NAMES_NR; i++) {
        bool endless = strstr(NAMES[i], "spins"); /* all others end by themselves */
        TYPES[i] = (struct wasm_type){
            .type_id = NAMES[i], .digest = DIGEST, .time_ms = endless ? 1000 : 30000};
        const struct node_type t = {.type_id = NAMES[i], .fn = exec_wasm, .ctx = &TYPES[i]};
        cr_assert_eq(node_registry_add(W.types, &t, NULL), 0);
    }
}

static void up(void) {
    box_up(WOPR_PROGRAM);
    world_up();
    types_add();
}

static void down(void) {
    sandbox_stop(BOX); /* its last reports need the engine */
    world_down();
    sandbox_free(BOX);
}

TestSuite(engine_modules, .init = up, .fini = down, .timeout = 200);

static struct str start(const char *type, const char *inputs, const char *more) {
    char *node = arena_cstr(
        W.a,
        arena_printf(W.a,
                     "{\"id\":\"n\",\"typeId\":\"vendor.test.kit.%s\",\"name\":\"n\",\"position\":"
                     "{\"x\":0,\"y\":0},\"config\":{},\"inputs\":{%s}}",
                     type, inputs));
    static const char vars[] = "{\"name\":\"v\",\"type\":\"array\",\"defaultValue\":[1,2]},"
                               "{\"name\":\"name\",\"type\":\"string\",\"defaultValue\":\"world\"},"
                               "{\"name\":\"secret\",\"type\":\"string\",\"sensitive\":true,"
                               "\"defaultValue\":\"hush-hush-hush\"}";
    return world_start(world_def("w", node, 0, vars, 0, more), NULL);
}

static const char *end_of(struct str run, enum ev_kind kind) {
    (void)world_wait_final(run);
    const struct event *e = world_event(run, kind, 1);
    return e ? arena_cstr(W.a, e->payload) : arena_cstr(W.a, str_c(world_story(run)));
}

static void has(const char *text, const char *part) {
    cr_expect_not_null(strstr(text, part), "%s lacks %s", text, part);
}

Test(engine_modules, the_variables_of_the_run_are_inputs_and_ports_lie_over_them) {
    const char *text =
        end_of(start("echo", "\"name\":{\"type\":\"static\",\"value\":\"port\"}", NULL),
               EV_NODE_COMPLETED);
    has(text, "\"inputs\":{\"name\":\"port\",\"v\":[1,2]}");
    has(text, "\"abiVersion\":1");
    cr_expect_null(strstr(text, "hush"), "a masked value reaches a module by a port alone");
}

Test(engine_modules, what_a_module_reads_and_writes_is_the_runs) {
    has(end_of(start("reads", "", NULL), EV_NODE_COMPLETED), "\"v\":[1,2],\"absent\":\"nothing\"");
    struct str run = start(
        "writes", "",
        ",\"channels\":{\"shut\":{\"reducer\":\"replace\",\"access\":{\"writers\":[\"other\"]}}}");
    has(end_of(run, EV_NODE_COMPLETED), "\"made\":{\"x\":1}");
    has(arena_cstr(W.a, world_var(run, "made")), "{\"x\":1}");
    cr_expect_eq(world_count(run, EV_LOG_APPENDED), 2u);
    world_check_log(run);
}

Test(engine_modules, a_module_is_told_which_of_its_writes_a_run_does_not_take) { /* WASM-7 */
    struct str run = start(
        "judged", "",
        ",\"channels\":{\"sum\":{\"reducer\":\"counter\"},\"typed\":{\"reducer\":\"replace\","
        "\"schema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"number\"}}}},"
        "\"lines\":{\"reducer\":\"append\",\"schema\":{\"type\":\"array\",\"items\":{\"type\":"
        "\"string\",\"pattern\":\"^[a-z]+$\"}}}}");
    has(end_of(run, EV_NODE_COMPLETED), "[10,0,10,0,10,0,10,10,0,10,10]");
    cr_expect_eq(world_count(run, EV_CHANNEL_WRITTEN), 4u, "%s", world_story(run));
    world_check_log(run);
}

Test(engine_modules, a_module_waits_for_people_in_its_midst) { /* WASM-15, first pattern */
    struct str run = start("asks", "", NULL);
    world_wait_status(run, RUN_WAITING_INPUT);
    cr_expect_eq(world_answer(run, "n", "{\"yes\":1}", NULL), 0);
    world_wait_event(run, EV_INTERRUPT_REQUESTED, 2);
    world_wait_status(run, RUN_WAITING_INPUT);
    cr_expect_eq(world_answer(run, "n", "7", NULL), 0);
    const char *text = end_of(run, EV_NODE_COMPLETED);
    has(text, "\"before\":[1,2]");
    has(text, "\"second\":7");
    cr_expect_eq(world_count(run, EV_VARIABLE_CHANGED), 1u, "written once: %s", world_story(run));
    world_check_log(run);
    int64_t end = world_head(run).next_seq;
    sandbox_stop(BOX); /* WASM-16: a replay needs no module */
    for (int64_t from = 0; from < end; from++) fork_replays_equal(run, from, RUN_COMPLETED);
}

Test(engine_modules, a_module_suspends_by_what_it_returns) { /* WASM-15, second pattern */
    struct str run = start("suspends", "", NULL);
    world_wait_status(run, RUN_WAITING_INPUT);
    cr_expect_eq(world_answer(run, "n", "{\"go\":true}", NULL), 0);
    const char *text = end_of(run, EV_NODE_COMPLETED);
    has(text, "\"resume\":{\"key\":\"k\",\"value\":");
    has(text, "\"go\":true");
    world_check_log(run);
}

Test(engine_modules, a_crash_in_the_midst_of_a_wait_loses_nothing) {
    struct str run = start("asks", "", NULL);
    world_wait_status(run, RUN_WAITING_INPUT);
    world_engine_crash();
    world_engine_start();
    cr_expect_eq(world_answer(run, "n", "1", NULL), 0);
    world_wait_event(run, EV_INTERRUPT_REQUESTED, 2);
    world_engine_crash();
    world_engine_start();
    world_wait_status(run, RUN_WAITING_INPUT);
    cr_expect_eq(world_answer(run, "n", "2", NULL), 0);
    has(end_of(run, EV_NODE_COMPLETED), "\"second\":2");
    cr_expect_eq(world_count(run, EV_VARIABLE_CHANGED), 1u);
    world_check_log(run);
}

Test(engine_modules, what_a_module_does_wrong_fails_its_node) { /* WASM-11, WASM-13, WASM-14 */
    static const struct {
        const char *type, *code;
        unsigned caps;
    } CASES[] = {{"fails", "out_of_tea", 0},
                 {"recurs", "wasm_trap", 0},
                 {"noJson", "validation_error", 0},
                 {"noOutcome", "validation_error", 0},
                 {"spins", "wasm_execution_time_exceeded", 1},
                 {"grows", "wasm_memory_cap_exceeded", 1}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct str run = start(CASES[i].type, "", NULL);
        char code[80];
        snprintf(code, sizeof code, "\"code\":\"%s\"", CASES[i].code);
        has(end_of(run, EV_NODE_FAILED), code);
        cr_expect_eq(world_count(run, EV_CAP_BREACHED), CASES[i].caps);
        world_check_log(run);
        fork_replays_equal(run, 0, RUN_FAILED);
    }
}

/* --- bytes that are not in memory any more (SANDBOX_BYTES_MAX) --- */

static atomic_int SOURCE_RC, SOURCE_ASKED;

static int source_read(void *ctx, const char *digest, struct buf *out, struct wopr_error *err) {
    struct buf b;
    (void)ctx;
    cr_expect_str_eq(digest, DIGEST);
    SOURCE_ASKED++;
    if (SOURCE_RC != 0) return wopr_error_set(err, SOURCE_RC, "the shelf says: install it again");
    cr_assert_eq(fs_read(WOPR_MODULES "/kit.wasm", SANDBOX_MODULE_MAX, &b), FS_READ_OK);
    buf_adds(out, buf_str(&b));
    buf_fini(&b);
    return 0;
}

/* Others, used after it, have all the room there is. */
static void module_forgotten(void) {
    char other[SANDBOX_DIGEST + 1];
    char *bytes = mem_zalloc(SANDBOX_MODULE_MAX);
    cr_assert_not_null(bytes);
    sandbox_source(BOX, source_read, NULL);
    for (unsigned i = 0; i < SANDBOX_BYTES_MAX / SANDBOX_MODULE_MAX; i++) {
        bytes[0] = (char)i;
        cr_assert_eq(sandbox_keep(BOX, str_n(bytes, SANDBOX_MODULE_MAX), other, NULL), 0);
    }
    mem_free(bytes);
}

static struct str start_retried(void) {
    return world_start(world_def("w",
                                 "{\"id\":\"n\",\"typeId\":\"vendor.test.kit.reads\",\"name\":"
                                 "\"n\",\"position\":{\"x\":0,\"y\":0},\"config\":{},\"inputs\":{},"
                                 "\"settings\":{\"maxRetries\":2,\"retryDelayMs\":1}}",
                                 0, 0, 0, 0),
                       NULL);
}

Test(engine_modules, a_module_that_cannot_be_read_again_fails_its_node_for_good_or_for_now) {
    static const struct {
        int rc;
        const char *code;
        int retries;
    } CASES[] = {{WOPR_E_PACK_INTEGRITY, "pack_integrity_failure", 0}, /* B8, PACK-64 */
                 {WOPR_E_PACK_LOAD, "pack_load_failure", 0},
                 {WOPR_E_IO, "wasm_worker_failed", 2}};
    module_forgotten();
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char code[80];
        SOURCE_RC = CASES[i].rc;
        SOURCE_ASKED = 0;
        struct str run = start_retried();
        const char *text = end_of(run, EV_NODE_FAILED);
        snprintf(code, sizeof code, "\"code\":\"%s\"", CASES[i].code);
        has(text, code);
        has(text, "the shelf says: install it again");
        cr_expect_eq(world_count(run, EV_NODE_RETRIED), (unsigned)CASES[i].retries);
        cr_expect_eq(SOURCE_ASKED, CASES[i].retries + 1, "%d", SOURCE_ASKED);
        world_check_log(run);
    }
    SOURCE_RC = 0;
    has(end_of(start_retried(), EV_NODE_COMPLETED), "absent");
    sandbox_source(BOX, NULL, NULL);
}

Test(engine_modules, a_cancelled_run_takes_its_module_along) { /* WASM-13 */
    TYPES[6].time_ms = 600000;
    struct str run = start("spins", "", NULL);
    world_wait_event(run, EV_NODE_STARTED, 1);
    cr_expect_eq(world_op(ENGINE_CANCEL, run, NULL), 0);
    cr_expect_eq(world_wait_final(run), RUN_CANCELLED);
    has(end_of(start("reads", "", NULL), EV_NODE_COMPLETED), "absent");
}
