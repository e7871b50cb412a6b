/* migrate_int.h: what the parts of the conversion share.  Layer: workspec, private to
 * migrate*.c. */
#ifndef WOPR_WORKSPEC_MIGRATE_INT_H
#define WOPR_WORKSPEC_MIGRATE_INT_H

#include "workspec/migrate.h"

struct id_map { /* old ids to new ones */
    struct ws_names names, taken;
    struct str *v;
    size_t nr, cap;
};
struct list {
    const struct ws_value **v;
    size_t nr, cap;
};
struct migration {
    struct arena *a;
    const struct ws_value *sim, *definitions;
    struct id_map objects, locations, tasks;
    bool failed; /* out of memory */
};

/* An object that is being made; members are added, replaced, or (NULL) left out. */
static inline void member_set(struct migration *m, const struct ws_value **object, const char *name,
                              const struct ws_value *value) {
    if (value == NULL && ws_get(*object, name) == NULL) return;
    const struct ws_value *v = ws_with(m->a, *object, str_c(name), value);
    if (v == NULL) m->failed = true;
    else *object = v;
}
static inline const struct ws_value *first_of(const struct ws_value *a, const struct ws_value *b) {
    return a != NULL ? a : b;
}
void list_add(struct migration *m, struct list *l, const struct ws_value *v);
const struct ws_value *list_value(struct migration *m, const struct list *l);

/* --- migrate_id.c --- */
/* A new id for an old one, noted in the map (WS-127).  kind: what it begins with when it would
 * begin
 * with no letter; spaced: it may have a namespace. */
struct str id_add(struct migration *m, struct id_map *map, struct str old, const char *kind,
                  bool spaced);
/* What became of an id: itself when it is not known. */
const struct ws_value *id_mapped(struct migration *m, const struct id_map *map,
                                 const struct ws_value *old);
struct str id_mapped_text(const struct id_map *map, struct str old);
/* The last emoji of a text, empty without one. */
struct str emoji_last(struct str s);
/* "9:00" as "09:00"; all else as it is. */
const struct ws_value *time_padded(struct migration *m, const struct ws_value *v);

/* --- migrate_task.c --- */
const struct ws_value *task_migrated(struct migration *m, const struct ws_value *task);
const struct ws_value *object_migrated(struct migration *m, const struct ws_value *object,
                                       struct str id);
/* --- migrate_object.c --- */
void objects_migrate(struct migration *m, const struct ws_value *old, struct list *out);
const struct ws_value *layout_migrated(struct migration *m, const struct ws_value *layout);

#endif
