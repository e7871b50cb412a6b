/*
 * event.c: see event.h.
 */
#include "workrail/event.h"

#include "workrail/event_shape.h"

#include <stdio.h>
#include <stdlib.h>

const char *wr_kind_name(enum wr_kind kind) { return WR_KIND_NAMES.v[kind]; }
const char *wr_blocker_name(int code) { return WR_BLOCKER_NAMES.v[code]; }
const char *wr_detail_name(int detail) { return WR_DETAIL_NAMES.v[detail]; }
const char *wr_category_name(int category) { return WR_CATEGORY_NAMES.v[category]; }

enum wr_category wr_detail_category(int detail) {
    if (detail <= WR_D_NEEDS_USER_ENVIRONMENT_ACTION) return WR_USER_ONLY_DEPENDENCY;
    if (detail <= WR_D_MISSING_REQUIRED_NOTES) return WR_CONTRACT_VIOLATION;
    if (detail <= WR_D_REQUIRED_CAPABILITY_UNKNOWN) return WR_CAPABILITY_MISSING;
    return WR_UNEXPECTED;
}

/* --- reports --- */

static const char *const POINTER_NAMES[] = {"context_key", "context_budget", "output_contract",
                                            "capability", "workflow_step"};

/* code|kind|what it points at, as if it were one text: the parts hold no '|' but the last. */
static int blocker_cmp(const void *x, const void *y) {
    const struct wr_blocker *a = x, *b = y;
    char one[512], two[512];
    const struct wr_blocker *both[] = {a, b};
    char *texts[] = {one, two};
    for (size_t i = 0; i < 2; i++) {
        const struct wr_blocker *v = both[i];
        struct str stable = v->pointer.kind == WR_P_CAPABILITY
                                ? str_c(WR_CAPABILITY_NAMES.v[v->pointer.capability])
                                : v->pointer.text;
        snprintf(texts[i], sizeof one, "%s|%s|" STR_FMT, wr_blocker_name(v->code),
                 POINTER_NAMES[v->pointer.kind], STR_ARG(stable));
    }
    return strcmp(one, two);
}

void wr_report_sort(struct wr_report *r) {
    if (r->nr > 1) qsort(r->v, r->nr, sizeof *r->v, blocker_cmp);
}

int wr_report_check(const struct wr_report *r, struct wr_fault *f) {
    if (r->nr == 0 || r->nr > WR_BLOCKERS_MAX)
        return wr_fail(f, WR_SCHEMA_INVALID, "/blockers", "there are 1 to 10 blockers");
    for (size_t i = 0; i < r->nr; i++) {
        const struct wr_blocker *b = &r->v[i];
        bool words = b->pointer.kind == WR_P_CONTEXT_KEY ? wr_word_good(b->pointer.text)
                     : b->pointer.kind == WR_P_STEP      ? wr_step_id_good(b->pointer.text)
                                                         : true;
        if (!words || b->message.n == 0 || b->message.n > WR_BLOCKER_MESSAGE_MAX ||
            b->fix.n > WR_BLOCKER_FIX_MAX)
            return wr_fail(f, WR_SCHEMA_INVALID, "/blockers",
                           "blocker %zu exceeds a budget or points at no id", i);
        if (i > 0 && blocker_cmp(b - 1, b) > 0)
            return wr_fail(f, WR_SCHEMA_INVALID, "/blockers", "the blockers are not sorted");
    }
    return 0;
}

/* --- the envelope --- */

enum scope { SCOPE_SESSION, SCOPE_RUN, SCOPE_NODE };

static enum scope kind_scope(int kind) { /* section 2.2 */
    switch (kind) {
    case WR_SESSION_CREATED:
    case WR_OBSERVATION_RECORDED:
        return SCOPE_SESSION;
    case WR_RUN_STARTED:
    case WR_EDGE_CREATED:
    case WR_CONTEXT_SET:
        return SCOPE_RUN;
    default:
        return SCOPE_NODE;
    }
}

struct envelope {
    struct wr_event e;
    struct str data;
};
static const struct wr_field SCOPE_FIELDS[] = {
    {"nodeId", WF_ID, WF_OPT, offsetof(struct envelope, e.node_id), NULL, 0, WR_ID_NODE},
    {"runId", WF_ID, WF_OPT, offsetof(struct envelope, e.run_id), NULL, 0, WR_ID_RUN},
};
static const struct wr_shape SCOPE = WR_SHAPE(SCOPE_FIELDS, struct envelope);
static const struct wr_field ENVELOPE_FIELDS[] = {
    {"data", WF_OBJECT, 0, offsetof(struct envelope, data), NULL, 0, 0},
    {"dedupeKey", WF_TEXT, 0, offsetof(struct envelope, e.dedupe_key), NULL, 1, WR_DEDUPE_MAX},
    {"eventId", WF_ID, 0, offsetof(struct envelope, e.event_id), NULL, 0, WR_ID_EVENT},
    {"eventIndex", WF_INT, 0, offsetof(struct envelope, e.index), NULL, 0, 0},
    {"kind", WF_ENUM, 0, offsetof(struct envelope, e.kind), &WR_KIND_NAMES, 0, 0},
    {"scope", WF_SHAPE, WF_OPT, 0, &SCOPE, 0, 0},
    {"sessionId", WF_ID, 0, offsetof(struct envelope, e.session_id), NULL, 0, WR_ID_SESSION},
    {"v", WF_VERSION, 0, 0, NULL, 0, 1},
};
static int envelope_check(const void *base, struct wr_fault *f) {
    const struct wr_event *e = &((const struct envelope *)base)->e;
    enum scope due = kind_scope(e->kind);
    if ((e->run_id.p != NULL) != (due >= SCOPE_RUN) ||
        (e->node_id.p != NULL) != (due == SCOPE_NODE))
        return wr_fail(f, WR_SCHEMA_INVALID, "/scope", "the scope does not fit the kind");
    if (!wr_dedupe_good(e->dedupe_key))
        return wr_fail(f, WR_SCHEMA_INVALID, "/dedupeKey",
                       "only a-z, 0-9, _, :, - and > are allowed");
    return 0;
}
static const struct wr_shape ENVELOPE =
    WR_SHAPE_CHECKED(ENVELOPE_FIELDS, struct envelope, envelope_check);

/* A version or kind of another build is told before anything else is judged (WR-16). */
static int version_check(struct str bytes, struct wr_fault *f) {
    int64_t v;
    struct str raw = json_get(bytes, "v"), kind = json_get(bytes, "kind");
    if (raw.p != NULL && json_type_of(raw) == JSON_NUMBER && (!json_int(raw, &v) || v != 1))
        return wr_fail(f, WR_SCHEMA_UNKNOWN_VERSION, "/v",
                       "the version of the event is not known to this build");
    if (kind.n < 2 || json_type_of(kind) != JSON_STRING) return 0; /* the schema will tell */
    if (wr_name_find(&WR_KIND_NAMES, str_n(kind.p + 1, kind.n - 2)) < 0)
        return wr_fail(f, WR_SCHEMA_UNKNOWN_VERSION, "/kind",
                       "the kind of the event is not known to this build");
    return 0;
}

/* scope:{} is to be left out whole (WR-14). */
static int scope_check(struct str bytes, struct wr_fault *f) {
    struct str scope = json_get(bytes, "scope");
    if (scope.p != NULL && scope.n <= 2)
        return wr_fail(f, WR_SCHEMA_INVALID, "/scope", "an empty scope is left out");
    return 0;
}

static int key_check(const struct wr_event *e, struct arena *a, struct wr_fault *f) {
    struct str part = STR_NONE;
    if (e->kind == WR_CONTEXT_SET) {
        part = wr_context_attempt(e);
        if (part.p == NULL && e->u.context.source == 0) part = STR("initial");
    }
    struct str due = wr_dedupe_key(e, part, a);
    if (due.p == NULL) return wr_no_memory(f);
    if (str_eq(due, e->dedupe_key)) return 0;
    return wr_fail(f, WR_SCHEMA_INVALID, "/dedupeKey", "the key is not that of the event");
}

int wr_event_read(struct str bytes, struct arena *a, struct wr_event *out, struct wr_fault *f) {
    struct envelope in = {0};
    struct wr_fault own;
    bool canonical = false;
    if (f == NULL) f = &own;
    int rc = wr_fail_as(f, WR_SCHEMA_INVALID, json_check(bytes, &JSON_LIMITS_STORED, &f->e));
    if (rc == 0) rc = version_check(bytes, f);
    if (rc == 0) rc = scope_check(bytes, f);
    if (rc == 0) rc = wr_shape_read(&ENVELOPE, bytes, a, &in, f);
    if (rc != 0) return rc;
    rc = wr_shape_read(WR_PAYLOADS[in.e.kind], in.data, a, &in.e.u, f);
    if (rc != 0) wr_fault_in(f, STR("data"));
    if (rc == 0) rc = wr_is_canonical(bytes, &canonical, f);
    if (rc == 0 && !canonical)
        rc =
            wr_fail(f, WR_SCHEMA_INVALID, "", "the bytes are not the canonical form of their JSON");
    if (rc == 0) rc = key_check(&in.e, a, f);
    if (rc != 0) return rc;
    in.e.bytes = bytes;
    *out = in.e;
    return 0;
}

int wr_event_seal(struct wr_event *e, struct arena *a, struct wr_fault *f) {
    struct envelope out = {.e = *e}, again = {0};
    struct buf data, text;
    struct jw w;
    buf_init(&data, (size_t)16 * 1024 * 1024);
    buf_init(&text, (size_t)32 * 1024 * 1024);
    jw_init(&w, &data);
    wr_shape_write(WR_PAYLOADS[e->kind], &e->u, &w);
    out.data = buf_str(&data);
    jw_init(&w, &text);
    wr_shape_write(&ENVELOPE, &out, &w);
    struct str bytes =
        buf_failed(&data) || buf_failed(&text) ? STR_NONE : arena_str(a, buf_str(&text));
    bool over = buf_over(&data) || buf_over(&text);
    buf_fini(&data);
    buf_fini(&text);
    if (over) return wr_fail(f, WR_SCHEMA_INVALID, "", "the event is larger than any may be");
    if (bytes.p == NULL) return wr_no_memory(f);
    int rc = wr_event_read(bytes, a, &again.e, f);
    if (rc == 0) e->bytes = bytes;
    return rc;
}

/* --- keys (WR-20, WR-23) --- */

bool wr_dedupe_good(struct str key) {
    if (key.n == 0 || key.n > WR_DEDUPE_MAX) return false;
    for (size_t i = 0; i < key.n; i++) {
        char c = key.p[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == ':' ||
                    c == '>' || c == '-';
        if (!good) return false;
    }
    return true;
}

struct str wr_context_attempt(const struct wr_event *e) {
    struct str head, tail;
    if (!str_cut_last(e->dedupe_key, ':', &head, &tail) || !wr_id_good(WR_ID_ATTEMPT, tail))
        return STR_NONE;
    return tail;
}

/* The digest of an observed value: 64 digits over its JSON object. */
static struct str value_digest(const struct wr_event *e, struct arena *a) {
    static const char *const TYPES[] = {"short_string", "git_sha1", "sha256", "path"};
    struct buf b;
    struct jw w;
    buf_init(&b, 8192);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstrz(&w, "type", TYPES[e->u.observation.type]);
    jw_kstr(&w, "value", e->u.observation.value);
    jw_end_object(&w);
    struct wr_digest d = wr_digest_of(buf_str(&b));
    bool failed = buf_failed(&b);
    buf_fini(&b);
    return failed ? STR_NONE : arena_str(a, str_c(d.s + 7));
}

static struct str observation_key(const struct wr_event *e, struct arena *a) {
    static const char *const NAMES[] = {"git_branch", "git_head_sha", "repo_root_hash",
                                        "repo_root"};
    struct str d = value_digest(e, a);
    if (d.p == NULL) return STR_NONE;
    return arena_printf(a, "observation_recorded:" STR_FMT ":%s:" STR_FMT, STR_ARG(e->session_id),
                        NAMES[e->u.observation.key], STR_ARG(d));
}

static struct str edge_key(const struct wr_event *e, struct arena *a) {
    return arena_printf(a, "edge_created:" STR_FMT ":" STR_FMT ":" STR_FMT "->" STR_FMT ":%s",
                        STR_ARG(e->session_id), STR_ARG(e->run_id), STR_ARG(e->u.edge.from_node_id),
                        STR_ARG(e->u.edge.to_node_id),
                        e->u.edge.kind == WR_EDGE_ACKED ? "acked_step" : "checkpoint");
}

/* What follows the session in the key of most kinds: one part or two. */
static void key_parts(const struct wr_event *e, struct str part, struct str out[2]) {
    const union wr_payload *u = &e->u;
    out[0] = out[1] = STR_NONE;
    switch (e->kind) {
    case WR_RUN_STARTED:
        out[0] = e->run_id;
        break;
    case WR_NODE_CREATED:
        out[0] = e->run_id, out[1] = e->node_id;
        break;
    case WR_ADVANCE_RECORDED:
        out[0] = e->node_id, out[1] = u->advance.attempt_id;
        break;
    case WR_NODE_OUTPUT_APPENDED:
        out[0] = u->output.output_id;
        break;
    case WR_GAP_RECORDED:
        out[0] = u->gap.gap_id;
        break;
    case WR_PREFERENCES_CHANGED:
        out[0] = u->preferences.change_id;
        break;
    case WR_CAPABILITY_OBSERVED:
        out[0] = u->capability.cap_obs_id;
        break;
    case WR_DIVERGENCE_RECORDED:
        out[0] = u->divergence.divergence_id;
        break;
    case WR_DECISION_TRACE_APPENDED:
        out[0] = u->trace.trace_id;
        break;
    case WR_CONTEXT_SET:
        out[0] = e->run_id, out[1] = part;
        break;
    case WR_VALIDATION_PERFORMED:
        out[0] = u->validation.attempt_id;
        break;
    default:
        break;
    }
}

struct str wr_dedupe_key(const struct wr_event *e, struct str part, struct arena *a) {
    struct str parts[2];
    if (e->kind == WR_OBSERVATION_RECORDED) return observation_key(e, a);
    if (e->kind == WR_EDGE_CREATED) return edge_key(e, a);
    key_parts(e, part, parts);
    return arena_printf(a, "%s:" STR_FMT "%s" STR_FMT "%s" STR_FMT, wr_kind_name(e->kind),
                        STR_ARG(e->session_id), parts[0].n > 0 ? ":" : "", STR_ARG(parts[0]),
                        parts[1].n > 0 ? ":" : "", STR_ARG(parts[1]));
}
