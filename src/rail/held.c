/*
 * held.c: see held.h.  Two orders: each tenant's sessions by their last use, and the tenants, which
 * are few beside them and looked through for the largest when room is needed.
 */
#include "rail/held.h"

#include "base/clock.h"
#include "base/mem.h"

enum {
    HELD_ARENA_MAX =
        256 << 20,     /* a log has RAIL_SESSION_BYTES_MAX; parsed it is a few times that */
    EVENT_EXTRA = 512, /* of an event, in the maps of the fold */
    HELD_EXTRA = 8192  /* of a session, in empty maps */
};

struct held_share { /* of a tenant */
    struct list link;
    struct list all; /* struct rail_held, longest unused first */
    struct str tenant;
    size_t bytes;
};

static struct rail_held *held_of(struct list *l) { return LIST_ENTRY(l, struct rail_held, link); }
static struct held_share *share_of(struct list *l) {
    return LIST_ENTRY(l, struct held_share, link);
}

int held_init(struct held_sessions *h, size_t bytes_max) {
    *h = (struct held_sessions){.by_id = map_new(),
                                .by_tenant = map_new(),
                                .bytes_max = bytes_max > 0 ? bytes_max : HELD_BYTES_DEFAULT};
    list_init(&h->shares);
    pthread_mutex_init(&h->lock, NULL);
    return h->by_id && h->by_tenant ? 0 : WOPR_E_NO_MEMORY;
}

struct rail_held *held_new(void) {
    struct rail_held *x = MEM_NEW(struct rail_held);
    if (!x) return NULL;
    list_init(&x->link);
    x->arena = arena_new(HELD_ARENA_MAX);
    if (x->arena) return x;
    mem_free(x);
    return NULL;
}

void held_free(struct rail_held *x) {
    if (!x) return;
    rail_runs_fini(&x->runs);
    rail_session_fini(&x->session);
    arena_free(x->arena);
    mem_free(x);
}

/* --- under the lock --- */
static void share_end(struct held_sessions *h, struct held_share *s) {
    if (!list_empty(&s->all)) return;
    (void)map_del(h->by_tenant, s->tenant);
    list_del(&s->link);
    mem_free(s);
}

static struct held_share *share_find(struct held_sessions *h, struct str tenant) {
    struct held_share *s = map_get(h->by_tenant, tenant);
    if (s) return s;
    s = mem_zalloc(sizeof *s + tenant.n);
    if (!s) return NULL;
    char *name = (char *)(s + 1);
    memcpy(name, tenant.p, tenant.n);
    s->tenant = str_n(name, tenant.n);
    list_init(&s->link);
    list_init(&s->all);
    if (map_put(h->by_tenant, s->tenant, s, NULL) != 0) {
        mem_free(s);
        return NULL;
    }
    list_add_tail(&h->shares, &s->link);
    return s;
}

static struct rail_held *held_leave(struct held_sessions *h, struct rail_held *x) {
    struct held_share *s = x->share;
    (void)map_del(h->by_id, x->session.head.session_id);
    list_del(&x->link);
    s->bytes -= x->bytes;
    h->bytes -= x->bytes;
    x->share = NULL;
    share_end(h, s);
    return x;
}

static bool held_add(struct held_sessions *h, struct rail_held *x) {
    struct held_share *s = share_find(h, x->session.head.tenant);
    if (!s) return false;
    if (map_put(h->by_id, x->session.head.session_id, x, NULL) != 0) {
        share_end(h, s);
        return false;
    }
    list_add_tail(&s->all, &x->link);
    x->share = s;
    s->bytes += x->bytes;
    h->bytes += x->bytes;
    return true;
}

/* What has to go next, or NULL. */
static struct rail_held *held_surplus(struct held_sessions *h, uint64_t now_ms) {
    struct held_share *most = NULL;
    for (struct list *l = h->shares.next; l != &h->shares; l = l->next) {
        struct held_share *s = share_of(l);
        struct rail_held *oldest = held_of(s->all.next);
        if (oldest->until_ms <= now_ms) return oldest;
        if (!most || s->bytes > most->bytes) most = s;
    }
    if (!most || (h->bytes <= h->bytes_max && most->bytes <= h->bytes_max / 2)) return NULL;
    return held_of(most->all.next);
}

/* --- any thread; what is freed is freed without the lock --- */
static void held_trim(struct held_sessions *h, uint64_t now_ms) {
    struct rail_held *out;
    do {
        pthread_mutex_lock(&h->lock);
        out = held_surplus(h, now_ms);
        if (out) held_leave(h, out);
        pthread_mutex_unlock(&h->lock);
        held_free(out);
    } while (out);
}

struct rail_held *held_take(struct held_sessions *h, const struct rail_owner *owner,
                            struct str session_id) {
    pthread_mutex_lock(&h->lock);
    struct rail_held *x = map_get(h->by_id, session_id);
    /* What is another's stays where it is: to the caller it is not there at all (WR-268). */
    if (x && (!str_eq(x->session.head.tenant, owner->tenant) ||
              x->session.head.test_mode != owner->test_mode))
        x = NULL;
    if (x) held_leave(h, x);
    pthread_mutex_unlock(&h->lock);
    return x;
}

static bool held_good(const struct held_sessions *h, const struct rail_held *x) {
    const struct rail_session *s = &x->session;
    return !x->ahead && s->truth && s->head.session_no > 0 && s->health == RAIL_HEALTHY &&
           s->orphans_nr == 0 && !arena_failed(x->arena) && x->bytes <= h->bytes_max / 2;
}

bool held_own(struct rail_held *x) {
    struct session_head *h = &x->session.head;
    h->session_id = arena_str(x->arena, h->session_id);
    h->tenant = arena_str(x->arena, h->tenant);
    h->imported_from = h->imported_from.n > 0 ? arena_str(x->arena, h->imported_from) : STR_NONE;
    return !arena_failed(x->arena);
}

static size_t held_size(const struct rail_held *x) {
    return HELD_EXTRA + arena_used(x->arena) + x->session.events_nr * EVENT_EXTRA +
           rail_runs_bytes(&x->runs);
}

/* Of two that were used at once the longer one is nearer to what is stored. */
static void held_replace(struct held_sessions *h, struct rail_held *x, struct rail_held *out[2]) {
    struct rail_held *old = map_get(h->by_id, x->session.head.session_id);
    bool longer = !old || old->session.head.next_event <= x->session.head.next_event;
    if (longer && old) out[0] = held_leave(h, old);
    if (!longer || !held_add(h, x)) out[1] = x;
}

void held_put(struct held_sessions *h, struct rail_held *x) {
    struct rail_held *out[2] = {NULL, NULL};
    uint64_t now_ms = clock_mono_ms();
    x->session.events = NULL; /* of the arena of one call, or of no use beside the truth */
    x->session.records = NULL;
    x->session.committed_ms = NULL;
    x->bytes = held_size(x);
    x->until_ms = now_ms + HELD_MS;
    if (!held_good(h, x)) {
        held_free(x);
        return;
    }
    pthread_mutex_lock(&h->lock);
    held_replace(h, x, out);
    pthread_mutex_unlock(&h->lock);
    held_free(out[0]);
    held_free(out[1]);
    held_trim(h, now_ms);
}

void held_sweep(struct held_sessions *h) { held_trim(h, clock_mono_ms()); }

size_t held_bytes(struct held_sessions *h, struct str tenant) {
    pthread_mutex_lock(&h->lock);
    const struct held_share *s = map_get(h->by_tenant, tenant);
    size_t bytes = tenant.n == 0 ? h->bytes : s ? s->bytes : 0;
    pthread_mutex_unlock(&h->lock);
    return bytes;
}

void held_fini(struct held_sessions *h) {
    struct rail_held *out = NULL;
    if (!h->by_id && !h->by_tenant) return;
    for (; h->by_id && !list_empty(&h->shares); held_free(out))
        out = held_leave(h, held_of(share_of(h->shares.next)->all.next));
    map_free(h->by_id);
    map_free(h->by_tenant);
    pthread_mutex_destroy(&h->lock);
}
