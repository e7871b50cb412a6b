/*
 * state_pin.c: pinned change versions as a fold of version.pinned, and what getVersion answers
 * (VER-7, EVT-33).  Pins are few, so look-ups scan them in log order.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "codec/json.h"
#include "domain/state_internal.h"

const struct pin_state *run_state_pin(const struct run_state *s, struct str change_id) {
    for (size_t i = 0; i < s->pins.n; i++)
        if (str_eq(text_str(&s->pins.v[i].change_id), change_id)) return &s->pins.v[i];
    return NULL;
}

int fold_version_pinned(struct fold *f) {
    struct run_state *s = f->run;
    struct str id;
    int64_t version;
    int rc = fold_string(f, "changeId", &id);
    if (rc != 0) return rc;
    if (!json_int(json_get(f->event->payload, "version"), &version) || version < 0)
        return fold_corrupt(f, "the version is not a whole number from 0 on");
    const struct pin_state *old = run_state_pin(s, id);
    if (old && old->version != version)
        return fold_corrupt(f, "a change is pinned to two versions"); /* V1 */
    if (old) return 0;
    if (s->pins.n >= RUN_PINS_MAX) return fold_corrupt(f, "the run pins too many changes");
    if (VEC_ROOM(s->pins.v, s->pins.n, s->pins.cap, 4) != 0) return fold_no_memory(f);
    struct pin_state *p = &s->pins.v[s->pins.n];
    *p = (struct pin_state){.version = version, .seq = f->event->seq, .node = f->node};
    if (text_set(&p->change_id, id) != 0) return fold_no_memory(f);
    s->pins.n++;
    return 0;
}

void state_pins_free(struct run_state *s) {
    for (size_t i = 0; i < s->pins.n; i++) text_clear(&s->pins.v[i].change_id);
    mem_free(s->pins.v);
}

const char *state_pins_broken(const struct run_state *s) {
    for (size_t i = 0; i < s->pins.n; i++) {
        const struct pin_state *p = &s->pins.v[i];
        if (p->version < 0 || p->seq >= s->next_seq || (i > 0 && p->seq <= s->pins.v[i - 1].seq))
            return "V1: a change is pinned once, to a version from 0 on, in the order of the log";
        if (run_state_pin(s, text_str(&p->change_id)) != p) return "V1: a change is pinned once";
    }
    return NULL;
}

int run_state_version(const struct run_state *s, int node, bool waited, struct str change_id,
                      int64_t min, int64_t max, struct pin_reply *out) {
    const struct node_state *n = &s->nodes[node];
    const struct pin_state *p;
    bool begun = n->recorded || waited;
    if (change_id.n == 0 || change_id.n > PIN_CHANGE_ID_MAX || !utf8_valid(change_id) || min < -1 ||
        max < 0 || max < min || max > PIN_VERSION_MAX)
        return WOPR_E_VALIDATION;
    p = run_state_pin(s, change_id);
    /* A pin that another node made during this attempt does not apply to it. */
    if (p && begun && p->node != node && p->seq > n->started_seq) {
        *out = (struct pin_reply){.version = min};
        return 0;
    }
    if (p) {
        *out = (struct pin_reply){.version = p->version};
        return p->version < min || p->version > max ? WOPR_E_VERSION_MISMATCH : 0;
    }
    /* An attempt with effects was begun by code without the change. */
    *out = (struct pin_reply){.version = begun ? min : max};
    out->record = out->version >= 0;
    return out->record && s->pins.n >= RUN_PINS_MAX ? WOPR_E_TOO_BIG : 0;
}
