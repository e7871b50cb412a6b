/*
 * lane.c: turns and bounds of tenants, see lane.h.
 */
#include "egress/lane.h"

#include "base/mem.h"

struct lane {
    struct list turn; /* in lanes.turns, or by itself */
    struct list waiting;
    unsigned waiting_nr, taken_nr;
    char *tenant;
    size_t tenant_n;
};

int lanes_init(struct lanes *s, unsigned places_max, unsigned waiting_max) {
    *s = (struct lanes){.places_max = places_max, .waiting_max = waiting_max};
    list_init(&s->turns);
    s->tenants = map_new();
    return s->tenants ? 0 : WOPR_E_NO_MEMORY;
}

void lanes_fini(struct lanes *s) {
    map_free(s->tenants);
    s->tenants = NULL;
}

static struct lane *lane_new(struct lanes *s, struct str tenant) {
    struct lane *h = MEM_NEW(struct lane);
    if (!h) return NULL;
    list_init(&h->turn);
    list_init(&h->waiting);
    h->tenant = mem_strndup(tenant.n > 0 ? tenant.p : "", tenant.n);
    h->tenant_n = tenant.n;
    if (h->tenant && map_put(s->tenants, tenant, h, NULL) == 0) return h;
    mem_free(h->tenant);
    mem_free(h);
    return NULL;
}

static void lane_end(struct lanes *s, struct lane *h) {
    if (h->waiting_nr + h->taken_nr > 0) return;
    (void)map_del(s->tenants, str_n(h->tenant, h->tenant_n));
    mem_free(h->tenant);
    mem_free(h);
}

/* Put the lane at the end of the line if it may begin something, else take it out. */
static void line_up(struct lanes *s, struct lane *h) {
    bool may = h->waiting_nr > 0 && h->taken_nr < s->places_max;
    list_del(&h->turn);
    if (may) list_add_tail(&s->turns, &h->turn);
}

int lane_join(struct lanes *s, struct str tenant, struct list *item, struct lane **of) {
    struct lane *h = map_get(s->tenants, tenant);
    if (!h) h = lane_new(s, tenant);
    if (!h) return WOPR_E_NO_MEMORY;
    if (h->waiting_nr >= s->waiting_max) return WOPR_E_UNAVAILABLE;
    list_add_tail(&h->waiting, item);
    h->waiting_nr++;
    s->waiting_nr++;
    if (list_empty(&h->turn)) line_up(s, h);
    *of = h;
    return 0;
}

static struct list *take_from(struct lanes *s, struct lane *h) {
    struct list *item = list_pop(&h->waiting);
    h->waiting_nr--;
    h->taken_nr++;
    s->taken_nr++;
    s->waiting_nr--;
    line_up(s, h);
    return item;
}

static bool share_left(const struct lanes *s, const struct lane *h) {
    unsigned free_nr = s->all_max > s->taken_nr ? s->all_max - s->taken_nr : 0;
    return s->all_max == 0 || (free_nr > 0 && (h->taken_nr == 0 || h->taken_nr * 4 < free_nr));
}

struct list *lane_take(struct lanes *s) {
    for (struct list *l = s->turns.next; l != &s->turns; l = l->next) {
        struct lane *h = LIST_ENTRY(l, struct lane, turn);
        if (share_left(s, h)) return take_from(s, h);
    }
    return NULL;
}

struct list *lane_take_any(struct lanes *s) {
    size_t it = 0;
    struct str name;
    void *h;
    while (map_next(s->tenants, &it, &name, &h))
        if (((struct lane *)h)->waiting_nr > 0) return take_from(s, h);
    return NULL;
}

void lane_leave(struct lanes *s, struct lane *h) {
    h->taken_nr--;
    s->taken_nr--;
    if (list_empty(&h->turn)) line_up(s, h);
    lane_end(s, h);
}

void lane_quit(struct lanes *s, struct lane *h, struct list *item) {
    list_del(item);
    h->waiting_nr--;
    s->waiting_nr--;
    if (h->waiting_nr == 0) list_del(&h->turn);
    lane_end(s, h);
}
