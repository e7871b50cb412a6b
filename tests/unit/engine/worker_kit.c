/* worker_kit.c: see worker_kit.h. */
#include "worker_kit.h"

#include <criterion/criterion.h>

struct waiting {
    struct engine_task_op o;
    struct worker_type_cmd t;
    sem_t done;
};

static void op_done(struct engine_task_op *o) { sem_post(&((struct waiting *)o->ctx)->done); }
static void type_done(struct worker_type_cmd *c) { sem_post(&((struct waiting *)c->ctx)->done); }

void worker_type_put(const char *id) {
    struct waiting w = {.t = {.what = WORKER_TYPE_PUT, .a = W.a, .done = type_done, .ctx = &w}};
    w.t.type = (struct worker_type){
        .tenant = STR("t1"), .test_mode = true, .type_id = str_c(id), .updated_ms = 1000};
    sem_init(&w.done, 0, 0);
    engine_worker_type(W.engine, &w.t);
    cr_assert_eq(world_wait_sem(&w.done), 0);
    sem_destroy(&w.done);
    cr_assert_eq(w.t.rc, 0);
}

static int op_run(struct waiting *w) {
    w->o.done = op_done;
    w->o.ctx = w;
    w->o.op.a = W.a;
    w->o.op.queue.tenant = STR("t1");
    w->o.op.queue.test_mode = true;
    sem_init(&w->done, 0, 0);
    engine_task_op(W.engine, &w->o);
    cr_assert_eq(world_wait_sem(&w->done), 0);
    sem_destroy(&w->done);
    return w->o.op.rc;
}

struct task_row_list worker_claim(const char *type, size_t max, int64_t lease_ms) {
    const struct str types = str_c(type);
    struct waiting w = {.o.op = {.what = TASK_OP_CLAIM, .max = max, .lease_ms = lease_ms}};
    w.o.op.queue.types = &types;
    w.o.op.queue.types_nr = 1;
    cr_assert_eq(op_run(&w), 0, "%s", w.o.op.err.message);
    return w.o.op.claimed;
}

int worker_beat(const struct task_row *t) {
    struct waiting w = {.o.op = {.what = TASK_OP_BEAT, .task_id = t->task_id, .epoch = t->epoch}};
    return op_run(&w);
}

int worker_say(const struct task_row *t, const struct task_says *says, struct wopr_error *err) {
    struct call c;
    call_init(&c, ENGINE_TASK, t->run_id);
    c.cmd.task = (struct cmd_task){.task_id = t->task_id, .epoch = t->epoch, .says = *says};
    call_do(&c);
    int rc = c.cmd.result.rc;
    if (err) *err = c.cmd.result.err;
    call_fini(&c);
    return rc;
}
