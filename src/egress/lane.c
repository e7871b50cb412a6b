/*
 * lane.c: turns and bounds of tenants and peers, see lane.h.
 */
#include "egress/lane.h"

#include "base/buf.h"
#include "base/mem.h"

#define SHARE_PARTS   4u /* of what is free, one tenant takes less than a quarter */
#define KEY_BYTES_MAX 4096u

struct use { /* what a tenant or a peer has of the places; freed with its last lane */
    char *name;
    size_t name_n;
    unsigned waiting_nr, taken_nr, lanes_nr;
    size_t waiting;    /* weight */
    struct list turn;  /* of a tenant: in lanes.turns, or by itself */
    struct list lanes; /* of a tenant: those with something waiting, by turns */
};
struct lane {
    struct list turn; /* in party->lanes while something waits */
    struct list waiting;
    unsigned waiting_nr, taken_nr;
    struct use *party, *peer; /* peer NULL: no bound */
    struct str key;           /* in lanes.lanes; owned */
};

int lanes_init(struct lanes *s, unsigned places_max, size_t waiting_max) {
    *s = (struct lanes){.places_max = places_max, .waiting_max = waiting_max};
    list_init(&s->turns);
    s->lanes = map_new();
    s->parties = map_new();
    s->peers = map_new();
    return s->lanes && s->parties && s->peers ? 0 : WOPR_E_NO_MEMORY;
}

void lanes_fini(struct lanes *s) {
    map_free(s->lanes);
    map_free(s->parties);
    map_free(s->peers);
    s->lanes = s->parties = s->peers = NULL;
}

/* --- what a lane belongs to --- */

static void use_end(struct map *of, struct use *u) {
    if (!u || u->lanes_nr > 0) return;
    if (u->name) (void)map_del(of, str_n(u->name, u->name_n));
    mem_free(u->name);
    mem_free(u);
}

static struct use *use_get(struct map *of, struct str name) {
    struct use *u = map_get(of, name);
    if (u || !(u = MEM_NEW(struct use))) return u;
    list_init(&u->turn);
    list_init(&u->lanes);
    u->name = mem_strndup(name.n > 0 ? name.p : "", name.n);
    u->name_n = name.n;
    if (u->name && map_put(of, name, u, NULL) == 0) return u;
    mem_free(u->name);
    mem_free(u);
    return NULL;
}

static struct lane *lane_new(struct lanes *s, struct str tenant, struct str peer, struct str key) {
    struct lane *h = MEM_NEW(struct lane);
    if (!h) return NULL;
    list_init(&h->turn);
    list_init(&h->waiting);
    h->party = use_get(s->parties, tenant);
    h->peer = peer.n > 0 ? use_get(s->peers, peer) : NULL;
    bool ok = h->party && (h->peer || peer.n == 0) && map_put(s->lanes, key, h, NULL) == 0;
    if (!ok) {
        use_end(s->parties, h->party);
        use_end(s->peers, h->peer);
        mem_free(h);
        return NULL;
    }
    h->key = key;
    h->party->lanes_nr++;
    if (h->peer) h->peer->lanes_nr++;
    return h;
}

static struct lane *lane_get(struct lanes *s, struct str tenant, struct str peer) {
    struct str key;
    struct buf b;
    buf_init(&b, KEY_BYTES_MAX);
    buf_adds(&b, tenant);
    buf_addc(&b, '\0');
    buf_adds(&b, peer);
    key.p = buf_failed(&b) ? NULL : buf_take(&b, &key.n);
    buf_fini(&b);
    struct lane *h = key.p ? map_get(s->lanes, key) : NULL;
    if (key.p && !h && (h = lane_new(s, tenant, peer, key)) != NULL) return h;
    mem_free((char *)key.p);
    return h;
}

static void lane_end(struct lanes *s, struct lane *h) {
    if (h->waiting_nr + h->taken_nr > 0) return;
    (void)map_del(s->lanes, h->key);
    h->party->lanes_nr--;
    if (h->peer) h->peer->lanes_nr--;
    use_end(s->parties, h->party);
    use_end(s->peers, h->peer);
    mem_free((char *)h->key.p);
    mem_free(h);
}

/* --- turns --- */

/* Put a tenant at the end of the line if it may begin something, else take it out. */
static void line_up(struct lanes *s, struct use *party) {
    bool may = party->waiting_nr > 0 && party->taken_nr < s->places_max;
    list_del(&party->turn);
    if (may) list_add_tail(&s->turns, &party->turn);
}

/* The same for a lane among those of its tenant. */
static void lane_line_up(struct lane *h) {
    list_del(&h->turn);
    if (h->waiting_nr > 0) list_add_tail(&h->party->lanes, &h->turn);
}

static size_t weight_of(const struct lanes *s, const struct list *item) {
    return s->weight ? s->weight(item) : 1;
}

static void waiting_add(struct lanes *s, struct lane *h, const struct list *item) {
    h->waiting_nr++;
    h->party->waiting_nr++;
    s->waiting_nr++;
    h->party->waiting += weight_of(s, item);
    s->waiting += weight_of(s, item);
}

static void waiting_sub(struct lanes *s, struct lane *h, const struct list *item) {
    h->waiting_nr--;
    h->party->waiting_nr--;
    s->waiting_nr--;
    h->party->waiting -= weight_of(s, item);
    s->waiting -= weight_of(s, item);
}

/* One item may wait whatever it weighs. */
int lane_join(struct lanes *s, struct str tenant, struct str peer, struct list *item,
              struct lane **of) {
    struct lane *h = lane_get(s, tenant, peer);
    if (!h) return WOPR_E_NO_MEMORY;
    if (h->party->waiting_nr > 0 && h->party->waiting + weight_of(s, item) > s->waiting_max) {
        lane_end(s, h);
        return WOPR_E_UNAVAILABLE;
    }
    list_add_tail(&h->waiting, item);
    waiting_add(s, h, item);
    s->stuck = false;
    if (h->waiting_nr == 1) lane_line_up(h);
    if (list_empty(&h->party->turn)) line_up(s, h->party);
    *of = h;
    return 0;
}

static void places_add(struct lanes *s, struct lane *h, int by) {
    h->taken_nr += (unsigned)by;
    h->party->taken_nr += (unsigned)by;
    s->taken_nr += (unsigned)by;
    if (!h->peer || s->peer_max == 0) return;
    bool was = h->peer->taken_nr >= s->peer_max;
    h->peer->taken_nr += (unsigned)by;
    bool is = h->peer->taken_nr >= s->peer_max;
    s->full_nr += is;
    s->full_nr -= was;
}

static struct list *take_from(struct lanes *s, struct lane *h) {
    struct list *item = list_pop(&h->waiting);
    waiting_sub(s, h, item);
    places_add(s, h, 1);
    lane_line_up(h);
    line_up(s, h->party);
    return item;
}

static bool share_left(unsigned max, unsigned all_taken_nr, unsigned taken_nr) {
    unsigned free_nr = max > all_taken_nr ? max - all_taken_nr : 0;
    return max == 0 || (free_nr > 0 && (taken_nr == 0 || taken_nr * SHARE_PARTS < free_nr));
}

static struct lane *lane_ready(const struct lanes *s, const struct use *party) {
    for (struct list *l = party->lanes.next; l != &party->lanes; l = l->next) {
        struct lane *h = LIST_ENTRY(l, struct lane, turn);
        if (!h->peer || share_left(s->peer_max, h->peer->taken_nr, h->taken_nr)) return h;
    }
    return NULL;
}

struct list *lane_take(struct lanes *s) {
    if (s->stuck) return NULL;
    for (struct list *l = s->turns.next; l != &s->turns; l = l->next) {
        struct use *party = LIST_ENTRY(l, struct use, turn);
        struct lane *h =
            share_left(s->all_max, s->taken_nr, party->taken_nr) ? lane_ready(s, party) : NULL;
        if (h) return take_from(s, h);
    }
    s->stuck = true;
    return NULL;
}

struct list *lane_take_any(struct lanes *s) {
    size_t it = 0;
    struct str name;
    void *h;
    while (map_next(s->lanes, &it, &name, &h))
        if (((struct lane *)h)->waiting_nr > 0) return take_from(s, h);
    return NULL;
}

void lane_leave(struct lanes *s, struct lane *h) {
    places_add(s, h, -1);
    s->stuck = false;
    if (list_empty(&h->party->turn)) line_up(s, h->party);
    lane_end(s, h);
}

void lane_quit(struct lanes *s, struct lane *h, struct list *item) {
    list_del(item);
    waiting_sub(s, h, item);
    s->stuck = false;
    if (h->waiting_nr == 0) list_del(&h->turn);
    if (h->party->waiting_nr == 0) list_del(&h->party->turn);
    lane_end(s, h);
}
