/*
 * event_rules.c: payload rules (EVT-12), compiled from the published schemas.
 */
#include "base/mem.h"
#include "codec/json.h"
#include "codec/schema.h"
#include "domain/plan.h" /* EVENT_PAYLOAD_MAX */
#include "domain/published.h"

#include <stdatomic.h>
#include <stdio.h>

#define PAYLOADS_URI PUBLISHED_URI "run-event-payloads.schema.json"
#define URI_MAX      256
#define DEPTH_MAX    128 /* payloads nest caller data of depth 64 (HTTP-9) a few levels deeper */

/*
 * Payloads that passed, remembered per thread byte for byte: a node.started has the same payload in
 * every run of a workflow, and equal bytes under the same rules give the same result.
 */
enum { MEMO_SLOTS = 64, MEMO_BYTES = 248 };
static _Thread_local struct payload_memo {
    uint64_t rules; /* payload_rules.serial, 0 = empty */
    uint16_t kind, n;
    char text[MEMO_BYTES];
} memos[MEMO_SLOTS];
static atomic_uint_fast64_t serials;

struct payload_rules {
    uint64_t serial; /* never reused, unlike an address */
    struct schema_set *set;
    const struct schema *by_kind[EV_NR];
};

int payload_rules_new(struct payload_rules **out, struct wopr_error *err) {
    int rc;
    struct payload_rules *r = MEM_NEW(struct payload_rules);
    if (!r) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for payload rules");
    r->serial = atomic_fetch_add(&serials, 1) + 1;
    r->set = published_set_new();
    if (!r->set) {
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for payload rules");
        goto fail;
    }
    for (int k = 0; k < EV_NR; k++) {
        char uri[URI_MAX];
        snprintf(uri, sizeof uri, PAYLOADS_URI "#/$defs/%s", event_payload_def((enum ev_kind)k));
        struct wopr_error why = {0};
        rc = schema_compile(r->set, str_c(uri), &r->by_kind[k], &why);
        if (rc != 0) {
            (void)wopr_error_set(err, rc, "the payload of %s: %s: %s", event_name((enum ev_kind)k),
                                 uri, why.message);
            goto fail;
        }
    }
    *out = r;
    return 0;
fail:
    payload_rules_free(r);
    return rc;
}

void payload_rules_free(struct payload_rules *r) {
    if (!r) return;
    schema_set_free(r->set);
    mem_free(r);
}

static struct payload_memo *memo_of(enum ev_kind k, struct str payload) {
    uint64_t h = (uint64_t)k * UINT64_C(0x9e3779b97f4a7c15) + payload.n, word = 0;
    for (size_t i = 0; i < payload.n; i += sizeof word, word = 0) {
        size_t n = payload.n - i < sizeof word ? payload.n - i : sizeof word;
        memcpy(&word, payload.p + i, n);
        h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    return &memos[h % MEMO_SLOTS];
}

bool payload_passed(const struct payload_rules *r, enum ev_kind k, struct str payload) {
    if (payload.n > MEMO_BYTES || (unsigned)k >= EV_NR) return false;
    const struct payload_memo *m = memo_of(k, payload);
    return m->rules == r->serial && m->kind == k && m->n == payload.n &&
           memcmp(m->text, payload.p, payload.n) == 0;
}

void payload_remember(const struct payload_rules *r, enum ev_kind k, struct str payload) {
    if (payload.n > MEMO_BYTES || (unsigned)k >= EV_NR) return;
    struct payload_memo *m = memo_of(k, payload);
    m->rules = r->serial;
    m->kind = (uint16_t)k;
    m->n = (uint16_t)payload.n;
    memcpy(m->text, payload.p, payload.n);
}

int payload_check(const struct payload_rules *r, enum ev_kind k, struct str payload,
                  struct wopr_error *err) {
    if ((unsigned)k >= EV_NR)
        return wopr_error_set(err, WOPR_E_PAYLOAD_INVALID,
                              "an event of unknown type is never written"); /* EVT-13 */
    if (payload.n > EVENT_PAYLOAD_MAX)
        return wopr_error_set(err, WOPR_E_PAYLOAD_INVALID,
                              "the payload of %s has %zu bytes, the limit is %zu", event_name(k),
                              payload.n, EVENT_PAYLOAD_MAX);
    struct wopr_error why = {0};
    const struct json_limits limits = {.bytes_max = EVENT_PAYLOAD_MAX, .depth_max = DEPTH_MAX};
    int rc = json_check(payload, &limits, &why);
    if (rc == WOPR_E_NO_MEMORY) return wopr_error_set(err, rc, "no memory to check a payload");
    if (rc != 0)
        return wopr_error_at(err, WOPR_E_PAYLOAD_INVALID, why.pointer,
                             "the payload of %s is not JSON: %s", event_name(k), why.message);
    if (json_type_of(payload) != JSON_OBJECT)
        return wopr_error_set(err, WOPR_E_PAYLOAD_INVALID, "the payload of %s is not an object",
                              event_name(k));
    struct schema_issue issue = {0};
    rc = schema_validate_text(r->by_kind[k], payload, &issue);
    if (rc == 0 || rc == WOPR_E_NO_MEMORY) return rc;
    if (rc != WOPR_E_VALIDATION)
        return wopr_error_set(err, WOPR_E_PAYLOAD_INVALID,
                              "the payload of %s is too complex to be checked", event_name(k));
    return wopr_error_at(err, WOPR_E_PAYLOAD_INVALID, issue.instance, "the payload of %s: %s",
                         event_name(k), issue.reason);
}
