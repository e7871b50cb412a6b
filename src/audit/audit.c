/*
 * audit.c: writes entries, signs checkpoints; see audit.h.
 */
#include "audit/audit.h"

#include "audit/check.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "codec/ident.h"
#include "codec/json.h"
#include "domain/merkle.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { PAGE_ENTRIES = 500, ARENA_MAX = 64 * 1024 * 1024, LINE_MAX_BYTES = 2048, WRITE_AT = 512 };

struct audit {
    struct audit_config cfg;
    struct journal *journal;
    struct ed25519_key key, old_key; /* old_key: signs until old_until_ms, too */
    char old_key_id[AUDIT_KEY_ID_SIZE];
    int64_t old_until_ms; /* wall clock; 0 = there is none */
    char key_id[AUDIT_KEY_ID_SIZE], public_key[AUDIT_PUBLIC_KEY_TEXT + 1];
    pthread_t thread;
    bool running;
    pthread_mutex_t mu;
    pthread_cond_t wake;
    struct plan *waiting;  /* mu: entries of audit_note; NULL = none */
    bool stop, back;       /* mu; back: the plan that is under way was answered, with rc */
    int rc;                /* mu */
    uint64_t untold;       /* mu: dropped entries that no gap tells of */
    struct audit_stats st; /* mu */
    /* --- of the thread --- */
    struct arena *arena;
    struct merkle tree; /* of the entries before tree.leaves */
    int64_t
        unsigned_ms; /* monotonic, when entries without a checkpoint were first seen; 0 = none */
    struct log_gate gate;
};

/* --- entries that wait --- */

static void gap_add(struct audit *a) {
    struct arena *mem = a->waiting->arena;
    struct plan_audit gap = {.at_ms = clock_wall_ms(), .type = STR("audit.gap")};
    if (a->untold == 0) return;
    gap.details = arena_printf(mem, "{\"dropped\":%llu}", (unsigned long long)a->untold);
    plan_audit(a->waiting, &gap);
    a->untold = 0;
}

static bool note_take(struct audit *a, const struct plan_audit *row) {
    if (!a->waiting) {
        a->waiting = plan_new();
        if (!a->waiting) return false;
        a->waiting->what = PLAN_SIDE;
        gap_add(a);
    }
    if (a->waiting->audits_nr >= AUDIT_WAITING_MAX) return false;
    plan_audit(a->waiting, row);
    return true;
}

void audit_note(struct audit *a, const struct plan_audit *row) {
    pthread_mutex_lock(&a->mu);
    if (!note_take(a, row)) {
        a->untold++;
        a->st.dropped++;
    } else if (a->waiting->audits_nr == WRITE_AT) {
        pthread_cond_signal(&a->wake);
    }
    pthread_mutex_unlock(&a->mu);
}

static void plan_back(void *ctx, struct plan *p, int rc) {
    struct audit *a = ctx;
    (void)p;
    pthread_mutex_lock(&a->mu);
    a->back = true;
    a->rc = rc;
    pthread_cond_signal(&a->wake);
    pthread_mutex_unlock(&a->mu);
}

static void failure_note(struct audit *a, const char *what, int rc) {
    uint64_t held;
    pthread_mutex_lock(&a->mu);
    a->st.failed++;
    pthread_mutex_unlock(&a->mu);
    if (log_gate_pass(&a->gate, &held)) log_error(what, "error", wopr_err_text(rc));
}

/* One attempt; p stays the caller's. */
static int plan_write(struct audit *a, struct plan *p) {
    pthread_mutex_lock(&a->mu);
    a->back = false;
    pthread_mutex_unlock(&a->mu);
    int rc = journal_append(a->journal, p, plan_back, a);
    if (rc != 0) return rc;
    pthread_mutex_lock(&a->mu);
    while (!a->back) pthread_cond_wait(&a->wake, &a->mu);
    rc = a->rc;
    pthread_mutex_unlock(&a->mu);
    return rc;
}

/* With mu: until ms are over, enough waits, or the end is near. */
static void wait_locked(struct audit *a, int ms) {
    uint64_t end = clock_mono_ms() + (uint64_t)ms;
    struct timespec until = {.tv_sec = (time_t)(end / 1000),
                             .tv_nsec = (long)(end % 1000) * 1000000};
    while (!a->stop && !(a->waiting && a->waiting->audits_nr >= WRITE_AT))
        if (pthread_cond_timedwait(&a->wake, &a->mu, &until) != 0) break;
}

/* A plan that failed for itself (no memory) is lost, and told of as a gap. */
static void plan_lost(struct audit *a, const struct plan *p) {
    pthread_mutex_lock(&a->mu);
    a->untold += p->audits_nr;
    a->st.dropped += p->audits_nr;
    pthread_mutex_unlock(&a->mu);
}

/* Entries that cannot be written now are written later, in their place. */
static void entries_write(struct audit *a, struct plan *p) {
    int rc = p->failed ? p->failed : plan_write(a, p);
    bool stop = false;
    while (rc != 0 && !p->failed && !stop) {
        failure_note(a, "entries of the audit log cannot be written; they wait", rc);
        pthread_mutex_lock(&a->mu);
        wait_locked(a, AUDIT_DELAY_MS);
        stop = a->stop;
        pthread_mutex_unlock(&a->mu);
        clock_sleep_ms(AUDIT_DELAY_MS); /* also when enough waits */
        rc = plan_write(a, p);
    }
    if (rc == 0) {
        pthread_mutex_lock(&a->mu);
        a->st.written += p->audits_nr;
        pthread_mutex_unlock(&a->mu);
    } else {
        failure_note(a, "entries of the audit log are lost", rc);
        plan_lost(a, p);
    }
    plan_unref(p);
}

/* --- checkpoints --- */

/* The tree of the last checkpoint, if that is ours to believe, else of nothing. */
static int tree_begin(struct audit *a, const struct audit_checkpoint *cp) {
    char hex[65];
    if (a->tree.leaves > cp->at_seq) return 0;
    struct merkle t;
    if (!merkle_from_peaks(&t, cp->at_seq + 1, cp->peaks)) return 0;
    struct sha256 root = merkle_root(&t);
    sha256_hex(&root, hex);
    bool ours = str_eqc(cp->key_id, a->key_id);
    const struct ed25519_key *key = ours ? &a->key : &a->old_key;
    if (!ours && (a->old_key_id[0] == '\0' || !str_eqc(cp->key_id, a->old_key_id))) return 0;
    if (str_eqc(cp->root, hex) && audit_signature_holds(key->pub, cp->root, cp->signature))
        a->tree = t;
    return 0;
}

static int tree_grow(struct audit *a, int64_t last, struct wopr_error *err) {
    struct store *s = journal_store(a->journal);
    struct audit_rows l;
    int rc = 0;
    while (rc == 0 && a->tree.leaves <= last) {
        arena_reset(a->arena);
        rc = store_audit_entries(s, a->tree.leaves, PAGE_ENTRIES, a->arena, &l, err);
        if (rc == 0 && (l.n == 0 || l.v[0].seq != a->tree.leaves))
            return wopr_error_set(err, WOPR_E_CORRUPT, "the audit log has a hole");
        for (size_t i = 0; rc == 0 && i < l.n && a->tree.leaves <= last; i++)
            if (l.v[i].seq == a->tree.leaves) merkle_add(&a->tree, l.v[i].entry);
    }
    return rc;
}

static int export_line(struct audit *a, const struct audit_checkpoint *cp) {
    struct buf b;
    struct jw w;
    char at[TIME_LEN + 1];
    if (!a->cfg.checkpoint_file) return 0;
    buf_init(&b, LINE_MAX_BYTES);
    time_format(cp->at_ms, at);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstr(&w, "checkpoint", cp->id);
    jw_kint(&w, "atSequence", cp->at_seq);
    jw_kstr(&w, "merkleRoot", cp->root);
    jw_kstr(&w, "signature", cp->signature);
    jw_kstr(&w, "keyId", cp->key_id);
    jw_kstr_opt(&w, "oldSignature", cp->old_signature);
    jw_kstr_opt(&w, "oldKeyId", cp->old_key_id);
    jw_kstrz(&w, "ts", at);
    jw_end_object(&w);
    buf_addc(&b, '\n');
    int fd = fs_open(a->cfg.checkpoint_file, O_WRONLY | O_CREAT | O_APPEND, 0640), rc = -1;
    if (fd >= 0 && !buf_failed(&b) && fs_write_at(fd, b.p, b.len, 0) == (ssize_t)b.len)
        rc = fs_sync(fd); /* at the end, wherever it is: O_APPEND */
    if (fd >= 0 && close(fd) != 0) rc = -1;
    buf_fini(&b);
    return rc;
}

static int root_sign(struct audit *a, const struct ed25519_key *key, struct str root,
                     struct str *out, struct wopr_error *err) {
    uint8_t sig[64];
    struct buf text;
    int rc = ed25519_sign(key, root, sig, err);
    if (rc != 0) return rc;
    buf_init(&text, 128);
    base64_encode(&text, str_n((const char *)sig, sizeof sig));
    *out = arena_str(a->arena, buf_str(&text));
    buf_fini(&text);
    return out->p ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a checkpoint");
}

/* The entry about it: AUD-3. */
static struct plan_audit emitted_of(struct audit *a, const struct audit_checkpoint *cp) {
    return (struct plan_audit){
        .at_ms = cp->at_ms,
        .type = STR(AUDIT_EMITTED),
        .details =
            arena_printf(a->arena,
                         "{\"atSequence\":%lld,\"checkpoint\":\"" STR_FMT
                         "\",\"keyId\":\"%s\",\"merkleRoot\":\"" STR_FMT "\"}",
                         (long long)cp->at_seq, STR_ARG(cp->id), a->key_id, STR_ARG(cp->root))};
}

static int checkpoint_make(struct audit *a, int64_t last, struct wopr_error *err) {
    struct sha256 root = merkle_root(&a->tree);
    char hex[65], id[ULID_LEN + 1];
    sha256_hex(&root, hex);
    ulid_new(id);
    arena_reset(a->arena);
    struct audit_checkpoint cp = {.id = arena_printf(a->arena, "cp_%s", id),
                                  .at_seq = last,
                                  .root = str_c(hex),
                                  .peaks = merkle_peaks(&a->tree),
                                  .key_id = str_c(a->key_id),
                                  .at_ms = clock_wall_ms()};
    const struct plan_audit told = emitted_of(a, &cp);
    int rc = root_sign(a, &a->key, cp.root, &cp.signature, err);
    if (rc == 0 && cp.at_ms < a->old_until_ms) {
        rc = root_sign(a, &a->old_key, cp.root, &cp.old_signature, err);
        cp.old_key_id = str_c(a->old_key_id);
    }
    if (rc == 0 && arena_failed(a->arena))
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a checkpoint");
    if (rc == 0) rc = store_audit_checkpoint_put(journal_store(a->journal), &cp, &told, err);
    if (rc == 0 && export_line(a, &cp) != 0)
        log_error("a checkpoint of the audit log cannot be exported", "file",
                  a->cfg.checkpoint_file);
    return rc == WOPR_E_EXISTS ? 0 : rc; /* another host made it */
}

/* due: whatever the interval says. */
static int checkpoint_look(struct audit *a, bool due, struct wopr_error *err) {
    struct store *s = journal_store(a->journal);
    struct audit_checkpoint cp = {.at_seq = -1};
    struct audit_row last;
    arena_reset(a->arena);
    int rc = store_audit_last(s, a->arena, &last, err);
    if (rc != 0 || last.seq < 0) return rc;
    rc = store_audit_checkpoint_before(s, INT64_MAX, a->arena, &cp, err);
    if (rc == WOPR_E_NOT_FOUND) rc = 0;
    if (rc != 0) return rc;
    bool fresh = false;
    if (last.seq > cp.at_seq) rc = store_audit_fresh(s, cp.at_seq, &fresh, err);
    if (rc != 0) return rc;
    if (!fresh) { /* the entry about the last one leads to none (AUD-4) */
        a->unsigned_ms = 0;
        return 0;
    }
    int64_t now = (int64_t)clock_mono_ms();
    if (a->unsigned_ms == 0) a->unsigned_ms = now;
    if (!due && last.seq - cp.at_seq < a->cfg.checkpoint_entries &&
        now - a->unsigned_ms < a->cfg.checkpoint_s * 1000)
        return 0;
    if (cp.at_seq >= 0) rc = tree_begin(a, &cp);
    if (rc == 0) rc = tree_grow(a, last.seq, err);
    if (rc == 0) rc = checkpoint_make(a, last.seq, err);
    if (rc != 0) return rc;
    a->unsigned_ms = 0;
    pthread_mutex_lock(&a->mu);
    a->st.checkpoints++;
    pthread_mutex_unlock(&a->mu);
    return 0;
}

/* --- life --- */

static void *audit_run(void *ctx) {
    struct audit *a = ctx;
    thread_name("audit");
    for (bool stop = false; !stop;) {
        struct wopr_error err = {0};
        pthread_mutex_lock(&a->mu);
        wait_locked(a, AUDIT_DELAY_MS);
        struct plan *p = a->waiting;
        a->waiting = NULL;
        stop = a->stop && !p;
        pthread_mutex_unlock(&a->mu);
        if (p) entries_write(a, p);
        int rc = checkpoint_look(a, stop, &err);
        if (rc != 0) failure_note(a, "no checkpoint of the audit log can be made", rc);
    }
    return NULL;
}

/* 30 2a 30 05 06 03 2b 65 70 03 21 00: the head of an Ed25519 key in DER (RFC 8410 section 4). */
static void public_key_render(struct audit *a) {
    static const char HEAD[] = "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
    char der[44];
    struct buf b;
    memcpy(der, HEAD, 12);
    memcpy(der + 12, a->key.pub, 32);
    buf_init(&b, AUDIT_PUBLIC_KEY_TEXT);
    base64_encode(&b, str_n(der, sizeof der));
    (void)snprintf(a->public_key, sizeof a->public_key, STR_FMT, STR_ARG(buf_str(&b)));
    buf_fini(&b);
}

static void key_id_of(const struct ed25519_key *key, char out[AUDIT_KEY_ID_SIZE]) {
    struct sha256 print = sha256_of(str_n((const char *)key->pub, 32));
    char hex[65];
    sha256_hex(&print, hex);
    (void)snprintf(out, AUDIT_KEY_ID_SIZE, "aud_%.16s", hex);
}

static const struct audit_key *key_find(const struct audit_key_list *l, const char *id) {
    for (size_t i = 0; i < l->n; i++)
        if (str_eqc(l->v[i].key_id, id)) return &l->v[i];
    return NULL;
}

/* AUD-7: the newest of the old keys that this file knows signs beside the new one until old_key_s
 * after the new one was first used, by any host. */
static int old_key_find(struct audit *a, struct wopr_error *err) {
    const struct audit_key *best = NULL, *own;
    struct audit_key_list known;
    int rc = store_audit_keys(journal_store(a->journal), a->arena, &known, err);
    for (size_t i = 0; rc == 0 && i < a->cfg.old_nr; i++) {
        struct ed25519_key key;
        char id[AUDIT_KEY_ID_SIZE];
        rc = ed25519_from_secret(a->cfg.old_secrets[i], &key, err);
        if (rc != 0) break;
        key_id_of(&key, id);
        const struct audit_key *row = key_find(&known, id);
        if (row && strcmp(id, a->key_id) != 0 && (!best || row->created_ms > best->created_ms)) {
            best = row;
            a->old_key = key;
            memcpy(a->old_key_id, id, sizeof id);
        }
        mem_wipe(&key, sizeof key);
    }
    own = rc == 0 ? key_find(&known, a->key_id) : NULL;
    if (best && own) a->old_until_ms = own->created_ms + a->cfg.old_key_s * 1000;
    arena_reset(a->arena);
    return rc;
}

static int key_store(struct audit *a, struct wopr_error *err) {
    key_id_of(&a->key, a->key_id);
    public_key_render(a);
    struct audit_key row = {.key_id = str_c(a->key_id), .created_ms = clock_wall_ms()};
    memcpy(row.pub, a->key.pub, sizeof row.pub);
    return store_audit_key_put(journal_store(a->journal), &row, err);
}

static int export_open(const struct audit *a, struct wopr_error *err) {
    const char *path = a->cfg.checkpoint_file;
    int fd = path ? fs_open(path, O_WRONLY | O_CREAT | O_APPEND, 0640) : -1;
    if (!path) return 0;
    if (fd < 0)
        return wopr_error_at(err, WOPR_E_CONFIG, "audit-checkpoint-file",
                             "checkpoint file %s cannot be written: %s", path, strerror(errno));
    close(fd);
    return 0;
}

int audit_new(struct journal *j, const struct audit_config *cfg, struct audit **out,
              struct wopr_error *err) {
    struct audit *a = MEM_NEW(struct audit);
    pthread_condattr_t mono;
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the audit log");
    a->cfg = *cfg;
    a->journal = j;
    pthread_mutex_init(&a->mu, NULL);
    pthread_condattr_init(&mono);
    pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
    pthread_cond_init(&a->wake, &mono);
    pthread_condattr_destroy(&mono);
    a->arena = arena_new(ARENA_MAX);
    int rc = a->arena ? export_open(a, err)
                      : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the audit log");
    if (rc == 0) rc = ed25519_from_secret(cfg->secret, &a->key, err);
    if (rc == 0) rc = key_store(a, err);
    if (rc == 0) rc = old_key_find(a, err);
    mem_wipe(a->cfg.secret, sizeof a->cfg.secret);
    mem_wipe(a->cfg.old_secrets, sizeof a->cfg.old_secrets);
    if (rc == 0) *out = a;
    else audit_free(a);
    return rc;
}

int audit_start(struct audit *a, struct wopr_error *err) {
    if (pthread_create(&a->thread, NULL, audit_run, a) != 0)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no thread for the audit log");
    a->running = true;
    return 0;
}

void audit_stop(struct audit *a) {
    if (!a || !a->running) return;
    pthread_mutex_lock(&a->mu);
    a->stop = true;
    pthread_cond_signal(&a->wake);
    pthread_mutex_unlock(&a->mu);
    pthread_join(a->thread, NULL);
    a->running = false;
}

void audit_free(struct audit *a) {
    if (!a) return;
    audit_stop(a);
    plan_unref(a->waiting);
    arena_free(a->arena);
    mem_wipe(&a->key, sizeof a->key);
    mem_wipe(&a->old_key, sizeof a->old_key);
    pthread_cond_destroy(&a->wake);
    pthread_mutex_destroy(&a->mu);
    mem_free(a);
}

void audit_stats(struct audit *a, struct audit_stats *out) {
    pthread_mutex_lock(&a->mu);
    *out = a->st;
    pthread_mutex_unlock(&a->mu);
}

const char *audit_public_key(const struct audit *a) { return a->public_key; }
