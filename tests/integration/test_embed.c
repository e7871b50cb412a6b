/* test_embed.c: a program that embeds the host changes its executors while a run is under way
 * (include/wopr/wopr.h; VER-7, FORK-14). */
#include "codec/ident.h"
#include "harness.h"
#include "wopr/wopr.h"

#include <stdio.h>
#include <string.h>

static struct server sv; /* in this process: nothing to kill */
static struct wopr_host *host;

struct build {
    int64_t min, max;
};

static void price(struct wopr_node *n, void *ctx) {
    const struct build *b = ctx;
    int64_t version = -9;
    uint8_t x[32], y[32], z[32];
    char outputs[128];
    if (wopr_node_version(n, "pricing", b->min, b->max, &version) != 0) return;
    wopr_node_random(n, "quote", 0, x);
    wopr_node_random(n, "quote", 0, y);
    wopr_node_random(n, "quote", 1, z);
    bool chance = memcmp(x, y, sizeof x) == 0 && memcmp(x, z, sizeof x) != 0;
    snprintf(outputs, sizeof outputs, "{\"version\":%lld,\"chance\":%s,\"now\":%lld}",
             (long long)version, chance ? "true" : "false", (long long)wopr_node_now_ms(n));
    (void)wopr_node_complete(n, outputs);
}

static void host_up(struct build *b) {
    const struct wopr_node_type types[] = {{"vendor.acme.price", price, b}};
    /* its own types are known to this process only: it brings the workflow itself */
    const char *const settings[] = {
        "--port",      "0",    "--ops-port", "0",
        "--db",        sv.db,  "--api-key",  TEST_KEY,
        "--log-level", "warn", "--seed",     WOPR_SOURCE_DIR "/tests/integration/embedded",
        NULL};
    char err[512];
    cr_assert_eq(wopr_host_new(settings, types, 1, &host, err, sizeof err), 0, "%s", err);
    cr_assert_eq(wopr_host_start(host, err, sizeof err), 0, "%s", err);
    sv.port = wopr_host_port(host);
    snprintf(sv.base, sizeof sv.base, "http://127.0.0.1:%d", sv.port);
}

static void host_down(void) {
    wopr_host_stop(host);
    wopr_host_free(host);
    host = NULL;
}

static void up(void) {
    server_start(&sv, NULL); /* for its folder */
    cr_assert_eq(server_stop(&sv), 0);
}
static void down(void) {
    if (host) host_down();
    server_end(&sv);
}
TestSuite(embed, .init = up, .fini = down, .timeout = 300);

static const char *begin(void) {
    const char *run = create_run(&sv, "priced", NULL);
    while (!strstr(types_of(events_of(&sv, run)).p, "node.started:wait")) nap_ms(5);
    return run;
}

Test(embed, a_run_keeps_the_version_it_began_with /* VER-7 */) {
    struct build old = {0, 1}, new = {1, 4};
    host_up(&old);
    const char *run = begin();
    host_down();
    host_up(&new);
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    cr_expect_eq(int_at(snap, "nodeStates.one.outputs.version"), 1);
    cr_expect_eq(int_at(snap, "nodeStates.two.outputs.version"), 1);
    cr_expect(str_eqc(at(snap, "nodeStates.two.outputs.chance"), "true"));
    /* the logical clock is the time of node.started, which the snapshot shows */
    int64_t started;
    cr_assert(time_parse(text_at(snap, "nodeStates.two.startedAt"), &started));
    cr_expect_eq(int_at(snap, "nodeStates.two.outputs.now"), started);
}

Test(embed, a_version_that_is_gone_fails_the_node /* VER-7 */) {
    struct build old = {0, 1}, new = {2, 4};
    host_up(&old);
    const char *run = begin();
    host_down();
    host_up(&new);
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "error.code"), "version_out_of_range"), STR_FMT, STR_ARG(snap));
}
