/*
 * fuzz_channel.c: bytes become declarations of channels and writes to them (20-runtime 5).
 * Properties: a write that the check admits is folded; lists stay within maxSize, counters and
 * merges that were checked too; expired entries are gone after a write; messages and votes are
 * unique; a write that breaks the schema version is not folded; the same events folded again, with
 * another clock on the wall, show the same (CHAN-13..18).
 */
#include "base/log.h"
#include "base/mem.h"
#include "codec/json.h"
#include "domain/state.h"

#include <math.h>
#include <stdint.h>

enum { FUZZ_WRITES_MAX = 64, FUZZ_TEXT_MAX = 200, FUZZ_CHANNELS = 3, FUZZ_PAYLOAD_MAX = 1024 };

struct input {
    const uint8_t *p;
    size_t n;
};
static unsigned take(struct input *in) {
    if (in->n == 0) return 0;
    in->n--;
    return *in->p++;
}

static const char *const REDUCER[] = {"replace", "append",   "merge",   "counter",
                                      "votes",   "feedback", "message", "vendor.acme.x"};
static const char *const SCHEMA[] = {"", ",\"schema\":{\"type\":\"integer\"}",
                                     ",\"schema\":{\"type\":\"array\",\"maxItems\":4}",
                                     ",\"schema\":{\"type\":\"object\",\"maxProperties\":3}"};

/* Three declared channels a, b, c and an undeclared one, d. */
static struct workflow *definition(struct input *in) {
    const struct wf_env env = {0};
    struct workflow *wf = NULL;
    struct buf b;
    buf_init(&b, 1u << 16);
    buf_addz(&b,
             "{\"id\":\"f\",\"name\":\"f\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\",\"typeId\":"
             "\"core.noop\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},\"config\":{\"ttlMs\":"
             "9},\"inputs\":{}}],\"edges\":[],\"triggers\":[{\"id\":\"t\",\"type\":"
             "\"channel-write\",\"nodeId\":\"n\",\"config\":{\"channel\":\"a\"}}],"
             "\"variables\":[],\"metadata\":{},\"settings\":{},\"channels\":{");
    for (int i = 0; i < FUZZ_CHANNELS; i++) {
        unsigned r = take(in), bounds = take(in);
        buf_addf(&b, "%s\"%c\":{\"reducer\":\"%s\"%s", i ? "," : "", 'a' + i, REDUCER[r % 8],
                 SCHEMA[r / 8 % 4]);
        if (bounds & 7u) buf_addf(&b, ",\"maxSize\":%u", bounds & 7u);
        if (bounds >> 3 & 7u) buf_addf(&b, ",\"ttlMs\":%u", (bounds >> 3 & 7u) * 4);
        if (bounds & 64u) buf_addz(&b, ",\"schemaVersion\":3,\"compatibleWith\":[2]");
        if (bounds & 128u) buf_addz(&b, ",\"sensitive\":true");
        buf_addc(&b, '}');
    }
    buf_addz(&b, "}}");
    int rc = workflow_compile(buf_str(&b), &env, &wf, NULL);
    ASSERT(rc == 0);
    buf_fini(&b);
    return wf;
}

static struct run_state *fresh(struct workflow *wf) {
    const struct run_meta meta = {.run_id = STR("run_fuzz"), .workflow_id = STR("f")};
    const struct run_limits limits = RUN_LIMITS_DEFAULT;
    struct run_state *s = NULL;
    int rc = run_state_new(wf, &meta, &limits, &s, NULL);
    ASSERT(rc == 0);
    return s;
}

static void value_make(struct input *in, struct buf *b) {
    unsigned form = take(in), x = take(in);
    switch (form % 9) {
    case 0:
        buf_addf(b, "%d", (int)x - 128);
        break;
    case 1:
        buf_addf(b, "%u.%ue%d", x, form, (int)x - 60);
        break;
    case 2:
        buf_addf(b, "{\"k%u\":%u,\"k%u\":%u}", x % 8, form, x % 8 + 1 + form % 3, x);
        break;
    case 3:
        buf_addf(b, "{\"messageId\":\"%s%u\"}", form & 64 ? "\\u0061" : "a", x % 5);
        break;
    case 4:
        buf_addf(b, "{\"%s\":\"v%u\",\"n\":%u}", form & 64 ? "voter" : "userId", x % 5, form);
        break;
    case 5:
        buf_addz(b, "\"[REDACTED]\"");
        break;
    case 6:
        buf_addf(b, "[%u,%u]", x, form);
        break;
    case 7:
        buf_addz(b, "null");
        break;
    default: { /* text of its own */
        size_t n = x % FUZZ_TEXT_MAX < in->n ? x % FUZZ_TEXT_MAX : in->n;
        struct str s = str_n((const char *)in->p, n);
        in->p += n;
        in->n -= n;
        buf_adds(b, json_check(s, &JSON_LIMITS_STORED, NULL) == 0 ? str_trim(s) : STR("7"));
    }
    }
}

static int fold(struct run_state *s, enum ev_kind kind, int64_t ts_ms, struct str payload) {
    const struct event e = {.seq = s->next_seq,
                            .kind = kind,
                            .type = str_c(event_name(kind)),
                            .node_id = STR("n"),
                            .causation_seq = -1,
                            .ts_ms = ts_ms,
                            .schema_version = 1,
                            .engine_version = 1,
                            .payload = payload};
    return run_state_apply(s, &e, NULL);
}

static void show(const struct run_state *s, struct buf *b) {
    buf_addf(b, "%lld %lld %zu", (long long)s->next_seq, (long long)s->channels.broken.seq,
             s->sched.ready_nr);
    for (size_t i = 0; i < s->channels.n; i++) {
        int rc = chan_value(&s->channels.v[i], 0, b);
        ASSERT(rc == 0);
    }
}

/* A channel that several reducers wrote promises less. */
static bool one_reducer(const struct chan_state *c) {
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i].by != (uint8_t)c->reducer) return false;
    return c->decl != NULL;
}

static void unique(const struct chan_state *c) {
    struct arena *a = arena_new(1u << 20);
    ASSERT(a != NULL);
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < i; k++) {
            struct str x = reducer_identity(c->reducer, text_str(&c->v[i].value));
            struct str y = reducer_identity(c->reducer, text_str(&c->v[k].value));
            if (x.n == 0 || y.n == 0) continue;
            ASSERT(!str_eq(reducer_identity_text(x, a), reducer_identity_text(y, a)));
        }
    arena_free(a);
}

/* What holds after a folded write; checked: it had passed the check. */
static void holds(const struct chan_state *c, bool checked, int64_t ts_ms) {
    const struct wf_channel *d = c->decl;
    if (d == NULL) return;
    if (c->is_list && d->max_size > 0) ASSERT(c->n <= (size_t)d->max_size);
    if (!c->is_list) ASSERT(c->n <= 1);
    for (size_t i = 0; c->is_list && c->ttl_ms > 0 && i < c->n; i++) {
        /* a repeated message is not a write of the list, but the old are dropped all the same */
        ASSERT(c->v[i].ts_ms >= ts_ms - c->ttl_ms);
        ASSERT(i == 0 || c->v[i].ts_ms >= c->v[i - 1].ts_ms);
    }
    double sum;
    if (checked && c->reducer == RED_COUNTER && d->max_size > 0 && !d->sensitive &&
        json_double(text_str(&c->v[0].value), &sum))
        ASSERT(fabs(sum) <= (double)d->max_size);
}

/* One write into s; false when the log must not go on.  The payload is left in b. */
static bool write_one(struct run_state *s, struct input *in, int64_t *ts_ms, struct buf *b) {
    unsigned where = take(in), version = take(in);
    struct buf value;
    struct str name = str_c(where % 4 == 3 ? "d" : where % 4 == 2 ? "c" : where % 4 ? "b" : "a");
    const struct wf_channel *d = workflow_channel(s->wf, name);
    struct str word = d && version % 16 ? d->reducer_name : str_c(REDUCER[where / 4 % 7]);
    enum reducer r = reducer_of(word);
    *ts_ms += version / 16;
    buf_init(&value, FUZZ_PAYLOAD_MAX);
    value_make(in, &value);
    bool own = d && r == d->reducer;
    bool checked = (own || !d) && chan_write_check(s, name, r, buf_str(&value), NULL) == 0;
    buf_reset(b);
    buf_addf(b, "{\"channel\":\"" STR_FMT "\",\"reducer\":\"" STR_FMT "\"", STR_ARG(name),
             STR_ARG(word));
    if (version & 3u) buf_addf(b, ",\"schemaVersion\":%u", (version & 3u) + 1);
    buf_addz(b, ",\"value\":");
    buf_adds(b, buf_str(&value));
    buf_addc(b, '}');
    buf_fini(&value);
    int64_t broke = s->channels.broken.seq;
    int rc = fold(s, EV_CHANNEL_WRITTEN, *ts_ms, buf_str(b));
    ASSERT(rc == 0 || rc == WOPR_E_CORRUPT);
    ASSERT(rc == 0 || !checked || (d && version & 3u)); /* other versions are not what was asked */
    if (rc == 0) {
        const struct chan_state *c = run_state_chan(s, name);
        ASSERT(run_state_broken(s) == NULL);
        bool broken = s->channels.broken.seq != broke;
        if (!broken && broke == 0) {
            holds(c, checked, *ts_ms);
            if (c->is_list && one_reducer(c)) unique(c);
        }
    }
    return rc == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct input in = {data, len};
    logger_level(LOG_ERROR); /* declarations warn of what they ignore */
    struct workflow *wf = definition(&in);
    struct run_state *s = fresh(wf), *again = fresh(wf);
    char *log[FUZZ_WRITES_MAX];
    int64_t at[FUZZ_WRITES_MAX], ts_ms = 1000;
    size_t nr = 0;
    struct buf b, x, y;
    buf_init(&b, 4 * FUZZ_PAYLOAD_MAX);
    int rc = fold(s, EV_RUN_STARTED, ts_ms, STR("{}"));
    ASSERT(rc == 0);
    bool sound = true;
    while (sound && in.n > 0 && nr < FUZZ_WRITES_MAX) {
        sound = write_one(s, &in, &ts_ms, &b);
        if (!sound) break;
        at[nr] = ts_ms;
        log[nr] = mem_strndup(b.p, b.len);
        ASSERT(log[nr] != NULL);
        nr++;
    }
    rc = fold(again, EV_RUN_STARTED, 1000, STR("{}"));
    ASSERT(rc == 0);
    for (size_t i = 0; i < nr; i++) {
        rc = fold(again, EV_CHANNEL_WRITTEN, at[i], str_c(log[i]));
        ASSERT(rc == 0);
        mem_free(log[i]);
    }
    if (sound) {
        buf_init(&x, 1u << 20);
        buf_init(&y, 1u << 20);
        show(s, &x);
        show(again, &y);
        ASSERT(!buf_failed(&x) && str_eq(buf_str(&x), buf_str(&y)));
        buf_fini(&x);
        buf_fini(&y);
    }
    buf_fini(&b);
    run_state_free(s);
    run_state_free(again);
    workflow_unref(wf);
    return 0;
}
