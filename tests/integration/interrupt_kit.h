/*
 * interrupt_kit.h: what the tests of interrupts share: gates of their own, waiting runs, answers.
 */
#ifndef WOPR_TESTS_INTERRUPT_KIT_H
#define WOPR_TESTS_INTERRUPT_KIT_H

#include "harness.h"

#include <stdio.h>

#define ACCEPT     "{\"resumeValue\":{\"action\":\"accept\"}}"
#define REJECT     "{\"resumeValue\":{\"action\":\"reject\"}}"
#define ORDER(id)  "{\"resumeValue\":{\"orderId\":\"" id "\",\"status\":\"completed\"}}"
#define THE_ORDER  ORDER("fixture-order-1")
#define KIT_UNUSED __attribute__((unused))
#define NO_BEARER                                                                                  \
    (const char *const[]) { "Authorization:", NULL }
#define GATE_ACTIONS "\"title\":\"T\",\"actions\":[\"accept\",\"reject\"]"

/* Store a workflow of one approval gate named "gate" with these config members. */
KIT_UNUSED static void put_gate(const struct server *s, const char *id, const char *config) {
    const char *path = fmt("%s/%s.json", s->dir, id);
    const char *const args[] = {"workflow", "put", path, NULL};
    struct str out = STR_NONE, err = STR_NONE;
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fprintf(f,
            "{\"id\":\"%s\",\"name\":\"G\",\"version\":\"1\",\"nodes\":[{\"id\":\"gate\","
            "\"typeId\":\"core.approvalGate\",\"name\":\"G\",\"position\":{\"x\":0,\"y\":0},"
            "\"config\":{%s},\"inputs\":{}}],\"edges\":[],\"triggers\":[],\"variables\":[],"
            "\"metadata\":{},\"settings\":{}}",
            id, config);
    fclose(f);
    cr_assert_eq(program(s, args, &out, &err), 0, STR_FMT, STR_ARG(err));
}

/* A gate that asks again when it is answered. */
KIT_UNUSED static void put_gate_again(const struct server *s, const char *id) {
    struct reply r =
        ask(s, "PUT", fmt("/v1/host/wopr/workflows/%s?force=true", id),
            fmt("{\"id\":\"%s\",\"name\":\"G\",\"version\":\"1\",\"nodes\":[{\"id\":\"gate\","
                "\"typeId\":"
                "\"core.approvalGate\",\"name\":\"G\",\"position\":{\"x\":0,\"y\":0},\"config\":"
                "{" GATE_ACTIONS "},\"inputs\":{}},{\"id\":\"then\",\"typeId\":\"core.identity\","
                                 "\"name\":\"T\",\"position\":"
                "{\"x\":0,\"y\":0},\"config\":{},\"inputs\":{}}],\"edges\":[{\"id\":\"a\","
                "\"sourceNodeId\":"
                "\"gate\",\"targetNodeId\":\"then\"},{\"id\":\"b\",\"sourceNodeId\":\"then\","
                "\"targetNodeId\":"
                "\"gate\"}],\"triggers\":[],\"variables\":[],\"metadata\":{},\"settings\":{"
                "\"maxLoopbackIterations\":9}}",
                id),
            NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
}

/* A run that waits; *snap may be NULL. */
KIT_UNUSED static const char *waiting(const struct server *s, const char *workflow,
                                      const char *status, struct str *snap) {
    const char *run = create_run(s, workflow, NULL);
    struct str seen = wait_status(s, run, status);
    if (snap != NULL) *snap = seen;
    return run;
}
KIT_UNUSED static const char *approval(const struct server *s) {
    return waiting(s, "conformance-approval", "waiting-approval", NULL);
}

KIT_UNUSED static struct reply resolve(const struct server *s, const char *run, const char *node,
                                       const char *body) {
    return ask(s, "POST", fmt("/v1/runs/%s/interrupts/%s", run, node), body, NULL);
}

KIT_UNUSED static struct str snapshot_of(const struct server *s, const char *run) {
    struct reply r = ask(s, "GET", fmt("/v1/runs/%s", run), NULL, NULL);
    cr_assert_eq(r.status, 200);
    return r.body;
}

/* The id of what the run asks, once it is not that of before. */
KIT_UNUSED static struct str question_after(const struct server *s, const char *run,
                                            struct str before) {
    for (int i = 0; i < 500; i++) {
        struct str id = text_at(snapshot_of(s, run), "interrupt.interruptId");
        if (id.n > 0 && !str_eq(id, before)) return id;
        nap_ms(20);
    }
    cr_assert_fail("the run does not ask again");
    return STR_NONE;
}

KIT_UNUSED static struct str token_of(const struct server *s, const char *run) {
    return text_at(snapshot_of(s, run), "interrupt.interruptToken");
}

KIT_UNUSED static struct reply by_token(const struct server *s, const char *method,
                                        struct str token, const char *body) {
    return ask(s, method, fmt("/v1/interrupts/" STR_FMT, STR_ARG(token)), body, NO_BEARER);
}

/* "wopr ARGS..." on the server's file; stdout without its line end. */
KIT_UNUSED static struct str wopr(const struct server *s, const char *const *args) {
    struct str out = STR_NONE, err = STR_NONE;
    cr_assert_eq(program(s, args, &out, &err), 0, "%s: " STR_FMT, args[0], STR_ARG(err));
    while (out.n > 0 && out.p[out.n - 1] == '\n') out.n--;
    return out;
}

/* A bearer line for a new key. */
KIT_UNUSED static const char *key_with(const struct server *s, const char *scopes,
                                       const char *tenant) {
    const char *const args[] = {"keys",   "create",   "--no-expiry", "--scopes", scopes,
                                "--test", "--tenant", tenant,        NULL};
    struct str key = wopr(s, args);
    return fmt("Authorization: Bearer " STR_FMT, STR_ARG(key));
}

#endif
