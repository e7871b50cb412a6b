/*
 * collect.c: sessions that have not changed for long are removed, whole (WR-82, WR-83).  Before the
 * first removal of a day every session is read and judged: while one is damaged, nothing goes.
 */
#include "base/clock.h"
#include "base/log.h"
#include "rail/rail_int.h"

#include <stdio.h>

enum { COLLECT_PAGE = 64, COLLECT_ARENA = 64 << 20, COLLECT_DAY_MS = 86400000 };

/* *damaged: some id, or empty. */
static int page_judge(struct rail *r, struct arena *a, bool *more, struct session_place *below,
                      char damaged[WR_ID_SIZE], struct wr_fault *f) {
    const struct session_filter filter = {.any = true, .below = *below, .max = COLLECT_PAGE};
    struct session_list l;
    struct arena *one = arena_new(COLLECT_ARENA);
    int rc = one ? store_session_list(r->cfg.store, &filter, a, &l, &f->e) : wr_no_memory(f);
    for (size_t i = 0; rc == 0 && i < l.n; i++) {
        struct rail_session s;
        arena_reset(one);
        rc = rail_session_load(r->cfg.store, STR_NONE, false, l.v[i].head.session_id, one, &s, f);
        if (rc == WOPR_E_NOT_FOUND) rc = 0; /* removed meanwhile */
        else if (rc == 0 && s.health != RAIL_HEALTHY)
            (void)snprintf(damaged, WR_ID_SIZE, STR_FMT, STR_ARG(l.v[i].head.session_id));
        if (rc == 0) rail_session_fini(&s);
        *below = (struct session_place){l.v[i].head.commit_no, l.v[i].head.session_no};
    }
    if (rc == 0 && l.n < COLLECT_PAGE) *more = false;
    arena_free(one);
    return rc;
}

static int all_judge(struct rail *r, bool *good, struct wr_fault *f) {
    char damaged[WR_ID_SIZE] = "";
    struct session_place below = {0, 0};
    bool more = true;
    struct arena *a = arena_new(COLLECT_ARENA);
    int rc = a ? 0 : wr_no_memory(f);
    while (rc == 0 && more && damaged[0] == '\0') {
        arena_reset(a);
        rc = page_judge(r, a, &more, &below, damaged, f);
    }
    arena_free(a);
    *good = damaged[0] == '\0';
    if (rc == 0 && !*good)
        log_warn("no session is removed while one is damaged; see wopr sessions verify", "session",
                 damaged);
    return rc;
}

static int judged_today(struct rail *r, bool *good, struct wr_fault *f) {
    const int64_t now_ms = clock_wall_ms();
    if (r->judged_ms == 0 || now_ms - r->judged_ms >= COLLECT_DAY_MS) {
        int rc = all_judge(r, &r->judged_good, f);
        if (rc != 0) return rc;
        r->judged_ms = now_ms;
    }
    *good = r->judged_good;
    return 0;
}

struct removal {
    struct str session_id;
    bool more;
};

static int removal_do(void *ctx, struct store *s, struct wopr_error *err) {
    struct removal *x = ctx;
    return store_session_delete(s, x->session_id, &x->more, err);
}

int rail_remove(struct rail *r, struct str session_id, bool *more, struct wr_fault *f) {
    struct removal x = {.session_id = session_id};
    int rc = rail_side(r, removal_do, &x, &f->e);
    *more = x.more;
    return rc;
}

int rail_collect(struct rail *r, int64_t before_ms, bool *more, struct wr_fault *f) {
    struct arena *a = arena_new(65536);
    struct str id;
    bool good = false;
    *more = false;
    f->code = WR_FINE;
    int rc = a ? store_session_aged(r->cfg.store, before_ms, a, &id, &f->e) : wr_no_memory(f);
    bool none = rc == WOPR_E_NOT_FOUND;
    if (none) rc = 0;
    if (rc == 0 && !none) rc = judged_today(r, &good, f);
    if (rc == 0 && good) {
        rc = rail_remove(r, id, more, f);
        *more = rc == 0;
    }
    arena_free(a);
    return rc == 0 ? 0 : wr_fail_as(f, WR_SESSION_STORE_IO_ERROR, rc);
}
