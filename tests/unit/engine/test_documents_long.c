/*
 * test_documents_long.c: documents of many tasks, and documents made at random: checkpoints of
 * their runs (WS-142) are what the log folds to, wherever they are taken and whatever became of
 * them; two runs agree, and forks and replays come to the same world from every event.
 */
#include "checkpoint_kit.h"
#include "document_kit.h"

#include "domain/state_save.h"
#include "store/runs.h"
#include "support/sampled.h"
#include "workspec/generate.h"
#include "workspec/language.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { TASKS = 400, GATES = 3, DOCUMENTS = 60, IMAGE_MAX = 8 << 20, EVENTS_MIN = 256 };

TestSuite(documents_long, .init = world_up, .fini = world_down);

#define ACCEPT   "{\"action\":\"accept\"}"
#define APPROVAL "{\"workspec.humanTasks\":\"approval\"}"

/* Tasks of one performer, one after the other: a stock that moves, a state for a time, a list; and
 * people are asked at GATES places. */
static struct str long_document(unsigned tasks) {
    struct buf b;
    buf_init(&b, 1 << 20);
    for (unsigned i = 0; i < tasks; i++) {
        bool gate = (i + 1) % (tasks / GATES) == 0;
        buf_addf(&b,
                 "%s{'id':'t%u','actor_id':'%c','start':{'day':%u,'time':'%02u:%02u'},'duration':1,"
                 "'interactions':[{'target_id':'p','property_changes':{'quantity':{'delta':2}}},"
                 "{'target_id':'m','temporary':true,'property_changes':{'state':{'set':'s%u'}}},"
                 "{'target_id':'p','property_changes':{'list':{'append':%u,'remove':%u}}}]%s}",
                 i > 0 ? "," : "", i, 'a' + i % 2, 1 + i / 1440, i / 60 % 24, i % 60, i, i % 7,
                 i % 5, gate ? ",'x_openwop':{'interrupt':'approval'}" : "");
    }
    struct str text = doc_base("", buf_str(&b).p);
    buf_fini(&b);
    return text;
}

static struct str gate_name(struct str run) { return arena_str(W.a, world_view(run).current_node); }

static void gate_open(struct str run, unsigned n) {
    struct str node = gate_name(run);
    cr_assert_eq(world_answer(run, node.p, ACCEPT, NULL), 0);
    if (n + 1 == GATES) {
        cr_assert_eq(world_wait_final(run), RUN_COMPLETED);
        return;
    }
    world_wait_event(run, EV_INTERRUPT_REQUESTED, n + 2);
    world_wait_status(run, RUN_WAITING_APPROVAL);
}

static struct str long_begin(struct workflow *wf) {
    struct str run = world_create(wf, NULL, NULL);
    world_wait_status(run, RUN_WAITING_APPROVAL);
    return run;
}

Test(documents_long, a_document_bounds_its_run_ws_141) {
    struct workflow *wf = doc_put(long_document(TASKS));
    struct wopr_error err = {0};
    struct run_options o;
    const struct options_env env = {.limits = &RUN_LIMITS_DEFAULT};
    struct str few = arena_printf(W.a, "{\"recursionLimit\":%d}", TASKS - 1),
               enough = arena_printf(W.a, "{\"recursionLimit\":%d}", TASKS);
    cr_assert_eq(RUN_LIMITS_DEFAULT.max_node_executions, 100);
    cr_assert_eq(run_options_check(STR_NONE, STR_NONE, STR_NONE, wf, &env, W.a, &o, &err), 0, "%s",
                 err.message);
    cr_expect_eq(o.recursion_limit, TASKS);
    cr_expect_eq(run_options_check(enough, STR_NONE, STR_NONE, wf, &env, W.a, &o, &err), 0);
    cr_expect_eq(o.recursion_limit, TASKS);
    cr_expect_eq(run_options_check(few, STR_NONE, STR_NONE, wf, &env, W.a, &o, &err),
                 WOPR_E_VALIDATION);
    cr_expect_not_null(strstr(err.message, "recursionLimit"), "%s", err.message);
    cr_expect_not_null(strstr(err.details, "configurable.recursionLimit"), "%s", err.details);
    workflow_unref(wf);
}

Test(documents_long, a_long_run_has_checkpoints_and_each_is_true_ws_142) {
    struct workflow *wf = doc_put(long_document(TASKS));
    struct str run = long_begin(wf);
    for (unsigned i = 0; i < GATES; i++) {
        world_restart();
        gate_open(run, i);
    }
    struct points p = checkpoints_check(run, wf);
    cr_expect_geq(p.n, 3u, "only %u", p.n);
    cr_expect_leq(p.bytes * 4, world_head(run).log_bytes);
    cr_expect_eq(world_count(run, EV_NODE_COMPLETED), TASKS);
    world_check_log(run);
    world_sound();
    workflow_unref(wf);
}

/* A load folds what follows the newest checkpoint and looks at nothing before it: there the log is
 * made unreadable, and the run goes on. */
Test(documents_long, a_load_reads_the_log_from_the_checkpoint_on) {
    struct workflow *wf = doc_put(long_document(TASKS));
    struct str run = long_begin(wf);
    gate_open(run, 0);
    world_restart();
    cr_assert_gt(world_sql_number("SELECT count(*) FROM run_checkpoints"), 0);
    world_sql("DROP TRIGGER events_stay_same");
    world_sql("UPDATE events SET payload = '{}' WHERE seq > 0 AND seq < (SELECT "
              "max(seq) FROM run_checkpoints)");
    gate_open(run, 1);
    gate_open(run, 2);
    cr_expect(str_eqc(world_var(run, "p.quantity"), "800"));
    workflow_unref(wf);
}

Test(documents_long, a_load_gives_the_same_run_whatever_became_of_them) {
    struct workflow *wf = doc_put(long_document(TASKS));
    char *facts = NULL;
    for (size_t i = 0; i < CHECKPOINT_DAMAGES; i++) {
        struct str run = long_begin(wf);
        gate_open(run, 0);
        world_restart();
        world_sql("DELETE FROM run_checkpoints WHERE run_no < (SELECT max(run_no) FROM runs)");
        world_sql(CHECKPOINT_DAMAGE[i].sql);
        gate_open(run, 1);
        gate_open(run, 2);
        world_check_log(run);
        const char *now = doc_facts(run);
        if (!facts) facts = arena_cstr(W.a, str_c(now));
        cr_expect_str_eq(now, facts, "%s", CHECKPOINT_DAMAGE[i].what);
        cr_expect(str_eq(world_head(run).parked, STR_NONE));
    }
    workflow_unref(wf);
}

static void accept_all(struct str run) {
    for (;;) {
        world_wait_settled(run);
        if (run_status_final(world_head(run).status)) return;
        struct run_head before = world_head(run);
        struct str node = gate_name(run);
        int rc = world_answer(run, node.p, ACCEPT, NULL); /* the run may have gone on meanwhile */
        cr_assert(rc == 0 || rc == WOPR_E_INTERRUPT_RESOLVED || rc == WOPR_E_INTERRUPT_NOT_FOUND ||
                      world_head(run).next_seq > before.next_seq,
                  "%d: %s", rc, doc_story(run));
        if (rc == 0) world_wait_more(&before);
    }
}

Test(documents_long, forks_begin_at_one_of_their_source) {
    struct workflow *wf = doc_put(long_document(TASKS));
    struct str run = long_begin(wf);
    gate_open(run, 0);
    struct points p = checkpoints_check(run, wf);
    const int64_t cuts[] = {p.last - 1, p.last, p.last + 1, p.last - 300, p.last + 7};
    for (unsigned i = 1; i < GATES; i++) gate_open(run, i);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        struct str f = fork_run(run, FORK_BRANCH, cuts[i]);
        world_wait_status(f, RUN_WAITING_APPROVAL);
        fork_same_prefix(run, f, cuts[i]);
        world_restart();
        accept_all(f);
        cr_assert_eq(world_head(f).status, RUN_COMPLETED);
        cr_expect(str_eq(doc_world(f), doc_world(run)), "at %d", (int)cuts[i]);
        fork_replays_equal(run, cuts[i], RUN_COMPLETED);
    }
    world_sound();
    workflow_unref(wf);
}

/* --- bounds --- */

enum { LARGE_TASKS = 90, LARGE_PROPERTIES = 20, LARGE_BYTES = 10000 };

/* Task after task takes a large thing away for a minute: what each gives back is 200 KB. */
static struct str large_document(const char *more) {
    struct buf thing, tasks;
    buf_init(&thing, 1 << 20);
    buf_init(&tasks, 1 << 20);
    buf_addz(&thing, "{'id':'big','type':'equipment','name':'B','properties':{'state':'x'");
    for (unsigned i = 0; i < LARGE_PROPERTIES; i++)
        buf_addf(&thing, ",'p%u':'%0*u'", i, LARGE_BYTES, i);
    buf_addz(&thing, "}}");
    for (unsigned i = 0; i < LARGE_TASKS; i++)
        buf_addf(&tasks,
                 "%s{'id':'t%u','actor_id':'a','start':'%02u:%02u','duration':1,'interactions':[{"
                 "'action':'delete','target_id':'big','temporary':true}]%s}",
                 i > 0 ? "," : "", i, 8 + i / 60, i % 60, more);
    struct str text = doc_base(buf_str(&thing).p, buf_str(&tasks).p);
    buf_fini(&thing);
    buf_fini(&tasks);
    return text;
}

static struct str completed_member(struct str run, unsigned nth, const char *key) {
    return json_get(json_get(world_event(run, EV_NODE_COMPLETED, nth)->payload, "outputs"), key);
}

Test(documents_long, outputs_leave_out_what_a_run_cannot_keep_ws_137) {
    struct workflow *wf = doc_put(large_document(""));
    const struct run_needs *needs = &((const struct ws_program *)wf->compiled)->needs;
    struct str run = world_create(wf, NULL, NULL);
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED);
    cr_expect(completed_member(run, 1, "changes").n > LARGE_PROPERTIES * LARGE_BYTES);
    cr_expect(str_eqc(completed_member(run, LARGE_TASKS, "changesOmitted"), "23"));
    cr_expect_eq(completed_member(run, LARGE_TASKS, "changes").n, 0);
    cr_expect_eq(needs->events, world_head(run).next_seq);
    cr_expect(needs->state_bytes < 5 << 20, "%lld", (long long)needs->state_bytes);
    world_check_log(run);
    fork_replays_equal(run, 0, RUN_COMPLETED);
    workflow_unref(wf);
}

/* Each of many people is shown 200 KB: the first five, and the others how many changes. */
Test(documents_long, open_questions_leave_out_what_a_run_cannot_keep_ws_137) {
    enum { PEOPLE = 8, SHOWN = 5 };
    struct buf things, tasks;
    buf_init(&things, 4 << 20);
    buf_init(&tasks, 1 << 20);
    for (unsigned i = 0; i < PEOPLE; i++) {
        buf_addf(&things, "%s{'id':'x%u','type':'actor','name':'X','properties':{'state':'free'}}",
                 i > 0 ? "," : "", i);
        buf_addf(&tasks,
                 "%s{'id':'t%u','actor_id':'x%u','start':'09:00','duration':5,'interactions':[{"
                 "'target_id':'p','property_changes':{'list':{'append':%u}}}]}",
                 i > 0 ? "," : "", i, i, i);
    }
    buf_addf(&things, ",{'id':'y','type':'actor','name':'Y','properties':{'state':'free'}}");
    struct str text = doc_base(buf_str(&things).p, buf_str(&tasks).p), list;
    const char *hole = "{\"quantity\":0}";
    char *at = strstr(text.p, hole);
    cr_assert_not_null(at);
    list = arena_printf(W.a, "%.*s{\"quantity\":0,\"list\":[\"%0*d\"]}%s", (int)(at - text.p),
                        text.p, 100000, 0, at + strlen(hole));
    struct str run = doc_start(list, APPROVAL);
    world_wait_event(run, EV_INTERRUPT_REQUESTED, PEOPLE);
    struct event_list log = world_events(run);
    unsigned asked = 0;
    for (size_t i = 0; i < log.n; i++) {
        if (log.v[i].kind != EV_INTERRUPT_REQUESTED) continue;
        struct str data = json_get(log.v[i].payload, "data");
        struct str shown = json_get(data, "artifactData");
        bool fits = asked++ < SHOWN;
        cr_expect_eq(json_get(shown, "changes").n > 0, fits, "%u", asked);
        cr_expect_eq(str_eqc(json_get(shown, "changesOmitted"), "1"), !fits, "%u", asked);
    }
    cr_expect_eq(asked, PEOPLE);
    /* an answer makes room again */
    accept_all(run);
    cr_expect_eq(world_head(run).status, RUN_COMPLETED, "%s", doc_story(run));
    fork_replays_equal(run, 0, RUN_COMPLETED);
    world_check_log(run);
    buf_fini(&things);
    buf_fini(&tasks);
}

static void few_up(void) {
    W.cfg.bounds.run_events_max = 15;
    world_up();
}
static void few_bytes_up(void) {
    W.cfg.bounds.run_bytes_max = 3000;
    world_up();
}
static void few_values_up(void) {
    W.cfg.bounds.run_state_bytes_max = 500;
    world_up();
}

static void expect_refused(const char *setting) {
    struct wopr_error err = {0};
    struct workflow *wf = doc_put(doc_text(DOC_TEA));
    cr_expect_eq(world_create_try(wf, NULL, &err), WOPR_E_VALIDATION);
    cr_expect_not_null(strstr(err.message, setting), "%s", err.message);
    workflow_unref(wf);
}

Test(documents_bounds, a_run_of_too_many_events_is_refused_before_it_is_one_ws_145, .init = few_up,
     .fini = world_down) {
    expect_refused("raise run-events-max");
}

Test(documents_bounds, and_one_of_too_many_bytes, .init = few_bytes_up, .fini = world_down) {
    expect_refused("raise run-bytes-max");
}

Test(documents_bounds, and_one_of_too_large_values, .init = few_values_up, .fini = world_down) {
    expect_refused("raise run-state-bytes-max");
}

/* Inputs that make it larger are judged with it. */
static void some_values_up(void) {
    W.cfg.bounds.run_state_bytes_max = 4000;
    world_up();
}
Test(documents_bounds, inputs_are_judged_with_the_document, .init = some_values_up,
     .fini = world_down) {
    struct wopr_error err = {0};
    struct workflow *wf = doc_put(doc_text(DOC_TEA));
    const char *large = arena_printf(W.a, "{\"world\":{\"water\":{\"note\":\"%03000d\"}}}", 0).p;
    cr_expect_eq(world_create_try(wf, large, &err), WOPR_E_VALIDATION);
    cr_expect_not_null(strstr(err.message, "raise run-state-bytes-max"), "%s", err.message);
    cr_expect_eq(world_create_try(wf, NULL, &err), 0, "%s", err.message);
    workflow_unref(wf);
}

/* --- documents made at random --- */

static struct str image_of(const struct run_state *s, struct buf *b) {
    const struct state_aside none = {0};
    buf_init(b, IMAGE_MAX);
    cr_assert_eq(run_state_save(s, &none, b), 0);
    return buf_str(b);
}

static void apply(struct run_state *s, const struct event *e) {
    struct wopr_error err = {0};
    cr_assert_eq(run_state_apply(s, e, &err), 0, "%s", err.message);
}

/* At every sequence: what an image gives is what was saved, and goes on as the fold does. */
static void images_everywhere(struct str run, struct workflow *wf) {
    struct run_origin o;
    struct wopr_error err = {0};
    struct event_list log = world_events(run);
    cr_assert_eq(store_run_origin(W.store, world_head(run).run_no, W.a, &o, &err), 0);
    struct run_state *s = checkpoint_fresh(&o, wf);
    struct buf last, was, is;
    for (size_t i = 0; i < log.n; i++) apply(s, &log.v[i]);
    struct str end = image_of(s, &last);
    run_state_free(s);
    s = checkpoint_fresh(&o, wf);
    for (size_t n = 0; n < log.n; n++) {
        struct run_state *t = NULL;
        struct state_aside aside;
        struct str image = image_of(s, &was);
        int rc = run_state_load(image, wf, &o.meta, &W.cfg.limits, &t, &aside, &err);
        cr_assert_eq(rc, 0, "at %zu: %s\n%s", n, err.message, doc_story(run));
        cr_expect(str_eq(image_of(t, &is), image), "at %zu", n);
        buf_fini(&is);
        for (size_t k = n; k < log.n; k++) apply(t, &log.v[k]);
        cr_expect(str_eq(image_of(t, &is), end), "from %zu", n);
        buf_fini(&is);
        buf_fini(&was);
        run_state_free(t);
        apply(s, &log.v[n]);
    }
    buf_fini(&last);
    run_state_free(s);
}

/* Some have a valid half of their tasks only; their runs fail on the way. */
static struct workflow *generated(uint64_t seed) {
    struct gen_dice d = {seed};
    const char *tasks = gen_tasks(W.a, &d);
    if (tasks[0] == '\0') return NULL;
    struct str text =
        doc_base("{'id':'w','type':'service','name':'W','properties':{'state':'on'}}", tasks);
    return doc_put(text);
}

/* When people are asked, the log has their answers where they gave them; what comes of the tasks
 * does not depend on it (WS-118). */
static void from_everywhere(struct str run, enum run_status end, uint64_t seed) {
    bool people = world_count(run, EV_INTERRUPT_REQUESTED) > 0;
    const char *facts = doc_facts(run);
    int64_t n = world_head(run).next_seq;
    for (int64_t seq = 0; seq < n; seq++) {
        struct str f = fork_run(run, FORK_BRANCH, seq);
        accept_all(f);
        cr_expect_eq(world_head(f).status, end, "seed %d at %d: %s\n%s", (int)seed, (int)seq,
                     doc_story(run), doc_story(f));
        if (!people) cr_expect_str_eq(doc_facts(f), facts, "seed %d at %d", (int)seed, (int)seq);
        if (end == RUN_COMPLETED) cr_expect(str_eq(doc_world(f), doc_world(run)));
        fork_replays_equal(run, seq, end);
    }
}

/* What was said of a run before it began, of one that asks no one. */
static void needs_agree(struct str run, const struct workflow *wf) {
    const struct run_needs *needs = &((const struct ws_program *)wf->compiled)->needs;
    struct run_head h = world_head(run);
    int64_t warned = (int64_t)((const struct ws_program *)wf->compiled)->warnings_nr;
    if (h.status != RUN_COMPLETED || world_count(run, EV_INTERRUPT_REQUESTED) > 0) return;
    cr_expect_eq(needs->events + warned, h.next_seq, "%s", doc_story(run));
}

Test(documents_long, generated_ones_agree_from_every_event_on, .timeout = 600) {
    size_t completed = 0, failed = 0, asked = 0;
    uint64_t seed = 1;
    for (unsigned i = 0; i < sampled(DOCUMENTS); i++) {
        struct workflow *wf = NULL;
        struct str run[2];
        while ((wf = generated(seed++)) == NULL) continue;
        for (int k = 0; k < 2; k++) {
            run[k] = world_create(wf, NULL, i % 3 == 0 ? APPROVAL : NULL);
            accept_all(run[k]);
        }
        enum run_status end = world_head(run[0]).status;
        char *first = arena_cstr(W.a, str_c(doc_facts(run[0])));
        if (i % 3 != 0) cr_expect_str_eq(doc_facts(run[1]), first, "seed %d", (int)seed);
        needs_agree(run[0], wf);
        images_everywhere(run[0], wf);
        from_everywhere(run[0], end, seed);
        world_check_log(run[0]);
        completed += end == RUN_COMPLETED;
        failed += end == RUN_FAILED;
        asked += world_count(run[0], EV_INTERRUPT_REQUESTED);
        workflow_unref(wf);
    }
    cr_expect(sampled_every() > 1 || (completed > 0 && failed > 0 && asked > 0),
              "%zu completed, %zu failed, %zu asked", completed, failed, asked);
    world_sound();
}
