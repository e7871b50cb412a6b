/* fork_kit.c: see fork_kit.h. */
#include "fork_kit.h"

#include "domain/compare.h"

#include <criterion/criterion.h>

int fork_try(struct str source, enum fork_mode mode, int64_t from, struct fork_overlay over,
             struct str *run_id, struct wopr_error *err) {
    struct call c;
    call_init(&c, ENGINE_FORK, source);
    c.cmd.fork.mode = mode;
    c.cmd.fork.from_seq = from;
    c.cmd.fork.overlay = over;
    call_do(&c);
    int rc = c.cmd.result.rc;
    if (rc == 0) *run_id = arena_str(W.a, c.cmd.result.run_id);
    if (err) *err = c.cmd.result.err;
    call_fini(&c);
    return rc;
}

struct str fork_run(struct str source, enum fork_mode mode, int64_t from) {
    struct str id = STR_NONE;
    struct wopr_error err = {0};
    int rc = fork_try(source, mode, from, (struct fork_overlay){0}, &id, &err);
    cr_assert_eq(rc, 0, "%s at %d: %s", mode == FORK_REPLAY ? "replay" : "branch", (int)from,
                 err.message);
    return id;
}

void fork_same_prefix(struct str source, struct str fork, int64_t from) {
    struct event_list a = world_events(source), b = world_events(fork);
    cr_assert_geq(b.n, (size_t)from);
    for (size_t i = 0; i < (size_t)from; i++) {
        cr_expect_eq(b.v[i].seq, a.v[i].seq);
        cr_expect_eq(b.v[i].kind, a.v[i].kind);
        cr_expect_eq(b.v[i].ts_ms, a.v[i].ts_ms);
        cr_expect_eq(b.v[i].causation_seq, a.v[i].causation_seq);
        cr_expect(str_eq(b.v[i].node_id, a.v[i].node_id));
        cr_expect(str_eq(b.v[i].payload, a.v[i].payload));
        cr_expect_eq(b.v[i].flags & EVENT_INHERITED, EVENT_INHERITED);
    }
}

/* The ids of a run and of all that it was forked from, removed ones included. */
static struct map *family_of(struct str run) {
    struct map *family = map_new();
    struct wopr_error err;
    cr_assert_not_null(family);
    int64_t run_no = world_head(run).run_no;
    while (run.n > 0) {
        struct run_link o = {.fork.mode = FORK_NONE};
        cr_assert_eq(map_put(family, run, family, NULL), 0);
        int rc = store_run_link(W.store, run_no, W.a, &o, &err);
        cr_assert(rc == 0 || rc == WOPR_E_NOT_FOUND, "%s", err.message);
        run = o.fork.mode == FORK_NONE ? STR_NONE : o.fork.source_run_id;
        run_no = o.fork.source_run_no;
    }
    return family;
}

/* What is compared of both logs from a sequence on is equal, times included. */
void fork_same_tail(struct str source, struct str replay, int64_t from) {
    struct event_list a = world_events(source), b = world_events(replay);
    struct map *family = family_of(replay);
    size_t i = (size_t)from, k = (size_t)from;
    for (;;) {
        while (i < a.n && compare_ignores(&a.v[i])) i++;
        while (k < b.n && compare_ignores(&b.v[k])) k++;
        if (i == a.n || k == b.n) break;
        enum divergence d = DIV_TYPE;
        cr_assert_eq(compare_events(&a.v[i], &b.v[k], family, W.a, &d), 0);
        cr_expect_eq(d, DIV_NONE, "fork at %d, %d: %s against %s", (int)from, (int)i,
                     event_name(a.v[i].kind), event_name(b.v[k].kind));
        cr_expect_eq(a.v[i].ts_ms, b.v[k].ts_ms, "fork at %d, %d: %s", (int)from, (int)i,
                     event_name(a.v[i].kind));
        cr_expect_eq(b.v[k].flags & EVENT_REEMITTED, EVENT_REEMITTED);
        i++;
        k++;
    }
    map_free(family);
    cr_expect(i == a.n && k == b.n, "fork at %d: %s", (int)from, world_story(replay));
}

static void same_values(struct str source, struct str replay) {
    struct run_view a = world_view(source), b = world_view(replay);
    cr_assert_eq(a.vars_nr, b.vars_nr);
    cr_assert_eq(a.chans_nr, b.chans_nr);
    for (size_t i = 0; i < a.vars_nr; i++) cr_expect(str_eq(a.vars[i].value, b.vars[i].value));
    for (size_t i = 0; i < a.chans_nr; i++) /* FORK-17 */
        cr_expect(str_eq(a.chans[i].value, b.chans[i].value));
    cr_expect(str_eq(a.outputs, b.outputs));
    cr_expect(str_eq(a.error, b.error));
}

void fork_replays_equal(struct str source, int64_t from, enum run_status end) {
    struct str r[2];
    for (int i = 0; i < 2; i++) r[i] = fork_run(source, FORK_REPLAY, from);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(world_wait_final(r[i]), end, "at %d: %s", (int)from, world_story(r[i]));
        cr_expect_eq(world_count(r[i], EV_REPLAY_DIVERGED), 0, "at %d: %s", (int)from,
                     world_story(r[i]));
        fork_same_prefix(source, r[i], from);
        fork_same_tail(source, r[i], from);
        same_values(source, r[i]);
        world_check_log(r[i]);
    }
    cr_expect_str_eq(world_story(r[0]), world_story(r[1])); /* FORK-15 */
}

void world_wait_settled(struct str run_id) {
    for (;;) {
        struct run_head h = world_head(run_id);
        if (run_status_final(h.status) ||
            (h.status >= RUN_WAITING_APPROVAL && h.status <= RUN_WAITING_EXTERNAL))
            return;
        world_wait_more(&h);
    }
}
