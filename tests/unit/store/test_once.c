/*
 * test_once.c: large inputs are stored once, and read back wherever they are asked for.
 */
#include "codec/json.h"
#include "kit.h"
#include "store/runs.h"
#include "store/sqlite/sql.h"

enum { LONG = 100000, SHORT = 2000 };
static struct kit k;
static struct arena *a;

static void up(void) {
    kit_up(&k);
    a = arena_new(64u << 20);
}
static void down(void) {
    arena_free(a);
    kit_down(&k);
}
TestSuite(once, .init = up, .fini = down, .timeout = 300);

static struct str text_of(size_t n, char c) {
    char *p = arena_alloc(a, n + 2);
    memset(p, c, n + 2);
    p[0] = p[n + 1] = '"';
    return str_n(p, n + 2);
}
static struct str object_of(const char *name, struct str value) {
    struct buf b;
    buf_init(&b, 1u << 20);
    buf_addf(&b, "{\"%s\":", name);
    buf_adds(&b, value);
    buf_addc(&b, '}');
    struct str s = arena_str(a, buf_str(&b));
    buf_fini(&b);
    return s;
}

/* A run that begins with `inputs`, told as `told`, and the variable x. */
static int64_t created(struct str inputs, struct str told, struct str x) {
    struct plan *p = plan_ref(kit_create("run_1", 1));
    p->create->meta.inputs = inputs;
    p->create->vars = (struct var_inits){.v = ARENA_NEW(p->arena, struct var_init), .n = 1};
    p->create->vars.v[0] = (struct var_init){.name = STR("x"), .value = x, .from_input = true};
    p->events[0].kind = EV_RUN_STARTED;
    p->events[0].type = str_c(event_name(EV_RUN_STARTED));
    p->events[0].payload = object_of("inputs", told);
    cr_assert_eq(kit_apply(&k, p), 0, "%s", k.err.message);
    int64_t run_no = p->run_no;
    plan_unref(p);
    return run_no;
}
static void expect_read_back(int64_t run_no, struct str inputs, struct str x) {
    struct run_origin o;
    struct run_view v;
    cr_assert_eq(store_run_origin(k.s, run_no, a, &o, &k.err), 0, "%s", k.err.message);
    cr_expect(str_eq(o.meta.inputs, inputs));
    cr_assert_eq(store_run_view(k.s, KIT_TENANT, false, STR("run_1"), a, &v, &k.err), 0, "%s",
                 k.err.message);
    cr_assert_eq(v.vars_nr, 1u);
    cr_expect(str_eq(v.vars[0].value, x));
}
static int64_t number(const char *sql) {
    sqlite3_stmt *q;
    cr_assert_eq(sqlite3_prepare_v2(k.s->writer->db, sql, -1, &q, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_step(q), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    return n;
}
static void expect_stored(int64_t origin_bytes, int64_t var_bytes) {
    cr_expect_eq(number("SELECT length(inputs) FROM run_origins"), origin_bytes);
    cr_expect_eq(number("SELECT length(shown) FROM run_vars"), var_bytes);
}

Test(once, large_inputs_stand_in_the_first_event_alone) {
    struct str x = text_of(LONG, 'a'), in = object_of("x", x);
    int64_t run_no = created(in, in, x);
    expect_stored(1, 0);
    expect_read_back(run_no, in, x);
}

Test(once, what_the_event_masks_is_kept) {
    struct str x = text_of(LONG, 'a'), in = object_of("x", x);
    int64_t run_no = created(in, object_of("x", STR("\"[REDACTED]\"")), x);
    expect_stored((int64_t)in.n, 0);
    expect_read_back(run_no, in, x);
}

Test(once, a_variable_of_another_value_is_kept) {
    struct str in = object_of("x", text_of(LONG, 'a')), x = text_of(LONG, 'b');
    int64_t run_no = created(in, in, x);
    expect_stored(1, LONG + 2);
    expect_read_back(run_no, in, x);
}

Test(once, small_inputs_are_rows_as_they_are) {
    struct str x = text_of(SHORT, 'a'), in = object_of("x", x);
    int64_t run_no = created(in, in, x);
    expect_stored((int64_t)in.n, SHORT + 2);
    expect_read_back(run_no, in, x);
}
