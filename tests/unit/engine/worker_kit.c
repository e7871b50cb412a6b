/* worker_kit.c: see worker_kit.h. */
#include "worker_kit.h"

#include <criterion/criterion.h>

static void op_done(struct engine_task_op *o) { sem_post(o->ctx); }
static void type_done(struct worker_type_cmd *c) { sem_post(c->ctx); }

static void type_do(struct worker_type_cmd *c) {
    sem_t done;
    c->a = W.a;
    c->type.tenant = STR("t1");
    c->type.test_mode = true;
    c->done = type_done;
    c->ctx = &done;
    sem_init(&done, 0, 0);
    engine_worker_type(W.engine, c);
    cr_assert_eq(world_wait_sem(&done), 0);
    sem_destroy(&done);
}

int worker_type_try(const char *id, const char *input, const char *output, struct worker_type *t) {
    struct worker_type_cmd c = {.what = WORKER_TYPE_PUT};
    c.type = (struct worker_type){.type_id = str_c(id),
                                  .input_schema = input ? str_c(input) : STR_NONE,
                                  .output_schema = output ? str_c(output) : STR_NONE,
                                  .updated_ms = 1000};
    type_do(&c);
    if (t) *t = c.type;
    return c.rc;
}

int worker_type_remove(const char *id) {
    struct worker_type_cmd c = {.what = WORKER_TYPE_REMOVE, .type.type_id = str_c(id)};
    type_do(&c);
    return c.rc;
}

void worker_type_put(const char *id) { cr_assert_eq(worker_type_try(id, NULL, NULL, NULL), 0); }

int worker_op(struct engine_task_op *o) {
    sem_t done;
    o->done = op_done;
    o->ctx = &done;
    o->op.a = W.a;
    o->op.queue.tenant = STR("t1");
    o->op.queue.test_mode = true;
    sem_init(&done, 0, 0);
    engine_task_op(W.engine, o);
    cr_assert_eq(world_wait_sem(&done), 0);
    sem_destroy(&done);
    return o->op.rc;
}

struct task_row_list worker_claim_of(const struct str *types, size_t n, size_t max,
                                     int64_t lease_ms) {
    struct engine_task_op o = {.op = {.what = TASK_OP_CLAIM, .max = max, .lease_ms = lease_ms}};
    o.op.queue.types = types;
    o.op.queue.types_nr = n;
    cr_assert_eq(worker_op(&o), 0, "%s", o.op.err.message);
    return o.op.claimed;
}

struct task_row_list worker_claim(const char *type, size_t max, int64_t lease_ms) {
    const struct str types = str_c(type);
    return worker_claim_of(&types, 1, max, lease_ms);
}

int worker_beat(const struct task_row *t) {
    struct engine_task_op o = {
        .op = {.what = TASK_OP_BEAT, .task_id = t->task_id, .epoch = t->epoch}};
    return worker_op(&o);
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
