/* checks.c: what must be true when the storm is over. */
#define _GNU_SOURCE /* memmem */
#include "world.h"

#include "base/mem.h"
#include "codec/bytes.h"

#include <stdio.h>
#include <string.h>

enum { QUIET_MS = 120000, SAME_NODE_MAX = 64 };

static struct slot *last(void) { return &slots[0]; }

static struct str snapshot(int run) {
    struct reply r = ask(&last()->sv, "GET", fmt("/v1/runs/%s", made[run].id), NULL, NULL);
    cr_assert_eq(r.status, 200, "acknowledged run %s: " STR_FMT, made[run].id, STR_ARG(r.body));
    return r.body;
}

/* Ended, or waiting for what can still come: a person, an event, a resume, or such a child. */
static bool quiet(struct str snap) {
    struct str status = text_at(snap, "status");
    if (str_eqc(status, "completed") || str_eqc(status, "failed") || str_eqc(status, "cancelled") ||
        str_eqc(status, "paused"))
        return true;
    if (str_eqc(at(snap, "childRuns.0.status"), "\"paused\"")) return true;
    if (!str_starts(status, STR("waiting-"))) return false;
    return at(snap, "interrupt.interruptId").n > 0 || at(snap, "childRuns.0.runId").n > 0;
}

void checks_wait_quiet(void) {
    const int64_t end = now_ms() + QUIET_MS;
    for (int i = 0; i < made_nr(); i++) {
        struct str snap = snapshot(i);
        while (!quiet(snap) && now_ms() < end) {
            nap_ms(20);
            arena_reset(test_arena());
            snap = snapshot(i);
        }
        cr_assert(quiet(snap), "a run neither ended nor waits: " STR_FMT " events " STR_FMT,
                  STR_ARG(snap), STR_ARG(types_of(events_of(&last()->sv, made[i].id))));
        if (i % 32 == 0) arena_reset(test_arena());
    }
}

static bool ends_node(struct str type) {
    return str_eqc(type, "node.completed") || str_eqc(type, "node.failed") ||
           str_eqc(type, "node.skipped") || str_eqc(type, "node.cancelled");
}

static bool shows_value(struct str json) {
    return memmem(json.p, json.n, CANARY, strlen(CANARY)) != NULL;
}

/* EVT-2, EVT-7, OBS-71, and without a loop no node ends twice. */
static void check_events(int run, bool final) {
    struct str events = events_of(&last()->sv, made[run].id), seen[SAME_NODE_MAX];
    struct json_elements l;
    size_t seen_nr = 0;
    cr_assert_eq(json_elements(events, test_arena(), &l, NULL), 0);
    cr_assert(!shows_value(events), "%s shows its value: " STR_FMT, made[run].id, STR_ARG(events));
    for (size_t i = 0; i < l.n; i++) {
        struct str type = text_at(l.v[i], "type");
        bool terminal = str_eqc(type, "run.completed") || str_eqc(type, "run.failed") ||
                        str_eqc(type, "run.cancelled");
        cr_assert_eq(int_at(l.v[i], "sequence"), (int64_t)i, "%s has a hole", made[run].id);
        cr_assert(!terminal || (final && i + 1 == l.n), "%s goes on after its end", made[run].id);
        if (!ends_node(type) || made[run].shape == SHAPE_NESTED) continue;
        struct str node = text_at(l.v[i], "nodeId");
        for (size_t k = 0; k < seen_nr; k++)
            cr_assert(!str_eq(seen[k], node), "%s: node " STR_FMT " ended twice: " STR_FMT,
                      made[run].id, STR_ARG(node), STR_ARG(types_of(events)));
        if (seen_nr < SAME_NODE_MAX) seen[seen_nr++] = node;
    }
}

static unsigned times_completed(int run, const char *node) {
    struct json_elements l;
    unsigned n = 0;
    cr_assert_eq(json_elements(events_of(&last()->sv, made[run].id), test_arena(), &l, NULL), 0);
    for (size_t i = 0; i < l.n; i++)
        n += str_eqc(text_at(l.v[i], "type"), "node.completed") &&
             str_eqc(text_at(l.v[i], "nodeId"), node);
    return n;
}

/* What a run that completed must have done, whoever executed it (WF-13, OBS-71).  A fork may have
 * been made after its source had ended, when the clear value was gone. */
static void check_done(int run) {
    if (made[run].shape == SHAPE_NESTED)
        cr_expect_eq(times_completed(run, "body"), 6u, "%s: %u of 6 bodies", made[run].id,
                     times_completed(run, "body"));
    if (made[run].shape == SHAPE_OUTSIDE) /* STORE-42: however often it was asked */
        cr_expect_eq(times_completed(run, "order"), 1u, "%s: its answer is in the log %u times",
                     made[run].id, times_completed(run, "order"));
    if (made[run].shape == SHAPE_SECRET && made[run].fork_depth == 0)
        cr_expect_eq(times_completed(run, "right"), 1u, "%s did not read its clear value",
                     made[run].id);
}

void checks_runs(void) {
    unsigned by[4] = {0};
    for (int i = 0; i < made_nr(); i++) {
        struct str snap = snapshot(i), status = text_at(snap, "status");
        bool completed = str_eqc(status, "completed"), failed = str_eqc(status, "failed"),
             cancelled = str_eqc(status, "cancelled");
        by[completed ? 0 : failed ? 1 : cancelled ? 2 : 3]++;
        cr_assert(!shows_value(snap), "%s shows its value", made[i].id);
        check_events(i, completed || failed || cancelled);
        if (completed) check_done(i);
        if (i % 16 == 0) arena_reset(test_arena());
    }
    fprintf(stderr, "chaos: %d runs: %u completed, %u failed, %u cancelled, %u wait\n", made_nr(),
            by[0], by[1], by[2], by[3]);
}

/* INT-18: of all that resolved one gate exactly one won, and the log holds his value. */
static void check_gate(int run) {
    const struct op *winner = NULL;
    unsigned winners = 0;
    for (int i = 0; i < CLIENTS; i++)
        for (int k = 0; k < clients[i].ops_nr; k++) {
            const struct op *o = &clients[i].ops[k];
            if (o->kind != OP_RESOLVE || o->status != 200) continue;
            if (strcmp(made[o->run].id, made[run].id) != 0) continue;
            winners++;
            winner = o;
        }
    struct str events = events_of(&last()->sv, made[run].id);
    struct json_elements l;
    unsigned resolved = 0;
    cr_assert_eq(json_elements(events, test_arena(), &l, NULL), 0);
    for (size_t i = 0; i < l.n; i++) {
        if (!str_eqc(text_at(l.v[i], "type"), "interrupt.resolved")) continue;
        resolved++;
        if (winner == NULL) continue;
        struct str comment = text_at(l.v[i], "payload.resumeValue.comment");
        cr_expect_not_null(strstr(winner->body, fmt("\"" STR_FMT "\"", STR_ARG(comment))),
                           "%s: the log holds " STR_FMT ", %s was told 200", made[run].id,
                           STR_ARG(comment), winner->body);
    }
    cr_expect_leq(winners, 1u, "%s: %u winners", made[run].id, winners);
    cr_expect_leq(resolved, 1u, "%s: resolved %u times", made[run].id, resolved);
    cr_expect_eq(resolved, winners, "%s: resolved %u times for %u winners", made[run].id, resolved,
                 winners);
}

void checks_interrupts(void) {
    unsigned gates = 0;
    for (int i = 0; i < made_nr(); i++) {
        if (made[i].shape != SHAPE_APPROVAL && made[i].shape != SHAPE_SECRET &&
            made[i].shape != SHAPE_CHILD_GATE)
            continue;
        if (made[i].fork_depth > 0) continue; /* inherits its source's answer */
        bool again = false;                   /* a child may have been found twice */
        for (int k = 0; k < i && !again; k++) again = strcmp(made[k].id, made[i].id) == 0;
        if (again) continue;
        check_gate(i);
        gates++;
        if (i % 16 == 0) arena_reset(test_arena());
    }
    fprintf(stderr, "chaos: %u gates with at most one winner each\n", gates);
}

static void effect_key(const char *run, char hex[65]) { /* IDEM-16, first attempt */
    struct sha256 d = sha256_of(str_c(fmt("%s:order:0:http:POST", run)));
    sha256_hex(&d, hex);
}

struct key {
    char hex[65];
};
static int key_order(const void *a, const void *b) { return strcmp(a, b); }

static struct key *keys_sorted(size_t n) { /* of all requests */
    struct key *v = mem_array(n + 1, sizeof *v);
    struct peer_request r;
    cr_assert_not_null(v);
    for (size_t k = 0; k < n && peer_request_at(peer, k, &r); k++)
        snprintf(v[k].hex, sizeof v[k].hex, "%.64s", r.key);
    qsort(v, n, sizeof *v, key_order);
    return v;
}

static size_t key_times(const struct key *v, size_t n, const char hex[65]) {
    size_t at = 0, times = 0;
    for (size_t len = n; len > 0;) { /* the first that is not less */
        size_t half = len / 2;
        bool less = strcmp(v[at + half].hex, hex) < 0;
        at += less ? half + 1 : 0;
        len = less ? len - half - 1 : half;
    }
    while (at + times < n && strcmp(v[at + times].hex, hex) == 0) times++;
    return times;
}

/* STORE-42: one identity per run, and a run that completed had its effect.  What was repeated is
 * bounded by the processes that were harmed while an answer was on its way. */
void checks_outside(const struct storm *s) {
    size_t requests = peer_count(peer), known = 0, effects = 0;
    struct key *keys = keys_sorted(requests);
    for (int i = 0; i < made_nr(); i++) {
        char hex[65];
        if (made[i].shape != SHAPE_OUTSIDE) continue;
        effect_key(made[i].id, hex);
        size_t times = key_times(keys, requests, hex);
        bool done = str_eqc(text_at(snapshot(i), "status"), "completed");
        if (made[i].replay) cr_expect_eq(times, 0u, "FORK-12: the replay %s asked", made[i].id);
        else if (done && made[i].fork_depth == 0)
            cr_expect_geq(times, 1u, "%s asked nobody", made[i].id);
        known += times;
        effects += times > 0;
        if (i % 16 == 0) arena_reset(test_arena());
    }
    mem_free(keys);
    cr_expect_eq(known, requests, "%zu of %zu requests carry no run's id", requests - known,
                 requests);
    fprintf(stderr,
            "chaos: %zu effects by %zu requests; %u kills, %u graceful stops, %u freezes, "
            "%u clock jumps\n",
            effects, requests, s->kills, s->terms, s->stops, s->jumps);
}

static bool file_holds(const char *path, const char *needle) {
    enum { PIECE = 1 << 20 };
    const size_t keep = strlen(needle) - 1; /* it may lie across two pieces */
    FILE *f = fopen(path, "rb");
    if (f == NULL) return false; /* no write-ahead log after a graceful end */
    char *buf = mem_alloc(PIECE);
    size_t have = 0, n;
    bool found = false;
    cr_assert_not_null(buf);
    while (!found && (n = fread(buf + have, 1, PIECE - have, f)) > 0) {
        have += n;
        found = memmem(buf, have, needle, keep + 1) != NULL;
        size_t rest = have < keep ? have : keep;
        memmove(buf, buf + have - rest, rest);
        have = rest;
    }
    mem_free(buf);
    cr_assert_eq(fclose(f), 0);
    return found;
}

/* Sealed while a run needs them, gone when it has ended (OBS-71). */
void checks_bytes(void) {
    static const char *const tails[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
        cr_expect(!file_holds(fmt("%s%s", last()->sv.db, tails[i]), CANARY),
                  "the file%s holds a sensitive value", tails[i]);
}

void checks_file(void) {
    static const char *const verify[] = {"verify", NULL};
    struct str out, why;
    cr_expect_eq(program(&last()->sv, verify, &out, &why), 0, STR_FMT STR_FMT, STR_ARG(out),
                 STR_ARG(why));
}
