/*
 * compare.c: compares an event of a replay with its source's (FORK-18 to FORK-20).
 */
#include "domain/compare.h"

#include "codec/json.h"

#define COMPARE_TEXT_MAX (16u * 1024 * 1024)
#define DRAIN_REASON     STR("\"pause-drain\"") /* WF-44, as the engine writes it */
#define DRAIN_ID         STR("\"pause:")
#define RUN_ID_MARK      "run_"  /* prefix of run ids */
#define FAMILY_ID        "run_*" /* stands for every id of a family */

const char *divergence_name(enum divergence d) {
    static const char *const NAMES[DIV_NR] = {"", "output", "type-mismatch", "missing", "extra"};
    return (unsigned)d < DIV_NR ? NAMES[d] : "";
}

bool compare_ignores(const struct event *e) {
    if (e->kind == EV_UNKNOWN || event_kind_is(e->kind, EV_F_NOT_REPLAYED)) return true;
    if (e->kind == EV_NODE_SUSPENDED) return str_eq(json_get(e->payload, "reason"), DRAIN_REASON);
    return e->kind == EV_NODE_RESUMED && str_starts(json_get(e->payload, "interruptId"), DRAIN_ID);
}

/* Sorted; members of a payload that no two executions share. */
static const char *const UNSTABLE[] = {
    "artifactId",  "callId",       "childRunId",  "decidedAt",  "durationMs",     "expiresAt",
    "interruptId", "openwop-cost", "requestedAt", "resolvedAt", "sourceEngineId", "writtenAt",
};

static bool member_unstable(struct str key) {
    for (size_t i = 0; i < sizeof UNSTABLE / sizeof UNSTABLE[0]; i++)
        if (str_eqc(key, UNSTABLE[i])) return true;
    return false;
}

/* Append text with one name for all runs of the family; run ids need no escapes in JSON. */
static void add_neutral(struct buf *b, struct str text, const struct map *family) {
    size_t done = 0, at = 0;
    while (family && at + RUN_ID_LEN <= text.n) {
        const char *hit = memchr(text.p + at, RUN_ID_MARK[0], text.n - RUN_ID_LEN - at + 1);
        if (!hit) break;
        at = (size_t)(hit - text.p);
        struct str id = str_n(hit, RUN_ID_LEN);
        if (!str_starts(id, STR(RUN_ID_MARK)) || !map_get(family, id)) {
            at++;
            continue;
        }
        buf_adds(b, str_n(text.p + done, at - done));
        buf_adds(b, STR(FAMILY_ID));
        done = at = at + RUN_ID_LEN;
    }
    buf_adds(b, str_n(text.p + done, text.n - done));
}

/* The part of a payload that is compared, in canonical form where it has one. */
static int payload_essence(struct str payload, const struct map *family, struct arena *a,
                           struct str *out) {
    struct json_members m = {0};
    struct buf b, c;
    struct jw w;
    int rc = json_members(payload.n > 0 ? payload : STR("{}"), a, &m, NULL);
    if (rc == WOPR_E_NO_MEMORY) return rc;
    buf_init(&b, COMPARE_TEXT_MAX);
    buf_init(&c, COMPARE_TEXT_MAX);
    jw_init(&w, &c);
    jw_object(&w);
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        if (member_unstable(m.v[i].key)) continue;
        jw_key_str(&w, m.v[i].key);
        jw_raw(&w, m.v[i].raw);
    }
    jw_end_object(&w);
    add_neutral(&b, rc == 0 ? buf_str(&c) : payload, family);
    buf_reset(&c);
    if (json_canonical(buf_str(&b), &c, NULL) !=
        0) { /* numbers beyond I-JSON: compared as written */
        buf_reset(&c);
        buf_adds(&c, buf_str(&b));
    }
    *out = buf_failed(&b) || buf_failed(&c) ? STR_NONE : arena_str(a, buf_str(&c));
    buf_fini(&b);
    buf_fini(&c);
    return out->p ? 0 : WOPR_E_NO_MEMORY;
}

int compare_events(const struct event *original, const struct event *replayed,
                   const struct map *family, struct arena *a, enum divergence *out) {
    struct str x, y;
    if (original->kind != replayed->kind) {
        *out = DIV_TYPE;
        return 0;
    }
    if (!str_eq(original->node_id, replayed->node_id)) {
        *out = DIV_OUTPUT;
        return 0;
    }
    if (str_eq(original->payload, replayed->payload)) {
        *out = DIV_NONE;
        return 0;
    }
    int rc = payload_essence(original->payload, family, a, &x);
    if (rc == 0) rc = payload_essence(replayed->payload, family, a, &y);
    if (rc == 0) *out = str_eq(x, y) ? DIV_NONE : DIV_OUTPUT;
    return rc;
}
