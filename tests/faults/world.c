/* world.c: see world.h. */
#include "faults/world.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/fs.h"
#include "base/log.h"
#include "codec/bytes.h"
#include "store/append.h"
#include "store/events.h"
#include "store/runs.h"
#include "store/sqlite/sqlite.h"
#include "support/folder.h"
#include "support/sampled.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NODE(id)                                                                                   \
    "{\"id\":\"" id "\",\"typeId\":\"core.noop\",\"name\":\"" id "\",\"position\":{\"x\":0,"       \
    "\"y\":0},\"config\":{},\"inputs\":{}}"
#define EDGE(id, from, to)                                                                         \
    "{\"id\":\"" id "\",\"sourceNodeId\":\"" from "\",\"targetNodeId\":\"" to "\"}"
/* clang-format off */
static const char WORKFLOW[] =
    "{\"id\":\"faulty\",\"name\":\"faulty\",\"version\":\"1.0\","
    "\"nodes\":[" NODE("a") "," NODE("b") "," NODE("c") "],"
    "\"edges\":[" EDGE("ab", "a", "b") "," EDGE("bc", "b", "c") "],\"triggers\":[],"
    "\"variables\":[{\"name\":\"x\",\"type\":\"number\",\"defaultValue\":1},"
    "{\"name\":\"word\",\"type\":\"string\",\"defaultValue\":\"first\"}],"
    "\"channels\":{\"list\":{\"reducer\":\"append\"},\"sum\":{\"reducer\":\"counter\"}},"
    "\"metadata\":{},\"settings\":{}}";
/* clang-format on */

enum { MESSAGE_MAX = 6000, ARENA_BYTES = 256 << 20, LEASE_MS = 1000 };
/* Plan 0 creates; the others append so many events. */
static const int EVENTS[STEPS] = {0, 2, 4, 3, 3, 2};
static const bool KEYED[STEPS] = {true, false, false, true, false, true};

struct world W;
static struct {
    struct world_run runs[WORLD_RUNS_MAX];
    size_t runs_nr;
    bool has_wal;
} saved;

/* ------------------------------------------------------------------------------ life */
static const char *beside(const char *suffix) {
    static char path[400];
    snprintf(path, sizeof path, "%s%s", W.path, suffix);
    return path;
}

void world_up(void) {
    cr_assert(folder_make(W.dir, sizeof W.dir, "faults"));
    snprintf(W.path, sizeof W.path, "%s/w.db", W.dir);
    W.a = arena_new(ARENA_BYTES);
    W.rng = 88172645463325252u;
    cr_assert_not_null(W.a);
    cr_assert_eq(payload_rules_new(&W.rules, &W.err), 0, "%s", W.err.message);
    const struct wf_env env = {0};
    cr_assert_eq(workflow_compile(str_c(WORKFLOW), &env, &W.wf, &W.err), 0, "%s", W.err.message);
    fault_vfs_register();
    logger_level((enum log_level)(LOG_ERROR + 1)); /* the failures are ours */
}

static void runs_forget(void) {
    for (size_t i = 0; i < W.runs_nr; i++) run_state_free(W.runs[i].state);
    W.runs_nr = 0;
}

void world_clear(void) {
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) unlink(beside(suffixes[i]));
    runs_forget();
}

void world_down(void) {
    fault_disarm();
    fault_vfs_heal();
    world_close();
    power_off();
    world_clear();
    workflow_unref(W.wf);
    payload_rules_free(W.rules);
    arena_free(W.a);
    DIR *d = opendir(W.dir);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        char name[600];
        snprintf(name, sizeof name, "%s/%s", W.dir, e->d_name);
        if (e->d_name[0] != '.') unlink(name);
    }
    if (d) closedir(d);
    rmdir(W.dir);
}

uint64_t world_chance(uint64_t n) { /* xorshift64* */
    W.rng ^= W.rng >> 12;
    W.rng ^= W.rng << 25;
    W.rng ^= W.rng >> 27;
    return (W.rng * UINT64_C(2685821657736338717) >> 32) % n;
}

int world_open(void) {
    struct store_config cfg = {.path = W.path,
                               .sync = STORE_SYNC_FULL,
                               .vfs = FAULT_VFS,
                               .host_lock = W.alone,
                               .exclusive = W.alone};
    return store_open(&cfg, &W.store, &W.err);
}

void world_close(void) {
    store_close(W.store);
    W.store = NULL;
}

static void copy_file(const char *from, const char *to) {
    char chunk[65536];
    size_t n;
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    cr_assert(in && out, "%s to %s", from, to);
    while ((n = fread(chunk, 1, sizeof chunk, in)) > 0) cr_assert_eq(fwrite(chunk, 1, n, out), n);
    fclose(in);
    cr_assert_eq(fclose(out), 0);
}

static void copy_beside(const char *from, const char *to) {
    char source[400];
    snprintf(source, sizeof source, "%s", beside(from));
    copy_file(source, beside(to));
}

void world_save(void) {
    copy_file(W.path, beside(".saved"));
    saved.has_wal = access(beside("-wal"), F_OK) == 0;
    if (saved.has_wal) copy_beside("-wal", ".saved-wal");
    memcpy(saved.runs, W.runs, sizeof saved.runs);
    saved.runs_nr = W.runs_nr;
    for (size_t i = 0; i < saved.runs_nr; i++) saved.runs[i].state = NULL;
}

void world_load(void) {
    world_clear();
    copy_beside(".saved", "");
    if (saved.has_wal) copy_beside(".saved-wal", "-wal");
    memcpy(W.runs, saved.runs, sizeof saved.runs);
    W.runs_nr = saved.runs_nr;
}

int world_workflow(void) {
    struct workflow_row row = {.workflow_id = W.wf->id,
                               .hash = W.wf->hash,
                               .version = W.wf->version,
                               .text = str_c(WORKFLOW),
                               .both_modes = true};
    enum put_result what;
    return store_workflow_put(W.store, &row, &what, &W.err);
}

/* ------------------------------------------------------------------------------ plans */
/* The state that the plan leads to goes out with it. */
static void checkpoint_plan(struct plan *p, const struct run_state *s) {
    const struct state_aside aside = {0};
    struct buf b;
    buf_init(&b, STATE_IMAGE_MAX);
    cr_assert_eq(run_state_save(s, &aside, &b), 0);
    plan_checkpoint(p, &(struct plan_checkpoint){.seq = s->next_seq, .image = buf_str(&b)});
    buf_fini(&b);
}

static struct sha256 key_of(const struct world_run *r, int plan) {
    char text[80];
    snprintf(text, sizeof text, "%s/%d", r->id, plan);
    return sha256_of(str_c(text));
}

static struct idem_key idem_of(const struct world_run *r, int plan) {
    return (struct idem_key){.tenant = WORLD_TENANT,
                             .operation_id = STR("op"),
                             .key = key_of(r, plan),
                             .digest = sha256_of(STR("body"))};
}

static void answer_text(const struct world_run *r, int plan, char out[ANSWER_MAX]) {
    snprintf(out, ANSWER_MAX, "{\"answer\":\"%.30s-%d-%u\"}", r->id, plan, r->attempt);
}

static void answer_add(struct plan *p, struct world_run *r, int plan) {
    char text[ANSWER_MAX];
    r->attempt++;
    answer_text(r, plan, text);
    p->has_idem = true;
    p->idem = idem_of(r, plan);
    p->idem_response.status = 200;
    p->idem_response.body = arena_str(p->arena, str_c(text));
}

static void run_load(struct world_run *r) {
    struct run_head h;
    struct run_origin o;
    struct event_list l;
    run_state_free(r->state);
    r->state = NULL;
    arena_reset(W.a);
    int rc = store_run_head(W.store, WORLD_TENANT, false, str_c(r->id), W.a, &h, &W.err);
    cr_assert_eq(rc, 0, "%s: %s", r->id, W.err.message);
    rc = store_run_origin(W.store, h.run_no, W.a, &o, &W.err);
    cr_assert_eq(rc, 0, "%s", W.err.message);
    r->run_no = h.run_no;
    r->epoch = h.epoch;
    const struct checkpoint_of of = {.run_no = h.run_no,
                                     .seq_max = h.next_seq,
                                     .wf = W.wf,
                                     .meta = &o.meta,
                                     .limits = &RUN_LIMITS_DEFAULT};
    struct checkpoint_state c;
    rc = store_run_state(W.store, &of, W.a, &c, &W.err);
    cr_assert_eq(rc, 0, "%s", W.err.message);
    r->state = c.state;
    if (!r->state) rc = run_state_new(W.wf, &o.meta, &RUN_LIMITS_DEFAULT, &r->state, &W.err);
    cr_assert_eq(rc, 0, "%s", W.err.message);
    rc = store_events(W.store, h.run_no, r->state->next_seq, 1000, 1u << 30, W.a, &l, &W.err);
    cr_assert_eq(rc, 0, "%s", W.err.message);
    for (size_t i = 0; i < l.n; i++)
        cr_assert_eq(run_state_apply(r->state, &l.v[i], &W.err), 0, "%s", W.err.message);
}

struct world_run *world_new_run(void) {
    cr_assert_lt(W.runs_nr, (size_t)WORLD_RUNS_MAX);
    struct world_run *r = &W.runs[W.runs_nr];
    memset(r, 0, sizeof *r);
    snprintf(r->id, sizeof r->id, "run_%026u", (unsigned)W.runs_nr++);
    return r;
}

static struct plan *create_plan(struct world_run *r) {
    struct plan *p = plan_new();
    cr_assert_not_null(p);
    p->what = PLAN_CREATE;
    p->run_id = arena_str(p->arena, str_c(r->id));
    p->epoch = 1;
    struct run_row_new *n = p->create = ARENA_NEW(p->arena, struct run_row_new);
    n->meta = (struct run_meta){.run_id = p->run_id,
                                .workflow_id = W.wf->id,
                                .tenant = WORLD_TENANT,
                                .workspace = STR("ws"),
                                .subject = STR("{\"kind\":\"service\"}"),
                                .inputs = STR("{}"),
                                .tags = STR("[\"blue\"]"),
                                .transport = STR("rest"),
                                .shown_engine_version = CURRENT_ENGINE_VERSION,
                                .created_ms = clock_wall_ms(),
                                .recursion_limit = 25};
    n->workflow_hash = W.wf->hash;
    n->holder = WORLD_HOLDER;
    n->lease_until_ms = clock_wall_ms() + LEASE_MS;
    int rc = run_inputs_check(n->meta.inputs, W.wf, p->arena, &n->vars, &W.err);
    cr_assert_eq(rc, 0, "%s", W.err.message);
    plan_channels(p, W.wf);
    return p;
}

static int64_t cut_after(int plans) {
    int64_t n = 0;
    for (int k = 0; k < plans; k++) n += EVENTS[k];
    return n;
}

struct plan *world_fork_plan(struct world_run *r, const struct world_run *source, int plans) {
    struct plan *p = create_plan(r);
    struct plan_fork *f = p->create->fork = ARENA_NEW(p->arena, struct plan_fork);
    struct event_list l;
    int64_t cut = cut_after(plans);
    *f = (struct plan_fork){.link = {.mode = FORK_BRANCH,
                                     .source_run_id = arena_str(p->arena, str_c(source->id)),
                                     .source_run_no = source->run_no,
                                     .from_seq = cut,
                                     .base_seq = cut,
                                     .cut_ms = 1}};
    run_state_free(r->state);
    int rc = run_state_new(W.wf, &p->create->meta, &RUN_LIMITS_DEFAULT, &r->state, &W.err);
    cr_assert_eq(rc, 0, "%s", W.err.message);
    rc = store_events(W.store, source->run_no, 0, (unsigned)cut, 1u << 30, W.a, &l, &W.err);
    cr_assert(rc == 0 && (int64_t)l.n == cut, "%s", W.err.message);
    for (size_t i = 0; i < l.n; i++)
        cr_assert_eq(run_state_apply(r->state, &l.v[i], &W.err), 0, "%s", W.err.message);
    f->prefix_bytes = r->state->log_bytes;
    p->base_seq = cut;
    plan_project(p, r->state, 0);
    p->has_update = true;
    r->inherited = r->tried = plans;
    return p;
}

void world_fork_settle(struct world_run *r, int rc) {
    if (rc == 0) r->done = r->inherited;
    run_state_free(r->state);
    r->state = NULL;
}

struct world_run *world_fork(const struct world_run *source, int plans) {
    struct world_run *r = world_new_run();
    struct plan *p = world_fork_plan(r, source, plans);
    int rc = WOPR_E_INTERNAL;
    int all = store_apply(W.store, &p, 1, &rc, &W.err);
    cr_assert(all == 0 || all == rc);
    world_fork_settle(r, rc);
    plan_unref(p);
    return rc == 0 ? r : NULL;
}

struct step { /* a plan being filled */
    struct plan *p;
    struct run_state *s;
    int64_t now_ms;
};

static void ev(struct step *t, enum ev_kind k, const char *node, struct str payload) {
    (void)plan_event(t->p, W.rules, t->s, k, str_c(node), -1, t->now_ms, payload);
}
static void started(struct step *t, const char *node) {
    ev(t, EV_NODE_STARTED, node, pay_node_started(t->p->arena, str_c(node), STR("core.noop"), 0));
}
static void completed(struct step *t, const char *node) {
    ev(t, EV_NODE_COMPLETED, node, pay_node_completed(t->p->arena, str_c(node), STR_NONE, 3));
}
static void wrote(struct step *t, const char *chan, const char *reducer) {
    ev(t, EV_CHANNEL_WRITTEN, "a",
       pay_channel_written(t->p->arena, str_c(chan), STR("7"), reducer, t->now_ms, STR("a"), 1));
}
static void logged(struct step *t) { /* some fill several pages */
    size_t n = 1 + (size_t)world_chance(world_chance(4) == 0 ? MESSAGE_MAX : 60);
    char *text = arena_alloc(t->p->arena, n);
    memset(text, 'x', n);
    ev(t, EV_LOG_APPENDED, "", pay_log(t->p->arena, "info", str_n(text, n), STR_NONE, STR_NONE));
}

static void step_fill(struct step *t, int plan) {
    struct arena *a = t->p->arena;
    switch (plan) {
    case 1:
        ev(t, EV_RUN_STARTED, "", pay_run_started(a, t->s, STR("{}")));
        started(t, "a");
        plan_timer_set(t->p, TIMER_NODE_WAIT, STR("a"), t->now_ms + 5, 5);
        break;
    case 2:
        ev(t, EV_VARIABLE_CHANGED, "a",
           pay_variable_changed(a, STR("x"), STR("1"), STR("2"), STR("a")));
        wrote(t, "list", "append");
        completed(t, "a");
        started(t, "b");
        plan_timer_clear(t->p, TIMER_NODE_WAIT, STR("a"));
        plan_artifact(t->p, &(struct plan_artifact){.artifact_id = STR("art"),
                                                    .artifact_type = STR("text"),
                                                    .body = STR("\"hello\""),
                                                    .seq = t->s->next_seq - 1});
        break;
    case 3:
        logged(t);
        wrote(t, "sum", "counter");
        wrote(t, "list", "append");
        break;
    case 4:
        logged(t);
        completed(t, "b");
        started(t, "c");
        break;
    default:
        completed(t, "c");
        ev(t, EV_RUN_COMPLETED, "", pay_run_completed(a, STR("{\"ok\":true}"), 9));
    }
}

struct plan *world_plan(struct world_run *r) {
    if (r->done == STEPS) return NULL;
    r->tried = r->done + 1;
    if (r->done == 0) {
        struct plan *p = create_plan(r);
        answer_add(p, r, 0);
        return p;
    }
    if (!r->state) run_load(r);
    struct step t = {.p = plan_new(), .s = r->state, .now_ms = clock_wall_ms()};
    cr_assert_not_null(t.p);
    t.p->what = PLAN_RUN;
    t.p->run_id = arena_str(t.p->arena, str_c(r->id));
    t.p->run_no = r->run_no;
    t.p->epoch = r->epoch;
    t.p->base_seq = r->state->next_seq;
    step_fill(&t, r->done);
    cr_assert_eq((int)t.p->events_nr, EVENTS[r->done], "plan %d: %s", r->done, t.p->error.message);
    plan_project(t.p, r->state, 0);
    if (r->done == 2 || r->done == 3) checkpoint_plan(t.p, r->state);
    if (KEYED[r->done]) answer_add(t.p, r, r->done);
    cr_assert_eq(t.p->failed, 0, "%s", t.p->error.message);
    return t.p;
}

void world_settle(struct world_run *r, const struct plan *p, int rc) {
    if (rc != 0) { /* the state has moved ahead of the log */
        run_state_free(r->state);
        r->state = NULL;
        return;
    }
    cr_assert_not(p->idem_hit, "%s: plan %d was there before", r->id, r->done);
    if (p->has_idem)
        snprintf(r->answer[r->done], ANSWER_MAX, STR_FMT, STR_ARG(p->idem_response.body));
    r->done++;
}

int world_apply(struct world_run *r) {
    struct plan *p = world_plan(r);
    int rc = WOPR_E_INTERNAL, all = store_apply(W.store, &p, 1, &rc, &W.err);
    cr_assert(all == 0 || all == rc, "%s and %s", wopr_err_name(all), wopr_err_name(rc));
    world_settle(r, p, rc);
    plan_unref(p);
    return rc;
}

void world_runs(size_t n, int plans) {
    for (size_t i = 0; i < n; i++) {
        struct world_run *r = world_new_run();
        for (int k = 0; k < plans; k++) cr_assert_eq(world_apply(r), 0, "%s", W.err.message);
    }
}

/* ------------------------------------------------------------------------------ looking */
struct report {
    bool print;
    int64_t lines;
};

static void tell(void *ctx, const char *line) {
    struct report *r = ctx;
    if (r->print) fprintf(stderr, "verify: %s\n", line);
    r->lines++;
}

int64_t world_findings(bool print) {
    struct report r = {.print = print};
    int64_t runs, findings;
    int rc = host_verify(W.store, NULL, tell, &r, &runs, &findings, &W.err);
    if (rc == 0) cr_assert_eq(findings, r.lines);
    if (rc == 0 || r.lines > 0) return r.lines;
    if (print) fprintf(stderr, "verify: %s: %s\n", wopr_err_name(rc), W.err.message);
    return -1;
}

static int plans_of(int64_t next_seq) {
    int64_t n = 0;
    for (int k = 0; k < STEPS; k++) {
        n += EVENTS[k];
        if (n == next_seq) return k + 1;
    }
    return -1;
}

static int plans_found(struct world_run *r, const char *when) {
    struct run_head h;
    int rc = store_run_head(W.store, WORLD_TENANT, false, str_c(r->id), W.a, &h, &W.err);
    if (rc == WOPR_E_NOT_FOUND) return 0;
    cr_assert_eq(rc, 0, "%s: %s: %s", when, r->id, W.err.message);
    int found = plans_of(h.next_seq);
    cr_assert(found > 0, "%s: %s has %d events: half a plan", when, r->id, (int)h.next_seq);
    return found;
}

static void check_run(struct world_run *r, const char *when) {
    arena_reset(W.a);
    int found = plans_found(r, when);
    cr_assert(found == r->done || found == r->tried,
              "%s: %s: %d plans found, %d acknowledged, %d tried", when, r->id, found, r->done,
              r->tried);
    for (int k = 0; k < STEPS; k++) {
        if (!KEYED[k]) continue;
        const struct idem_key key = idem_of(r, k);
        struct idem_response got = {0};
        int rc = store_idem_find(W.store, &key, clock_wall_ms(), W.a, &got, &W.err);
        cr_assert_eq(rc, k < found && k >= r->inherited ? 0 : WOPR_E_NOT_FOUND,
                     "%s: %s: answer of plan %d of %d: %s", when, r->id, k, found,
                     wopr_err_name(rc));
        if (rc != 0) continue;
        if (r->answer[k][0] != '\0')
            cr_assert(str_eqc(got.body, r->answer[k]), "%s: %s: another answer", when, r->id);
        snprintf(r->answer[k], ANSWER_MAX, STR_FMT, STR_ARG(got.body));
    }
    r->done = r->tried = found;
    if (found == 0) r->inherited = 0;
    run_state_free(r->state);
    r->state = NULL;
    if (found > 0) run_load(r);
}

void world_check(const char *when) {
    for (size_t i = 0; i < W.runs_nr; i++) check_run(&W.runs[i], when);
    int64_t n = world_findings(true);
    cr_assert_eq(n, 0, "%s: %d findings", when, (int)n);
}

bool world_file_holds(const char *path, const char *word) {
    struct buf b;
    if (fs_read(path, 64u << 20, &b) != FS_READ_OK) return false;
    bool found = false;
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= b.len && !found; i++) found = memcmp(b.p + i, word, n) == 0;
    buf_fini(&b);
    return found;
}

void world_retry(struct world_run *r, int plan) {
    cr_assert(KEYED[plan] && plan < r->done);
    struct plan *p = plan_new();
    int rc = WOPR_E_INTERNAL;
    p->what = PLAN_SIDE;
    answer_add(p, r, plan);
    cr_assert_eq(store_apply(W.store, &p, 1, &rc, &W.err), 0, "%s", W.err.message);
    cr_assert(rc == 0 && p->idem_hit, "%s: a retry was taken as new: %s", r->id, wopr_err_name(rc));
    cr_assert(str_eqc(p->idem_response.body, r->answer[plan]), "%s: another answer", r->id);
    plan_unref(p);
}

unsigned world_pace(void) {
    const char *text = getenv("WOPR_FAULTS_EVERY");
    long n = text ? strtol(text, NULL, 10) : 1;
    return n > 0 && n <= 100 ? (unsigned)n : 1;
}

static unsigned day(void) {
    enum { DAY_S = 86400 };
    return (unsigned)(time(NULL) / DAY_S);
}

unsigned world_today(void) { return day() % world_pace(); }

bool world_plays(unsigned i) { return sampled_in(i + day()); }
