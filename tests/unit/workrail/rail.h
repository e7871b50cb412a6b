/* rail.h: a store in memory that operations are played against. */
#ifndef WOPR_TESTS_UNIT_WORKRAIL_RAIL_H
#define WOPR_TESTS_UNIT_WORKRAIL_RAIL_H

#include "kit.h"

enum { RAIL_BLOBS_MAX = 512 };
struct rail {
    struct kit_counter counter;
    struct wr_minter mint;
    struct wr_keyring keys;
    struct wr_operator o;
    struct wr_workflow w;
    struct wr_session *s;
    struct wr_blob blobs[RAIL_BLOBS_MAX];
    size_t blobs_nr;
    struct wr_event *events[2048];
    size_t events_nr;
    size_t before; /* events before the last call */
    struct wr_fault f;
    struct str reply; /* the last one */
};

static inline int rail_snapshot(void *ctx, struct str ref, struct arena *a, struct str *bytes,
                                struct wr_fault *f) {
    struct rail *r = ctx;
    (void)a;
    for (size_t i = 0; i < r->blobs_nr; i++)
        if (r->blobs[i].kind == WR_BLOB_SNAPSHOT && str_eq(r->blobs[i].digest, ref)) {
            *bytes = r->blobs[i].bytes;
            return 0;
        }
    return wr_fail(f, WR_INTERNAL_ERROR, "", "no such snapshot");
}

static inline int rail_workflow(void *ctx, struct str hash, const struct wr_workflow **out,
                                struct wr_fault *f) {
    struct rail *r = ctx;
    if (!str_eq(hash, wr_digest_str(&r->w.hash)))
        return wr_fail(f, WR_INTERNAL_ERROR, "", "no such workflow");
    *out = &r->w;
    return 0;
}

static inline void rail_open(struct rail *r, struct str workflow) {
    *r = (struct rail){.counter = {1}};
    r->mint = (struct wr_minter){kit_bytes, &r->counter};
    for (size_t i = 0; i < WR_KEY_BYTES; i++) r->keys.current[i] = (uint8_t)i;
    r->o = (struct wr_operator){&r->keys, &r->mint, {r, rail_snapshot, rail_workflow}, kit_a};
    cr_assert_eq(wr_workflow_read(workflow, kit_a, &r->w, &r->f), 0, "%s %s", r->f.e.pointer,
                 r->f.e.message);
    r->s = wr_session_new(kit_a);
}

static inline void rail_close(struct rail *r) { wr_session_free(r->s); }

/* What the store does: checks, then all of the plan. */
static inline void rail_commit(struct rail *r, const struct wr_plan *p) {
    cr_assert_eq(wr_plan_check(p, r->s->next_index, &r->f), 0, "%s", r->f.e.message);
    cr_assert_eq(wr_plan_dedupe(p, wr_session_present(r->s, p)), WR_DEDUPE_NEW);
    for (size_t i = 0; i < p->blobs_nr; i++) r->blobs[r->blobs_nr++] = p->blobs[i];
    for (size_t i = 0; i < p->events_nr; i++) { /* as stored: what the bytes say */
        struct wr_event *e = ARENA_NEW(kit_a, struct wr_event);
        cr_assert_eq(wr_event_read(p->events[i].bytes, kit_a, e, &r->f), 0, "%s", r->f.e.message);
        cr_assert_eq(wr_session_add(r->s, e, &r->f), 0, "%s", r->f.e.message);
        r->events[r->events_nr++] = e;
    }
}

static inline void rail_start_as(struct rail *r, const char *context, int autonomy, int risk) {
    struct wr_start in = {.workflow = &r->w,
                          .source_kind = WR_PROJECT,
                          .source_ref = STR("workflows/auth_review.json"),
                          .context = str_c(context),
                          .autonomy = autonomy,
                          .risk = risk};
    struct wr_plan p;
    struct wr_started ids;
    r->before = 0;
    cr_assert_eq(wr_start_plan(&r->o, &in, &p, &ids, &r->f), 0, "%s", r->f.e.message);
    rail_commit(r, &p);
    cr_assert_eq(wr_start_reply(&r->o, r->s, &ids, &r->reply, &r->f), 0, "%s", r->f.e.message);
}
static inline void rail_start(struct rail *r, const char *context) {
    rail_start_as(r, context, -1, -1);
}

/* A token or another text of a reply. */
static inline struct str rail_get(struct str reply, const char *dotted) {
    struct str raw = json_path_get(reply, str_c(dotted), kit_a);
    return raw.p != NULL && json_type_of(raw) == JSON_STRING ? json_string(raw, kit_a) : raw;
}

/* continue_workflow; extra: further members with a comma before each.  The fault's code. */
static inline enum wr_code rail_continue(struct rail *r, struct str state, struct str ack,
                                         const char *extra) {
    struct wr_call call;
    struct wr_token st, at;
    struct wr_plan p;
    size_t run, node;
    struct str args = arena_printf(kit_a, "{\"stateToken\":\"" STR_FMT "\"%s" STR_FMT "%s%s}",
                                   STR_ARG(state), ack.n > 0 ? ",\"ackToken\":\"" : "",
                                   STR_ARG(ack), ack.n > 0 ? "\"" : "", extra);
    r->f = (struct wr_fault){.code = WR_FINE};
    r->before = r->events_nr;
    if (wr_call_read(WR_TOOL_CONTINUE, args, kit_a, &call, &r->f) != 0 ||
        wr_token_read(&r->keys, call.state_token, WR_TOKEN_STATE, "stateToken", kit_a, &st,
                      &r->f) != 0 ||
        wr_token_locate(r->s, &st, "stateToken", &run, &node, &r->f) != 0)
        return r->f.code;
    if (!call.advance) {
        (void)!wr_rehydrate_reply(&r->o, r->s, &st, call.state_token, &r->reply, &r->f);
        return r->f.code;
    }
    if (wr_token_read(&r->keys, call.ack_token, WR_TOKEN_ACK, "ackToken", kit_a, &at, &r->f) != 0 ||
        wr_token_scope(&st, &at, "ackToken", &r->f) != 0)
        return r->f.code;
    struct wr_advance in = {.ack = at,
                            .context = call.context,
                            .output = call.output,
                            .anchors = call.anchors,
                            .autonomy = call.autonomy,
                            .risk = call.risk};
    if (!wr_advance_find(r->s, &at, &node)) {
        if (wr_advance_plan(&r->o, r->s, &in, &p, &r->f) != 0) return r->f.code;
        rail_commit(r, &p);
    }
    cr_assert_eq(wr_advance_reply(&r->o, r->s, &at, &r->reply, &r->f), 0, "%s", r->f.e.message);
    return WR_FINE;
}

/* With the tokens of the last reply. */
static inline enum wr_code rail_next(struct rail *r, const char *extra) {
    return rail_continue(r, rail_get(r->reply, "stateToken"), rail_get(r->reply, "ackToken"),
                         extra);
}

static inline enum wr_code rail_checkpoint(struct rail *r, struct str token, const char *extra) {
    struct wr_call call;
    struct wr_token t;
    struct wr_plan p;
    size_t run, node;
    struct str args =
        arena_printf(kit_a, "{\"checkpointToken\":\"" STR_FMT "\"%s}", STR_ARG(token), extra);
    r->f = (struct wr_fault){.code = WR_FINE};
    r->before = r->events_nr;
    if (wr_call_read(WR_TOOL_CHECKPOINT, args, kit_a, &call, &r->f) != 0 ||
        wr_token_read(&r->keys, call.checkpoint_token, WR_TOKEN_CHECKPOINT, "checkpointToken",
                      kit_a, &t, &r->f) != 0 ||
        wr_token_locate(r->s, &t, "checkpointToken", &run, &node, &r->f) != 0)
        return r->f.code;
    if (!wr_checkpoint_find(r->s, &t)) {
        struct wr_checkpoint in = {t, call.output};
        if (wr_checkpoint_plan(&r->o, r->s, &in, &p, &r->f) != 0) return r->f.code;
        rail_commit(r, &p);
    }
    cr_assert_eq(wr_checkpoint_reply(&r->o, r->s, &t, &r->reply, &r->f), 0, "%s", r->f.e.message);
    return WR_FINE;
}

/* Kinds of what the last call appended: "advance_recorded node_created". */
static inline const char *rail_kinds(const struct rail *r) {
    struct buf b;
    buf_init(&b, 4096);
    for (size_t i = r->before; i < r->events_nr; i++)
        buf_addf(&b, "%s%s", i > r->before ? " " : "",
                 wr_kind_name((enum wr_kind)r->events[i]->kind));
    const char *text = arena_cstr(kit_a, buf_str(&b));
    buf_fini(&b);
    return text;
}
static inline const struct wr_event *rail_event(const struct rail *r, enum wr_kind kind) {
    for (size_t i = r->before; i < r->events_nr; i++)
        if (r->events[i]->kind == (int)kind) return r->events[i];
    return NULL;
}
/* The state of the node that the last call made. */
static inline struct wr_state rail_state(struct rail *r) {
    struct wr_state s;
    for (size_t i = r->blobs_nr; i-- > 0;)
        if (r->blobs[i].kind == WR_BLOB_SNAPSHOT) {
            cr_assert_eq(wr_snapshot_read(r->blobs[i].bytes, kit_a, &s, &r->f), 0);
            return s;
        }
    cr_assert(false, "there is no snapshot");
    return (struct wr_state){.kind = WR_S_INIT};
}
#define RAIL_NOTES ",\"output\":{\"notesMarkdown\":\"Done.\"}"

#endif
