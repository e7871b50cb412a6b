/*
 * test_bytes.c: the bytes of modules in the host's memory are bounded (SANDBOX_BYTES_MAX): those
 * used least recently are read again from the source of whoever keeps them (WASM-2, PACK-64).
 */
#include "base/fault.h"
#include "base/fs.h"
#include "codec/bytes.h"
#include "sandbox/sandbox.h"
#include "support/made_module.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#define MESSAGE                                                                                    \
    "{\"request\":{\"abiVersion\":1,\"inputs\":{}},\"variables\":{},\"channels\":{},\"closed\":[]" \
    ",\"seed\":\"0000000000000000000000000000000000000000000000000000000000000000\",\"nowMs\":0,"  \
    "\"keep\":false,\"calls\":[]}"

enum {
    MODULES = 7, /* of which four have room */
    PAD = 15 << 20,
    WORKERS = 2
};

static char DIGESTS[MODULES][SANDBOX_DIGEST + 1];

static void name_of(unsigned i, char name[40], bool type) {
    snprintf(name, 40, "vendor.test.m%u%s", i, type ? ".it" : "");
}

/* Each is a pack of its own, with a section that nobody reads.  Made before there are threads. */
static struct str module_bytes(unsigned i) {
    static struct buf made[MODULES];
    char name[40], text[1024];
    struct buf pad;
    const struct made m = {.pack = name};
    if (made[i].len > 0) return buf_str(&made[i]);
    name_of(i, name, false);
    buf_init(&made[i], SANDBOX_MODULE_MAX);
    buf_init(&pad, PAD + 100);
    made_bytes(&pad, "pad", 3);
    memset(text, (int)('a' + i), sizeof text);
    for (size_t at = 0; at < PAD; at += sizeof text) buf_add(&pad, text, sizeof text);
    made_write(&m, &made[i]);
    buf_addc(&made[i], 0);
    made_bytes(&made[i], pad.p, pad.len);
    cr_assert_not(buf_failed(&made[i]));
    buf_fini(&pad);
    return buf_str(&made[i]);
}

static void module_keep(struct sandbox *s, unsigned i) {
    cr_assert_eq(sandbox_keep(s, module_bytes(i), DIGESTS[i], NULL), 0);
}

/* The source: what it gave, and what it is to say. */
struct shelf {
    atomic_uint reads[MODULES];
    atomic_uint inside;
    int rc;
    const char *gives; /* in place of the module; NULL: the module */
};

static int shelf_read(void *ctx, const char *digest, struct buf *out, struct wopr_error *err) {
    struct shelf *f = ctx;
    unsigned i = 0;
    cr_assert_eq(atomic_fetch_add(&f->inside, 1), 0u, "one is read at a time");
    while (i < MODULES && strcmp(DIGESTS[i], digest) != 0) i++;
    cr_assert_lt(i, (unsigned)MODULES);
    atomic_fetch_add(&f->reads[i], 1);
    if (f->rc == 0 && f->gives) buf_addz(out, f->gives);
    else if (f->rc == 0) buf_adds(out, module_bytes(i));
    atomic_fetch_sub(&f->inside, 1);
    int rc = f->rc == 0 && buf_failed(out) ? WOPR_E_NO_MEMORY : f->rc;
    return rc == 0 ? 0 : wopr_error_set(err, rc, "the shelf says: do this");
}

static unsigned shelf_reads(struct shelf *f) {
    unsigned n = 0;
    for (unsigned i = 0; i < MODULES; i++) n += atomic_load(&f->reads[i]);
    return n;
}

static struct sandbox *box_new(unsigned workers, struct shelf *f) {
    const struct sandbox_config cfg = {.program = WOPR_PROGRAM, .workers = workers};
    struct sandbox *s = NULL;
    cr_assert_eq(sandbox_new(&cfg, &s, NULL), 0);
    if (f) sandbox_source(s, shelf_read, f);
    return s;
}

static struct sandbox_stats stats_of(struct sandbox *s) {
    struct sandbox_stats st;
    sandbox_stats(s, &st);
    return st;
}

/* node: or only load it. */
static int module_ask(struct sandbox *s, const char *tenant, unsigned i, bool node,
                      struct buf *report, struct wopr_error *err) {
    char name[40];
    name_of(i, name, true);
    const struct sandbox_request r = {.tenant = str_c(tenant),
                                      .module = str_c(DIGESTS[i]),
                                      .node = str_c(node ? name : ""),
                                      .message = STR(MESSAGE)};
    buf_reset(report);
    int rc = sandbox_ask(s, &r, report, NULL, err);
    buf_addc(report, '\0');
    return rc;
}

static void module_answers(struct sandbox *s, const char *tenant, unsigned i) {
    struct wopr_error err = {0};
    struct buf report;
    buf_init(&report, 1 << 20);
    int rc = module_ask(s, tenant, i, true, &report, &err);
    cr_assert_eq(rc, 0, "%u: %d %s", i, rc, err.message);
    cr_expect_not_null(strstr(report.p, "\"response\":" MADE_RESPONSE_TEXT), "%u: %s", i, report.p);
    buf_fini(&report);
}

Test(module_bytes, of_many_modules_those_used_last_are_in_memory_and_all_are_executed) {
    struct shelf f = {.rc = 0};
    struct sandbox *s = box_new(1, &f);
    for (unsigned i = 0; i < MODULES; i++) {
        module_keep(s, i);
        cr_expect_leq(stats_of(s).module_bytes, (uint64_t)SANDBOX_BYTES_MAX);
    }
    cr_expect_gt(stats_of(s).module_bytes, (uint64_t)SANDBOX_BYTES_MAX - PAD - 4096);
    module_answers(s, "t", MODULES - 1);
    cr_expect_eq(shelf_reads(&f), 0u, "it was kept last");
    for (unsigned i = 0; i < 2 * MODULES; i++) {
        module_answers(s, "t", i % MODULES);
        cr_expect_leq(stats_of(s).module_bytes, (uint64_t)SANDBOX_BYTES_MAX);
    }
    unsigned reads = shelf_reads(&f);
    cr_expect_geq(reads, (unsigned)MODULES, "none has room for so long");
    cr_expect_eq(stats_of(s).modules_read, reads);
    module_answers(s, "t", MODULES - 1);
    module_keep(s, 0); /* given once more: here, and twice to be dropped */
    module_answers(s, "another", 0);
    cr_expect_eq(shelf_reads(&f), reads, "what is used again and again is read once");
    for (unsigned i = 0; i < MODULES; i++) sandbox_drop(s, DIGESTS[i]);
    cr_expect_gt(stats_of(s).module_bytes, (uint64_t)PAD);
    sandbox_drop(s, DIGESTS[0]);
    cr_expect_eq(stats_of(s).module_bytes, 0u);
    sandbox_free(s);
}

Test(module_bytes, without_a_source_no_module_gives_its_bytes_up) {
    struct shelf f = {.rc = 0};
    struct sandbox *s = box_new(1, NULL);
    for (unsigned i = 0; i < MODULES; i++) module_keep(s, i);
    cr_expect_gt(stats_of(s).module_bytes, (uint64_t)MODULES * PAD);
    for (unsigned i = 0; i < MODULES; i++) module_answers(s, "t", i);
    sandbox_source(s, shelf_read, &f); /* from now on they may */
    cr_expect_leq(stats_of(s).module_bytes, (uint64_t)SANDBOX_BYTES_MAX);
    module_answers(s, "another", 0);
    cr_expect_eq(shelf_reads(&f), 1u);
    sandbox_source(s, NULL, NULL);
    struct wopr_error err = {0};
    struct buf report;
    buf_init(&report, 1 << 20);
    cr_expect_eq(module_ask(s, "a third", 1, true, &report, &err), WOPR_E_UNAVAILABLE, "%s",
                 err.message);
    buf_fini(&report);
    sandbox_free(s);
}

/* Code of the source, or what it gives; what the request and a node are told. */
Test(module_bytes, what_passes_may_be_tried_again_and_what_is_damaged_is_said_for_good) {
    static const struct {
        int rc;
        const char *gives;
        int load, node;
        const char *code;
    } CASES[] = {
        {WOPR_E_PACK_INTEGRITY, NULL, WOPR_E_PACK_INTEGRITY, 0, "\"pack_integrity_failure\""},
        {WOPR_E_PACK_LOAD, NULL, WOPR_E_PACK_LOAD, 0, "\"pack_load_failure\""},
        {WOPR_E_PACK_GUNZIP, NULL, WOPR_E_PACK_GUNZIP, 0, "\"pack_load_failure\""},
        {0, "another module", WOPR_E_PACK_INTEGRITY, 0, "\"pack_integrity_failure\""},
        {0, "", WOPR_E_PACK_INTEGRITY, 0, "\"pack_integrity_failure\""},
        {WOPR_E_IO, NULL, WOPR_E_UNAVAILABLE, WOPR_E_UNAVAILABLE, NULL},
        {WOPR_E_BUSY, NULL, WOPR_E_UNAVAILABLE, WOPR_E_UNAVAILABLE, NULL},
        {WOPR_E_NO_MEMORY, NULL, WOPR_E_UNAVAILABLE, WOPR_E_UNAVAILABLE, NULL}};
    struct shelf f = {.rc = 0};
    struct sandbox *s = box_new(1, &f);
    struct buf report;
    buf_init(&report, 1 << 20);
    for (unsigned i = 0; i < MODULES; i++) module_keep(s, i);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct wopr_error err = {0};
        const char *words = CASES[i].rc == 0 ? "install it again" : "the shelf says: do this";
        f.rc = CASES[i].rc;
        f.gives = CASES[i].gives;
        cr_expect_eq(module_ask(s, "t", 0, false, &report, &err), CASES[i].load, "%zu", i);
        cr_expect_not_null(strstr(err.message, words), "%zu: %s", i, err.message);
        err = (struct wopr_error){0};
        cr_expect_eq(module_ask(s, "t", 0, true, &report, &err), CASES[i].node, "%zu", i);
        const char *said = CASES[i].code ? report.p : err.message;
        cr_expect_not_null(strstr(said, words), "%zu: %s", i, said);
        if (CASES[i].code) cr_expect_not_null(strstr(said, CASES[i].code), "%zu: %s", i, said);
    }
    f = (struct shelf){.rc = 0};
    module_answers(s, "t", 0);
    cr_expect_eq(stats_of(s).started, 1u, "its worker was not at fault");
    buf_fini(&report);
    sandbox_free(s);
}

Test(module_bytes, no_failed_allocation_loses_a_module_or_counts_it_twice, .timeout = 300) {
    struct shelf f = {.rc = 0};
    struct sandbox *s = box_new(1, &f);
    unsigned kept = 1, refused = 0;
    struct buf report;
    buf_init(&report, 1 << 20);
    for (unsigned i = 0; i < MODULES; i++) module_keep(s, i);
    for (unsigned n = 1; fault_arm(1u << FAULT_MALLOC, n); n++) {
        struct wopr_error err = {0};
        char digest[SANDBOX_DIGEST + 1];
        int rc = sandbox_keep(s, module_bytes(0), digest, &err);
        int asked = module_ask(s, "t", 1 + n % (MODULES - 1), true, &report, &err);
        fault_disarm();
        cr_expect(rc == 0 || rc == WOPR_E_NO_MEMORY, "%u: %d", n, rc);
        cr_expect(asked == 0 || asked == WOPR_E_NO_MEMORY || asked == WOPR_E_UNAVAILABLE,
                  "%u: %d %s", n, asked, err.message);
        if (asked == 0) cr_expect_not_null(strstr(report.p, MADE_RESPONSE_TEXT), "%s", report.p);
        else refused++;
        kept += rc == 0;
        cr_expect_leq(stats_of(s).module_bytes, (uint64_t)SANDBOX_BYTES_MAX);
        buf_fini(&report);
    }
    cr_expect_gt(refused, 5u, "%u", refused);
    for (unsigned i = 0; i < MODULES; i++) module_answers(s, "t", i);
    while (kept-- > 0) sandbox_drop(s, DIGESTS[0]);
    for (unsigned i = 1; i < MODULES; i++) sandbox_drop(s, DIGESTS[i]);
    cr_expect_eq(stats_of(s).module_bytes, 0u);
    sandbox_free(s);
}

struct asker {
    struct sandbox *s;
    unsigned nr;
    uint64_t most;
    pthread_t thread;
};

static void *asker_main(void *ctx) {
    struct asker *a = ctx;
    char tenant[8];
    snprintf(tenant, sizeof tenant, "t%u", a->nr);
    for (unsigned i = 0; i < MODULES; i++) {
        module_answers(a->s, tenant, (i * (a->nr + 1) + a->nr) % MODULES);
        uint64_t now = stats_of(a->s).module_bytes;
        if (now > a->most) a->most = now;
    }
    return NULL;
}

Test(module_bytes, many_at_once_hold_no_more_than_what_is_being_sent, .timeout = 300) {
    enum { ASKERS = 6 };
    static struct asker all[ASKERS];
    struct shelf f = {.rc = 0};
    struct sandbox *s = box_new(WORKERS, &f);
    for (unsigned i = 0; i < MODULES; i++) module_keep(s, i);
    for (unsigned i = 0; i < ASKERS; i++) {
        all[i] = (struct asker){.s = s, .nr = i};
        cr_assert_eq(pthread_create(&all[i].thread, NULL, asker_main, &all[i]), 0);
    }
    for (unsigned i = 0; i < ASKERS; i++) {
        pthread_join(all[i].thread, NULL);
        cr_expect_leq(all[i].most, (uint64_t)SANDBOX_BYTES_MAX + 2 * WORKERS * (PAD + 4096));
    }
    cr_expect_leq(stats_of(s).module_bytes, (uint64_t)SANDBOX_BYTES_MAX);
    cr_expect_eq(stats_of(s).modules_read, shelf_reads(&f));
    sandbox_free(s);
}

struct ended { /* a request that nobody waits for yet */
    sem_t sem;
    int rc;
    struct buf text;
};

static void request_ended(void *ctx, const struct sandbox_report *r) {
    struct ended *e = ctx;
    e->rc = r->rc;
    if (r->rc == 0) buf_adds(&e->text, r->text);
    buf_addc(&e->text, '\0');
    sem_post(&e->sem);
}

static void request_begin(struct sandbox *s, const char *digest, const char *node, uint64_t *id,
                          struct ended *e) {
    const struct sandbox_request r = {.tenant = STR("t"),
                                      .module = str_c(digest),
                                      .node = str_c(node),
                                      .message = STR(MESSAGE),
                                      .id = id};
    sem_init(&e->sem, 0, 0);
    buf_init(&e->text, 1 << 20);
    cr_assert_eq(sandbox_submit(s, &r, request_ended, e, NULL), 0);
}

/* Its owner dropped it while a request for it waits, and may have it no more. */
Test(module_bytes, a_module_that_was_dropped_keeps_its_bytes_for_the_requests_it_has) {
    static struct ended loaded, spins, waits;
    struct shelf f = {.rc = WOPR_E_PACK_LOAD};
    struct sandbox *s = box_new(1, &f);
    char kit[SANDBOX_DIGEST + 1];
    struct buf b;
    uint64_t id = 0, other = 0;
    cr_assert_eq(fs_read(WOPR_MODULES "/kit.wasm", SANDBOX_MODULE_MAX, &b), FS_READ_OK);
    cr_assert_eq(sandbox_keep(s, buf_str(&b), kit, NULL), 0);
    buf_fini(&b);
    module_keep(s, 0);
    request_begin(s, kit, "", NULL, &loaded); /* its worker has it: what spins needs no bytes */
    sem_wait(&loaded.sem);
    cr_assert_eq(loaded.rc, 0);
    request_begin(s, kit, "vendor.test.kit.spins", &id, &spins);
    request_begin(s, DIGESTS[0], "vendor.test.m0.it", &other,
                  &waits); /* its tenant has one place */
    sandbox_drop(s, DIGESTS[0]);
    for (unsigned i = 1; i < MODULES; i++) module_keep(s, i);
    cr_expect_leq(stats_of(s).module_bytes, (uint64_t)SANDBOX_BYTES_MAX);
    sandbox_cancel(s, id);
    sem_wait(&spins.sem);
    sem_wait(&waits.sem);
    cr_expect_eq(waits.rc, 0);
    cr_expect_not_null(strstr(waits.text.p, MADE_RESPONSE_TEXT), "%s", waits.text.p);
    cr_expect_eq(shelf_reads(&f), 0u);
    buf_fini(&loaded.text);
    buf_fini(&spins.text);
    buf_fini(&waits.text);
    sandbox_free(s);
}
