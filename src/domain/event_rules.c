/*
 * event_rules.c: payload rules (EVT-12), compiled from the published schemas.
 *
 * One relaxation is made in memory, under the document's own uri, so that the served schemas stay
 * as published: channel.written.reducer also allows "message" (EVT-14 a, CX-12).  The other two
 * relaxations of EVT-14 are ways of writing events, not of checking them: kinds that the enum lacks
 * are left out, and interrupt.requested carries no identity.
 */
#include "base/embed.h"
#include "base/mem.h"
#include "codec/json.h"
#include "codec/schema.h"
#include "domain/plan.h" /* EVENT_PAYLOAD_MAX */

#include <stdatomic.h>
#include <stdio.h>

#define SCHEMA_DIR     "api/schemas/"
#define SCHEMA_URI     "https://openwop.dev/spec/v1/"
#define PAYLOADS_URI   SCHEMA_URI "run-event-payloads.schema.json"
#define CHANNEL_FILE   "channel-written-payload.schema.json"
#define REDUCER_FROM   "|feedback|vendor"
#define REDUCER_TO     "|feedback|message|vendor"
#define SCHEMA_MAX     (1024u * 1024)
#define SCHEMA_URI_MAX 256
#define DEPTH_MAX      128 /* payloads nest caller data of depth 64 (HTTP-9) a few levels deeper */

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

/* text with the one occurrence of REDUCER_FROM replaced (EVT-14 a). */
static int channel_schema_relax(struct str text, struct buf *out, struct wopr_error *err) {
    const size_t n = sizeof REDUCER_FROM - 1;
    size_t found = 0, at = 0;
    for (size_t i = 0; i + n <= text.n; i++)
        if (memcmp(text.p + i, REDUCER_FROM, n) == 0) {
            at = i;
            found++;
        }
    if (found != 1)
        return wopr_error_set(err, WOPR_E_INTERNAL,
                              "the embedded %s has %zu reducer patterns where one is expected: "
                              "check the relaxation of EVT-14 against it",
                              CHANNEL_FILE, found);
    buf_adds(out, str_n(text.p, at));
    buf_addz(out, REDUCER_TO);
    buf_adds(out, str_n(text.p + at + n, text.n - at - n));
    if (buf_failed(out))
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an embedded schema");
    return 0;
}

static int schemas_add(struct schema_set *set, struct wopr_error *err) {
    const struct str dir = STR(SCHEMA_DIR);
    for (const struct embed_file *f = EMBED_FILES; f->name; f++) {
        if (!str_starts(str_c(f->name), dir)) continue;
        const char *base = f->name + dir.n;
        char uri[SCHEMA_URI_MAX];
        int n = snprintf(uri, sizeof uri, SCHEMA_URI "%s", base);
        if (n < 0 || (size_t)n >= sizeof uri)
            return wopr_error_set(err, WOPR_E_INTERNAL, "an embedded schema has too long a name");
        struct buf relaxed;
        buf_init(&relaxed, SCHEMA_MAX);
        struct str text = embed_text(f);
        int rc = 0;
        if (strcmp(base, CHANNEL_FILE) == 0) {
            rc = channel_schema_relax(text, &relaxed, err);
            text = buf_str(&relaxed);
        }
        if (rc == 0) rc = schema_set_add(set, str_c(uri), text, err);
        buf_fini(&relaxed);
        if (rc != 0) return rc;
    }
    return 0;
}

int payload_rules_new(struct payload_rules **out, struct wopr_error *err) {
    int rc;
    struct payload_rules *r = MEM_NEW(struct payload_rules);
    if (!r) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for payload rules");
    r->serial = atomic_fetch_add(&serials, 1) + 1;
    r->set = schema_set_new(true);
    if (!r->set) {
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for payload rules");
        goto fail;
    }
    rc = schemas_add(r->set, err);
    if (rc != 0) goto fail;
    for (int k = 0; k < EV_NR; k++) {
        char uri[SCHEMA_URI_MAX];
        snprintf(uri, sizeof uri, PAYLOADS_URI "#/$defs/%s", event_payload_def((enum ev_kind)k));
        rc = schema_compile(r->set, str_c(uri), &r->by_kind[k], err);
        if (rc != 0) goto fail;
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
