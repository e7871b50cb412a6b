/* checkpoint_kit.c: see checkpoint_kit.h. */
#include "checkpoint_kit.h"

#include "domain/state_save.h"
#include "host/host.h"
#include "store/events.h"
#include "store/runs.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { IMAGE_MAX = 8 << 20 };

void world_restart(void) {
    world_engine_stop();
    world_engine_start();
}

static void finding_show(void *ctx, const char *line) {
    (void)ctx;
    fprintf(stderr, "%s\n", line);
}

void world_sound(void) {
    int64_t runs = 0, findings = 0;
    struct wopr_error err = {0};
    int rc = host_verify(W.store, NULL, finding_show, NULL, &runs, &findings, &err);
    cr_assert_eq(rc, 0, "%s", err.message);
    cr_assert_eq(findings, 0);
}

struct run_state *checkpoint_fresh(const struct run_origin *o, struct workflow *wf) {
    struct run_state *s = NULL;
    cr_assert_eq(run_state_new(wf, &o->meta, &W.cfg.limits, &s, NULL), 0);
    return s;
}

struct points checkpoints_check(struct str run, struct workflow *wf) {
    struct points p = {0};
    struct run_origin o;
    struct wopr_error err;
    struct plan_checkpoint c;
    const struct state_aside none = {0};
    int64_t no = world_head(run).run_no;
    struct event_list log = world_events(run);
    cr_assert_eq(store_run_origin(W.store, no, W.a, &o, &err), 0);
    struct run_state *s = checkpoint_fresh(&o, wf);
    while (store_run_checkpoint_next(W.store, no, p.last, W.a, &c, &err) == 0) {
        struct run_state *t = NULL;
        struct state_aside aside;
        struct buf x, y;
        cr_assert_leq(c.seq, (int64_t)log.n);
        while (s->next_seq < c.seq) cr_assert_eq(run_state_apply(s, &log.v[s->next_seq], NULL), 0);
        int rc = run_state_load(c.image, wf, &o.meta, &W.cfg.limits, &t, &aside, &err);
        cr_assert_eq(rc, 0, "%s", err.message);
        buf_init(&x, IMAGE_MAX);
        buf_init(&y, IMAGE_MAX);
        cr_assert_eq(run_state_save(s, &none, &x), 0);
        cr_assert_eq(run_state_save(t, &none, &y), 0);
        cr_assert(str_eq(buf_str(&x), buf_str(&y)), "at %d", (int)c.seq);
        buf_fini(&x);
        buf_fini(&y);
        run_state_free(t);
        if (c.seq - p.last > p.gap) p.gap = c.seq - p.last;
        p.last = c.seq;
        p.bytes += (int64_t)c.image.n;
        p.n++;
    }
    run_state_free(s);
    return p;
}

/* What happens to the checkpoints of a waiting run before it is loaded. */
const struct checkpoint_damage CHECKPOINT_DAMAGE[CHECKPOINT_DAMAGES] = {
    {"nothing", "SELECT 1"},
    {"they are gone", "DELETE FROM run_checkpoints"},
    {"zeros", "UPDATE run_checkpoints SET image = zeroblob(length(image))"},
    {"empty", "UPDATE run_checkpoints SET image = x''"},
    {"cut", "UPDATE run_checkpoints SET image = substr(image, 1, length(image) - 1)"},
    {"a byte", "UPDATE run_checkpoints SET image = CAST(substr(image, 1, 90) || x'07'"
               " || substr(image, 92) AS BLOB)"},
    {"another codec", "UPDATE run_checkpoints SET image = CAST(substr(image, 1, 6) || x'ffff'"
                      " || substr(image, 9) AS BLOB)"},
    {"the newest is cut", "UPDATE run_checkpoints SET image = substr(image, 1, 50)"
                          " WHERE (run_no, seq) IN (SELECT run_no, max(seq) FROM run_checkpoints"
                          " GROUP BY run_no)"},
    {"of another sequence", "UPDATE run_checkpoints SET seq = seq - 1"},
    {"beyond the log", "UPDATE run_checkpoints SET seq = seq + 100000"},
    {"its data key is lost", "UPDATE run_checkpoints SET key_no = 77 WHERE key_no > 0"},
};
