/*
 * test_modules_removed.c: packs that are installed and removed while runs are created (NODE-3,
 * PACK-64): a run is created with a pack or a worker for each of its types, or not at all.  The
 * host's table of installed packs is one of the test, which answers what each moment shows.
 */
#include "nodes/nodes.h"
#include "worker_kit.h"

#include <criterion/criterion.h>

#define TYPE "vendor.test.moves"

static bool INSTALLED, REMEMBERED; /* now, and as a look a moment ago had it */
static const struct sha256 PACK = {{7}};

static void exec_of_pack(const struct node_call *call, struct node_result *out) {
    (void)call;
    SPY_CALLS++;
    out->outputs = STR("{\"by\":\"pack\"}");
}

static int packs_resolve(void *ctx, struct str tenant, struct engine_type_ask *types,
                         size_t types_nr, struct str definition, bool anew, size_t *wrong,
                         struct wopr_error *err) {
    (void)ctx;
    (void)tenant;
    (void)definition;
    (void)err;
    *wrong = 0;
    if (anew) REMEMBERED = INSTALLED;
    for (size_t i = 0; i < types_nr; i++) {
        types[i].found = REMEMBERED && str_eqc(types[i].type_id, TYPE);
        types[i].pack = PACK;
    }
    return 0;
}

static const struct node_type *packs_type(void *ctx, const struct sha256 *pack, struct str type_id,
                                          struct wopr_error *err) {
    static const struct node_type t = {.type_id = TYPE, .fn = exec_of_pack};
    (void)ctx;
    (void)err;
    return sha256_eq(pack, &PACK) && str_eqc(type_id, TYPE) ? &t : NULL;
}

static void up(void) {
    INSTALLED = REMEMBERED = false;
    W.cfg.modules = (struct engine_modules){.resolve = packs_resolve, .type = packs_type};
    world_up();
}

TestSuite(engine_modules_removed, .init = up, .fini = world_down, .timeout = 200);

static struct workflow *flow_put(void) {
    return world_put(world_def("w", NODE("n", TYPE, "", ""), 0, 0, 0, 0));
}

/* What a request is asked first, on another thread than that of the creation. */
static int flow_ask(void) {
    struct wopr_error err = {0};
    struct workflow *wf = NULL;
    int rc = engine_workflow(W.engine, STR("t1"), true, STR("w"), &wf, &err);
    workflow_unref(wf);
    return rc;
}

static void refused_clearly(int rc, const struct wopr_error *err) {
    cr_expect_eq(rc, WOPR_E_VALIDATION, "%d %s", rc, err->message);
    EXPECT_STR(err->pointer, "/nodes/0/typeId");
    cr_expect_not_null(strstr(err->message, "\"" TYPE "\""), "%s", err->message);
    cr_expect_not_null(strstr(err->message, "wopr packs install"), "%s", err->message);
}

Test(engine_modules_removed, between_check_and_creation_a_removal_refuses_the_run) {
    struct wopr_error err = {0};
    struct workflow *wf = flow_put();
    INSTALLED = true;
    cr_assert_eq(flow_ask(), 0);
    INSTALLED = REMEMBERED = false; /* and the moment that a look is good for is over */
    int rc = world_create_try(wf, "{}", &err);
    refused_clearly(rc, &err);
    cr_expect_eq(world_sql_number("SELECT count(*) FROM runs"), 0);
    rc = flow_ask();
    cr_expect_eq(rc, WOPR_E_VALIDATION, "as one that asks afterwards");
    workflow_unref(wf);
}

Test(engine_modules_removed, a_look_before_the_install_gives_no_type_to_workers) {
    struct workflow *wf = flow_put();
    INSTALLED = true;
    cr_assert_eq(flow_ask(), 0);
    REMEMBERED = false; /* a slower look that began before the install */
    struct str run = world_create(wf, "{}", NULL);
    cr_expect_eq(world_wait_final(run), RUN_COMPLETED, "%s", world_story(run));
    cr_expect_eq(SPY_CALLS, 1);
    world_check_log(run);
    workflow_unref(wf);
}

Test(engine_modules_removed, a_run_that_was_created_keeps_the_pack_that_is_removed) {
    struct str def = world_def(
        "w", NODE("h", "core.delay", "\"ms\":300", "") "," NODE("n", TYPE, "", ""),
        EDGE("e", "h", "n", ""), 0, 0, 0);
    struct workflow *wf = world_put(def);
    INSTALLED = true;
    cr_assert_eq(flow_ask(), 0);
    struct str run = world_create(wf, "{}", NULL);
    INSTALLED = REMEMBERED = false;
    world_engine_crash();
    world_engine_start();
    cr_expect_eq(world_wait_final(run), RUN_COMPLETED, "%s", world_story(run));
    world_check_log(run);
    workflow_unref(wf);
}

Test(engine_modules_removed,
     a_pack_installed_later_takes_no_node_from_workers) { /* WRK-4, EVT-24 */
    struct str def = world_def("w", NODE("h", "test.hold", "", "") "," NODE("n", TYPE, "", ""),
                               EDGE("e", "h", "n", ""), 0, 0, 0);
    struct workflow *wf = world_put(def);
    worker_type_put(TYPE);
    cr_assert_eq(flow_ask(), 0);
    struct str run = world_create(wf, "{}", NULL);
    cr_assert_eq(world_wait_sem(&HOLD_HELD), 0);
    cr_assert_eq(worker_type_remove(TYPE), 0);
    INSTALLED = REMEMBERED = true;
    sem_post(&HOLD_GO);
    cr_expect_eq(world_wait_final(run), RUN_FAILED, "%s", world_story(run));
    const struct event *e = world_event(run, EV_NODE_FAILED, 1);
    cr_assert_not_null(e);
    cr_expect_not_null(strstr(arena_cstr(W.a, e->payload), "unsupported_node_type"));
    world_check_log(run);
    workflow_unref(wf);
}
