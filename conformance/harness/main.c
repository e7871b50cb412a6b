/*
 * main.c: names the host or starts one, runs the scenarios, counts them per profile.
 * OPENWOP_BASE_URL (with OPENWOP_API_KEY): the host to test; else WOPR_PROGRAM is started for it.
 * OPENWOP_OTEL_COLLECTOR=true: collect telemetry at OPENWOP_OTEL_COLLECTOR_PORT (4318); of an own
 * host it is always collected.  In the same way OPENWOP_MCP_FAKE_SERVER and OPENWOP_A2A_FAKE_PEER,
 * with _PORT, for hosts that were configured with http://127.0.0.1:PORT and .../agent.json there.
 * OPENWOP_CONFORMANCE_SCHEMAS=off: see verify.h.
 * OPENWOP_CONFORMANCE_RESULTS: a file that gets one line per test, "passed suite::name".
 * Exit status: 0 nothing failed, 1 something did, 2 could not start.
 */
#include "collector.h"
#include "fakes.h"
#include "host.h"
#include "profiles.h"

#include "base/str.h"

#include <criterion/criterion.h>
#include <criterion/hooks.h>
#include <criterion/options.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESULTS_MAX 1024
#define REASON_MAX  256
#define OTLP_PORT   4318

enum outcome { PASSED, FAILED, SKIPPED, OUTCOME_NR };
static const char *const OUTCOMES[] = {"passed", "failed", "skipped"};

static struct result {
    const char *suite, *name;
    enum outcome outcome;
    char reason[REASON_MAX];
} results[RESULTS_MAX];
static size_t results_nr;

ReportHook(POST_TEST)(struct criterion_test_stats *s) {
    if (results_nr == RESULTS_MAX) return;
    struct result *r = &results[results_nr++];
    r->suite = s->test->category;
    r->name = s->test->name;
    r->outcome = s->test_status == CR_STATUS_SKIPPED  ? SKIPPED
                 : s->test_status == CR_STATUS_PASSED ? PASSED
                                                      : FAILED;
    if (s->crashed || s->timed_out) r->outcome = FAILED;
    snprintf(r->reason, sizeof r->reason, "%s", s->message != NULL ? s->message : "");
}

ReportHook(TEST_CRASH)(struct criterion_test_stats *s) {
    for (size_t i = 0; i < results_nr; i++)
        if (results[i].name == s->test->name && results[i].suite == s->test->category) return;
    if (results_nr == RESULTS_MAX) return;
    results[results_nr++] = (struct result){
        .suite = s->test->category, .name = s->test->name, .outcome = FAILED, .reason = "crashed"};
}

/* A test that runs out of time ends without POST_TEST. */
static const struct criterion_test *started[RESULTS_MAX];
static size_t started_nr;

ReportHook(PRE_INIT)(struct criterion_test *t) {
    if (started_nr < RESULTS_MAX) started[started_nr++] = t;
}

static bool has_result(const struct criterion_test *t) {
    for (size_t i = 0; i < results_nr; i++)
        if (strcmp(results[i].name, t->name) == 0 && strcmp(results[i].suite, t->category) == 0)
            return true;
    return false;
}

static void miss_nobody(void) {
    for (size_t i = 0; i < started_nr; i++) {
        if (has_result(started[i]) || results_nr == RESULTS_MAX) continue;
        printf("%s::%s began and did not end: out of time?\n", started[i]->category,
               started[i]->name);
        results[results_nr++] = (struct result){
            .suite = started[i]->category, .name = started[i]->name, .outcome = FAILED};
    }
}

static bool write_results(const char *path) {
    FILE *f = fopen(path, "w");
    if (f == NULL) return false;
    for (size_t i = 0; i < results_nr; i++)
        fprintf(f, "%s %s::%s\n", OUTCOMES[results[i].outcome], results[i].suite, results[i].name);
    return fclose(f) == 0;
}

static void count(const char *profile, unsigned n[OUTCOME_NR]) {
    for (size_t i = 0; i < results_nr; i++) {
        const struct scenario *s = scenario_of(results[i].suite);
        if (profile == NULL || (s != NULL && strcmp(s->profile, profile) == 0))
            n[results[i].outcome]++;
    }
}

/* The number that failed, with scenarios the table does not know counted as failures. */
static unsigned summary(void) {
    unsigned total[OUTCOME_NR] = {0}, unknown = 0;
    const char *schemas = getenv("OPENWOP_CONFORMANCE_SCHEMAS");
    for (size_t i = 0; i < results_nr; i++) {
        const struct result *r = &results[i];
        if (scenario_of(r->suite) == NULL) {
            unknown++;
            printf("%s is not in the table of scenarios\n", r->suite);
        }
        if (r->outcome == SKIPPED) printf("skipped %s::%s: %s\n", r->suite, r->name, r->reason);
    }
    printf("\n%-26s %7s %7s %7s\n", "profile", "passed", "failed", "skipped");
    for (const char *const *p = PROFILES; *p != NULL; p++) {
        unsigned n[OUTCOME_NR] = {0};
        count(*p, n);
        printf("%-26s %7u %7u %7u\n", *p, n[PASSED], n[FAILED], n[SKIPPED]);
    }
    count(NULL, total);
    if (schemas != NULL && strcmp(schemas, "off") == 0)
        puts("\nbodies were NOT checked against the published schemas: this run proves little");
    printf("\n%u passed, %u failed, %u skipped\n", total[PASSED], total[FAILED], total[SKIPPED]);
    return total[FAILED] + unknown;
}

/* Hosts of our own.  LIMITED has a request limit low enough to be reached; PLAIN lacks what can be
 * switched off, for scenarios about hosts that lack it. */
enum { MAIN, LIMITED, PLAIN, HOSTS_NR };

static bool start_own(struct host own[HOSTS_NR]) {
    static const char *const plain[] = {"--conversations=false", NULL};
    static const char *const low[] = {"--address-rate",
                                      "5",
                                      "--address-burst",
                                      "20",
                                      "--key-rate",
                                      "5",
                                      "--key-burst",
                                      "20",
                                      NULL};
    const char *const traced[] = {"--otel-endpoint",
                                  getenv("OPENWOP_OTEL_COLLECTOR_URL"),
                                  "--otel-protocol",
                                  "http/json",
                                  "--otel-delay-ms",
                                  "200",
                                  "--egress-loopback",
                                  "--mcp-servers",
                                  getenv("OPENWOP_MCP_FAKE_SERVER_URL"),
                                  "--a2a-agents",
                                  getenv("OPENWOP_A2A_CARD_URL"),
                                  "--ai-providers",
                                  WOPR_PROVIDERS,
                                  "--tenant", /* that of the public redaction */
                                  "conformance-tenant",
                                  NULL};
    if (!host_start(&own[MAIN], WOPR_PROGRAM, traced)) return false;
    if (!host_start(&own[LIMITED], WOPR_PROGRAM, low)) return false;
    if (!host_start(&own[PLAIN], WOPR_PROGRAM, plain)) return false;
    setenv("OPENWOP_BASE_URL", own[MAIN].base, 1);
    setenv("OPENWOP_API_KEY", HOST_KEY, 1);
    setenv("OPENWOP_LIMITED_BASE_URL", own[LIMITED].base, 1);
    setenv("OPENWOP_PLAIN_BASE_URL", own[PLAIN].base, 1);
    setenv("OPENWOP_STALE_CLAIM_PROGRAM", WOPR_PROGRAM, 1);
    return true;
}

/* Is name set to true, and which port does name_PORT give?  false: one that is none. */
static bool wanted(const char *name, int64_t otherwise, bool *on, int *port) {
    char other[64];
    const char *value = getenv(name);
    int64_t at = otherwise;
    snprintf(other, sizeof other, "%s_PORT", name);
    const char *text = getenv(other);
    *on = value != NULL && strcmp(value, "true") == 0;
    if (text != NULL && (!str_i64(str_c(text), &at) || at < 0 || at > 65535)) {
        fprintf(stderr, "conformance: %s is no port\n", other);
        return false;
    }
    *port = (int)at;
    return true;
}

static void url_set(const char *name, int port, const char *path) {
    char url[80];
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", port, path);
    setenv(name, url, 1);
}

static bool start_collector(struct doors *c, bool mine) {
    bool on;
    int port;
    if (!wanted("OPENWOP_OTEL_COLLECTOR", OTLP_PORT, &on, &port)) return false;
    unsetenv("OPENWOP_OTEL_COLLECTOR_URL");
    if (!mine && !on) return true;
    if (!collector_start(c, mine ? 0 : port)) return false;
    url_set("OPENWOP_OTEL_COLLECTOR_URL", c->port[0], "");
    return true;
}

static bool start_fakes(struct doors *d, bool mine) {
    bool mcp, a2a;
    int mcp_port, a2a_port;
    if (!wanted("OPENWOP_MCP_FAKE_SERVER", 0, &mcp, &mcp_port) ||
        !wanted("OPENWOP_A2A_FAKE_PEER", 0, &a2a, &a2a_port))
        return false;
    unsetenv("OPENWOP_MCP_FAKE_SERVER_URL");
    unsetenv("OPENWOP_A2A_FAKE_PEER_URL");
    if (!mine && !mcp && !a2a) return true;
    if (!fakes_start(d, mine ? 0 : mcp_port, mine ? 0 : a2a_port)) return false;
    if (mine || mcp) url_set("OPENWOP_MCP_FAKE_SERVER_URL", d->port[0], "");
    if (mine || a2a) url_set("OPENWOP_A2A_FAKE_PEER_URL", d->port[1], "");
    url_set("OPENWOP_A2A_CARD_URL", d->port[1], "/agent.json");
    return true;
}

static int run_tests(struct criterion_test_set *tests) {
    const char *base = getenv("OPENWOP_BASE_URL"), *key = getenv("OPENWOP_API_KEY");
    const char *file = getenv("OPENWOP_CONFORMANCE_RESULTS");
    struct host own[HOSTS_NR] = {0};
    struct doors collector = {.pid = 0}, fakes = {.pid = 0};
    bool mine = base == NULL || *base == '\0', ended_well = true;
    bool ready = start_collector(&collector, mine) && start_fakes(&fakes, mine);
    if (ready && !mine && (key == NULL || *key == '\0')) {
        fputs("conformance: OPENWOP_BASE_URL is set, OPENWOP_API_KEY is not\n", stderr);
        ready = false;
    }
    if (ready && mine && !start_own(own)) {
        for (int i = 0; i < HOSTS_NR; i++) host_stop(&own[i]);
        ready = false;
    }
    if (!ready) {
        doors_stop(&collector);
        doors_stop(&fakes);
        return 2;
    }
    criterion_run_all_tests(tests);
    if (mine) {
        for (int i = 0; i < HOSTS_NR; i++) ended_well = host_stop(&own[i]) == 0 && ended_well;
    }
    doors_stop(&collector);
    doors_stop(&fakes);
    miss_nobody();
    unsigned failed = summary();
    if (file != NULL && !write_results(file)) {
        fprintf(stderr, "conformance: cannot write %s\n", file);
        return 2;
    }
    if (!ended_well) fputs("conformance: the host did not end with 0 on SIGTERM\n", stderr);
    return failed == 0 && results_nr > 0 && ended_well ? 0 : 1;
}

int main(int argc, char **argv) {
    struct criterion_test_set *tests = criterion_initialize();
    int rc = criterion_handle_args(argc, argv, true) ? run_tests(tests) : 0;
    criterion_finalize(tests);
    return rc;
}
