/*
 * replays.c: when the storm is over every run is replayed from its beginning, while workers wait
 * for tasks and a peer for requests: nobody is called, and what ended ends the same (FORK-12,
 * FORK-15, WRK-22).
 */
#include "world.h"

#include "base/mem.h"

#include <stdio.h>

enum { REPLAYS_AT_ONCE = 64, REPLAY_MS = 120000 };

struct replay {
    const struct made *of;
    char id[ID_BYTES], source_status[24];
};

static unsigned unended; /* sources */

static bool ended(const char *status) {
    return strcmp(status, "completed") == 0 || strcmp(status, "failed") == 0 ||
           strcmp(status, "cancelled") == 0;
}

static void status_of(const struct server *sv, const char *run, char out[24]) {
    struct reply r = ask(sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    snprintf(out, 24, STR_FMT, STR_ARG(text_at(r.body, "status")));
}

static void replay_begin(const struct server *sv, const struct made *of, struct replay *r) {
    struct reply got = ask(sv, "POST", fmt("/v1/runs/%s:fork", of->id),
                           "{\"fromSeq\":0,\"mode\":\"replay\"}", NULL);
    cr_assert_eq(got.status, 201, "%s: " STR_FMT, of->id, STR_ARG(got.body));
    *r = (struct replay){.of = of};
    snprintf(r->id, sizeof r->id, STR_FMT, STR_ARG(text_at(got.body, "runId")));
    status_of(sv, of->id, r->source_status);
}

/* Until it has ended, or waits for somebody for real: its source had not ended either. */
static void replay_wait(const struct server *sv, const struct replay *r, char status[24]) {
    const int64_t end = now_ms() + REPLAY_MS;
    for (;; nap_ms(5)) {
        status_of(sv, r->id, status);
        if (ended(status)) return;
        if (!ended(r->source_status) && strncmp(status, "waiting", 7) == 0) return;
        cr_assert_lt(now_ms(), end, "%s, the replay of %s, is still %s: " STR_FMT, r->id, r->of->id,
                     status, STR_ARG(types_of(events_of(sv, r->id))));
    }
}

/* A replay that came before its source's answer failed for that; by now there is one. */
static bool came_too_early(const struct server *sv, const struct made *m) {
    struct reply s = ask(sv, "GET", fmt("/v1/runs/%s", m->id), NULL, NULL);
    return m->replay && str_eqc(at(s.body, "error.code"), "\"replay_source_missing\"");
}

static void replay_check(const struct server *sv, const struct replay *r) {
    char status[24];
    replay_wait(sv, r, status);
    if (!ended(r->source_status)) {
        unended++;
        return;
    }
    struct str was = types_of(events_of(sv, r->of->id)), is = types_of(events_of(sv, r->id));
    bool same = strcmp(status, r->source_status) == 0;
    cr_assert(same || came_too_early(sv, r->of),
              "%s was %s, its replay %s %s:\n" STR_FMT "\n" STR_FMT, r->of->id, r->source_status,
              r->id, status, STR_ARG(was), STR_ARG(is));
    bool reads_mask = r->of->shape == SHAPE_SECRET; /* the clear value is gone (FORK-21) */
    if (strcmp(status, "completed") == 0 && same && !reads_mask)
        cr_assert_null(strstr(is.p, "replay.diverged"), "%s, its replay %s:\n" STR_FMT "\n" STR_FMT,
                       r->of->id, r->id, STR_ARG(was), STR_ARG(is));
}

void replays_check(const struct server *sv) {
    const int n = made_nr();
    const size_t asked = peer_count(peer);
    struct replay *v = mem_array(REPLAYS_AT_ONCE, sizeof *v);
    cr_assert_not_null(v);
    for (int at = 0; at < n; at += REPLAYS_AT_ONCE) {
        int some = n - at < REPLAYS_AT_ONCE ? n - at : REPLAYS_AT_ONCE;
        for (int i = 0; i < some; i++) replay_begin(sv, &made[at + i], &v[i]);
        for (int i = 0; i < some; i++) replay_check(sv, &v[i]);
        arena_reset(test_arena());
    }
    mem_free(v);
    cr_assert_eq(peer_count(peer), asked, "a replay asked somebody");
    fprintf(stderr, "chaos: %d runs were replayed, %u of them not ended, and called nobody\n", n,
            unended);
}
