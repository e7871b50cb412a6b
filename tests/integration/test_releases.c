/*
 * test_releases.c: databases that programs of earlier commits wrote (old/release.sh), with runs
 * that ended and that wait, forks, forks of forks, and sensitive values.  Each is migrated and
 * verified, every run is replayed, those that wait go on, and no clear value is left (STORE-15,
 * FORK-9, FORK-21, OBS-71).
 */
#include "harness.h"
#include "interrupt_kit.h"

#include <stdio.h>

#define OLD_CANARY "CANARY-old-release-4"

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(releases, .init = up, .fini = down, .timeout = 300);

static void clean(const char *when) {
    static const char *const args[] = {"verify", NULL};
    struct str out = STR_NONE, err = STR_NONE;
    cr_expect_eq(program(&sv, args, &out, &err), 0, "%s: " STR_FMT STR_FMT, when, STR_ARG(out),
                 STR_ARG(err));
}

static bool file_holds(const char *path, const char *word) {
    struct buf b;
    char part[65536];
    bool found = false;
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    buf_init(&b, 256u << 20);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) buf_add(&b, part, n);
    fclose(f);
    for (size_t i = 0; i + strlen(word) <= b.len && !found; i++)
        found = memcmp(b.p + i, word, strlen(word)) == 0;
    buf_fini(&b);
    return found;
}

struct counted {
    int runs, plain, waiting, replayed;
};

static const char *text_of(struct str json, const char *path) {
    return fmt(STR_FMT, STR_ARG(text_at(json, path)));
}

/* One that waits is answered, and ends. */
static void run_finish(struct str run, struct counted *c) {
    const char *id = text_of(run, "runId");
    bool plain = str_eqc(text_at(run, "workflowId"), "purchase");
    const char *path = fmt("/v1/runs/%s/interrupts/%s", id, plain ? "approve" : "g");
    struct reply r = ask(&sv, "POST", path, "{\"resumeValue\":{\"action\":\"accept\"}}", NULL);
    cr_expect_eq(r.status, 200, "%s: " STR_FMT, id, STR_ARG(r.body));
    struct str end = wait_terminal(&sv, id);
    cr_expect(str_eqc(text_at(end, "status"), "completed"), STR_FMT, STR_ARG(end));
    c->waiting++;
}

/* Does the run's own part say that it differs from its source? */
static bool tells_from(const char *id, int64_t cut) {
    struct json_elements l = elements_of(events_of(&sv, id));
    bool tells = false;
    for (size_t i = (size_t)cut; i < l.n; i++)
        tells = tells || str_eqc(text_at(l.v[i], "type"), "replay.diverged");
    return tells;
}

/* Replays at the beginning, in the middle and at the end come to the same; those of runs that had
 * sensitive values read the masks, and say what differs (FORK-21). */
static void run_replay(struct str run, struct counted *c) {
    const char *id = text_of(run, "runId");
    bool plain = str_eqc(text_at(run, "workflowId"), "purchase");
    int64_t n = (int64_t)elements_of(events_of(&sv, id)).n;
    const int64_t cuts[] = {0, n / 2, n - 1};
    c->plain += plain;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        const char *replay = fork_run(&sv, id, "replay", cuts[i]);
        struct str end = wait_terminal(&sv, replay);
        bool same = str_eqc(text_at(end, "status"), "completed");
        bool told = tells_from(replay, cuts[i]);
        cr_expect(same || told, "%s: " STR_FMT, replay, STR_ARG(end));
        cr_expect_not(plain && told, "%s: " STR_FMT, replay, STR_ARG(end));
        c->replayed++;
    }
}

static struct counted whole(const char *name) {
    static const char *const args[] = {"--retention-days", "3650", NULL};
    struct counted c = {.runs = 0};
    cr_assert_eq(server_stop(&sv), 0);
    server_restore(&sv, name);
    sv.args = args;
    server_again(&sv);
    clean("migrated");
    struct reply r = ask(&sv, "GET", "/v1/runs?limit=100", NULL, NULL);
    struct json_elements runs = elements_of(at(r.body, "runs"));
    c.runs = (int)runs.n;
    for (size_t i = 0; i < runs.n; i++)
        if (!str_eqc(text_at(runs.v[i], "status"), "completed")) run_finish(runs.v[i], &c);
    for (size_t i = 0; i < runs.n; i++) run_replay(runs.v[i], &c);
    clean("finished");
    cr_assert_eq(server_stop(&sv), 0);
    cr_expect_not(file_holds(sv.db, OLD_CANARY), "%s: a clear value is left", name);
    server_again(&sv);
    return c;
}

static void as_written(const char *name, int runs, int waiting) {
    struct counted c = whole(name);
    cr_expect_eq(c.runs, runs, "%d", c.runs);
    cr_expect_eq(c.plain, 9, "%d", c.plain);
    cr_expect_eq(c.waiting, waiting, "%d", c.waiting);
    cr_expect_eq(c.replayed, 3 * c.runs);
}

/* What a node read of a sensitive variable that its run had set before the branch was made. */
static void read_in_branch(const char *id, int64_t set_length, int64_t input_length) {
    struct str end = ask(&sv, "GET", fmt("/v1/runs/%s", id), NULL, NULL).body;
    cr_expect_eq(int_at(end, "nodeStates.m.outputs.n"), set_length, "%s: " STR_FMT, id,
                 STR_ARG(end));
    cr_expect_eq(int_at(end, "nodeStates.m.outputs.k"), input_length, "%s", id);
}

/* Up to schema 13 a branch got the masks of its source for values, here a digest.  It ends with
 * what it was given, as it would have there; its source, and its inputs, have the clear value. */
static void old_branches_keep_their_masks(void) {
    const int64_t clear = (int64_t)strlen(OLD_CANARY), digest = (int64_t)strlen("sha256:") + 64;
    read_in_branch("run_01M83F00MRN63M9MW0XKJMMQAD", clear, clear);  /* waited */
    read_in_branch("run_01M83F01Y84PSFV3NVYJ27T1X3", digest, clear); /* a branch of it */
    read_in_branch("run_01M83F03VRX6BTFQYJ5X68PE6E", digest, clear); /* and one of that */
}

Test(releases, of_schema_9_with_sensitive_values) {
    as_written("release-0009.sql.gz", 23, 12);
    old_branches_keep_their_masks();
}
Test(releases, of_schema_20) { as_written("release-0020.sql.gz", 9, 4); }
Test(releases, of_schema_26) { as_written("release-0026.sql.gz", 9, 4); }
