/*
 * checkpoint.c: when to save a state, and where a fold begins.
 *
 * A checkpoint is due when CHECKPOINT_EVENTS events were folded since the last one and took
 * CHECKPOINT_SHARE times the bytes that its image takes: all checkpoints of a run together take at
 * most a fifth of what its log and they take, a load folds a bounded rest, and so does a fork, at
 * whatever event it is cut.  Most runs end before that and have none.  That of a state with
 * sensitive values, which it holds clear, is sealed, and goes when the run ends (OBS-71).
 */
#include "engine/checkpoint.h"

#include "base/log.h"
#include "base/mem.h"
#include "engine/fork_info.h"
#include "engine/kept.h"
#include "engine/replay.h"
#include "store/vault.h"

#define CHECKPOINT_EVENTS    128
#define CHECKPOINT_SHARE     4u
#define CHECKPOINT_BYTES_MIN 512u                 /* about the size of a fresh state */
#define CHECKPOINT_PLAN_MAX  (PLAN_BYTES_MAX / 4) /* a plan larger than this gets none */

/* Bytes that the next image may have, 0 = none is due. */
static size_t image_room(const struct run_exec *re) {
    const struct run_state *s = re->state;
    const struct exec_checkpoint *last = &re->checkpoint;
    size_t room = (size_t)(s->log_bytes - last->log_bytes) / CHECKPOINT_SHARE;
    size_t least =
        last->image_bytes > CHECKPOINT_BYTES_MIN ? last->image_bytes : CHECKPOINT_BYTES_MIN;
    if (s->next_seq - last->seq < CHECKPOINT_EVENTS || room < least) return 0;
    if (run_status_final(s->status)) return 0; /* it is not loaded again; a fork folds the rest */
    if (re->fork.info && s->next_seq <= re->fork.info->link.from_seq) return 0;
    return room < STATE_IMAGE_MAX ? room : STATE_IMAGE_MAX;
}

static bool checkpoint_due(const struct step *st) {
    const struct plan *p = st->plan;
    return image_room(st->exec) > 0 && p->failed == 0 && p->events_nr > 0 &&
           arena_used(p->arena) <= CHECKPOINT_PLAN_MAX;
}

void checkpoint_settle(struct step *st) {
    if (checkpoint_due(st)) (void)step_settled(st);
}

/* Into the plan.  A host that cannot seal makes no checkpoint: what keeps it from that is reported
 * where a value has to be sealed. */
static int image_add(struct step *st, struct str image) {
    const struct run_state *s = st->state;
    struct plan *p = st->plan;
    struct plan_checkpoint c = {.seq = s->next_seq, .image = image};
    struct plan_sealed row;
    if (s->secrecy.masks || s->secrecy.masked) {
        const struct seal_place place = {s->meta.run_id, SEALED_IMAGE(s->next_seq)};
        if (!st->engine->cfg.vault) return WOPR_E_CONFIG;
        int rc = vault_seal(st->engine->cfg.vault, &place, image, st->scratch, &row, NULL);
        if (rc != 0) return rc;
        c.key_no = row.key_no;
        c.image = row.box;
    }
    plan_checkpoint(p, &c);
    return 0;
}

void checkpoint_add(struct step *st) {
    struct run_exec *re = st->exec;
    struct run_state *s = st->state;
    size_t room = image_room(re);
    struct state_aside aside = {0};
    struct buf image;
    if (!checkpoint_due(st) || run_state_busy(s)) return;
    aside.fork_gap_ms = re->fork.info ? re->fork.info->gap_ms : 0;
    replay_mark(re, &aside);
    buf_init(&image, room);
    if (run_state_save(s, &aside, &image) == 0 && image_add(st, buf_str(&image)) == 0) {
        re->checkpoint = (struct exec_checkpoint){
            .seq = s->next_seq, .log_bytes = s->log_bytes, .image_bytes = image.len};
    } else {
        re->checkpoint.image_bytes = 2 * room; /* try again when it should fit */
    }
    mem_wipe(image.p, image.len);
    buf_fini(&image);
}

int checkpoint_find(struct engine *e, const struct checkpoint_of *of, struct arena *scratch,
                    struct checkpoint_state *out, struct wopr_error *err) {
    *out = (struct checkpoint_state){.state = NULL};
    if (of->seq_max < CHECKPOINT_EVENTS) return 0;
    int rc = store_run_state(e->store, of, scratch, out, err);
    if (rc == 0 && out->passed_seq != 0)
        log_warn("a checkpoint of a run is not usable; more of its log is folded", "run",
                 of->meta->run_id.p, "why", out->why);
    return rc;
}

int checkpoint_load(struct step *st, const struct run_origin *o, bool trusted,
                    struct wopr_error *err) {
    struct run_exec *re = st->exec;
    const struct run_limits *limits = &st->engine->cfg.limits;
    const struct checkpoint_of of = {.run_no = re->run_no,
                                     .seq_max = trusted ? o->head.next_seq : 0,
                                     .wf = re->wf,
                                     .meta = &o->meta,
                                     .limits = limits,
                                     .vault = st->engine->cfg.vault};
    struct checkpoint_state c;
    if (kept_take(re, trusted ? o->head.next_seq : -1)) return 0;
    int rc = checkpoint_find(st->engine, &of, st->scratch, &c, err);
    if (rc != 0) return rc;
    if (!c.state) rc = run_state_new(re->wf, &o->meta, limits, &re->state, err);
    if (rc == 0 && !c.state) fork_resume(re, 0);
    if (!c.state) return rc;
    re->state = c.state;
    re->checkpoint = (struct exec_checkpoint){.seq = c.state->next_seq,
                                              .log_bytes = c.state->log_bytes,
                                              .image_bytes = c.image_bytes,
                                              .used = true};
    /* an inherited image lacks the facts of this fork: fork_passed and replay_open set them */
    bool own = !re->fork.info || c.state->next_seq > re->fork.info->link.from_seq;
    fork_resume(re, c.aside.fork_gap_ms);
    if (own) replay_resume(re, &c.aside);
    return 0;
}
