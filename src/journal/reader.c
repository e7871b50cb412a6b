/*
 * reader.c: cursors on a run: backfill from the store, then live, with no gap and no repeat
 * (SSE-14, STORE-5).
 *
 * The seam: a reader first takes its place at the end of the topic's ring and only then reads the
 * store. What was committed before it took that place is in the store; what is committed later is
 * in the ring; events in both are recognised by their sequence. A reader that finds a gap (it
 * lagged, or memory was short) is "behind" and reads the store again.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "journal/journal_int.h"
#include "store/events.h"

struct journal_reader {
    struct journal *journal;
    struct topic *topic; /* NULL: of a run that has ended, reads the store alone */
    int64_t run_no;
    struct str run_id; /* the topic's, or the caller's */
    struct sleeper sleeper;
    uint64_t pos, lost; /* in the ring; topic->lost as last seen */
    int64_t cursor;
    bool behind;
    bool has_view;
    struct journal_view view;
    /* what the last piece pointed into */
    struct commit *held;
    struct arena *page;
    struct frames *page_frames;
};

static void reader_set_behind(struct journal_reader *r, bool behind) {
    if (r->behind == behind) return;
    r->behind = behind;
    if (behind) atomic_fetch_add_explicit(&r->journal->hub.behind, 1, memory_order_relaxed);
    else atomic_fetch_sub_explicit(&r->journal->hub.behind, 1, memory_order_relaxed);
}

static void reader_join_topic(struct journal_reader *r, struct topic *t) {
    r->topic = t;
    r->run_id = str_n(t->run_id, t->run_id_n); /* set since topic_get, and for good */
    pthread_mutex_lock(&t->lock);
    r->pos = topic_join(t);
    r->lost = t->lost;
    pthread_mutex_unlock(&t->lock);
}

int journal_reader_open(struct journal *j, const struct journal_cursor *at,
                        struct journal_reader **out, struct wopr_error *err) {
    ASSERT(!at->view || at->view->id < atomic_load(&j->views_nr));
    if (atomic_load(&j->hub.closing))
        return wopr_error_set(err, WOPR_E_CLOSED, "the log has stopped");
    struct journal_reader *r = MEM_NEW(struct journal_reader);
    struct topic *t = r && at->wake ? topic_get(j, at->run_no, at->run_id) : NULL;
    if (!r || (at->wake && !t)) {
        mem_free(r);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a reader of a run");
    }
    r->journal = j;
    r->run_no = at->run_no;
    r->run_id = at->run_id;
    r->cursor = at->after_seq < 0 ? -1 : at->after_seq;
    reader_set_behind(r, true);
    list_init(&r->sleeper.link);
    r->sleeper.wake = at->wake;
    r->sleeper.ctx = at->ctx;
    if (at->view) {
        r->has_view = true;
        r->view = *at->view;
    }
    if (t) reader_join_topic(r, t);
    atomic_fetch_add(&j->hub.readers, 1);
    *out = r;
    return 0;
}

static void piece_drop(struct journal_reader *r) {
    if (r->held) commit_unref(r->held);
    frames_free(r->page_frames);
    arena_free(r->page);
    r->held = NULL;
    r->page_frames = NULL;
    r->page = NULL;
}

static int reader_no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the events of a run");
}

static void piece_fill(struct journal_reader *r, const struct event *e, size_t n,
                       const struct frames *f, struct journal_piece *out) {
    *out = (struct journal_piece){.p = f && f->p ? f->p : "",
                                  .n = f ? f->n : 0,
                                  .events = e,
                                  .events_nr = n,
                                  .frames_nr = f ? f->admitted : 0,
                                  .ends = f ? f->ends : NULL};
    r->cursor = e[n - 1].seq;
}

/* One page from the store.  1: *out is filled.  0: nothing after the cursor. */
static int reader_read_page(struct journal_reader *r, struct journal_piece *out,
                            struct wopr_error *err) {
    struct event_list j;
    r->page = arena_new(JOURNAL_PAGE_ARENA_MAX);
    if (!r->page) return reader_no_memory(err);
    int rc = store_events(r->journal->store, r->run_no, r->cursor + 1, JOURNAL_PAGE_EVENTS,
                          JOURNAL_PAGE_BYTES, r->page, &j, err);
    if (rc == 0 && j.n > 0 && r->has_view) {
        r->page_frames = frames_render(&r->view, r->run_id, j.v, j.n);
        if (!r->page_frames) rc = reader_no_memory(err);
    }
    if (rc != 0 || j.n == 0) {
        piece_drop(r);
        if (rc == 0) reader_set_behind(r, false);
        return rc;
    }
    size_t bytes = 0;
    for (size_t i = 0; i < j.n; i++) bytes += j.v[i].payload.n;
    /* A page that is not full ended at the tail. */
    if (j.n < JOURNAL_PAGE_EVENTS && bytes < JOURNAL_PAGE_BYTES) reader_set_behind(r, false);
    piece_fill(r, j.v, j.n, r->page_frames, out);
    return 1;
}

/* false: the commit was made before the reader's view was registered. */
static bool reader_view_known(const struct journal_reader *r, const struct commit *c) {
    return !r->has_view || r->view.id < c->views_nr;
}

/* Deliver a commit that continues the cursor; takes over its reference. */
static int reader_take_commit(struct journal_reader *r, struct commit *c, struct journal_piece *out,
                              struct wopr_error *err) {
    const struct frames *f = NULL;
    if (r->has_view) {
        f = commit_frames(c, &r->view, r->run_id);
        if (!f) { /* it left the ring for us: get it from the store later */
            commit_unref(c);
            reader_set_behind(r, true);
            return reader_no_memory(err);
        }
    }
    r->held = c;
    uint64_t now_ns = clock_mono_ns();
    metric_observe(&r->journal->hub.delivery_ns, &METRIC_DURATION,
                   now_ns > c->made_ns ? now_ns - c->made_ns : 0);
    piece_fill(r, c->plan->events, c->plan->events_nr, f, out);
    return 1;
}

enum look { LOOK_STORE, LOOK_COMMIT, LOOK_NOTHING, LOOK_CLOSED };

/* Look into the topic once; *c is set for LOOK_COMMIT. */
static enum look reader_look(struct journal_reader *r, struct commit **c) {
    struct topic *t = r->topic;
    enum look what;
    bool lagged = false;
    if (!t) return r->behind ? LOOK_STORE : LOOK_NOTHING;
    pthread_mutex_lock(&t->lock);
    list_del(&r->sleeper.link); /* a pending wake would only repeat this look */
    if (r->pos < t->head) {     /* lagged: take a new place, then the store (L3) */
        topic_leave(t, r->pos);
        r->pos = topic_join(t);
        reader_set_behind(r, true);
        lagged = true;
        what = LOOK_STORE;
    } else if (r->behind) {
        what = LOOK_STORE;
    } else if (r->pos < t->tail) {
        *c = topic_take(t, &r->pos);
        what = LOOK_COMMIT;
    } else if (r->lost != t->lost) {
        r->lost = t->lost;
        reader_set_behind(r, true);
        what = LOOK_STORE;
    } else if (atomic_load(&r->journal->hub.closing)) {
        what = LOOK_CLOSED;
    } else {
        list_add_tail(&t->armed, &r->sleeper.link);
        what = LOOK_NOTHING;
    }
    pthread_mutex_unlock(&t->lock);
    if (lagged) count_lagged(r->journal, r->run_id);
    return what;
}

int journal_reader_next(struct journal_reader *r, struct journal_piece *out,
                        struct wopr_error *err) {
    bool read_empty = false; /* the store had nothing more in this call */
    struct commit *c = NULL;
    piece_drop(r);
    for (;;) {
        int rc;
        switch (reader_look(r, &c)) {
        case LOOK_NOTHING:
            return 0;
        case LOOK_CLOSED:
            return wopr_error_set(err, WOPR_E_CLOSED, "the log has stopped");
        case LOOK_STORE:
            rc = reader_read_page(r, out, err);
            if (rc != 0) {
                if (rc < 0) reader_set_behind(r, true); /* the next call tries again */
                return rc;
            }
            read_empty = true;
            break;
        case LOOK_COMMIT:
            if (c->first == r->cursor + 1 && reader_view_known(r, c))
                return reader_take_commit(r, c, out, err);
            if (c->last > r->cursor) { /* a part of it, a gap before it, or no place for frames */
                reader_set_behind(r, true);
                if (read_empty && c->first > r->cursor + 1) {
                    commit_unref(c);
                    return wopr_error_set(err, WOPR_E_CORRUPT,
                                          "the stored log of the run has a hole");
                }
            }
            commit_unref(c); /* known already, or coming from the store */
            break;
        }
    }
}

int64_t journal_reader_cursor(const struct journal_reader *r) { return r->cursor; }

void journal_reader_close(struct journal_reader *r) {
    if (!r) return;
    struct topic *t = r->topic;
    if (t) {
        pthread_mutex_lock(&t->lock);
        topic_settle(t, &r->sleeper);
        topic_leave(t, r->pos);
        pthread_mutex_unlock(&t->lock);
    }
    piece_drop(r);
    reader_set_behind(r, false);
    atomic_fetch_sub(&r->journal->hub.readers, 1);
    if (t) topic_put(t);
    mem_free(r);
}
