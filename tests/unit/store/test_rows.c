/*
 * Everything beside the log: isolation, views, leases, retention, keys, workflows.
 */
#include "base/mem.h"
#include "store/keys.h"
#include "store/leases.h"
#include "store/run_lists.h"
#include "store/sqlite/sql.h"
#include "store/upkeep.h"
#include "store/workflows.h"
#include "unit/store/kit.h"

static struct kit w;
static void up(void) { kit_up(&w); }
static void down(void) { kit_down(&w); }
TestSuite(rows, .init = up, .fini = down);

Test(rows, tenants_and_modes_do_not_see_each_other /* AUTH-8, AUTH-9 */) {
    struct run_head h;
    struct run_view v;
    kit_run(&w, "run_1", 1);
    cr_assert_eq(store_run_head(w.s, KIT_TENANT, false, STR("run_1"), w.a, &h, &w.err), 0);
    cr_assert_eq(store_run_head(w.s, STR("tenant-b"), false, STR("run_1"), w.a, &h, &w.err),
                 WOPR_E_NOT_FOUND);
    cr_assert_eq(store_run_head(w.s, KIT_TENANT, true, STR("run_1"), w.a, &h, &w.err),
                 WOPR_E_NOT_FOUND);
    cr_assert_eq(store_run_view(w.s, STR("tenant-b"), false, STR("run_1"), w.a, &v, &w.err),
                 WOPR_E_NOT_FOUND);
    struct plan_artifact art;
    cr_assert_eq(
        store_artifact_get(w.s, STR("tenant-b"), false, STR("run_1"), STR("x"), w.a, &art, &w.err),
        WOPR_E_NOT_FOUND);
}

static void *keep(struct plan *p, const void *v, size_t n) {
    void *copy = arena_alloc(p->arena, n);
    memcpy(copy, v, n);
    return copy;
}

static struct plan *full_plan(int64_t no) {
    struct plan *p = kit_append(no, 1, 1, false);
    struct plan_node_row nodes[] = {{STR("b"), STR("{\"status\":\"running\"}")},
                                    {STR("a"), STR("{\"status\":\"completed\"}")}};
    struct plan_var_row vars[] = {{STR("v"), STR("2"), false},
                                  {STR("s"), STR("\"[REDACTED]\""), false}};
    struct plan_chan_row chans[] = {
        {PLAN_CHAN_PUT, STR("list"), true, true, 3, 10, STR("1"), 100},
        {PLAN_CHAN_PUT, STR("list"), true, true, 4, 11, STR("{\"x\":2}"), 100},
        {PLAN_CHAN_PUT, STR("one"), false, false, 3, 10, STR("\"old\""), 0},
        {PLAN_CHAN_PUT, STR("one"), false, false, 5, 12, STR("\"new\""), 0},
    };
    struct plan_timer timers[] = {{true, TIMER_NODE_WAIT, STR("a"), 500, 0},
                                  {true, TIMER_RUN_TIMEOUT, STR(""), -1, 70}};
    struct plan_artifact arts[] = {
        {STR("art-1"), STR("doc"), STR("a"), STR("1"), STR("sum"), STR("{\"t\":1}"), 2}};
    p->nodes = keep(p, nodes, sizeof nodes), p->nodes_nr = 2;
    p->vars = keep(p, vars, sizeof vars), p->vars_nr = 2;
    p->chans = keep(p, chans, sizeof chans), p->chans_nr = 4;
    p->timers = keep(p, timers, sizeof timers), p->timers_nr = 2;
    p->artifacts = keep(p, arts, sizeof arts), p->artifacts_nr = 1;
    p->has_update = true;
    p->update = (struct run_row_update){.status = RUN_WAITING_INPUT,
                                        .current_node = STR("b"),
                                        .started_ms = 7,
                                        .paused_ms = 8,
                                        .agent = STR("{\"id\":\"x\"}")};
    return p;
}

Test(rows, a_view_shows_what_the_plans_wrote) {
    struct plan *c = kit_create("run_1", 1);
    struct var_init init[] = {{STR("v"), STR("1"), STR("1"), false, true, false},
                              {STR("gone"), STR("\"y\""), STR_NONE, true, true, false},
                              {STR("hid"), STR("\"x\""), STR("\"[REDACTED]\""), true, true, false}};
    c->create->vars = (struct var_inits){.v = init, .n = 3};
    c->create->parent_run_id = STR("run_0");
    c->create->parent_node_id = STR("call");
    plan_ref(c);
    cr_assert_eq(kit_apply(&w, c), 0);
    cr_assert_eq(kit_apply(&w, full_plan(c->run_no)), 0, "%s", w.err.message);
    struct run_view v;
    cr_assert_eq(store_run_view(w.s, KIT_TENANT, false, STR("run_1"), w.a, &v, &w.err), 0);
    cr_assert(v.head.status == RUN_WAITING_INPUT && v.head.next_seq == 2 && v.head.paused_ms == 8);
    cr_assert(str_eqc(v.current_node, "b") && str_eqc(v.parent_run_id, "run_0") &&
              str_eqc(v.parent_node_id, "call") && str_eqc(v.workflow_id, "wf") &&
              v.started_ms == 7);
    cr_assert(v.nodes_nr == 2 && str_eqc(v.nodes[0].name, "a"));
    cr_assert(v.vars_nr == 3 && str_eqc(v.vars[0].name, "hid"));
    cr_assert(str_eqc(v.vars[0].value, "\"[REDACTED]\""), "masked from the start (OBS-71)");
    cr_assert(str_eqc(v.vars[1].value, "\"[REDACTED]\"") && str_eqc(v.vars[2].value, "2"));
    cr_assert_eq(v.chans_nr, 2);
    cr_assert(str_eqc(v.chans[0].value, "[1,{\"x\":2}]") && v.chans[0].declared);
    cr_assert(v.chans[0].ttl_ms == 100 && v.chans[0].entries_nr == 2); /* CHAN-17 */
    cr_assert(v.chans[0].entries[0].ts_ms == 10 && str_eqc(v.chans[0].entries[0].value, "1"));
    cr_assert(v.chans[1].ttl_ms == 0 && v.chans[1].entries_nr == 0);
    cr_assert(str_eqc(v.chans[1].value, "\"new\"") && !v.chans[1].declared);
    struct timer_row_list t;
    cr_assert_eq(store_timers(w.s, c->run_no, w.a, &t, &w.err), 0);
    cr_assert(t.n == 2 && t.v[0].fire_at_ms == 500 && str_eqc(t.v[0].node_id, "a"));
    cr_assert(t.v[1].kind == TIMER_RUN_TIMEOUT && t.v[1].remaining_ms == 70);
    struct plan_artifact art;
    cr_assert_eq(
        store_artifact_get(w.s, KIT_TENANT, false, STR("run_1"), STR("art-1"), w.a, &art, &w.err),
        0);
    cr_assert(str_eqc(art.body, "{\"t\":1}") && str_eqc(art.artifact_type, "doc"));
    struct plan *p = kit_append(c->run_no, 2, 0, false);
    struct plan_timer clear = {false, TIMER_NODE_WAIT, STR("a"), 0, 0};
    struct plan_chan_row del = {PLAN_CHAN_DEL, STR("list"), true, true, 3, 0, STR_NONE, 0};
    p->timers = &clear, p->timers_nr = 1;
    p->chans = &del, p->chans_nr = 1;
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_assert_eq(store_timers(w.s, c->run_no, w.a, &t, &w.err), 0);
    cr_assert_eq(t.n, 1);
    cr_assert_eq(store_run_view(w.s, KIT_TENANT, false, STR("run_1"), w.a, &v, &w.err), 0);
    cr_assert(str_eqc(v.chans[0].value, "[{\"x\":2}]"));
    cr_assert_eq(v.head.status, RUN_WAITING_INPUT, "a plan without a row update keeps the row");
    plan_unref(c);
    cr_assert_eq(kit_verify(&w), 0);
}

/* Around the bound: a state grows, shrinks and grows, and the view shows the last one. */
Test(rows, a_state_may_be_longer_or_shorter_than_the_one_before) {
    static const size_t LENGTHS[] = {2, 511, 512, 513, 4000, 512, 513, 2, 100000, 0};
    int64_t no = kit_run(&w, "run_1", 1);
    struct run_view v;
    for (size_t i = 0; LENGTHS[i] > 0; i++) {
        struct plan *p = kit_append(no, (int64_t)i + 1, 1, false);
        char *text = arena_alloc(w.a, LENGTHS[i]);
        memset(text, (int)('a' + i), LENGTHS[i]);
        struct plan_node_row node = {STR("n"), str_n(text, LENGTHS[i])};
        p->nodes = keep(p, &node, sizeof node), p->nodes_nr = 1;
        cr_assert_eq(kit_apply(&w, p), 0, "%s", w.err.message);
        cr_assert_eq(store_run_view(w.s, KIT_TENANT, false, STR("run_1"), w.a, &v, &w.err), 0);
        cr_assert(v.nodes_nr == 1 && str_eq(v.nodes[0].value, node.state), "%zu bytes", LENGTHS[i]);
    }
    cr_expect_eq(kit_number(&w, "SELECT count(*) FROM node_states_long"), 1);
    cr_assert_eq(kit_foreign(&w, "DELETE FROM node_states_long"), 0);
    cr_expect_neq(kit_verify(&w), 0, "a long state that is gone");
    cr_expect_eq(store_run_view(w.s, KIT_TENANT, false, STR("run_1"), w.a, &v, &w.err),
                 WOPR_E_CORRUPT);
}

Test(rows, an_origin_gives_back_the_creation_data /* RUN-9, D18 */) {
    struct plan *c = plan_ref(kit_create("run_1", 1));
    c->create->workflow_hash = sha256_of(STR("wf"));
    c->create->meta.configurable = STR("{\"a\":1}");
    c->create->meta.metadata = STR("{\"m\":null}");
    c->create->meta.scope_id = STR("sc");
    c->create->meta.callback_url = STR("https://x.example/");
    c->create->meta.traceparent = STR("00-1-2-01");
    c->create->meta.test_mode = c->create->meta.led = true;
    cr_assert_eq(kit_apply(&w, c), 0);
    struct run_origin o;
    cr_assert_eq(store_run_origin(w.s, c->run_no, w.a, &o, &w.err), 0);
    const struct run_meta *x = &o.meta, *y = &c->create->meta;
    cr_assert(str_eq(x->run_id, y->run_id) && str_eq(x->workflow_id, y->workflow_id) &&
              str_eq(x->tenant, y->tenant) && str_eq(x->workspace, y->workspace) &&
              str_eq(x->scope_id, y->scope_id) && str_eq(x->subject, y->subject));
    cr_assert(str_eq(x->configurable, y->configurable) && str_eq(x->tags, y->tags) &&
              str_eq(x->metadata, y->metadata) && str_eq(x->callback_url, y->callback_url) &&
              str_eq(x->traceparent, y->traceparent) && str_eq(x->inputs, y->inputs) &&
              str_eq(x->transport, y->transport));
    cr_assert(x->test_mode && x->led && x->shown_engine_version == 1 &&
              x->created_ms == y->created_ms && x->recursion_limit == 25);
    cr_assert(sha256_eq(&o.workflow_hash, &c->create->workflow_hash));
    cr_assert_eq(o.head.era, EVENT_LOG_SCHEMA_VERSION);
    cr_assert_eq(store_run_origin(w.s, 77, w.a, &o, &w.err), WOPR_E_NOT_FOUND);
    plan_unref(c);
}

Test(rows, lists_filter_and_page) {
    char id[32];
    struct run_list l;
    for (int i = 0; i < 30; i++) {
        snprintf(id, sizeof id, "run_%d", i);
        kit_run(&w, id, 1);
    }
    struct plan *p = kit_create("run_b", 1);
    p->create->meta.tenant = STR("tenant-b");
    p->create->meta.tags = STR_NONE;
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_assert_eq(kit_apply(&w, kit_append(3, 1, 1, true)), 0);
    struct run_filter f = {.tenant = KIT_TENANT, .status = -1, .max = 10};
    cr_assert_eq(store_run_list(w.s, &f, w.a, &l, &w.err), 0);
    cr_assert(l.n == 10 && l.v[0].head.run_no == 30 && l.v[9].head.run_no == 21);
    f.before_run_no = 4;
    cr_assert_eq(store_run_list(w.s, &f, w.a, &l, &w.err), 0);
    cr_assert(l.n == 3 && l.v[0].head.status == RUN_COMPLETED);
    f = (struct run_filter){
        .any_tenant = true, .any_mode = true, .status = RUN_COMPLETED, .max = 9};
    cr_assert_eq(store_run_list(w.s, &f, w.a, &l, &w.err), 0);
    cr_assert(l.n == 1 && l.v[0].head.run_no == 3 && l.v[0].completed_ms > 0);
    f = (struct run_filter){.any_tenant = true, .status = -1, .tag = STR("t2"), .max = 99};
    cr_assert_eq(store_run_list(w.s, &f, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 30);
    f.tag = STR("nope");
    cr_assert_eq(store_run_list(w.s, &f, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 0);
    struct open_run_list u;
    cr_assert_eq(store_run_park(w.s, 5, 7, STR("broken"), &w.err), WOPR_E_FENCED);
    cr_assert_eq(store_run_park(w.s, 5, 1, STR("broken"), &w.err), 0);
    cr_assert_eq(store_runs_unfinished(w.s, 2, 3, w.a, &u, &w.err), 0);
    cr_assert(u.n == 3 && u.v[0].run_no == 4 && u.v[1].run_no == 6 && u.v[2].run_no == 7 &&
              u.v[0].holder_no > 0);
}

static int claim(int64_t no, const char *who, int64_t until, int64_t seen, int64_t beat,
                 int64_t *epoch) {
    const struct lease_claim c = {
        .run_no = no, .holder = str_c(who), .until_ms = until, .epoch = seen, .beat = beat};
    return store_lease_claim(w.s, &c, epoch, &w.err);
}

static int64_t beat_of(const char *who) {
    struct holder_row_list l;
    cr_assert_eq(store_holders(w.s, w.a, &l, &w.err), 0);
    for (size_t i = 0; i < l.n; i++)
        if (str_eqc(l.v[i].name, who)) return l.v[i].beat;
    return LEASE_NO_BEAT;
}

Test(rows, a_lease_is_taken_once_and_fences /* STORE-31 to STORE-33 */) {
    int64_t epoch = 0, n = 0;
    int64_t no = kit_run(&w, "run_1", 1); /* host-1, epoch 1 */
    int64_t beat = beat_of("host-1");
    cr_assert_eq(claim(no, "host-2", 2000, 1, LEASE_NO_BEAT, &epoch), WOPR_E_FENCED);
    cr_assert_eq(store_lease_renew(w.s, STR("host-1"), 1500, &n, &w.err), 0);
    cr_assert_eq(n, 1);
    cr_assert_eq(beat_of("host-1"), beat + 1);
    cr_assert_eq(claim(no, "host-2", 2000, 1, beat, &epoch), WOPR_E_FENCED, "it beat since");
    cr_assert_eq(claim(no, "host-2", 2000, 2, beat + 1, &epoch), WOPR_E_FENCED, "another epoch");
    cr_assert_eq(claim(no, "host-2", 2500, 1, beat + 1, &epoch), 0);
    cr_assert_eq(epoch, 2);
    cr_assert_eq(store_lease_renew(w.s, STR("host-1"), 9000, &n, &w.err), 0);
    cr_assert_eq(n, 0, "the old holder renews nothing");
    cr_assert_eq(kit_apply(&w, kit_append(no, 1, 1, false)), WOPR_E_FENCED);
    struct plan *p = kit_append(no, 1, 1, false);
    p->epoch = 2;
    cr_assert_eq(kit_apply(&w, p), 0);
    struct run_head h;
    cr_assert_eq(store_run_head(w.s, KIT_TENANT, false, STR("run_1"), w.a, &h, &w.err), 0);
    cr_assert(h.epoch == 2 && h.lease_until_ms == 2500 && str_eqc(h.holder, "host-2"));
    cr_assert_eq(claim(no, "host-3", 99, LEASE_ANY, LEASE_ANY, &epoch), 0);
    cr_assert_eq(epoch, 3, "the sole host of a file takes all");
    cr_assert_eq(store_lease_release(w.s, STR("host-3"), &w.err), 0);
    cr_assert_eq(claim(no, "host-1", 5, 3, LEASE_NO_BEAT, &epoch), 0);
    cr_assert_eq(epoch, 4, "released");
    p = kit_append(no, 2, 1, true);
    p->epoch = 4;
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_assert_eq(claim(no, "host-2", 5, LEASE_ANY, LEASE_ANY, &epoch), WOPR_E_RUN_TERMINAL);
    cr_assert_eq(claim(55, "host-2", 5, LEASE_ANY, LEASE_ANY, &epoch), WOPR_E_NOT_FOUND);
}

Test(rows, a_run_is_given_to_the_last_who_asked /* STORE-33, STORE-40 */) {
    int64_t epoch = 0;
    int64_t no = kit_run(&w, "run_1", 1); /* host-1, epoch 1 */
    struct lease_request_list l;
    struct run_head h;
    cr_assert_eq(store_lease_transfer(w.s, no, STR("host-1"), 1, &w.err), WOPR_E_NOT_FOUND);
    cr_assert_eq(store_lease_request(w.s, no, STR("host-2"), &w.err), 0);
    cr_assert_eq(store_lease_request(w.s, no, STR("host-3"), &w.err), 0);
    cr_assert_eq(store_lease_requests(w.s, STR("host-1"), 10, w.a, &l, &w.err), 0);
    cr_assert(l.n == 1 && l.v[0].run_no == no && str_eqc(l.v[0].run_id, "run_1"));
    cr_assert_eq(store_lease_transfer(w.s, no, STR("host-2"), LEASE_ANY, &w.err), WOPR_E_FENCED);
    cr_assert_eq(store_lease_transfer(w.s, no, STR("host-1"), 2, &w.err), WOPR_E_FENCED);
    cr_assert_eq(store_lease_transfer(w.s, no, STR("host-1"), 1, &w.err), 0);
    cr_assert_eq(kit_apply(&w, kit_append(no, 1, 1, false)), WOPR_E_FENCED, "it was given away");
    cr_assert_eq(store_run_head(w.s, KIT_TENANT, false, STR("run_1"), w.a, &h, &w.err), 0);
    cr_assert(h.epoch == 2 && str_eqc(h.holder, "host-3"));
    cr_assert_eq(store_lease_transfer(w.s, no, STR("host-3"), 2, &w.err), WOPR_E_NOT_FOUND);
    cr_assert_eq(claim(no, "host-3", 5, 2, LEASE_NO_BEAT, &epoch), 0);
    cr_assert_eq(epoch, 3, "what was given is claimed as one's own");
}

Test(rows, retention_takes_whole_runs_and_leaves_a_stone /* STORE-44 */) {
    struct run_head h;
    struct store_counts c;
    int64_t no = kit_run(&w, "run_1", 3), other = kit_run(&w, "run_2", 3);
    cr_assert_eq(kit_apply(&w, full_plan(other)), WOPR_E_STALE);
    cr_assert_eq(kit_apply(&w, kit_append(no, 3, 1, true)), 0);
    int64_t ended = 1700000000500, day = 86400000;
    cr_assert_eq(kit_purge(&w, ended, ended + day, 10), 0);
    cr_assert_eq(kit_purge(&w, ended + 1, ended + day, 10), 1);
    cr_assert_eq(store_run_head(w.s, KIT_TENANT, false, STR("run_1"), w.a, &h, &w.err),
                 WOPR_E_EXPIRED);
    cr_assert_eq(store_run_head(w.s, STR("tenant-b"), false, STR("run_1"), w.a, &h, &w.err),
                 WOPR_E_NOT_FOUND);
    cr_assert_eq(kit_count_events(&w, no), 0);
    cr_assert_eq(kit_count_events(&w, other), 3);
    cr_assert_eq(store_count(w.s, &c, &w.err), 0);
    cr_assert(c.runs == 1 && c.runs_open == 1 && c.events == 3);
    cr_assert_eq(kit_verify(&w), 0);
    cr_assert_eq(kit_foreign(&w, "DELETE FROM events") & 0xff, SQLITE_CONSTRAINT,
                 "the triggers are closed again");
    (void)kit_purge(&w, 0, ended + 100 * day, 10);
    cr_assert_eq(store_run_head(w.s, KIT_TENANT, false, STR("run_1"), w.a, &h, &w.err),
                 WOPR_E_NOT_FOUND);
    cr_assert_gt(kit_run(&w, "run_3", 1), other, "numbers are never given twice");
}

Test(rows, keys_come_back_and_are_revoked /* AUTH-3, D17 */) {
    struct api_key k = {.key_id = STR("k1"),
                        .tenant = KIT_TENANT,
                        .workspace = STR("ws"),
                        .subject_issuer = STR("host"),
                        .subject_id = STR("s1"),
                        .label = STR("first"),
                        .hash = sha256_of(STR("secret")),
                        .scopes = 0x80000005u,
                        .test_mode = true,
                        .created_ms = 5,
                        .expires_ms = 9},
                   got;
    cr_assert_eq(store_key_put(w.s, &k, &w.err), 0, "%s", w.err.message);
    cr_assert_eq(store_key_put(w.s, &k, &w.err), WOPR_E_EXISTS);
    cr_assert_eq(store_key_find(w.s, STR("k1"), w.a, &got, &w.err), 0);
    cr_assert(str_eq(got.tenant, k.tenant) && got.scopes == k.scopes && got.test_mode &&
              got.expires_ms == 9 && got.revoked_ms == 0 && sha256_eq(&got.hash, &k.hash));
    cr_assert_eq(store_key_revoke(w.s, STR("k1"), 77, &w.err), 0);
    cr_assert_eq(store_key_revoke(w.s, STR("k1"), 99, &w.err), 0);
    cr_assert_eq(store_key_find_hash(w.s, &k.hash, w.a, &got, &w.err), 0);
    cr_assert_eq(got.revoked_ms, 77, "the first revocation stands");
    cr_assert_eq(store_key_revoke(w.s, STR("k1"), 55, &w.err), 0);
    cr_assert_eq(store_key_find_hash(w.s, &k.hash, w.a, &got, &w.err), 0);
    cr_assert_eq(got.revoked_ms, 55, "the earliest one holds");
    cr_assert_eq(store_key_revoke(w.s, STR("k2"), 1, &w.err), WOPR_E_NOT_FOUND);
    cr_assert_eq(store_key_find(w.s, STR("k2"), w.a, &got, &w.err), WOPR_E_NOT_FOUND);
    struct api_key_list l;
    cr_assert_eq(store_key_list(w.s, w.a, &l, &w.err), 0);
    cr_assert(l.n == 1 && str_eqc(l.v[0].label, "first"));
}

static enum put_result put_wf(const char *id, const char *tenant, const char *text, bool both,
                              bool test) {
    enum put_result r;
    struct workflow_row x = {.workflow_id = str_c(id),
                             .tenant = str_c(tenant),
                             .hash = sha256_of(str_c(text)),
                             .version = STR("1.0"),
                             .text = str_c(text),
                             .both_modes = both,
                             .test_mode = test,
                             .created_ms = 1,
                             .updated_ms = 2};
    cr_assert_eq(store_workflow_put(w.s, &x, &r, &w.err), 0, "%s", w.err.message);
    return r;
}

Test(rows, a_tenants_own_workflow_wins_and_old_texts_stay /* WF-1, AUTH-9 */) {
    struct workflow_row x;
    struct str text;
    cr_assert_eq(put_wf("a", "", "{\"v\":1}", true, false), PUT_CREATED);
    cr_assert_eq(put_wf("a", "", "{\"v\":1}", true, false), PUT_SAME);
    cr_assert_eq(put_wf("a", "", "{\"v\":2}", true, false), PUT_UPDATED);
    cr_assert_eq(put_wf("a", "tenant-a", "{\"v\":3}", false, true), PUT_CREATED);
    cr_assert_eq(store_workflow_get(w.s, KIT_TENANT, true, STR("a"), w.a, &x, &w.err), 0);
    cr_assert(str_eqc(x.text, "{\"v\":3}") && x.test_mode && !x.both_modes);
    cr_assert_eq(store_workflow_get(w.s, KIT_TENANT, false, STR("a"), w.a, &x, &w.err), 0);
    cr_assert(str_eqc(x.text, "{\"v\":2}") && x.tenant.n == 0);
    cr_assert_eq(store_workflow_get(w.s, STR("tenant-b"), true, STR("a"), w.a, &x, &w.err), 0);
    cr_assert(str_eqc(x.text, "{\"v\":2}"));
    cr_assert_eq(store_workflow_get(w.s, KIT_TENANT, true, STR("b"), w.a, &x, &w.err),
                 WOPR_E_NOT_FOUND);
    struct sha256 old = sha256_of(STR("{\"v\":1}"));
    cr_assert_eq(store_workflow_by_hash(w.s, &old, w.a, &text, &w.err), 0);
    cr_assert(str_eqc(text, "{\"v\":1}"), "runs of the old text still find it");
    struct workflow_row_list l;
    cr_assert_eq(store_workflow_list(w.s, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 2);
}

#define HOUR_MS (3600 * 1000)

static int64_t wf_if_revision = WORKFLOW_ANY;

static int wf_put_at(const char *text, int64_t now, int64_t max, struct workflow_put *out) {
    struct workflow_row x = {.workflow_id = STR("v"),
                             .tenant = KIT_TENANT,
                             .hash = sha256_of(str_c(text)),
                             .version = STR("1.0"),
                             .text = str_c(text),
                             .created_by = STR("k1"),
                             .both_modes = true,
                             .created_ms = now,
                             .updated_ms = now};
    const struct workflow_terms terms = {max, wf_if_revision};
    return store_workflow_put_on(w.s, &x, &terms, out, &w.err);
}

Test(rows, a_put_for_another_revision_than_the_stored_one_changes_nothing) {
    struct workflow_put r;
    wf_if_revision = 1;
    cr_assert_eq(wf_put_at("{\"v\":1}", 1, 0, &r), WOPR_E_CONFLICT, "none is stored");
    cr_assert_eq(r.revision, 0);
    wf_if_revision = 0;
    cr_assert_eq(wf_put_at("{\"v\":1}", 1, 0, &r), 0, "%s", w.err.message);
    cr_assert_eq(wf_put_at("{\"v\":1}", 1, 0, &r), 0, "a put whose answer was lost");
    cr_assert(r.what == PUT_SAME && r.revision == 1);
    cr_assert_eq(wf_put_at("{\"v\":2}", 1, 0, &r), WOPR_E_CONFLICT);
    cr_assert_eq(r.revision, 1);
    cr_assert_not_null(strstr(w.err.message, "revision 1"));
    wf_if_revision = 1;
    cr_assert_eq(wf_put_at("{\"v\":2}", 1, 0, &r), 0, "%s", w.err.message);
    cr_assert_eq(r.revision, 2);
    cr_assert_eq(wf_put_at("{\"v\":3}", 1, 0, &r), WOPR_E_CONFLICT, "made from revision 1");
    wf_if_revision = WORKFLOW_ANY;
}

static bool text_there(const char *text) {
    struct sha256 hash = sha256_of(str_c(text));
    struct str got;
    return store_workflow_by_hash(w.s, &hash, w.a, &got, &w.err) == 0;
}

Test(rows, versions_are_kept_and_a_deleted_workflow_gives_its_bytes_back) {
    struct workflow_put r;
    struct workflow_row row;
    struct workflow_version_list l;
    struct str text;
    cr_assert_eq(wf_put_at("{\"v\":1}", 1, 0, &r), 0, "%s", w.err.message);
    cr_assert(r.what == PUT_CREATED && r.revision == 1);
    cr_assert_eq(wf_put_at("{\"v\":2}", 2, 0, &r), 0);
    cr_assert(r.what == PUT_UPDATED && r.revision == 2);
    cr_assert_eq(wf_put_at("{\"v\":3}", 3, r.bytes, &r), WOPR_E_QUOTA);
    cr_assert(!text_there("{\"v\":3}"));
    cr_assert_eq(store_workflow_get(w.s, KIT_TENANT, false, STR("v"), w.a, &row, &w.err), 0);
    cr_assert_eq(store_workflow_versions(w.s, &row, INT64_MAX, 10, w.a, &l, &w.err), 0);
    cr_assert(l.n == 2 && l.v[0].revision == 2 && l.v[1].revision == 1 &&
              str_eqc(l.v[1].created_by, "k1"));
    cr_assert_eq(store_workflow_revision(w.s, &row, 1, w.a, &text, &w.err), 0);
    cr_assert(str_eqc(text, "{\"v\":1}"));
    row.updated_ms = 10;
    cr_assert_eq(store_workflow_delete(w.s, &row, &w.err), 0, "%s", w.err.message);
    cr_assert_eq(store_workflow_delete(w.s, &row, &w.err), WOPR_E_NOT_FOUND);
    cr_assert_eq(store_workflow_revision(w.s, &row, 1, w.a, &text, &w.err), WOPR_E_NOT_FOUND);
    cr_assert_eq(wf_put_at("{\"v\":4}", 20, 0, &r), 0);
    cr_assert(text_there("{\"v\":1}"), "a run may be about to begin with it");
    cr_assert_eq(wf_put_at("{\"v\":5}", HOUR_MS + 30, 0, &r), 0);
    cr_assert(!text_there("{\"v\":1}") && !text_there("{\"v\":2}") && text_there("{\"v\":4}"));
    cr_assert_eq(r.bytes, (int64_t)(256 + strlen("{\"v\":4}")), "before this one");
}

/* Runs find the text they were created with, however often the workflow is deleted. */
Test(rows, a_text_stays_while_a_run_of_its_workflow_is_left) {
    struct workflow_put r;
    struct workflow_row row;
    struct run_head h;
    kit_run(&w, "run_1", 1);
    cr_assert_eq(store_run_head(w.s, KIT_TENANT, false, STR("run_1"), w.a, &h, &w.err), 0);
    struct run_view v;
    cr_assert_eq(store_run_view(w.s, KIT_TENANT, false, STR("run_1"), w.a, &v, &w.err), 0);
    struct workflow_row x = {.workflow_id = v.workflow_id,
                             .tenant = KIT_TENANT,
                             .hash = sha256_of(STR("{}")),
                             .version = STR("1"),
                             .text = STR("{}"),
                             .both_modes = true,
                             .updated_ms = 1};
    cr_assert_eq(store_workflow_put(w.s, &x, NULL, &w.err), 0);
    cr_assert_eq(store_workflow_get(w.s, KIT_TENANT, false, x.workflow_id, w.a, &row, &w.err), 0);
    row.updated_ms = 10;
    cr_assert_eq(store_workflow_delete(w.s, &row, &w.err), 0);
    for (int i = 1; i < 4; i++) {
        const char *text = i == 1 ? "{\"v\":1}" : i == 2 ? "{\"v\":2}" : "{\"v\":3}";
        cr_assert_eq(wf_put_at(text, i * (HOUR_MS + 20), 0, &r), 0);
        cr_assert(text_there("{}"));
    }
}

Test(rows, verify_tells_when_versions_and_bytes_do_not_match) {
    struct workflow_put r;
    cr_assert_eq(wf_put_at("{\"v\":1}", 1, 0, &r), 0);
    cr_assert_eq(wf_put_at("{\"v\":2}", 2, 0, &r), 0);
    cr_expect_eq(kit_verify(&w), 0);
    cr_assert_eq(kit_foreign(&w, "UPDATE workflow_usage SET bytes = bytes + 1"), 0);
    cr_expect_eq(kit_verify(&w), 1);
    cr_assert_eq(kit_foreign(&w, "UPDATE workflow_usage SET bytes = bytes - 1"), 0);
    cr_assert_eq(kit_foreign(&w, "DELETE FROM workflow_versions WHERE revision = 2"), 0);
    cr_expect_eq(kit_verify(&w), 1);
}

/* Runs of any tenant may have begun with a shared text. */
Test(rows, a_shared_text_stays_after_its_workflow_was_deleted) {
    struct workflow_row row;
    cr_assert_eq(put_wf("s", "", "{\"v\":1}", true, false), PUT_CREATED);
    cr_assert_eq(store_workflow_get(w.s, KIT_TENANT, false, STR("s"), w.a, &row, &w.err), 0);
    row.updated_ms = 10;
    cr_assert_eq(store_workflow_delete(w.s, &row, &w.err), 0);
    row.text = STR("{\"v\":2}");
    row.hash = sha256_of(row.text);
    row.updated_ms = HOUR_MS * 2;
    cr_assert_eq(store_workflow_put(w.s, &row, NULL, &w.err), 0);
    cr_assert(text_there("{\"v\":1}"));
}

Test(rows, a_shortage_of_memory_is_an_answer) {
    struct run_view v;
    kit_run(&w, "run_1", 1);
    struct arena *small = arena_new(32);
    cr_assert_eq(store_run_view(w.s, KIT_TENANT, false, STR("run_1"), small, &v, &w.err),
                 WOPR_E_NO_MEMORY);
    arena_free(small);
    struct run_head h;
    cr_assert_eq(store_run_head(w.s, KIT_TENANT, false, STR("run_1"), w.a, &h, &w.err), 0);
}
