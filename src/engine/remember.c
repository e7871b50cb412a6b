/*
 * remember.c: long-term memory for executors (MEM-3 to MEM-15).  Reads look at the store as of the
 * run's start, and at what the run itself has put since, also in this step.  Each result is a row
 * of the invocation log, and each entry a row of the plan that records it: one commit, so that an
 * executor that is entered again gets the same and writes nothing twice.  A replay gets what its
 * source recorded, or fails as for a request (FORK-14).
 */
#include "engine/remember.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/ident.h"
#include "codec/jobj.h"
#include "engine/invoke.h"
#include "engine/secret.h"
#include "engine/timeline.h"
#include "store/credentials.h"
#include "store/memory.h"

#include "domain/options.h"

#include <stdlib.h>
#include <string.h>

#define SECRET_BYTES_MIN 8u /* MEM-10: shorter values are not looked for */
#define TIME_MAX_MS      INT64_C(253402300799999)
#define CLEAN_MAX        (8u * MEMORY_CONTENT_MAX)
#define OUTCOME_MAX      (2u * 1024 * 1024)
#define SECRETS_BYTES    (64u * 1024 * 1024) /* of all credentials of a tenant, with their boxes */

struct remember_op { /* done by this entry, not recorded yet */
    struct remember_op *next;
    int64_t ordinal;
    const char *key;
    struct str outcome;
    bool writes;
    struct plan_entry entry;
};

void remember_begin(struct remember *m, struct step *st, int node) {
    *m = (struct remember){.step = st, .node = node};
    m->end = &m->first;
}

void remember_apply(struct remember *m) {
    struct step *st = m->step;
    for (struct remember_op *op = m->first; op && !step_lost(st); op = op->next) {
        invoke_record(st, m->node, op->ordinal, op->key, op->outcome);
        if (!op->writes) continue;
        plan_entry(st->plan, &op->entry);
        st->exec->remembered_ms = op->entry.created_ms;
    }
}

/* --- results --- */

static bool remember_failed(struct node_result *out, const char *code, const char *message,
                            bool retry) {
    node_fail(out, code, message, retry);
    return false;
}

static bool out_of_memory(struct node_result *out) {
    return remember_failed(out, "out_of_memory", "the node needs more memory", true);
}

/* What the store says is told to the host's log; entries are in none of its messages (MEM-7). */
static bool remember_lost(const struct node_call *call, struct node_result *out, int rc,
                          const struct wopr_error *err) {
    const char *why = arena_cstr(call->a, str_c(err->message));
    if (rc == WOPR_E_VALIDATION && why) return remember_failed(out, "validation_error", why, false);
    if (rc == WOPR_E_QUOTA && why) return remember_failed(out, "memory_full", why, false);
    log_error("memory cannot be used", "run", call->memory->step->exec->run_id, "why",
              err->message);
    return remember_failed(out, "memory_unavailable", "the memory cannot be used at the moment",
                           rc != WOPR_E_CORRUPT);
}

bool node_memory_offered(const struct node_call *call) {
    const struct engine *e = call->memory ? call->memory->step->engine : NULL;
    return e && e->cfg.vault;
}

/* Those of requests are not negative. */
static int64_t place_no(const struct node_call *call, unsigned ordinal) {
    ASSERT(ordinal < NODE_INVOKES_MAX);
    int64_t base = (int64_t)call->run->nodes[call->node].activation * NODE_INVOKES_MAX;
    return -(base + ordinal) - 1;
}

static struct str outcome_of(const struct node_call *call, unsigned ordinal) {
    const struct remember *m = call->memory;
    int64_t no = place_no(call, ordinal);
    for (const struct remember_op *op = m->first; op; op = op->next)
        if (op->ordinal == no) return op->outcome;
    return invoke_recorded(m->step, call->node, no);
}

bool node_memory_known(const struct node_call *call, unsigned ordinal) {
    return node_memory_offered(call) && outcome_of(call, ordinal).n > 0;
}

/* A replay without a record fails as its source did, or for want of one. */
static bool replay_knows(const struct node_call *call, struct node_result *out) {
    struct failure f;
    if (!timeline_effect(call->memory->step, call->node, &f)) return true;
    out->outcome = NODE_OUT_FAIL;
    out->error_code = f.code;
    out->error_message = f.message;
    out->error_details = f.details;
    out->retryable = f.retryable;
    return false;
}

enum known { KNOWN_YES, KNOWN_NO, KNOWN_FAILED };
static enum known result_known(const struct node_call *call, struct node_result *out,
                               unsigned ordinal, struct str *result) {
    if (!node_memory_offered(call)) {
        (void)remember_failed(out, "capability_not_provided", "this host offers no memory", false);
        return KNOWN_FAILED;
    }
    struct str outcome = outcome_of(call, ordinal);
    *result = json_get(outcome, "result");
    if (outcome.n > 0) return KNOWN_YES;
    ASSERT(call->memory->step->exec->run_no != 0); /* node_too_early */
    return replay_knows(call, out) ? KNOWN_NO : KNOWN_FAILED;
}

static struct remember_op *op_add(const struct node_call *call, unsigned ordinal, const char *key,
                                  struct str result) {
    struct remember *m = call->memory;
    struct remember_op *op = result.p ? ARENA_NEW(call->a, struct remember_op) : NULL;
    struct jobj o;
    if (!op) return NULL;
    jobj_begin(&o, OUTCOME_MAX);
    jw_kint(&o.w, "status", 200); /* final: later attempts get it, too */
    jw_kraw(&o.w, "result", result);
    *op = (struct remember_op){
        .ordinal = place_no(call, ordinal), .key = key, .outcome = jobj_end(&o, call->a)};
    if (!op->outcome.p) return NULL;
    *m->end = op;
    m->end = &op->next;
    return op;
}

/* --- eyes --- */

static struct memory_place place_of(const struct node_call *call, struct str ref) {
    const struct run_meta *m = &call->run->meta;
    return (struct memory_place){m->tenant, m->test_mode, ref}; /* MEM-7 */
}

/* A fork starts when it is made: it sees what its source wrote until then. */
static int64_t started_ms(const struct node_call *call) {
    const struct run_state *s = call->run;
    bool fork = call->memory->step->exec->fork.info != NULL;
    return !fork && s->clock.started_ms > 0 ? s->clock.started_ms : s->meta.created_ms;
}

static struct memory_view view_of(const struct node_call *call) {
    return (struct memory_view){.run_no = call->memory->step->exec->run_no,
                                .started_ms = started_ms(call),
                                .now_ms = clock_wall_ms()};
}

static struct memory_row row_of(const struct node_call *call, const struct plan_entry *e) {
    return (struct memory_row){.at = {e->tenant, e->test_mode, e->ref},
                               .id = e->id,
                               .writer_run_no = call->memory->step->exec->run_no,
                               .created_ms = e->created_ms,
                               .expires_ms = e->expires_ms,
                               .sealed = {.key_no = e->key_no, .box = e->box}};
}

/* Entries of this step: the store does not have them yet. */
struct pending {
    const struct node_call *call;
    struct memory_place at;
    int64_t now_ms;
    struct memory_entries *to;
};

static int pending_add(const struct pending *p, const struct plan_entry *e,
                       struct wopr_error *err) {
    struct engine *engine = p->call->memory->step->engine;
    struct memory_row r = row_of(p->call, e);
    if (!str_eq(e->tenant, p->at.tenant) || e->test_mode != p->at.test_mode ||
        !str_eq(e->ref, p->at.ref) || (e->expires_ms != 0 && e->expires_ms <= p->now_ms))
        return 0;
    int rc = memory_open(engine->cfg.vault, &r, p->call->a, &p->to->v[p->to->n], err);
    if (rc == 0) p->to->n++;
    return rc;
}

static int pending_read(const struct node_call *call, struct str ref, int64_t now_ms,
                        struct memory_entries *out, struct wopr_error *err) {
    const struct plan *plan = call->memory->step->plan;
    const struct pending p = {call, place_of(call, ref), now_ms, out};
    size_t n = plan->entries_nr;
    int rc = 0;
    for (const struct remember_op *op = call->memory->first; op; op = op->next) n += op->writes;
    *out = (struct memory_entries){ARENA_ARRAY(call->a, struct memory_entry, n + 1), 0};
    if (!out->v) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to read entries");
    for (size_t i = 0; rc == 0 && i < plan->entries_nr; i++)
        rc = pending_add(&p, &plan->entries[i], err);
    for (const struct remember_op *op = call->memory->first; rc == 0 && op; op = op->next)
        if (op->writes) rc = pending_add(&p, &op->entry, err);
    return rc;
}

/* --- list, get --- */

static void entry_put(struct jw *w, const struct memory_entry *e) { /* MEM-4 */
    char at[TIME_LEN + 1];
    jw_object(w);
    jw_kstr(w, "id", e->id);
    jw_kstr(w, "content", e->content);
    jw_key(w, "tags");
    jw_array(w);
    for (size_t i = 0; i < e->tags.n; i++) jw_str(w, e->tags.v[i]);
    jw_end_array(w);
    time_format(e->created_ms, at);
    jw_kstrz(w, "createdAt", at);
    if (e->expires_ms != 0) {
        time_format(e->expires_ms, at);
        jw_kstrz(w, "expiresAt", at);
    }
    jw_end_object(w);
}

static size_t entry_bytes(const struct memory_entry *e) {
    size_t n = e->content.n;
    for (size_t i = 0; i < e->tags.n; i++) n += e->tags.v[i].n;
    return n;
}

static int newest_first(const void *x, const void *y) { /* MEM-5 */
    const struct memory_entry *a = x, *b = y;
    if (a->created_ms != b->created_ms) return a->created_ms > b->created_ms ? -1 : 1;
    return str_cmp(b->id, a->id);
}

static struct str entries_text(struct arena *a, const struct memory_entries *l, size_t limit) {
    struct buf b;
    struct jw w;
    size_t bytes = 0;
    buf_init(&b, OUTCOME_MAX);
    jw_init(&w, &b);
    jw_array(&w);
    for (size_t i = 0; i < l->n && i < limit; i++) {
        bytes += entry_bytes(&l->v[i]);
        if (i > 0 && bytes > MEMORY_LIST_BYTES) break;
        entry_put(&w, &l->v[i]);
    }
    jw_end_array(&w);
    struct str out = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    return out;
}

static int list_read(const struct node_call *call, const struct node_memory_query *q,
                     struct str *result, struct wopr_error *err) {
    struct engine *e = call->memory->step->engine;
    const struct memory_place at = place_of(call, q->ref);
    const struct memory_view view = view_of(call);
    unsigned limit = q->limit == 0 || q->limit > MEMORY_LIST_MAX ? MEMORY_LIST_MAX : q->limit;
    const struct memory_filter filter = {q->tag, q->text};
    struct memory_entries own, l;
    int rc = pending_read(call, q->ref, view.now_ms, &own, err);
    if (rc == 0)
        rc = memory_list(e->store, e->cfg.vault, &at, &view, &filter, limit, call->a, &l, err);
    if (rc != 0) return rc;
    struct memory_entries all = {ARENA_ARRAY(call->a, struct memory_entry, own.n + l.n + 1), 0};
    if (!all.v) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to read entries");
    for (size_t i = 0; i < own.n; i++)
        if (memory_matches(&own.v[i], &filter, call->a)) all.v[all.n++] = own.v[i];
    for (size_t i = 0; i < l.n; i++) all.v[all.n++] = l.v[i];
    qsort(all.v, all.n, sizeof *all.v, newest_first);
    *result = entries_text(call->a, &all, limit);
    return 0;
}

bool node_memory_list(const struct node_call *call, struct node_result *out, unsigned ordinal,
                      const struct node_memory_query *q, struct str *entries) {
    struct wopr_error err = {0};
    enum known k = result_known(call, out, ordinal, entries);
    if (k != KNOWN_NO) return k == KNOWN_YES;
    int rc = list_read(call, q, entries, &err);
    if (rc != 0) return remember_lost(call, out, rc, &err);
    return op_add(call, ordinal, "memory:list", *entries) || out_of_memory(out);
}

static int entry_read(const struct node_call *call, struct str ref, struct str id,
                      struct str *result, struct wopr_error *err) {
    struct engine *e = call->memory->step->engine;
    const struct memory_place at = place_of(call, ref);
    const struct memory_view view = view_of(call);
    struct memory_entries own;
    struct memory_entry found;
    int rc = pending_read(call, ref, view.now_ms, &own, err);
    if (rc != 0) return rc;
    rc = WOPR_E_NOT_FOUND;
    for (size_t i = 0; i < own.n; i++)
        if (str_eq(own.v[i].id, id)) {
            found = own.v[i];
            rc = 0;
        }
    if (rc != 0) rc = memory_get(e->store, e->cfg.vault, &at, &view, id, call->a, &found, err);
    *result = STR("null");
    if (rc != 0) return rc == WOPR_E_NOT_FOUND ? 0 : rc;
    struct buf b;
    struct jw w;
    buf_init(&b, OUTCOME_MAX);
    jw_init(&w, &b);
    entry_put(&w, &found);
    *result = buf_failed(&b) ? STR_NONE : arena_str(call->a, buf_str(&b));
    buf_fini(&b);
    return 0;
}

bool node_memory_get(const struct node_call *call, struct node_result *out, unsigned ordinal,
                     struct str ref, struct str id, struct str *entry) {
    struct wopr_error err = {0};
    enum known k = result_known(call, out, ordinal, entry);
    if (k != KNOWN_NO) return k == KNOWN_YES;
    int rc = entry_read(call, ref, id, entry, &err);
    if (rc != 0) return remember_lost(call, out, rc, &err);
    return op_add(call, ordinal, "memory:get", *entry) || out_of_memory(out);
}

/* --- SR-1 (MEM-10) --- */

struct known_secret {
    struct str name, value;
};
struct known_secrets {
    struct known_secret *v;
    size_t n;
    struct str *opened; /* of v, those in a: to be overwritten */
    size_t opened_nr;
    bool first[256]; /* bytes that values begin with */
    struct arena *a;
};

static void secret_take(struct known_secrets *l, struct str name, struct str value) {
    if (value.n < SECRET_BYTES_MIN) return;
    l->v[l->n++] = (struct known_secret){name, value};
    l->first[(unsigned char)value.p[0]] = true;
}

static int longest_first(const void *x, const void *y) {
    const struct known_secret *a = x, *b = y;
    if (a->value.n != b->value.n) return a->value.n > b->value.n ? -1 : 1;
    int by_value = str_cmp(a->value, b->value);
    return by_value != 0 ? by_value : str_cmp(a->name, b->name);
}

static bool is_for(const struct credential_id *id, const struct run_meta *m, struct str issuer,
                   struct str subject) {
    if (id->test_mode != m->test_mode) return false;
    return id->subject.n == 0 || (str_eq(id->issuer, issuer) && str_eq(id->subject, subject));
}

/* What the run was given here, and all that it could be given: after a restart no one knows any
 * more which of them were. */
static int secrets_gather(const struct node_call *call, struct known_secrets *l,
                          struct wopr_error *err) {
    struct run_exec *re = call->memory->step->exec;
    struct engine *e = re->engine;
    const struct run_meta *m = &call->run->meta;
    struct str issuer = json_string(json_get(m->subject, "issuer"), l->a);
    struct str subject = json_string(json_get(m->subject, "subjectId"), l->a);
    struct credential_list rows = {0};
    if (re->resolved.lost)
        return wopr_error_set(err, WOPR_E_CORRUPT, "the run was given too many credentials");
    int rc = store_credentials(e->store, m->tenant, NULL, l->a, &rows, err);
    if (rc != 0) return rc;
    l->v = ARENA_ARRAY(l->a, struct known_secret, rows.n + re->resolved.nr + 1);
    l->opened = ARENA_ARRAY(l->a, struct str, rows.n + 1);
    if (!l->v || !l->opened)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for credentials");
    for (const struct resolved *r = re->resolved.first; r; r = r->next)
        secret_take(l, str_n(r->text, r->name_n), str_n(r->text + r->name_n, r->n));
    for (size_t i = 0; i < rows.n; i++) {
        struct str value;
        if (!is_for(&rows.v[i].id, m, issuer, subject)) continue;
        rc = credential_open(e->cfg.vault, &rows.v[i], l->a, &value, err);
        if (rc == 0) {
            l->opened[l->opened_nr++] = value;
            secret_take(l, rows.v[i].id.name, value);
        } else if (rc != WOPR_E_CORRUPT) { /* what does not open was given to no run */
            return rc;
        }
    }
    qsort(l->v, l->n, sizeof *l->v, longest_first);
    return 0;
}

static const struct known_secret *secret_at(const struct known_secrets *l, struct str text,
                                            size_t at) {
    if (!l->first[(unsigned char)text.p[at]]) return NULL;
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].value.n <= text.n - at &&
            memcmp(l->v[i].value.p, text.p + at, l->v[i].value.n) == 0)
            return &l->v[i];
    return NULL;
}

static void secrets_replace(const struct known_secrets *l, struct str text, struct buf *out) {
    size_t from = 0, at = 0;
    while (at < text.n) {
        const struct known_secret *s = secret_at(l, text, at);
        if (!s) {
            at++;
            continue;
        }
        buf_add(out, text.p + from, at - from);
        buf_addz(out, "[REDACTED:");
        buf_adds(out, s->name);
        buf_addz(out, "]");
        from = at += s->value.n;
    }
    buf_add(out, text.p + from, text.n - from);
}

/* Of the run's own masked values, as the log does (OBS-71). */
static struct str remember_scrubbed(const struct node_call *call, struct str text) {
    struct buf b;
    buf_init(&b, CLEAN_MAX);
    json_quote(&b, text);
    struct str quoted = buf_failed(&b) ? STR_NONE : arena_str(call->a, buf_str(&b));
    buf_fini(&b);
    struct str shown = secret_scrub(call->memory->step, quoted);
    if (!shown.p || shown.p == quoted.p) return shown.p ? text : STR_NONE;
    return json_string(shown, call->a);
}

static int text_clean(const struct node_call *call, const struct known_secrets *l, struct str text,
                      struct str *out, struct wopr_error *err) {
    struct buf named, shaped;
    buf_init(&named, CLEAN_MAX);
    buf_init(&shaped, CLEAN_MAX);
    secrets_replace(l, text, &named);
    (void)redact_text(buf_str(&named), STR_NONE, &shaped); /* OBS-75 */
    bool ok = !buf_failed(&named) && !buf_failed(&shaped);
    *out = ok ? arena_str(call->a, buf_str(&shaped)) : STR_NONE;
    if (out->p) *out = remember_scrubbed(call, *out);
    buf_fini(&named);
    buf_fini(&shaped);
    return out->p ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to clear an entry");
}

static int entry_clean(const struct node_call *call, const struct node_memory_write *w,
                       struct memory_entry *e, struct wopr_error *err) {
    struct known_secrets l = {.a = arena_new(SECRETS_BYTES)};
    struct str *tags = ARENA_ARRAY(call->a, struct str, w->tags_nr + 1);
    int rc = l.a && tags ? secrets_gather(call, &l, err)
                         : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to clear an entry");
    if (rc == 0) rc = text_clean(call, &l, w->content, &e->content, err);
    for (size_t i = 0; rc == 0 && i < w->tags_nr; i++)
        rc = text_clean(call, &l, w->tags[i], &tags[i], err);
    e->tags = (struct memory_tags){tags, w->tags_nr};
    for (size_t i = 0; i < l.opened_nr; i++) credential_wipe(&l.opened[i]);
    arena_free(l.a);
    return rc;
}

/* --- put --- */

static struct str id_mint(const struct node_call *call, unsigned ordinal, struct str tenant) {
    struct str id = node_mint_id(call, STR("memory"), ordinal);
    if (!id.p || tenant.n + 1 + id.n > MEMORY_ID_MAX) return id;
    return arena_printf(call->a, STR_FMT ":" STR_FMT, STR_ARG(tenant), STR_ARG(id)); /* MEM-14 */
}

/* Later than all that others wrote and this run sees, and than what it wrote before. */
static int64_t written_ms(const struct node_call *call) {
    const struct step *st = call->memory->step;
    int64_t ms = clock_wall_ms(), after = started_ms(call);
    if (st->exec->remembered_ms > after) after = st->exec->remembered_ms;
    for (const struct remember_op *op = call->memory->first; op; op = op->next)
        if (op->writes && op->entry.created_ms > after) after = op->entry.created_ms;
    return ms > after ? ms : after + 1;
}

static int64_t expires_ms(int64_t from_ms, int64_t ttl_ms) { /* at the latest in the year 9999 */
    return ttl_ms < TIME_MAX_MS - from_ms ? from_ms + ttl_ms : TIME_MAX_MS;
}

static int put_seal(const struct node_call *call, unsigned ordinal,
                    const struct node_memory_write *w, struct plan_entry *out,
                    struct wopr_error *err) {
    struct step *st = call->memory->step;
    const struct engine_memory *cfg = &st->engine->cfg.memory;
    const struct memory_bounds b = {cfg->entry_bytes_max, cfg->ref_bytes_max,
                                    cfg->tenant_bytes_max};
    struct memory_place at = place_of(call, w->ref);
    struct memory_entry e = {.id = id_mint(call, ordinal, at.tenant),
                             .created_ms = written_ms(call),
                             .writer_run_no = st->exec->run_no};
    struct memory_row r;
    bool over = w->ttl_ms < 0;
    ASSERT(st->engine->cfg.conformance || (w->tenant.n == 0 && !over));
    if (w->tenant.n > 0) at.tenant = w->tenant;
    if (w->ttl_ms != 0) e.expires_ms = expires_ms(e.created_ms, w->ttl_ms);
    if (over) e.created_ms = e.expires_ms - 1;
    if (w->content.n > MEMORY_CONTENT_MAX || w->tags_nr > MEMORY_TAGS_MAX) /* before the work */
        return wopr_error_set(err, WOPR_E_VALIDATION, "a memory entry is too long");
    if (!e.id.p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an entry");
    int rc = entry_clean(call, w, &e, err);
    if (rc == 0)
        rc = memory_seal(st->engine->cfg.vault, &at, &e, &b, over ? 0 : e.created_ms, call->a, &r,
                         err);
    if (rc == 0) rc = store_memory_room(st->engine->store, &r, &b, err);
    if (rc != 0) return rc;
    *out = (struct plan_entry){.tenant = r.at.tenant,
                               .test_mode = r.at.test_mode,
                               .ref = r.at.ref,
                               .id = r.id,
                               .created_ms = r.created_ms,
                               .expires_ms = r.expires_ms,
                               .key_no = r.sealed.key_no,
                               .box = r.sealed.box,
                               .ref_bytes_max = b.ref,
                               .tenant_bytes_max = b.tenant};
    return 0;
}

bool node_memory_put(const struct node_call *call, struct node_result *out, unsigned ordinal,
                     const struct node_memory_write *w, struct str *id) {
    struct wopr_error err = {0};
    struct plan_entry row;
    struct str result;
    enum known k = result_known(call, out, ordinal, &result);
    if (k == KNOWN_FAILED) return false;
    if (k == KNOWN_YES) {
        *id = json_string(result, call->a);
        return id->p || out_of_memory(out);
    }
    int rc = put_seal(call, ordinal, w, &row, &err);
    if (rc != 0) return remember_lost(call, out, rc, &err);
    struct buf b;
    buf_init(&b, CLEAN_MAX);
    json_quote(&b, row.id);
    struct remember_op *op =
        buf_failed(&b) ? NULL
                       : op_add(call, ordinal, "memory:put", arena_str(call->a, buf_str(&b)));
    buf_fini(&b);
    if (!op) return out_of_memory(out);
    op->writes = true;
    op->entry = row;
    *id = row.id;
    return true;
}
