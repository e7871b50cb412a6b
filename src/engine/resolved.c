/* resolved.c: see resolved.h. */
#include "engine/resolved.h"

#include "base/mem.h"

#include <string.h>

static bool is_known(const struct resolved_list *l, struct str name, struct str value) {
    for (const struct resolved *r = l->first; r; r = r->next)
        if (str_eq(str_n(r->text, r->name_n), name) &&
            str_eq(str_n(r->text + r->name_n, r->n), value))
            return true;
    return false;
}

void resolved_note(struct resolved_list *l, struct str name, struct str value) {
    if (value.n == 0 || is_known(l, name, value)) return;
    struct resolved *r = l->nr < RESOLVED_MAX ? mem_alloc(sizeof *r + name.n + value.n) : NULL;
    if (!r) {
        l->lost = true;
        return;
    }
    *r = (struct resolved){.next = l->first, .name_n = name.n, .n = value.n};
    if (name.n > 0) memcpy(r->text, name.p, name.n);
    memcpy(r->text + name.n, value.p, value.n);
    l->first = r;
    l->nr++;
}

void resolved_free(struct resolved_list *l) {
    while (l->first) {
        struct resolved *r = l->first;
        l->first = r->next;
        mem_wipe(r->text, r->name_n + r->n);
        mem_free(r);
    }
    *l = (struct resolved_list){0};
}
