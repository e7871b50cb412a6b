/*
 * fork.c: POST /v1/runs/{runId}:fork (E9; RUN-31 to RUN-33, FORK-1 to FORK-6, FORK-23), and the
 * member that describes a fork in other answers.
 */
#include "wire/v1/wire_int.h"

#include <string.h>

static const char *mode_name(enum fork_mode m) { return m == FORK_REPLAY ? "replay" : "branch"; }

static int mode_read(struct str text, enum fork_mode *out, struct wopr_error *err) {
    if (!text.p) return wire_field_error(err, "mode", "required", "mode is required");
    if (str_eqc(text, "replay")) *out = FORK_REPLAY;
    else if (str_eqc(text, "branch")) *out = FORK_BRANCH;
    else return wire_field_error(err, "mode", "unknown_value", "mode must be replay or branch");
    return 0;
}

/* FORK-2.  A number too large for a sequence is well-formed: it gets the error of a position that
 * the log does not have (RUN-31). */
static int from_read(struct str raw, int64_t *out, struct wopr_error *err) {
    int64_t seq = 0;
    double large;
    if (raw.p && !json_int(raw, &seq))
        seq = json_double(raw, &large) && large >= 0x1p63 ? INT64_MAX : -1;
    if (seq < 0)
        return wire_field_error(err, "fromSeq", "minimum",
                                "fromSeq must be a whole number, 0 or greater");
    *out = seq;
    return 0;
}

/* FORK-12: a replay has the options of its source; an empty object changes nothing and is
 * allowed. */
static int overlay_read(struct str raw, enum fork_mode mode, struct arena *a,
                        struct fork_overlay *out, struct wopr_error *err) {
    struct json_members m = {0};
    struct v1_fork_overlay body = {0};
    if (!raw.p) return 0;
    int rc = json_members(raw, a, &m, err);
    if (rc != 0) return rc;
    if (mode == FORK_REPLAY && m.n > 0)
        return wire_field_error(err, "runOptionsOverlay", "not_allowed",
                                "a replay runs with the options of its source; use mode branch");
    rc = wire_body_parse(raw, &V1_FORK_OVERLAY, a, &body, err);
    if (rc != 0) return rc;
    *out = (struct fork_overlay){.inputs = body.inputs,
                                 .configurable = body.configurable,
                                 .tags = body.tags,
                                 .metadata = body.metadata};
    return 0;
}

int v1_fork_parse(struct str body, struct arena *a, struct engine_cmd *cmd,
                  struct wopr_error *err) {
    struct v1_fork_request b = {0};
    int rc = wire_body_parse(body, &V1_FORK_REQUEST, a, &b, err);
    if (rc == 0) rc = mode_read(b.mode, &cmd->fork.mode, err);
    if (rc == 0) rc = from_read(b.from_seq, &cmd->fork.from_seq, err);
    if (rc == 0)
        rc = overlay_read(b.run_options_overlay, cmd->fork.mode, a, &cmd->fork.overlay, err);
    return rc;
}

int v1_fork_run(struct http_call *c) {
    struct wopr_error err = {0};
    struct run_head head;
    int rc = wire_run_of(c, &head, &err); /* RUN-30, FORK-6 */
    if (rc != 0 && rc != WOPR_E_EXPIRED) return wire_fail(c, &err);
    struct wire_cmd *wc;
    if (wire_cmd_new(c, ENGINE_FORK, &V1_SPELLING, &wc, &err) != 0) return wire_fail(c, &err);
    if (v1_fork_parse(c->body, c->arena, &wc->cmd, &err) != 0) return wire_fail(c, &err);
    wc->cmd.run_id = http_param(c, "runId"); /* the engine reports an expired one */
    wc->base_url = http_base_url(c);
    return wire_cmd_submit(wc);
}

void v1_fork_accepted(struct jw *w, const struct wire_cmd *wc, const struct engine_result *r) {
    struct str events = arena_printf(wc->call->arena, STR_FMT "/v1/runs/" STR_FMT "/events",
                                     STR_ARG(wc->base_url), STR_ARG(r->run_id));
    jw_kstr(w, "runId", r->run_id);
    jw_kstr(w, "sourceRunId", wc->cmd.run_id);
    jw_kint(w, "fromSeq", wc->cmd.fork.from_seq);
    jw_kstrz(w, "mode", mode_name(wc->cmd.fork.mode));
    jw_kstrz(w, "status", "pending"); /* FORK-3 */
    jw_kstr(w, "eventsUrl", events);
}

void v1_fork_member(struct jw *w, const struct run_fork *f) {
    if (f->mode == FORK_NONE) return;
    jw_key(w, "fork");
    jw_object(w);
    jw_kstr(w, "sourceRunId", f->source_run_id);
    jw_kint(w, "fromSeq", f->from_seq);
    jw_kstrz(w, "mode", mode_name(f->mode));
    jw_end_object(w);
}
