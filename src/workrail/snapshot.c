/*
 * snapshot.c: see snapshot.h.
 */
#include "workrail/snapshot.h"

#include "workrail/event_shape.h"

#include <stdio.h>
#include <stdlib.h>

#define AT(member)       offsetof(struct wr_state, member)
#define IN(type, member) offsetof(struct type, member)
#define TAG(name)                                                                                  \
    { name, WF_TAG, 0, 0, NULL, 0, 0 }
#define REASON_TEXT(name, type)                                                                    \
    { name, type, 0, IN(wr_block, reason.text), NULL, 1, 128 }

/* --- loops and steps --- */

static const struct wr_field FRAME_FIELDS[] = {
    {"bodyIndex", WF_INT, 0, IN(wr_frame, body_index), NULL, 0, 0},
    {"iteration", WF_INT, 0, IN(wr_frame, iteration), NULL, 0, 0},
    {"loopId", WF_WORD, 0, IN(wr_frame, loop_id), NULL, 0, 0},
};
static const struct wr_field PASS_FIELDS[] = {
    {"iteration", WF_INT, 0, IN(wr_frame, iteration), NULL, 0, 0},
    {"loopId", WF_WORD, 0, IN(wr_frame, loop_id), NULL, 0, 0},
};
static const struct wr_shape FRAME = WR_SHAPE(FRAME_FIELDS, struct wr_frame),
                             PASS = WR_SHAPE(PASS_FIELDS, struct wr_frame);
static const struct wr_field STEP_FIELDS[] = {
    {"loopPath", WF_LIST, 0, IN(wr_step_at, path), &PASS, 0, WR_LOOP_DEPTH_MAX},
    {"stepId", WF_STEP, 0, IN(wr_step_at, step_id), NULL, 0, 0},
};
static const struct wr_shape STEP = WR_SHAPE(STEP_FIELDS, struct wr_step_at);
static const char *const PENDINGS[] = {"none", "some"};
static const struct wr_field NONE_FIELDS[] = {TAG("kind")};
static const struct wr_field SOME_FIELDS[] = {TAG("kind"),
                                              {"step", WF_SHAPE, 0, AT(step), &STEP, 0, 0}};
static const struct wr_shape NONE = WR_SHAPE(NONE_FIELDS, struct wr_state),
                             SOME = WR_SHAPE(SOME_FIELDS, struct wr_state);
static const struct wr_shape *const PENDING_SHAPES[] = {&NONE, &SOME};
static const struct wr_union PENDING = {"kind", WR_NAMES(PENDINGS), PENDING_SHAPES, AT(pending)};
static const struct wr_field COMPLETED_FIELDS[] = {
    {"kind", WF_CONST, 0, 0, "set", 0, 0},
    {"values", WF_TEXTS, 0, AT(completed), NULL, 0, 0},
};
static const struct wr_shape COMPLETED = WR_SHAPE(COMPLETED_FIELDS, struct wr_state);

/* --- blocks --- */

static const char *const REASONS[] = {"invalid_required_output",
                                      "missing_required_output",
                                      "missing_context_key",
                                      "context_budget_exceeded",
                                      "missing_notes",
                                      "user_only_dependency",
                                      "required_capability_unknown",
                                      "required_capability_unavailable",
                                      "invariant_violation",
                                      "storage_corruption_detected",
                                      "evaluation_error"};
static const struct wr_field R_CONTRACT_FIELDS[] = {REASON_TEXT("contractRef", WF_TEXT),
                                                    TAG("kind")};
static const struct wr_field R_KEY_FIELDS[] = {REASON_TEXT("key", WF_WORD), TAG("kind")};
static const struct wr_field R_BARE_FIELDS[] = {TAG("kind")};
static const struct wr_field R_NOTES_FIELDS[] = {TAG("kind"), REASON_TEXT("stepId", WF_STEP)};
static const struct wr_field R_USER_FIELDS[] = {
    {"detail", WF_ENUM, 0, IN(wr_block, reason.detail), &WR_DETAIL_NAMES, 0, 0},
    TAG("kind"),
    REASON_TEXT("stepId", WF_STEP),
};
static const struct wr_field R_CAPABILITY_FIELDS[] = {
    {"capability", WF_ENUM, 0, IN(wr_block, reason.capability), &WR_CAPABILITY_NAMES, 0, 0},
    TAG("kind"),
};
static const struct wr_shape R_CONTRACT = WR_SHAPE(R_CONTRACT_FIELDS, struct wr_block),
                             R_KEY = WR_SHAPE(R_KEY_FIELDS, struct wr_block),
                             R_BARE = WR_SHAPE(R_BARE_FIELDS, struct wr_block),
                             R_NOTES = WR_SHAPE(R_NOTES_FIELDS, struct wr_block),
                             R_USER = WR_SHAPE(R_USER_FIELDS, struct wr_block),
                             R_CAPABILITY = WR_SHAPE(R_CAPABILITY_FIELDS, struct wr_block);
static const struct wr_shape *const REASON_SHAPES[] = {
    &R_CONTRACT,   &R_CONTRACT,   &R_KEY,  &R_BARE, &R_NOTES, &R_USER,
    &R_CAPABILITY, &R_CAPABILITY, &R_BARE, &R_BARE, &R_BARE};
static const struct wr_union REASON = {"kind", WR_NAMES(REASONS), REASON_SHAPES,
                                       IN(wr_block, reason.kind)};
#define BLOCK_REPORT                                                                               \
    { "blockers", WF_SHAPE, 0, IN(wr_block, report), &WR_REPORT_SHAPE, 0, 0 }
#define BLOCK_REASON                                                                               \
    { "reason", WF_UNION, 0, 0, &REASON, 0, 0 }
#define BLOCK_REF                                                                                  \
    { "validationRef", WF_ID, WF_OPT, IN(wr_block, validation_ref), NULL, 0, WR_ID_VALIDATION }
static const struct wr_field RETRYABLE_FIELDS[] = {
    BLOCK_REPORT,
    TAG("kind"),
    BLOCK_REASON,
    {"retryAttemptId", WF_ID, 0, IN(wr_block, retry_attempt_id), NULL, 0, WR_ID_ATTEMPT},
    BLOCK_REF};
static const struct wr_field TERMINAL_FIELDS[] = {BLOCK_REPORT, TAG("kind"), BLOCK_REASON,
                                                  BLOCK_REF};
static int block_check(const void *base, struct wr_fault *f) {
    const struct wr_block *b = base;
    bool user = b->reason.kind == WR_R_USER_ONLY_DEPENDENCY;
    if (user && wr_detail_category(b->reason.detail) != WR_USER_ONLY_DEPENDENCY)
        return wr_fail(f, WR_SCHEMA_INVALID, "/reason/detail", "not a detail of its kind");
    if ((b->reason.kind > WR_R_MISSING_NOTES) != (b->terminal != 0))
        return wr_fail(f, WR_SCHEMA_INVALID, "/reason/kind",
                       "the reason does not fit the kind of the block");
    return 0;
}
static const struct wr_shape RETRYABLE =
                                 WR_SHAPE_CHECKED(RETRYABLE_FIELDS, struct wr_block, block_check),
                             TERMINAL =
                                 WR_SHAPE_CHECKED(TERMINAL_FIELDS, struct wr_block, block_check);
static const char *const BLOCKS[] = {"retryable_block", "terminal_block"};
static const struct wr_shape *const BLOCK_SHAPES[] = {&RETRYABLE, &TERMINAL};
static const struct wr_union BLOCK = {"kind", WR_NAMES(BLOCKS), BLOCK_SHAPES,
                                      IN(wr_block, terminal)};

/* --- the file --- */

static const char *const STATES[] = {"init", "running", "blocked", "complete"};
#define STATE_COMPLETED                                                                            \
    { "completed", WF_SHAPE, 0, 0, &COMPLETED, 0, 0 }
#define STATE_STACK                                                                                \
    { "loopStack", WF_LIST, 0, AT(stack), &FRAME, 0, WR_LOOP_DEPTH_MAX }
#define STATE_PENDING                                                                              \
    { "pending", WF_UNION, 0, 0, &PENDING, 0, 0 }
static const struct wr_field BARE_FIELDS[] = {TAG("kind")};
static const struct wr_field RUNNING_FIELDS[] = {STATE_COMPLETED, TAG("kind"), STATE_STACK,
                                                 STATE_PENDING};
static const struct wr_field BLOCKED_FIELDS[] = {{"blocked", WF_UNION, 0, AT(block), &BLOCK, 0, 0},
                                                 STATE_COMPLETED,
                                                 TAG("kind"),
                                                 STATE_STACK,
                                                 STATE_PENDING};

static int completed_check(const struct wr_state *s, struct wr_fault *f) {
    for (size_t i = 0; i < s->completed.nr; i++)
        if (i > 0 && str_cmp(s->completed.v[i - 1], s->completed.v[i]) >= 0)
            return wr_fail(f, WR_SCHEMA_INVALID, "/completed/values",
                           "the keys are not sorted, or one is there twice");
    return 0;
}

/* Path and stack say the same twice, and both are read: a state where they differ would ask for one
 * step and go on from another. */
static int stack_check(const struct wr_state *s, struct wr_fault *f) {
    for (size_t i = 0; i < s->stack.nr; i++)
        for (size_t k = 0; k < i; k++)
            if (str_eq(s->stack.v[i].loop_id, s->stack.v[k].loop_id))
                return wr_fail(f, WR_SCHEMA_INVALID, "/loopStack", "a loop is entered twice");
    if (s->pending == 0) return 0;
    bool same = s->step.path.nr == s->stack.nr;
    for (size_t i = 0; same && i < s->stack.nr; i++)
        same = str_eq(s->step.path.v[i].loop_id, s->stack.v[i].loop_id) &&
               s->step.path.v[i].iteration == s->stack.v[i].iteration;
    return same ? 0
                : wr_fail(f, WR_SCHEMA_INVALID, "/pending/step/loopPath",
                          "the path is not that of the loops that are entered");
}

static int by_text(const void *x, const void *y) {
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

/* Such a step would be asked for, and skipped when it was answered: the run would not move. */
static int pending_check(const struct wr_state *s, struct wr_fault *f) {
    enum { KEY_ARENA = 8192 };
    if (s->pending == 0) return 0;
    struct arena *a = arena_new(KEY_ARENA);
    struct str key =
        a != NULL ? wr_step_key(s->step.path.v, s->step.path.nr, s->step.step_id, a) : STR_NONE;
    int rc = 0;
    if (key.p == NULL) rc = wr_no_memory(f);
    else if (s->completed.nr > 0 &&
             bsearch(&key, s->completed.v, s->completed.nr, sizeof key, by_text) != NULL)
        rc = wr_fail(f, WR_SCHEMA_INVALID, "/pending", "the step that waits is completed");
    arena_free(a);
    return rc;
}

static int running_check(const void *base, struct wr_fault *f) {
    const struct wr_state *s = base;
    int rc = completed_check(s, f);
    if (rc == 0) rc = stack_check(s, f);
    if (rc == 0) rc = pending_check(s, f);
    return rc;
}
static const struct wr_shape BARE = WR_SHAPE(BARE_FIELDS, struct wr_state),
                             RUNNING =
                                 WR_SHAPE_CHECKED(RUNNING_FIELDS, struct wr_state, running_check),
                             BLOCKED =
                                 WR_SHAPE_CHECKED(BLOCKED_FIELDS, struct wr_state, running_check);
static const struct wr_shape *const STATE_SHAPES[] = {&BARE, &RUNNING, &BLOCKED, &BARE};
static const struct wr_union STATE = {"kind", WR_NAMES(STATES), STATE_SHAPES, AT(kind)};
static const struct wr_field ENGINE_FIELDS[] = {
    {"engineState", WF_UNION, 0, 0, &STATE, 0, 0},
    {"v", WF_VERSION, 0, 0, NULL, 0, 1},
};
static const struct wr_shape ENGINE = WR_SHAPE(ENGINE_FIELDS, struct wr_state);
static const struct wr_field FILE_FIELDS[] = {
    {"enginePayload", WF_SHAPE, 0, 0, &ENGINE, 0, 0},
    {"kind", WF_CONST, 0, 0, "execution_snapshot", 0, 0},
    {"v", WF_VERSION, 0, 0, NULL, 0, 1},
};
static const struct wr_shape SNAPSHOT = WR_SHAPE(FILE_FIELDS, struct wr_state);

int wr_snapshot_write(const struct wr_state *s, struct arena *a, struct str *bytes,
                      struct wr_fault *f) {
    return wr_document_write(&SNAPSHOT, s, a, bytes, f);
}

int wr_snapshot_read(struct str bytes, struct arena *a, struct wr_state *out, struct wr_fault *f) {
    struct wr_state s = {0};
    int rc = wr_document_read(&SNAPSHOT, bytes, &JSON_LIMITS_STORED, a, &s, f);
    if (rc == 0) *out = s;
    return rc;
}

/* --- step keys --- */

enum { ITERATION_DIGITS = 20 };

struct str wr_step_key(const struct wr_frame *path, size_t nr, struct str id, struct arena *a) {
    size_t n = id.n + 2;
    for (size_t i = 0; i < nr; i++) n += path[i].loop_id.n + ITERATION_DIGITS + 2;
    char *p = arena_alloc(a, n + 1), *q = p;
    if (p == NULL) return STR_NONE;
    for (size_t i = 0; i < nr; i++)
        q += snprintf(q, n + 1 - (size_t)(q - p), "%s" STR_FMT "@%lld", i > 0 ? "/" : "",
                      STR_ARG(path[i].loop_id), (long long)path[i].iteration);
    q += snprintf(q, n + 1 - (size_t)(q - p), "%s" STR_FMT, nr > 0 ? "::" : "", STR_ARG(id));
    return str_n(p, (size_t)(q - p));
}

/* One spelling for each number: keys are compared as texts. */
static bool pass_read(struct str s, struct wr_frame *out) {
    struct str number;
    uint64_t v;
    if (!str_cut(s, '@', &out->loop_id, &number) || !wr_word_good(out->loop_id)) return false;
    if (!str_u64(number, &v) || v > INT32_MAX || (number.n > 1 && number.p[0] == '0')) return false;
    out->iteration = (int64_t)v;
    return true;
}

/* Before and after the one "::"; false when there is none or more. */
static bool key_cut(struct str key, struct str *path, struct str *id) {
    size_t at = 0, nr = 0;
    for (size_t i = 0; i + 1 < key.n; i++)
        if (key.p[i] == ':' && key.p[i + 1] == ':') at = i, nr++;
    if (nr != 1) return false;
    *path = str_n(key.p, at);
    *id = str_n(key.p + at + 2, key.n - at - 2);
    return true;
}

bool wr_step_key_read(struct str key, struct arena *a, struct wr_step_at *out) {
    struct str path = STR_NONE, id = key, head;
    *out = (struct wr_step_at){0};
    bool looped = key_cut(key, &path, &id);
    if (!wr_step_id_good(id)) return false;
    out->step_id = id;
    if (!looped) return true;
    out->path.v = ARENA_ARRAY(a, struct wr_frame, WR_LOOP_DEPTH_MAX);
    if (out->path.v == NULL) return false;
    while (path.n > 0) {
        struct str rest = STR_NONE;
        if (!str_cut(path, '/', &head, &rest)) head = path;
        else if (rest.n == 0) return false;
        if (out->path.nr == WR_LOOP_DEPTH_MAX || !pass_read(head, &out->path.v[out->path.nr]))
            return false;
        out->path.nr++;
        path = rest;
    }
    return out->path.nr > 0;
}
