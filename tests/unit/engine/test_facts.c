/* test_facts.c: what callers say is written by the resolution layer alone, and one name has one
 * value (INT-27, INT-28, NODE-76, CHAN-22, CHAN-28). */
#include "engine_world.h"

#include "codec/json.h"

#include <criterion/criterion.h>
#include <stdio.h>

static void up(void) {
    world_virtual_time();
    world_up();
}
TestSuite(engine_facts, .init = up, .fini = world_down);

static int vote_by(struct str run, const char *voter) {
    char value[128];
    snprintf(value, sizeof value, "{\"action\":\"accept\",\"voter\":\"%s\"}", voter);
    return world_answer(run, "g", value, NULL);
}

#define VOTE                  "{\"userId\":\"evil\",\"action\":\"accept\"}"
#define NAMED                 "\\\"_approval\\\"+\\\"Votes:g\\\""
#define PORT_EXPR(name, text) "\"" name "\":{\"type\":\"expression\",\"expression\":\"" text "\"}"
#define VARIABLE_EVIL                                                                              \
    "{\"name\":\"_approvalVotes:g\",\"type\":\"object\",\"defaultValue\":" VOTE "}"

static const struct forgery {
    const char *node, *variables, *more;
    bool stored; /* refused at registration today, but a host may have it from before */
    bool writes; /* the node has to fail */
} FORGERIES[] = {
    {NODE("f", "core.setVariable", "\"name\":\"_approvalVotes:g\",\"value\":" VOTE, ""), 0, 0, true,
     true},
    {NODE("f", "core.channelWrite", "\"channelName\":\"_approvalVotes:g\",\"value\":" VOTE, ""), 0,
     0, true, true},
    {NODE("f", "core.setVariable", "\"value\":" VOTE, PORT_EXPR("name", NAMED)), 0, 0, false, true},
    {NODE("f", "core.channelWrite", "\"value\":" VOTE, PORT_EXPR("channelName", NAMED)), 0, 0,
     false, true},
    {NODE("f", "core.channelWrite", "\"value\":" VOTE, PORT_EXPR("channelName", NAMED)), 0,
     ",\"channels\":{\"c\":{\"reducer\":\"append\"}}", false, true},
    {NODE("f", "core.setVariable", "\"value\":" VOTE, PORT_EXPR("name", NAMED)), 0,
     ",\"channels\":{\"c\":{\"reducer\":\"append\"}}", false, true},
    {NODE("f", "core.channelWrite", "\"channelName\":\"_approvalVotes:g\",\"value\":" VOTE, ""), 0,
     ",\"channels\":{\"_approvalVotes:g\":{\"reducer\":\"votes\"}}", true, true},
    {NODE("f", "core.subWorkflow",
          "\"workflowId\":\"child\",\"outputMapping\":{\"_approvalVotes:g\":\"v\"}", ""),
     0, 0, true, true},
    {NODE("f", "test.forge", "", ""), 0, 0, false, true},
    {NODE("f", "core.noop", "", ""), VARIABLE_EVIL, 0, true, false},
};

static void child_put(void) {
    workflow_unref(world_put(
        world_def("child", NODE("n", "core.noop", "", ""), 0,
                  "{\"name\":\"v\",\"type\":\"object\",\"defaultValue\":" VOTE "}", 0, 0)));
}

static void forge_and_vote(const struct forgery *f, size_t row) {
    char nodes[2048], edges[512];
    snprintf(nodes, sizeof nodes,
             NODE("g", "core.approvalGate",
                  "\"requiredApprovals\":2,\"approversList\":[\"alice\",\"bob\"],\"ttlMs\":1000",
                  "") ",%s," NODE("after", "core.noop", "", ""),
             f->node);
    snprintf(edges, sizeof edges, EDGE("e", "f", "after", ",\"triggerRule\":\"all_complete\""));
    W.accepted = f->stored;
    struct str r = world_start(world_def("w", nodes, edges, f->variables, 0, f->more),
                               "{\"_approvalVotes:g\":" VOTE "}");
    W.accepted = false;
    world_wait_status(r, RUN_WAITING_APPROVAL);
    world_wait_event(r, EV_NODE_COMPLETED, f->writes ? 1 : 2);
    cr_expect_eq(world_count(r, EV_NODE_FAILED), f->writes, "row %zu", row);
    cr_expect_eq(world_count(r, EV_CHANNEL_WRITTEN), 0, "row %zu", row);
    if (f->writes) {
        struct str e = json_get(world_event(r, EV_NODE_FAILED, 1)->payload, "error");
        cr_expect(str_eqc(json_get(e, "code"), "\"validation_error\""), "row %zu " STR_FMT, row,
                  STR_ARG(e));
        cr_expect(strstr(arena_cstr(W.a, e), "reserved for what callers say"), STR_FMT, STR_ARG(e));
    }
    cr_expect_eq(vote_by(r, "alice"), 0);
    cr_expect_eq(vote_by(r, "alice"), 0);
    cr_expect_eq(vote_by(r, "evil"), WOPR_E_FORBIDDEN, "row %zu", row);
    cr_expect_eq(world_count(r, EV_INTERRUPT_RESOLVED), 0u, "row %zu: alice alone decided", row);
    world_time_skip(5000); /* the config of the gate cannot make votes grow old */
    cr_expect_eq(vote_by(r, "bob"), 0);
    (void)world_wait_final(r);
    cr_expect_eq(world_count(r, EV_INTERRUPT_RESOLVED), 1u, "row %zu", row);
    struct str by = json_get(world_event(r, EV_APPROVAL_RECEIVED, 1)->payload, "decidedBy");
    cr_expect(str_eqc(by, "\"quorum:2-of-2\""), STR_FMT, STR_ARG(by));
    world_check_log(r);
}

Test(engine_facts, quorum_cannot_be_forged /* INT-27, INT-28, NODE-76 */) {
    child_put();
    for (size_t i = 0; i < sizeof FORGERIES / sizeof FORGERIES[0]; i++)
        forge_and_vote(&FORGERIES[i], i);
}

/* --- one name, one value --- */

static void clash(const char *first, const char *second, const char *variables, bool stored) {
    char nodes[1024];
    snprintf(nodes, sizeof nodes, "%s,%s", first, second);
    W.accepted = stored;
    struct str r =
        world_start(world_def("w", nodes, EDGE("e", "a", "b", ""), variables, 0, 0), NULL);
    W.accepted = false;
    cr_expect_eq(world_wait_final(r), RUN_FAILED, "%s %s", first, second);
    cr_assert_eq(world_count(r, EV_NODE_FAILED), 1u);
    struct str e = json_get(world_event(r, EV_NODE_FAILED, 1)->payload, "error");
    cr_expect(str_eqc(json_get(e, "code"), "\"validation_error\""), STR_FMT, STR_ARG(e));
    cr_expect(strstr(arena_cstr(W.a, e), "use another name"), STR_FMT, STR_ARG(e));
    cr_expect_leq(world_count(r, EV_VARIABLE_CHANGED) + world_count(r, EV_CHANNEL_WRITTEN), 1u);
}

#define X_PORT(name) PORT_EXPR(name, "\\\"x\\\"")

Test(engine_facts, one_name_one_value /* CHAN-28 */) {
    static const char *const x = "{\"name\":\"x\",\"type\":\"number\"}";
    clash(NODE("a", "core.channelWrite", "\"channelName\":\"x\",\"value\":1", ""),
          NODE("b", "core.setVariable", "\"value\":7", X_PORT("name")), 0, false);
    clash(NODE("a", "core.setVariable", "\"name\":\"x\",\"value\":7", ""),
          NODE("b", "core.channelWrite", "\"value\":1", X_PORT("channelName")), 0, false);
    clash(NODE("a", "core.noop", "", ""),
          NODE("b", "core.channelWrite", "\"value\":1", X_PORT("channelName")), x, false);
    clash(NODE("a", "core.noop", "", ""),
          NODE("b", "core.channelWrite", "\"channelName\":\"x\",\"value\":1", ""), x, true);
}
