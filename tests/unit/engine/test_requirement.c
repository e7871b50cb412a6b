/*
 * test_requirement.c: credentials that a type of nodes requires (NODE-5, CAP-36, EVT-24): without
 * one its node does not start, and a replay does as its source did, whatever is stored by then.
 */
#include "base/clock.h"
#include "fork_kit.h"
#include "nodes/nodes.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *const PROVIDERS[] = {"house", "open", NULL}, *const BYOK[] = {"open", NULL};
/* "test.needs0" ... */
static const struct {
    const char *id;
    enum credential_kind kind;
    const char *provider, *scope;
} NEEDS[] = {{"key", CREDENTIAL_API_KEY, "", "tenant"},
             {"key", CREDENTIAL_CUSTOM, "", "user"},
             {"key", CREDENTIAL_CUSTOM, "", "run"},
             {"m", CREDENTIAL_AI_PROVIDER, "none", "tenant"},
             {"m", CREDENTIAL_AI_PROVIDER, "house", "tenant"},
             {"m", CREDENTIAL_AI_PROVIDER, "open", "tenant"}};
enum { NEEDS_NR = sizeof NEEDS / sizeof *NEEDS };
static struct node_secret SECRETS[NEEDS_NR];

static void up(void) {
    W.cfg.limits = RUN_LIMITS_DEFAULT;
    W.cfg.limits.ai_providers = PROVIDERS;
    W.cfg.limits.byok_providers = BYOK;
    world_up();
    for (int i = 0; i < NEEDS_NR; i++) {
        char id[32];
        snprintf(id, sizeof id, "test.needs%d", i);
        SECRETS[i] = (struct node_secret){.id = str_c(NEEDS[i].id),
                                          .kind = NEEDS[i].kind,
                                          .provider = str_c(NEEDS[i].provider),
                                          .scope = str_c(NEEDS[i].scope),
                                          .raw = STR("{\"id\":\"of the manifest\"}")};
        const struct node_type t = {
            .type_id = id, .fn = exec_noop, .secrets = &SECRETS[i], .secrets_nr = 1};
        cr_assert_eq(node_registry_add(W.types, &t, NULL), 0);
    }
}
TestSuite(requirement, .init = up, .fini = world_down, .timeout = 100);

static void store_it(const char *name, enum credential_kind kind, const char *subject,
                     const char *provider) {
    struct wopr_error err;
    const struct credential c = {.id = {.tenant = STR("t1"),
                                        .test_mode = true,
                                        .issuer = str_c(*subject ? "test" : ""),
                                        .subject = str_c(subject),
                                        .name = str_c(name)},
                                 .kind = kind,
                                 .provider = str_c(provider),
                                 .updated_ms = clock_wall_ms()};
    cr_assert_eq(credential_put(W.store, W.vault, &c, STR("hush-hush-hush"), &err), 0, "%s",
                 err.message);
}

static struct str run_of(int need, const char *ref) {
    char node[300];
    snprintf(node, sizeof node,
             "{\"id\":\"n\",\"typeId\":\"test.needs%d\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":"
             "0},\"config\":{},\"inputs\":{}%s%s%s}",
             need, ref ? ",\"credentialsRef\":\"" : "", ref ? ref : "", ref ? "\"" : "");
    return world_start(world_def("w", node, 0, 0, 0, NULL), NULL);
}

/* code NULL: it completes. */
static struct str ends(int need, const char *ref, const char *code) {
    struct str run = run_of(need, ref);
    enum run_status s = world_wait_final(run);
    const struct event *e = world_event(run, EV_NODE_FAILED, 1);
    cr_expect_eq(s, code ? RUN_FAILED : RUN_COMPLETED, "%d: %s", need, world_story(run));
    cr_expect_eq(world_count(run, EV_NODE_STARTED), code ? 0u : 1u, "%d: %s", need,
                 world_story(run));
    if (code && e) {
        cr_expect_not_null(strstr(arena_cstr(W.a, e->payload), code), STR_FMT, STR_ARG(e->payload));
        cr_expect_not_null(strstr(arena_cstr(W.a, e->payload), "of the manifest"));
    }
    world_check_log(run);
    return run;
}

Test(requirement, a_node_starts_only_with_what_its_type_requires) { /* CAP-36 */
    ends(0, NULL, "credential_required");
    store_it("key", CREDENTIAL_CUSTOM, "", "");
    ends(0, NULL, "credential_required"); /* another kind */
    ends(1, NULL, "credential_required"); /* the tenant's is not the user's */
    store_it("key", CREDENTIAL_API_KEY, "", "");
    ends(0, NULL, NULL);
    store_it("key", CREDENTIAL_CUSTOM, "s1", "");
    ends(1, NULL, NULL);
    ends(0, NULL, NULL); /* the user's does not hide the tenant's */
    ends(2, NULL, "credential_unavailable");
    ends(3, NULL, "credential_unavailable");
    ends(4, NULL, NULL); /* the operator has its key */
    ends(5, NULL, "credential_required");
    ends(5, "mine", "credential_required");
    store_it("mine", CREDENTIAL_AI_PROVIDER, "s1", "other");
    ends(5, "mine", "credential_required");
    store_it("mine", CREDENTIAL_AI_PROVIDER, "s1", "open");
    ends(5, "mine", NULL);
}

Test(requirement, without_a_vault_no_credential_is_had) { /* CAP-36 (1) */
    world_engine_crash();
    W.cfg.vault = NULL;
    world_engine_start();
    ends(0, NULL, "credential_unavailable");
    ends(4, NULL, "credential_unavailable");
}

Test(requirement, a_replay_does_as_its_source_did) { /* FORK-14, EVT-24 */
    struct str refused = ends(0, NULL, "credential_required");
    store_it("key", CREDENTIAL_API_KEY, "", "");
    struct str had = ends(0, NULL, NULL);
    fork_replays_equal(refused, 0, RUN_FAILED);
    struct str again = fork_run(refused, FORK_BRANCH, 0);
    cr_expect_eq(world_wait_final(again), RUN_COMPLETED, "a branch looks anew");
    const struct credential_id id = {.tenant = STR("t1"),
                                     .test_mode = true,
                                     .name = STR("key"),
                                     .issuer = STR(""),
                                     .subject = STR("")};
    cr_assert_eq(store_credential_delete(W.store, &id, NULL), 0);
    fork_replays_equal(had, 0, RUN_COMPLETED);
}
