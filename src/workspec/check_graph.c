/* check_graph.c: circles of dependencies (WS-32), by a search with a stack of its own. */
#include "codec/json.h"
#include "workspec/check_int.h"

struct frame {
    uint32_t task;
    size_t next; /* dependency to look at */
};
struct search {
    struct check *c;
    struct frame *stack;
    size_t depth;
    uint8_t *state; /* by task: 0 new, 1 on the stack, 2 done */
    size_t *at;     /* by task: its frame, while on the stack */
};

static void cycle_raise(struct search *s, uint32_t target) {
    struct check *c = s->c;
    struct buf b;
    buf_init(&b, WS_PROBLEM_BYTES_MAX);
    for (size_t k = s->at[target]; k < s->depth; k++) {
        buf_addc(&b, b.len == 0 ? '[' : ',');
        json_quote(&b, c->task[s->stack[k].task].id);
    }
    buf_addc(&b, ',');
    json_quote(&b, c->task[target].id);
    buf_addc(&b, ']');
    if (buf_failed(&b)) check_out_of_memory(c);
    else
        ws_raise(c->r, WS_R60, ws_get(c->task[s->stack[s->depth - 1].task].value, "depends_on"),
                 at_text(c, c->at_tasks), WS_FACTS(ws_fj("cycle", buf_str(&b))));
    buf_fini(&b);
}

static void task_push(struct search *s, uint32_t task) {
    s->state[task] = 1;
    s->at[task] = s->depth;
    s->stack[s->depth++] = (struct frame){task, 0};
}

/* The same dependency named twice is one edge: what was looked at once is done, or on the stack;
 * of the latter the first of equal names counts. */
static bool dep_repeats(const struct check_task *t, size_t k) {
    struct str id = ws_str(t->deps[k].value);
    for (size_t i = 0; i < k; i++)
        if (str_eq(ws_str(t->deps[i].value), id)) return true;
    return false;
}

static void search_from(struct search *s, uint32_t first) {
    struct check *c = s->c;
    uint32_t target;
    task_push(s, first);
    while (s->depth > 0 && !CHECK_FULL(c)) {
        struct frame *f = &s->stack[s->depth - 1];
        const struct check_task *t = &c->task[f->task];
        if (f->next == t->deps_nr) {
            s->state[f->task] = 2;
            s->depth--;
            continue;
        }
        size_t k = f->next++;
        struct str id = ws_str(t->deps[k].value);
        if (id.n == 0 || !ws_names_get(&c->task_ids, 0, id, &target)) continue;
        if (s->state[target] == 1 && !dep_repeats(t, k)) cycle_raise(s, target);
        else if (s->state[target] == 0) task_push(s, target);
    }
}

void check_cycles(struct check *c) {
    struct search s = {.c = c};
    uint32_t last;
    if (c->tasks_nr == 0) return;
    s.stack = ARENA_ARRAY(c->a, struct frame, c->tasks_nr);
    s.state = arena_array(c->a, c->tasks_nr, 1);
    s.at = ARENA_ARRAY(c->a, size_t, c->tasks_nr);
    if (s.stack == NULL || s.state == NULL || s.at == NULL) {
        check_out_of_memory(c);
        return;
    }
    for (size_t i = 0; i < c->tasks_nr && !CHECK_FULL(c); i++) {
        if (c->task[i].id.n == 0 || !ws_names_get(&c->task_ids, 0, c->task[i].id, &last)) continue;
        if (s.state[last] == 0) search_from(&s, last);
    }
}
