/*
 * test_golden.c: the logs of runs of many kinds, event by event, equal to the recorded ones of
 * golden/ up to ids and times.  Whoever changes an event or the order of events (EVT-1, EVT-26)
 * sees it here.
 *
 * After an intended change: WOPR_GOLDEN_UPDATE=1 integration --filter with the suite golden, and
 * read the diff.
 */
#include "harness.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GOLDEN_IDS = 64, GOLDEN_ANSWERS = 3, GOLDEN_BYTES_MAX = 256 * 1024 };

struct answer {
    const char *node, *body;
};
struct scene {
    const char *name, *workflow, *extras;
    struct answer answers[GOLDEN_ANSWERS];
    const char *cancel_when; /* cancel in this status */
    const char *fork;        /* body of a fork of the ended run; its log follows */
};

#define VOTE(who) "{\"resumeValue\":{\"action\":\"accept\",\"voter\":\"" who "\"}}"

static const struct scene SCENES[] = {
    {.name = "noop", .workflow = "conformance-noop"},
    {.name = "chain", .workflow = "conformance-multi-node"},
    {.name = "identity",
     .workflow = "conformance-identity",
     .extras = "\"inputs\":{\"payload\":{\"a\":[1,2.50,\"x\"]}}"},
    {.name = "failure", .workflow = "conformance-failure"},
    {.name = "capability", .workflow = "conformance-capability-missing"},
    {.name = "delay", .workflow = "conformance-delay", .extras = "\"inputs\":{\"delayMs\":20}"},
    {.name = "cancel", .workflow = "conformance-cancellable", .cancel_when = "running"},
    {.name = "cap",
     .workflow = "conformance-cap-breach",
     .extras = "\"configurable\":{\"recursionLimit\":2}"},
    {.name = "pins", .workflow = "conformance-version-fold"},
    {.name = "reducer", .workflow = "conformance-message-reducer"},
    {.name = "ordering", .workflow = "conformance-append-ordering"},
    {.name = "approve",
     .workflow = "conformance-approval",
     .answers = {{"gate", "{\"resumeValue\":{\"action\":\"accept\"}}"}}},
    {.name = "reject",
     .workflow = "conformance-approval",
     .answers = {{"gate", "{\"resumeValue\":{\"action\":\"reject\"}}"}}},
    {.name = "cancel-while-waiting",
     .workflow = "conformance-approval",
     .cancel_when = "waiting-approval"},
    {.name = "quorum",
     .workflow = "conformance-interrupt-quorum",
     .answers = {{"gate", VOTE("alice")}, {"gate", VOTE("bob")}, {"gate", VOTE("cid")}}},
    {.name = "external",
     .workflow = "conformance-interrupt-external-event",
     .answers = {{"wait-for-external",
                  "{\"resumeValue\":{\"orderId\":\"fixture-order-1\",\"status\":\"completed\"}}"}}},
    {.name = "child", .workflow = "conformance-subworkflow-parent"},
    {.name = "cascade",
     .workflow = "conformance-interrupt-parent-child-cancel",
     .cancel_when = "waiting-approval"},
    {.name = "replay",
     .workflow = "conformance-multi-node",
     .fork = "{\"mode\":\"replay\",\"fromSeq\":0}"},
    {.name = "replay-of-an-answer",
     .workflow = "conformance-approval",
     .answers = {{"gate", "{\"resumeValue\":{\"action\":\"accept\"}}"}},
     .fork = "{\"mode\":\"replay\",\"fromSeq\":1}"},
    {.name = "branch",
     .workflow = "conformance-multi-node",
     .fork = "{\"mode\":\"branch\",\"fromSeq\":3}"},
};

/* --- ids and times out of the text --- */

struct rule {
    const char *pattern, *label;
};
/* In this order; a label of an id is followed by its number in the order of appearance. */
static const struct rule IDS[] = {
    {"[0-9A-HJKMNP-TV-Z]{26}", "id"},
    {"(int|art|msg|cid|inv)_[0-9a-f]{16,}", "key"},
    {"[0-9a-f]{64}", "digest"},
    {"cfg[0-9a-f]{8,}", "credential"},
};
static const struct rule TIMES[] = {
    {"\"_ts\":[0-9]+", "\"_ts\":0"},
    {"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z", "<time>"},
    {"\"(duration|elapsed|waited|wall|delay)Ms\":[0-9]+", "\"ms\":0"},
};

static const char *id_of(char (*seen)[128], size_t *n, const char *text, size_t len,
                         const char *label) {
    cr_assert_lt(len, 128);
    size_t i = 0;
    while (i < *n && (strncmp(seen[i], text, len) != 0 || seen[i][len] != 0)) i++;
    if (i == *n) {
        cr_assert_lt(*n, GOLDEN_IDS);
        (void)snprintf(seen[(*n)++], 128, "%.*s", (int)len, text);
    }
    return fmt("<%s %zu>", label, i);
}

static const char *replaced(const char *in, const struct rule *rule, char (*seen)[128], size_t *n) {
    regex_t re;
    regmatch_t m;
    struct buf out;
    cr_assert_eq(regcomp(&re, rule->pattern, REG_EXTENDED), 0);
    buf_init(&out, GOLDEN_BYTES_MAX);
    for (; regexec(&re, in, 1, &m, 0) == 0; in += m.rm_eo) {
        const char *put =
            seen ? id_of(seen, n, in + m.rm_so, (size_t)(m.rm_eo - m.rm_so), rule->label)
                 : rule->label;
        buf_add(&out, in, (size_t)m.rm_so);
        buf_add(&out, put, strlen(put));
    }
    buf_add(&out, in, strlen(in));
    regfree(&re);
    const char *text = arena_cstr(test_arena(), buf_str(&out));
    buf_fini(&out);
    return text;
}

static const char *canonical(const char *text) {
    static char seen[GOLDEN_IDS][128];
    size_t n = 0;
    for (size_t i = 0; i < sizeof IDS / sizeof *IDS; i++) text = replaced(text, &IDS[i], seen, &n);
    for (size_t i = 0; i < sizeof TIMES / sizeof *TIMES; i++)
        text = replaced(text, &TIMES[i], NULL, NULL);
    return text;
}

/* --- one scene --- */

static const char *lines_of(struct str events) {
    const char *text = "";
    struct json_elements all;
    struct wopr_error err;
    cr_assert_eq(json_elements(events, test_arena(), &all, &err), 0);
    for (size_t i = 0; i < all.n; i++)
        text = arena_printf(test_arena(), "%s" STR_FMT "\n", text, STR_ARG(all.v[i])).p;
    return text;
}

/* The interrupt of this node is open. */
static void wait_open(const struct server *s, const char *run, const char *node) {
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; nap_ms(2)) {
        struct reply r = ask(s, "GET", fmt("/v1/runs/%s", run), NULL, NULL);
        struct str asks = at(r.body, "interrupt.nodeId");
        if (asks.p && str_eq(asks, str_c(fmt("\"%s\"", node)))) return;
    }
    cr_assert_fail("%s never asked in %s", node, run);
}

static void play(const struct server *s, const struct scene *sc, const char *run) {
    for (size_t i = 0; i < GOLDEN_ANSWERS && sc->answers[i].node; i++) {
        const struct answer *a = &sc->answers[i];
        wait_open(s, run, a->node);
        struct reply r =
            ask(s, "POST", fmt("/v1/runs/%s/interrupts/%s", run, a->node), a->body, NULL);
        cr_assert_eq(r.status, 200, "%s: " STR_FMT, sc->name, STR_ARG(r.body));
    }
    if (!sc->cancel_when) return;
    (void)wait_status(s, run, sc->cancel_when);
    cr_assert_eq(ask(s, "POST", fmt("/v1/runs/%s/cancel", run), "{}", NULL).status, 200);
}

static const char *recorded(const struct scene *sc, const char *now) {
    const char *path = fmt(WOPR_SOURCE_DIR "/tests/integration/golden/%s.txt", sc->name);
    if (getenv("WOPR_GOLDEN_UPDATE")) {
        FILE *w = fopen(path, "w");
        cr_assert_not_null(w, "%s", path);
        cr_assert_geq(fputs(now, w), 0);
        cr_assert_eq(fclose(w), 0);
    }
    static char text[GOLDEN_BYTES_MAX];
    FILE *f = fopen(path, "r");
    cr_assert_not_null(f, "%s", path);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    (void)fclose(f);
    return text;
}

static void same_log(const struct server *s, const struct scene *sc) {
    const char *run = create_run(s, sc->workflow, sc->extras);
    play(s, sc, run);
    (void)wait_terminal(s, run);
    const char *text = lines_of(events_of(s, run));
    if (sc->fork) {
        struct reply r = ask(s, "POST", fmt("/v1/runs/%s:fork", run), sc->fork, NULL);
        cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
        const char *fork = fmt(STR_FMT, STR_ARG(text_at(r.body, "runId")));
        (void)wait_terminal(s, fork);
        text = arena_printf(test_arena(), "%s\n%s", text, lines_of(events_of(s, fork))).p;
    }
    const char *now = canonical(text);
    const char *then = recorded(sc, now);
    size_t same = 0;
    while (now[same] && now[same] == then[same]) same++;
    cr_expect_str_eq(now, then, "%s differs after: %.*s\n now: %.200s\nthen: %.200s", sc->name,
                     (int)(same < 80 ? same : 80), now + (same < 80 ? 0 : same - 80), now + same,
                     then + same);
}

Test(golden, every_kind_of_run_writes_the_log_it_wrote_before /* EVT-1, EVT-26, FORK-15 */) {
    static struct server s;
    server_start(&s, NULL);
    for (size_t i = 0; i < sizeof SCENES / sizeof *SCENES; i++) same_log(&s, &SCENES[i]);
    server_end(&s);
}
