/*
 * state_chan_check.c: may a value be written to a channel (CHAN-1, 4, 12, 13, 23)? Called before
 * the event is planned, with the same steps as the fold, which accepts whatever the log holds.
 */
#include "base/mem.h"
#include "codec/json.h"
#include "domain/state_internal.h"

#include <stdio.h>

static int schema_fits(const struct wf_channel *d, struct str value, struct wopr_error *err) {
    struct schema_issue issue = {0};
    int rc = schema_validate_text(d->schema, value, &issue);
    if (rc == 0) return 0;
    if (rc == WOPR_E_NO_MEMORY)
        return wopr_error_set(err, rc, "no memory to check a channel write");
    return wopr_error_at(err, WOPR_E_VALIDATION, rc == WOPR_E_VALIDATION ? issue.instance : "",
                         "the value does not fit the schema of the channel: %.180s",
                         rc == WOPR_E_VALIDATION ? issue.reason : "it is too complex");
}

/* The list after the write at now_ms (CHAN-4); *same: the write changes nothing. */
static int list_after(const struct chan_state *c, enum reducer r, struct str value, int64_t now_ms,
                      struct buf *b, bool *same) {
    struct arena *scratch = NULL;
    uint64_t id;
    size_t at, from = chan_expired(c, now_ms), max = chan_max(c);
    int rc = chan_find_same(c, r, value, &scratch, &id, &at);
    arena_free(scratch);
    if (rc != 0) return rc;
    bool replaces = at >= from && at < c->n;
    *same = replaces && r == RED_MESSAGE;
    size_t n = c->n - from - (replaces ? 1 : 0) + 1;
    size_t drop = n > max ? n - max : 0;
    buf_addc(b, '[');
    for (size_t i = from; i < c->n; i++) {
        if (replaces && i == at) continue;
        if (drop > 0) {
            drop--;
            continue;
        }
        buf_adds(b, text_str(&c->v[i].value));
        buf_addc(b, ',');
    }
    buf_adds(b, value);
    buf_addc(b, ']');
    return 0;
}

/* Every entry was judged when it was written; versions of a schema may differ, and then all are. */
static bool entries_fit(const struct wf_channel *d) {
    return d->schema_is_each && d->schema_version <= 1 && d->compatible_nr == 0;
}

/* What list_after is for the new entry alone, so that a write costs the same however many there
 * are. */
static int list_of_one(const struct chan_state *c, enum reducer r, struct str value, int64_t now_ms,
                       struct buf *b, bool *same) {
    struct arena *scratch = NULL;
    uint64_t id;
    size_t at;
    int rc = chan_find_same(c, r, value, &scratch, &id, &at);
    arena_free(scratch);
    if (rc != 0) return rc;
    *same = at >= chan_expired(c, now_ms) && at < c->n && r == RED_MESSAGE;
    buf_addc(b, '[');
    buf_adds(b, value);
    buf_addc(b, ']');
    return 0;
}

int chan_fits(const struct chan_state *c, enum reducer r, struct str value, int64_t now_ms,
              struct wopr_error *err) {
    const struct wf_channel *d = c->decl;
    if (!d || !d->schema) return 0;
    if (!reducer_is_list(r) || !c->is_list || !d->schema_is_array)
        return schema_fits(d, value, err);
    struct buf b;
    bool same = false;
    buf_init(&b, RUN_VALUE_MAX);
    int rc = (entries_fit(d) ? list_of_one : list_after)(c, r, value, now_ms, &b, &same);
    if (rc != 0) rc = wopr_error_set(err, rc, "no memory to check a channel write");
    else if (!same && buf_failed(&b))
        rc = wopr_error_set(err, WOPR_E_TOO_BIG, "the channel is too large to be checked");
    else if (!same) rc = schema_fits(d, buf_str(&b), err);
    buf_fini(&b);
    return rc;
}

/* maxSize bounds members, elements, or for a counter its distance from zero (CHAN-13). */
static bool size_fits(enum reducer r, struct str folded, size_t keys, const struct sum *sum,
                      int64_t max, struct arena *a) {
    struct json_members m;
    struct json_elements l;
    if (max <= 0) return true;
    if (r == RED_MERGE) return keys <= (size_t)max;
    if (r == RED_COUNTER) return sum_within(sum, max);
    if (json_type_of(folded) == JSON_OBJECT)
        return json_members(folded, a, &m, NULL) == 0 && m.n <= (size_t)max;
    if (json_type_of(folded) == JSON_ARRAY)
        return json_elements(folded, a, &l, NULL) == 0 && l.n <= (size_t)max;
    return true;
}

static int value_fits(const struct chan_state *c, const struct wf_channel *d, enum reducer r,
                      struct str value, struct wopr_error *err) {
    struct sum sum;
    size_t keys;
    struct buf b;
    struct arena *a = arena_new(RUN_WRITE_SCRATCH_MAX);
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to check a channel write");
    buf_init(&b, RUN_VALUE_MAX);
    int rc = chan_step(c, r, value, a, &sum, &b, &keys);
    if (rc == WOPR_E_VALIDATION)
        wopr_error_set(err, rc, "the value does not fit the reducer %s of the channel",
                       reducer_name(r));
    else if (rc != 0) wopr_error_set(err, rc, "a channel write can not be checked");
    else if (d && !size_fits(r, buf_str(&b), keys, &sum, d->max_size, a))
        rc = wopr_error_set(err, WOPR_E_VALIDATION, "the write exceeds maxSize of the channel");
    buf_fini(&b);
    arena_free(a);
    return rc;
}

int chan_write_check(const struct run_state *s, struct str channel, enum reducer r,
                     struct str value, struct wopr_error *err) {
    const struct chan_state *c = NULL;
    for (size_t i = 0; i < s->channels.n; i++)
        if (str_eq(text_str(&s->channels.v[i].name), channel)) c = &s->channels.v[i];
    const struct wf_channel *d = c ? c->decl : NULL;
    const char *refusal = reducer_refuses(r, value);
    if (channel.n == 0 || utf8_count(channel) > CHAN_NAME_MAX) /* CHAN-1 */
        return wopr_error_set(err, WOPR_E_VALIDATION, "a channel name has 1 to 256 characters");
    if (refusal) return wopr_error_set(err, WOPR_E_VALIDATION, "%s", refusal);
    if (!c && s->channels.n >= RUN_CHANS_MAX)
        return wopr_error_set(err, WOPR_E_TOO_BIG,
                              "the run has %zu channels, as many as a run may have", s->channels.n);
    uint64_t refused = mem_refused();
    int rc = d ? chan_fits(c, r, value, s->last_ts_ms, err) : 0;
    if (rc == 0 && !reducer_is_list(r)) rc = value_fits(c, d, r, value, err);
    if (mem_verdict(rc, refused) == rc) return rc;
    return wopr_error_set(err, WOPR_E_TOO_BIG,
                          "the channel would be larger than this host can fold; write less to it, "
                          "or to several");
}
