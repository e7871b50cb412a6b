/*
 * bounds.c: how large one run may become.  Growth caused by its nodes is bounded by settings and
 * ends the run.  Growth caused by people without moving the run is bounded by constants: further
 * commands are refused, which loses nothing.  All counts are folded from the log, so every host
 * counts the same.
 */
#include "engine/bounds.h"

#include "domain/interrupt.h"
#include "engine/command.h"

#define BOUND_RETRY_MS          60000 /* about the period of retention */
#define STATE_BYTES_DEFAULT     ((size_t)1 << 30)
#define RUN_EVENTS_DEFAULT      2000000
#define RUN_BYTES_DEFAULT       (INT64_C(1) << 30)
#define RUN_STATE_BYTES_DEFAULT (16u * 1024 * 1024)

void bounds_default(struct engine_bounds *b, size_t runs_active_max) {
    if (b->tenant_runs_active_max == 0)
        b->tenant_runs_active_max = runs_active_max - runs_active_max / 4;
    if (b->state_bytes_max == 0) b->state_bytes_max = STATE_BYTES_DEFAULT;
    if (b->run_events_max <= 0) b->run_events_max = RUN_EVENTS_DEFAULT;
    if (b->run_bytes_max <= 0) b->run_bytes_max = RUN_BYTES_DEFAULT;
    if (b->run_state_bytes_max == 0) b->run_state_bytes_max = RUN_STATE_BYTES_DEFAULT;
}

/* --- growth caused by nodes --- */

/* A replay follows a source that had its own bounds. */
bool bound_log_over(const struct step *st) {
    const struct engine_bounds *b = &st->engine->cfg.bounds;
    return !st->exec->timeline &&
           (st->state->next_seq >= b->run_events_max || st->state->log_bytes >= b->run_bytes_max);
}

bool bound_state_room(struct step *st, size_t old_bytes, size_t new_bytes, struct failure *f) {
    size_t max = st->engine->cfg.bounds.run_state_bytes_max;
    bool room = new_bytes <= old_bytes || st->state->bytes - old_bytes + new_bytes <= max;
    if (room || st->exec->timeline) return true;
    st->engine->counts.bounds_met[BOUND_STATE]++;
    *f = (struct failure){.code = STR("run_state_limit_exceeded")};
    f->message = arena_printf(st->scratch,
                              "the values of the run would have %zu bytes and may have %zu; keep "
                              "less in variables, channels and outputs, or raise "
                              "run-state-bytes-max",
                              st->state->bytes - old_bytes + new_bytes, max);
    return false;
}

/* Replays included: they have the same values and so the same errors. */
bool bound_error_room(const struct step *st, size_t bytes) {
    return st->state->bytes + bytes <= st->engine->cfg.bounds.run_state_bytes_max;
}

/* --- what a program says beforehand --- */

int engine_run_fits(const struct engine *e, const struct run_needs *n, struct wopr_error *err) {
    const struct engine_bounds *b = &e->cfg.bounds;
    const struct {
        const char *what, *setting;
        int64_t needs, max;
    } ROWS[] = {
        {"events", "run-events-max", n->events, b->run_events_max},
        {"bytes of log", "run-bytes-max", n->log_bytes, b->run_bytes_max},
        {"bytes of values", "run-state-bytes-max", n->state_bytes, (int64_t)b->run_state_bytes_max},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        if (ROWS[i].needs <= ROWS[i].max) continue;
        (void)wopr_error_set(err, WOPR_E_VALIDATION,
                             "the definition is good, but a run of it would have at least %lld %s, "
                             "and a run of this host may have %lld: do less in one definition, or "
                             "raise %s",
                             (long long)ROWS[i].needs, ROWS[i].what, (long long)ROWS[i].max,
                             ROWS[i].setting);
        wopr_error_details(err, "{\"setting\":\"%s\",\"needs\":%lld,\"limit\":%lld}",
                           ROWS[i].setting, (long long)ROWS[i].needs, (long long)ROWS[i].max);
        return WOPR_E_VALIDATION;
    }
    return 0;
}

/* --- shares of tenants --- */

void bound_tenant_runs(struct engine *e, struct wopr_error *err) {
    size_t max = e->cfg.bounds.tenant_runs_active_max;
    (void)wopr_error_set(err, WOPR_E_QUOTA,
                         "the tenant has as many unfinished runs in memory as it may, %zu "
                         "(tenant-runs-active-max); try again when some have ended",
                         max);
    wopr_error_details(err, "{\"scope\":\"tenant\",\"limit\":%zu,\"retryAfterMs\":1000}", max);
}

void bound_tenant_forks(struct wopr_error *err) {
    (void)wopr_error_set(err, WOPR_E_QUOTA,
                         "%u forks of the tenant wait already; try again when "
                         "some are made",
                         ENGINE_FORKS_WAITING_MAX);
    wopr_error_details(err, "{\"scope\":\"tenant\",\"limit\":%u,\"retryAfterMs\":1000}",
                       ENGINE_FORKS_WAITING_MAX);
}

void bound_tenant_bytes(struct engine *e, const struct plan *p, struct wopr_error *err) {
    long long max = (long long)e->cfg.bounds.tenant_bytes_max, has = (long long)p->tenant_bytes;
    (void)wopr_error_set(err, WOPR_E_QUOTA,
                         "the runs of the tenant take %lld bytes of at most %lld "
                         "(tenant-bytes-max); ended runs leave by retention, or raise the setting",
                         has, max);
    wopr_error_details(err,
                       "{\"scope\":\"tenant\",\"limit\":%lld,\"current\":%lld,"
                       "\"retryAfterMs\":%d}",
                       max, has, BOUND_RETRY_MS);
}

/* --- growth caused by people --- */

static bool bound_refuse(struct step *st, struct engine_cmd *cmd, enum run_bound met) {
    st->engine->counts.bounds_met[met]++;
    cmd->result.status = st->state->status;
    cmd->result.rc = cmd->result.err.code;
    cmd_settle(st->engine, cmd);
    return false;
}

bool bound_pause(struct step *st, struct engine_cmd *cmd) {
    if (cmd->from_run || st->state->pauses < RUN_PAUSES_MAX)
        return true; /* its parent has a bound of its own */
    (void)wopr_error_set(&cmd->result.err, WOPR_E_CONFLICT,
                         "the run was paused %lld times, as often as a run may be; let it end, or "
                         "cancel it",
                         (long long)RUN_PAUSES_MAX);
    return bound_refuse(st, cmd, BOUND_PAUSES);
}

bool bound_note(struct step *st, struct engine_cmd *cmd, const struct intr_state *i, bool vote,
                size_t bytes) {
    const struct intr_notes *n = vote ? &i->votes : &i->asks;
    int64_t nr_max = vote ? INTR_VOTES_MAX : INTR_ASKS_MAX;
    int64_t bytes_max = vote ? INTR_VOTE_BYTES_MAX : INTR_ASK_BYTES_MAX;
    size_t run_max = st->engine->cfg.bounds.run_state_bytes_max;
    if (st->state->bytes + bytes > run_max) {
        (void)wopr_error_set(&cmd->result.err, WOPR_E_CONFLICT,
                             "the values of the run take %zu bytes of at most %zu "
                             "(run-state-bytes-max); decide the interrupt, or cancel the run",
                             st->state->bytes, run_max);
        return bound_refuse(st, cmd, BOUND_STATE);
    }
    if (n->nr < nr_max && n->bytes + (int64_t)bytes <= bytes_max) return true;
    (void)wopr_error_set(&cmd->result.err, WOPR_E_CONFLICT,
                         "one interrupt takes %lld %s with %lld bytes in all, and this would be "
                         "more; decide it",
                         (long long)nr_max, vote ? "votes" : "questions", (long long)bytes_max);
    return bound_refuse(st, cmd, vote ? BOUND_VOTES : BOUND_ASKS);
}
