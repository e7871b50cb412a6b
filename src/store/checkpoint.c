/*
 * checkpoint.c: the state of a run out of its newest usable checkpoint.  Above the backends: it
 * uses the port only.
 */
#include "store/runs.h"
#include "store/vault.h"

#include <stdio.h>

#define CHECKPOINT_TRIES 4u /* unusable ones to skip before folding the whole log */

static void checkpoint_pass(struct checkpoint_state *out, const struct plan_checkpoint *c,
                            const char *why) {
    if (out->passed_seq != 0) return; /* keep the newest */
    out->passed_seq = c->seq;
    snprintf(out->why, sizeof out->why, "%.*s", (int)sizeof out->why - 1, why);
}

/* The image as the fold made it: *clear, in a's memory. */
static int image_open(const struct checkpoint_of *of, const struct checkpoint_row *c,
                      struct arena *a, struct str *clear, struct wopr_error *err) {
    const struct plan_sealed row = {SEALED_IMAGE(c->point.seq), c->point.key_no, c->point.image};
    const struct seal_place place = {c->run_id, row.seq};
    *clear = c->point.image;
    return row.key_no == 0 ? 0 : vault_open(of->vault, &place, &row, a, clear, err);
}

int store_run_state(struct store *s, const struct checkpoint_of *of, struct arena *scratch,
                    struct checkpoint_state *out, struct wopr_error *err) {
    int64_t seq_max = of->seq_max;
    int rc = 0;
    *out = (struct checkpoint_state){.state = NULL};
    for (unsigned n = 0; rc == 0 && !out->state && n < CHECKPOINT_TRIES; n++) {
        struct checkpoint_row row;
        struct str image;
        struct run_state *found = NULL;
        struct wopr_error why = {0};
        rc = store_run_checkpoint(s, of->run_no, seq_max, of->vault != NULL, scratch, &row, err);
        if (rc != 0) break;
        const struct plan_checkpoint c = row.point;
        rc = image_open(of, &row, scratch, &image, &why);
        if (rc == WOPR_E_CONFIG)
            rc = WOPR_E_CORRUPT; /* its data key is lost: no use to this host */
        if (rc == 0)
            rc = run_state_load(image, of->wf, of->meta, of->limits, &found, &out->aside, &why);
        if (rc == 0 && found->next_seq == c.seq) {
            out->state = found;
            out->image_bytes = c.image.n;
        } else if (rc == 0 || rc == WOPR_E_CORRUPT) {
            checkpoint_pass(out, &c, rc == 0 ? "it is of another sequence" : why.message);
            run_state_free(found);
            seq_max = c.seq - 1;
            rc = 0;
        } else if (err) {
            *err = why;
        }
    }
    return rc == WOPR_E_NOT_FOUND ? 0 : rc;
}
