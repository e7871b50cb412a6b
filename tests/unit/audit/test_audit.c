/*
 * test_audit.c: the audit log over a real store: entries become a chain, checkpoints sign it, and
 * whatever is done to the file shows (AUD-1 to AUD-9, AUD-11).
 */
#include "audit/audit.h"
#include "audit/check.h"
#include "base/fault.h"
#include "codec/json.h"
#include "domain/audit.h"
#include "store/keys.h"
#include "store/memory.h"
#include "unit/store/kit.h"

#define WAIT_MS 20000

static struct kit k;
static struct journal *journal;
static struct audit *audit;
static struct audit_config config;

static void audit_up(void) {
    struct journal_config jc = {0};
    cr_assert_eq(journal_new(k.s, &jc, &journal, &k.err), 0);
    cr_assert_eq(journal_start(journal, &k.err), 0);
    cr_assert_eq(audit_new(journal, &config, &audit, &k.err), 0, "%s", k.err.message);
    cr_assert_eq(audit_start(audit, &k.err), 0);
}
static void audit_down(void) {
    audit_free(audit);
    journal_stop(journal);
    journal_free(journal);
    audit = NULL;
    journal = NULL;
}
static void up(void) {
    kit_up(&k);
    config = (struct audit_config){.checkpoint_entries = 4, .checkpoint_s = 1000000};
    memset(config.secret, 7, sizeof config.secret);
    audit_up();
}
static void down(void) {
    if (journal) audit_down();
    kit_down(&k);
}
TestSuite(audit, .init = up, .fini = down, .timeout = 300);

static void note(int64_t status) {
    const struct plan_audit row = {.at_ms = INT64_C(1767225600000) + status,
                                   .type = STR("http.request"),
                                   .tenant = KIT_TENANT,
                                   .principal = STR("som\"e \xc3\xa9"),
                                   .key_id = STR("key_1"),
                                   .method = STR("GET"),
                                   .path = STR("/v1/runs/x"),
                                   .status = status,
                                   .timed = true};
    audit_note(audit, &row);
}

static int64_t last_seq(void) {
    struct audit_row row;
    cr_assert_eq(store_audit_last(k.s, k.a, &row, &k.err), 0);
    return row.seq;
}
static void wait_written(int64_t seq) {
    uint64_t end = clock_mono_ms() + WAIT_MS;
    while (last_seq() < seq && clock_mono_ms() < end) clock_sleep_ms(2);
    cr_assert_geq(last_seq(), seq);
}
/* One entry after the other, each in a transaction of its own now and then. */
static void entries(int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        note(200 + i);
        if (i % 3 == 0) wait_written(i);
    }
    wait_written(n - 1);
}
static struct audit_checkpoints checkpoints(void) {
    struct audit_checkpoints l;
    cr_assert_eq(store_audit_checkpoints(k.s, 0, INT64_MAX, 1000, k.a, &l, &k.err), 0);
    return l;
}
static struct audit_report check_with(struct audit_question q) {
    struct audit_report r;
    cr_assert_eq(audit_check(k.s, &q, k.a, &r, &k.err), 0, "%s", k.err.message);
    return r;
}
static struct audit_report check(int64_t from, int64_t to) {
    return check_with((struct audit_question){.from = from, .to = to});
}

/* As somebody with the file would: triggers do not stop who can drop them. */
static void tamper(const char *sql) {
    static const char *const TRIGGERS[] = {"audit_entries_stay_same",     "audit_entries_stay",
                                           "audit_checkpoints_stay_same", "audit_checkpoints_stay",
                                           "audit_keys_stay_same",        "audit_keys_stay"};
    sqlite3 *db;
    char *why = NULL;
    cr_assert_eq(sqlite3_open(k.path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, WAIT_MS);
    for (size_t i = 0; i < sizeof TRIGGERS / sizeof *TRIGGERS; i++) {
        char drop[96];
        snprintf(drop, sizeof drop, "DROP TRIGGER IF EXISTS %s", TRIGGERS[i]);
        cr_assert_eq(sqlite3_exec(db, drop, NULL, NULL, &why), SQLITE_OK, "%s", why);
    }
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, &why), SQLITE_OK, "%s: %s", sql, why);
    sqlite3_close(db);
}

Test(audit, entries_are_canonical_and_linked /* AUD-2 AUD-3 */) {
    struct audit_rows l;
    entries(9);
    cr_assert_eq(store_audit_entries(k.s, 0, 100, k.a, &l, &k.err), 0);
    cr_assert_eq(l.n, 9u);
    struct str before = STR_NONE;
    for (size_t i = 0; i < l.n; i++) {
        struct buf canonical;
        struct str prev;
        int64_t seq;
        buf_init(&canonical, AUDIT_ENTRY_MAX);
        cr_assert_eq(json_canonical(l.v[i].entry, &canonical, NULL), 0);
        cr_expect(str_eq(buf_str(&canonical), l.v[i].entry));
        buf_fini(&canonical);
        cr_assert(audit_entry_link(l.v[i].entry, &seq, &prev));
        cr_expect_eq(seq, (int64_t)i);
        cr_expect_eq(prev.p == NULL, i == 0);
        if (i > 0) {
            struct sha256 d = sha256_of(before);
            char hex[65];
            sha256_hex(&d, hex);
            cr_expect(str_eqc(prev, hex), "entry %zu", i);
        }
        before = l.v[i].entry;
    }
    struct str first = l.v[0].entry;
    cr_expect(str_eqc(json_get(first, "status"), "200"));
    cr_expect(str_eqc(json_get(first, "latencyMs"), "0"));
    cr_expect(str_eqc(json_get(first, "details"), "null"));
    cr_expect(str_eqc(json_get(first, "ts"), "\"2026-01-01T00:00:00.200Z\""));
}

Test(audit, a_checkpoint_signs_the_tree_of_all_entries_before_it /* AUD-4 AUD-5 AUD-7 */) {
    entries(5);
    uint64_t end = clock_mono_ms() + WAIT_MS;
    while (checkpoints().n == 0 && clock_mono_ms() < end) clock_sleep_ms(2);
    audit_down(); /* a stop signs the rest */
    struct audit_checkpoints l = checkpoints();
    cr_assert_geq(l.n, 1u);
    struct audit_checkpoint *last = &l.v[l.n - 1];
    cr_expect_eq(last->at_seq, last_seq() - 1, "all but the entry about itself");
    cr_expect_eq(last_seq() + 1, 5 + (int64_t)l.n);
    struct audit_report r = check(0, -1);
    cr_expect(r.valid);
    cr_expect_eq(r.checkpoints.n, l.n);
    cr_expect_eq(r.to, last_seq());
    struct audit_key_list keys;
    cr_assert_eq(store_audit_keys(k.s, k.a, &keys, &k.err), 0);
    cr_assert_eq(keys.n, 1u);
    cr_expect(audit_signature_holds(keys.v[0].pub, last->root, last->signature));
    cr_expect_not(audit_signature_holds(keys.v[0].pub, STR("another root"), last->signature));
}

static struct audit_row entry_at(int64_t seq) {
    struct audit_rows l;
    cr_assert_eq(store_audit_entries(k.s, seq, 1, k.a, &l, &k.err), 0);
    cr_assert_eq(l.n, 1u);
    return l.v[0];
}

Test(audit, a_checkpoint_is_an_entry_and_leads_to_no_other /* AUD-3 AUD-4 */) {
    config.checkpoint_entries = 1;
    config.checkpoint_s = 1;
    audit_down();
    audit_up();
    note(1);
    wait_written(1);
    struct audit_row row = entry_at(1);
    struct audit_checkpoint cp = checkpoints().v[0];
    struct str details = json_get(row.entry, "details");
    int64_t at = -1;
    cr_expect(str_eqc(json_get(row.entry, "type"), "\"checkpoint.emitted\""));
    cr_expect(str_eq(json_string(json_get(details, "checkpoint"), k.a), cp.id));
    cr_expect(str_eq(json_string(json_get(details, "merkleRoot"), k.a), cp.root));
    cr_expect(str_eq(json_string(json_get(details, "keyId"), k.a), cp.key_id));
    cr_expect(json_int(json_get(details, "atSequence"), &at) && at == 0);
    clock_sleep_ms(1000 + 3 * AUDIT_DELAY_MS); /* both intervals are over, several times */
    for (int i = 0; i < 3; i++) {              /* nor does a stop */
        audit_down();
        audit_up();
    }
    cr_expect_eq(checkpoints().n, 1u);
    cr_expect_eq(last_seq(), 1);
    note(2);
    wait_written(3);
    cr_expect_eq(checkpoints().v[1].at_seq, 2, "it covers the entry about the one before");
    cr_expect(check(0, -1).valid);
}

static void key_pub(size_t i, uint8_t out[32]) {
    struct audit_key_list keys;
    cr_assert_eq(store_audit_keys(k.s, k.a, &keys, &k.err), 0);
    cr_assert_lt(i, keys.n);
    memcpy(out, keys.v[i].pub, 32);
}

/* One entry and its checkpoint, by a host whose key is made of this byte. */
static struct audit_checkpoint signed_with(uint8_t secret, uint8_t old, int64_t old_s) {
    int64_t before = last_seq();
    memset(config.secret, secret, sizeof config.secret);
    memset(config.old_secrets[0], old, sizeof config.old_secrets[0]);
    config.old_nr = old != 0;
    config.old_key_s = old_s;
    audit_up();
    note(before + 2);
    wait_written(before + 1);
    audit_down();
    return checkpoints().v[checkpoints().n - 1];
}

Test(audit, a_new_key_signs_beside_the_one_before_for_a_while /* AUD-7 */) {
    uint8_t first[32], second[32];
    config.checkpoint_entries = 1;
    audit_down();
    struct audit_checkpoint a = signed_with(7, 0, 1000), b = signed_with(8, 7, 1000);
    key_pub(0, first);
    key_pub(1, second);
    cr_expect_eq(a.old_key_id.n, 0u);
    cr_expect(str_eq(b.old_key_id, a.key_id));
    cr_expect_not(str_eq(b.key_id, a.key_id));
    cr_expect(audit_signature_holds(second, b.root, b.signature));
    cr_expect(audit_signature_holds(first, b.root, b.old_signature));
    cr_expect(check(0, -1).valid);
    cr_expect(check_with((struct audit_question){.to = -1, .pub = first}).valid,
              "a reader who has the old key only");
    struct audit_checkpoint c = signed_with(8, 7, 0); /* the time of the old one is over */
    cr_expect_eq(c.old_key_id.n, 0u);
    cr_expect(check(0, -1).valid);
    cr_expect_not(check_with((struct audit_question){.to = -1, .pub = first}).valid);
    cr_expect(check_with((struct audit_question){.from = c.at_seq, .to = -1, .pub = second}).valid);
    cr_expect_eq(signed_with(8, 9, 1000).old_key_id.n, 0u, "a key that never signed here");
    kit_close(&k);
    tamper("UPDATE audit_checkpoints SET old_signature = signature WHERE old_key_id IS NOT NULL");
    kit_open(&k);
    cr_expect_not(check(0, -1).valid, "a forged second signature shows");
}

Test(audit, the_next_host_goes_on_where_the_last_one_ended /* AUD-2 AUD-4 */) {
    entries(6);
    audit_down();
    kit_close(&k);
    kit_open(&k);
    audit_up();
    for (int64_t i = 6; i < 12; i++) note(i);
    wait_written(11);
    audit_down();
    struct audit_report r = check(0, -1);
    cr_expect(r.valid, "%s", r.anomalies_nr > 0 ? r.anomalies[0].what : "");
    cr_expect_eq(r.to, last_seq());
    cr_expect_eq(checkpoints().v[checkpoints().n - 1].at_seq, last_seq() - 1);
    cr_expect_eq(last_seq() + 1, 12 + (int64_t)checkpoints().n);
    cr_expect(check(8, 10).valid); /* from the checkpoint before, not from 0 */
}

Test(audit, two_stores_on_one_file_write_one_chain /* AUD-2 */) {
    struct store *other = kit_other(&k);
    struct plan_audit row = {.at_ms = 1, .type = STR("run.created")};
    for (int i = 0; i < 10; i++) {
        struct plan *p = plan_new();
        int rc;
        p->what = PLAN_SIDE;
        plan_audit(p, &row);
        cr_assert_eq(store_apply(i % 2 ? other : k.s, &p, 1, &rc, &k.err), 0, "%s", k.err.message);
        plan_unref(p);
    }
    store_close(other);
    cr_expect_eq(last_seq(), 9);
    cr_expect(check(0, -1).valid);
}

Test(audit, the_database_refuses_changes /* AUD-1 */) {
    static const char *const SQL[] = {
        "UPDATE audit_entries SET entry = 'x'", "DELETE FROM audit_entries",
        "UPDATE audit_checkpoints SET merkle_root = 'x'", "DELETE FROM audit_checkpoints",
        "UPDATE audit_keys SET key_id = 'x'", "DELETE FROM audit_keys",
        /* nor while retention has leave to remove runs */
        "UPDATE meta SET value = 1 WHERE name = 'retention'; DELETE FROM audit_entries"};
    sqlite3 *db;
    entries(5);
    audit_down();
    int64_t last = last_seq();
    cr_assert_eq(sqlite3_open(k.path, &db), SQLITE_OK);
    for (size_t i = 0; i < sizeof SQL / sizeof *SQL; i++)
        cr_expect_neq(sqlite3_exec(db, SQL[i], NULL, NULL, NULL), SQLITE_OK, "%s", SQL[i]);
    sqlite3_close(db);
    cr_expect_eq(last_seq(), last);
}

/* Twelve entries, a checkpoint at the end; what is done to them, and which entry tells. */
static const struct {
    const char *what, *sql;
    int64_t at; /* of the first anomaly */
} TAMPERED[] = {
    {"a byte of an entry",
     "UPDATE audit_entries SET entry = replace(entry, '\"status\":205', '\"status\":206')"
     " WHERE seq = 5",
     6},
    {"the first entry",
     "UPDATE audit_entries SET entry = replace(entry, 'key_1', 'key_2') WHERE seq = 0", 1},
    {"an entry is gone", "DELETE FROM audit_entries WHERE seq = 7", 7},
    {"all but the last are gone", "DELETE FROM audit_entries WHERE seq < 11", 0},
    {"the end is cut off", "DELETE FROM audit_entries WHERE seq > 8", 11},
    {"all is gone", "DELETE FROM audit_entries", 11},
    {"the last entry, which nothing follows",
     "UPDATE audit_entries SET entry = replace(entry, 'key_1', 'key_2') WHERE seq = 11", 11},
    {"two entries have changed places",
     "UPDATE audit_entries SET seq = -1 WHERE seq = 3; UPDATE audit_entries SET seq = 3 WHERE seq "
     "= 4;"
     "UPDATE audit_entries SET seq = 4 WHERE seq = -1",
     3},
    {"no JSON any more", "UPDATE audit_entries SET entry = '{' WHERE seq = 2", 2},
    {"the root",
     "UPDATE audit_checkpoints SET merkle_root = replace(merkle_root, substr(merkle_root, 1, 1), "
     "'g')",
     11},
    {"the signature", "UPDATE audit_checkpoints SET signature = 'AAAA'", 11},
    {"another key", "UPDATE audit_keys SET public_key = zeroblob(32)", 11},
};

Test(audit, whatever_is_done_to_the_file_shows /* AUD-8 AUD-11 */) {
    config.checkpoint_entries = 1000;
    audit_down();
    audit_up();
    entries(12);
    audit_down();
    kit_close(&k);
    char copy[320], command[1400];
    snprintf(copy, sizeof copy, "%s/copy.db", k.dir);
    snprintf(command, sizeof command, "cp %s %s", k.path, copy);
    cr_assert_eq(system(command), 0);
    for (size_t i = 0; i < sizeof TAMPERED / sizeof *TAMPERED; i++) {
        snprintf(command, sizeof command, "rm -f %s-wal %s-shm && cp %s %s", k.path, k.path, copy,
                 k.path);
        cr_assert_eq(system(command), 0);
        kit_open(&k);
        cr_expect(check(0, -1).valid, "before: %s", TAMPERED[i].what);
        kit_close(&k);
        tamper(TAMPERED[i].sql);
        kit_open(&k);
        struct audit_report r = check(0, -1);
        cr_expect_not(r.valid, "%s", TAMPERED[i].what);
        cr_assert_geq(r.anomalies_nr, 1u, "%s", TAMPERED[i].what);
        cr_expect_eq(r.anomalies[0].at_seq, TAMPERED[i].at, "%s: at %lld, not %lld (%s)",
                     TAMPERED[i].what, (long long)r.anomalies[0].at_seq, (long long)TAMPERED[i].at,
                     r.anomalies[0].what);
        kit_close(&k);
    }
    kit_open(&k);
}

Test(audit, a_log_written_anew_needs_the_key_that_the_reader_knows /* AUD-7 AUD-9 */) {
    uint8_t known[32];
    struct audit_key_list keys;
    entries(5);
    audit_down();
    cr_assert_eq(store_audit_keys(k.s, k.a, &keys, &k.err), 0);
    memcpy(known, keys.v[0].pub, sizeof known);
    kit_close(&k);
    tamper("DELETE FROM audit_entries; DELETE FROM audit_checkpoints; DELETE FROM audit_keys");
    kit_open(&k);
    memset(config.secret, 9, sizeof config.secret); /* of who wrote it anew */
    audit_up();
    entries(5);
    audit_down();
    cr_expect(check(0, -1).valid);
    cr_expect_not(check_with((struct audit_question){.to = -1, .pub = known}).valid);
}

Test(audit, a_question_beyond_the_log_is_answered_about_the_log /* AUD-9 */) {
    config.checkpoint_entries = 1000;
    audit_down();
    audit_up();
    struct audit_report r = check(0, 100);
    cr_expect(r.valid && r.from == 0 && r.to == 0 && r.anomalies_nr == 0);
    entries(6);
    r = check(0, 100);
    cr_expect(r.valid && r.from == 0 && r.to == 5);
    r = check(50, 100);
    cr_expect(r.valid && r.from == 5 && r.to == 5);
    r = check_with((struct audit_question){.from = 1, .to = -1, .max = 2});
    cr_expect(r.valid && r.from == 1 && r.to == 2);
}

Test(audit, entries_for_which_there_is_no_room_are_counted_by_one /* A2 */) {
    struct audit_stats st;
    int64_t extra = 25, all = AUDIT_WAITING_MAX + extra, gap = 0;
    config.checkpoint_entries = 1000000;
    audit_free(audit); /* one whose thread does not run takes nothing away */
    cr_assert_eq(audit_new(journal, &config, &audit, &k.err), 0);
    for (int64_t i = 0; i < all; i++) note(1 + i);
    audit_stats(audit, &st);
    cr_expect_eq(st.dropped, (uint64_t)extra);
    cr_assert_eq(audit_start(audit, &k.err), 0);
    wait_written(AUDIT_WAITING_MAX - 1);
    note(1);
    wait_written(AUDIT_WAITING_MAX + 1); /* the gap, and the last one */
    struct audit_rows l;
    cr_assert_eq(store_audit_entries(k.s, AUDIT_WAITING_MAX, 2, k.a, &l, &k.err), 0);
    cr_assert_eq(l.n, 2u);
    cr_expect(str_eqc(json_get(l.v[0].entry, "type"), "\"audit.gap\""));
    cr_expect(json_int(json_get(json_get(l.v[0].entry, "details"), "dropped"), &gap));
    cr_expect_eq(gap, extra);
    cr_expect(check(0, -1).valid);
}

Test(audit, checkpoints_go_to_the_file_of_the_operator /* AUD-6 */) {
    char path[320], line[1024];
    snprintf(path, sizeof path, "%s/checkpoints", k.dir);
    audit_down();
    config.checkpoint_file = path;
    audit_up();
    entries(5);
    audit_down();
    struct audit_checkpoints l = checkpoints();
    FILE *f = fopen(path, "r");
    size_t n = 0;
    cr_assert_not_null(f);
    for (; fgets(line, sizeof line, f); n++) {
        struct str root = json_string(json_get(str_c(line), "merkleRoot"), k.a);
        cr_assert_lt(n, l.n);
        cr_expect(str_eq(root, l.v[n].root));
    }
    fclose(f);
    cr_expect_eq(n, l.n);
    config.checkpoint_file = "/nonexistent/folder/file";
    struct journal_config jc = {0};
    struct audit *none = NULL;
    cr_assert_eq(journal_new(k.s, &jc, &journal, &k.err), 0);
    cr_expect_eq(audit_new(journal, &config, &none, &k.err), WOPR_E_CONFIG);
    journal_free(journal);
    journal = NULL;
}

Test(audit, keys_of_an_audited_file_are_entries_whoever_makes_them /* AUD-3 AUTH-20 */) {
    struct api_key key = {.key_id = STR("key_9"),
                          .tenant = KIT_TENANT,
                          .workspace = STR("default"),
                          .subject_issuer = STR("i"),
                          .subject_id = STR("s"),
                          .label = STR("l"),
                          .created_ms = 1};
    struct audit_rows l;
    cr_assert_eq(store_key_put(k.s, &key, &k.err), 0, "%s", k.err.message);
    cr_assert_eq(store_key_revoke(k.s, key.key_id, 5, &k.err), 0);
    cr_assert_eq(store_audit_entries(k.s, 0, 9, k.a, &l, &k.err), 0);
    cr_assert_eq(l.n, 2u);
    cr_expect(str_eqc(json_get(l.v[0].entry, "type"), "\"key.created\""));
    cr_expect(str_eqc(json_get(l.v[1].entry, "type"), "\"key.revoked\""));
    cr_expect(str_eqc(json_get(l.v[1].entry, "keyId"), "\"key_9\""));
    cr_expect(check(0, -1).valid);
}

/* --- memory that an operator deletes --- */

static const struct memory_place PLACE = {{"t", 1}, false, {"a/\x01\"b", 5}};

static void remember(const char *id) {
    static const struct seal_secret KEK = {{1}};
    const struct memory_entry e = {
        .id = str_c(id), .content = STR("a telling content"), .created_ms = 1000};
    const struct memory_bounds unbound = {0};
    struct vault *v = NULL;
    bool replaced, fresh;
    cr_assert_eq(vault_new(k.s, &KEK, 1, &v, &replaced, &k.err), 0, "%s", k.err.message);
    cr_assert_eq(memory_put(k.s, v, &PLACE, &e, &unbound, 1000, &fresh, &k.err), 0);
    vault_free(v);
}

Test(audit, a_deleted_memory_is_an_entry_of_its_name_alone /* AUD-3 */) {
    struct audit_rows l;
    remember("one");
    cr_assert_eq(store_memory_delete(k.s, &PLACE, STR("none"), 2000, &k.err), WOPR_E_NOT_FOUND);
    cr_assert_eq(store_memory_delete(k.s, &PLACE, STR("one"), 2000, &k.err), 0);
    cr_assert_eq(store_memory_delete(k.s, &PLACE, STR("one"), 2000, &k.err), WOPR_E_NOT_FOUND);
    cr_assert_eq(store_audit_entries(k.s, 0, 9, k.a, &l, &k.err), 0);
    cr_assert_eq(l.n, 1u, "what was refused did nothing");
    cr_expect(str_eqc(json_get(l.v[0].entry, "type"), "\"memory.deleted\""));
    cr_expect(str_eqc(json_get(l.v[0].entry, "tenantId"), "\"t\""));
    struct str details = json_get(l.v[0].entry, "details");
    cr_expect(str_eqc(details, "{\"id\":\"one\",\"ref\":\"a/\\u0001\\\"b\",\"testMode\":false}"),
              STR_FMT, STR_ARG(details));
    cr_expect(check(0, -1).valid);
}

Test(audit, the_longest_name_of_a_memory_is_told_whole /* AUD-3 */) {
    static char id[MEMORY_ID_MAX + 1];
    struct audit_rows l;
    memset(id, 1, MEMORY_ID_MAX);
    remember(id);
    cr_assert_eq(store_memory_delete(k.s, &PLACE, str_c(id), 2000, &k.err), 0);
    cr_assert_eq(store_audit_entries(k.s, 0, 9, k.a, &l, &k.err), 0);
    cr_assert_eq(l.n, 1u);
    struct str told = json_string(json_get(json_get(l.v[0].entry, "details"), "id"), k.a);
    cr_expect(str_eqc(told, id));
}

Test(audit, a_memory_is_deleted_with_its_entry_or_not_at_all /* AUD-3, A1 */) {
    int rc = 1;
    audit_down(); /* its thread would take the faults */
    remember("one");
    for (unsigned n = 1; rc != 0; n++) {
        bool armed = fault_arm(1u << FAULT_MALLOC, n);
        rc = store_memory_delete(k.s, &PLACE, STR("one"), 2000, &k.err);
        fault_disarm();
        cr_assert(armed && n < 1000);
        cr_assert(rc == 0 || rc == WOPR_E_NO_MEMORY, "%u: %s", n, k.err.message);
        cr_assert_eq(kit_number(&k, "SELECT count(*) FROM audit_entries"), rc == 0);
        cr_assert_eq(kit_number(&k, "SELECT count(deleted_ms) FROM memory_entries"), rc == 0);
    }
}
