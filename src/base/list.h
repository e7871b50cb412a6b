/*
 * list.h: intrusive doubly linked list.  Layer: base.
 */
#ifndef WOPR_BASE_LIST_H
#define WOPR_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *prev;
};
#define LIST_ENTRY(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
static inline void list_init(struct list *l) { l->next = l->prev = l; }
static inline bool list_empty(const struct list *l) { return l->next == l; }
static inline void list_add_tail(struct list *head, struct list *n) {
    n->prev = head->prev;
    n->next = head;
    head->prev->next = n;
    head->prev = n;
}
static inline void list_del(struct list *n) { /* n is a fresh, empty list after */
    n->prev->next = n->next;
    n->next->prev = n->prev;
    n->next = n->prev = n;
}
/* Move all of from to the end of head; from is empty after. */
static inline void list_join(struct list *head, struct list *from) {
    if (list_empty(from)) return;
    from->next->prev = head->prev;
    head->prev->next = from->next;
    from->prev->next = head;
    head->prev = from->prev;
    list_init(from);
}
static inline struct list *list_pop(struct list *head) { /* NULL when empty */
    if (list_empty(head)) return NULL;
    struct list *n = head->next;
    list_del(n);
    return n;
}

#endif
