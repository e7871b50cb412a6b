/*
 * node.c: answers to executors beside their inputs: versions of changes, randomness (VER-7, EVT-33,
 * FORK-14).  All of them follow from the run's log, so a repeated execution gets the same.
 */
#include "engine/node.h"
#include "codec/jobj.h"
#include "codec/json.h"

#include <stdio.h>

/* VER-7: runId, changeId, pinnedVersion, currentMin, currentMax. */
static struct str range_details(const struct node_call *call, struct str change_id, int64_t pinned,
                                int64_t min, int64_t max) {
    struct jobj o;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kstr(&o.w, "runId", call->run->meta.run_id);
    jw_kstr(&o.w, "changeId", change_id);
    jw_kint(&o.w, "pinnedVersion", pinned);
    jw_kint(&o.w, "currentMin", min);
    jw_kint(&o.w, "currentMax", max);
    struct str out = jobj_end(&o, call->a);
    return out;
}

static int pin_add(const struct node_call *call, struct node_result *out, struct str change_id,
                   int64_t version) {
    char text[24];
    int n = snprintf(text, sizeof text, "%lld", (long long)version);
    struct node_effect *x = node_effect_add(call, out, EFFECT_PIN);
    if (x) {
        x->name = arena_str(call->a, change_id);
        x->value = arena_str(call->a, str_n(text, (size_t)n));
        if (x->name.p && x->value.p) return 0;
    }
    node_fail(out, "out_of_memory", "the node needs more memory", true);
    return WOPR_E_NO_MEMORY;
}

/* Asked before in this same call. */
static bool pin_asked(const struct node_result *out, struct str change_id, int64_t *version) {
    for (size_t i = 0; i < out->effects_nr; i++) {
        const struct node_effect *x = &out->effects[i];
        if (x->kind == EFFECT_PIN && str_eq(x->name, change_id)) return json_int(x->value, version);
    }
    return false;
}

/* FORK-12: follow the version that the source followed, pinned or not. */
static void as_source(const struct node_call *call, struct str change_id, int64_t min, int64_t max,
                      struct pin_reply *r, int *rc) {
    if (*rc != 0 || run_state_pin(call->run, change_id)) return;
    for (size_t i = 0; i < call->source_pins_nr; i++) {
        if (!str_eq(call->source_pins[i].change_id, change_id)) continue;
        *r = (struct pin_reply){.version = call->source_pins[i].version, .record = true};
        if (r->version < min || r->version > max) *rc = WOPR_E_VERSION_MISMATCH;
        return;
    }
    if (call->replaying) *r = (struct pin_reply){.version = min};
}

int node_version(const struct node_call *call, struct node_result *out, struct str change_id,
                 int64_t min, int64_t max, int64_t *version) {
    struct pin_reply r = {0};
    int rc = run_state_version(call->run, call->node, call->waited || call->answers_nr > 0,
                               change_id, min, max, &r);
    as_source(call, change_id, min, max, &r, &rc);
    if (rc == 0 && r.record && pin_asked(out, change_id, &r.version)) {
        r.record = false;
        if (r.version < min || r.version > max) rc = WOPR_E_VERSION_MISMATCH;
    }
    if (rc == WOPR_E_VERSION_MISMATCH) {
        node_fail(
            out, "version_out_of_range",
            "the run is pinned to a version of the change that this executor does not support",
            false);
        out->error_details = range_details(call, change_id, r.version, min, max);
        return rc;
    }
    if (rc != 0) {
        node_fail(out, "validation_error",
                  rc == WOPR_E_TOO_BIG
                      ? "the run pins too many changes"
                      : "a version needs a change id and -1 <= min <= max, max >= 0",
                  false);
        return rc;
    }
    if (r.record && (rc = pin_add(call, out, change_id, r.version)) != 0) return rc;
    *version = r.version;
    return 0;
}

static struct str digest_str(const struct sha256 *d) {
    return str_n((const char *)d->b, sizeof d->b);
}

/* Chain digests of fixed length: no two calls hash the same bytes, and no allocation can fail. */
struct sha256 node_random(const struct node_call *call, struct str what, uint64_t nth) {
    const struct node_state *n = &call->run->nodes[call->node];
    char place[96];
    int len = snprintf(place, sizeof place, "wopr node random 1: %d %d %llu", (int)n->activation,
                       call->attempt, (unsigned long long)nth);
    struct str run_id = call->ids_run_id.n > 0 ? call->ids_run_id : call->run->meta.run_id;
    struct sha256 run = sha256_of(run_id), node = sha256_of(call->def->id), name = sha256_of(what);
    struct sha256 d = sha256_of2(digest_str(&run), digest_str(&node));
    d = sha256_of2(digest_str(&d), digest_str(&name));
    return sha256_of2(digest_str(&d), str_n(place, (size_t)len));
}

struct str node_mint_id(const struct node_call *call, struct str what, uint64_t nth) {
    char hex[65];
    struct sha256 d = node_random(call, what, nth);
    sha256_hex(&d, hex);
    return arena_str(call->a, str_n(hex, NODE_ID_MINTED_LEN));
}
