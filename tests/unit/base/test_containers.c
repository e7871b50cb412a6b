/*
 * test_containers.c: map, heap, list and embedded files.
 */
#include "base/embed.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct str key_of(char out[16], unsigned i) {
    return (struct str){out, (size_t)snprintf(out, 16, "key-%u", i)};
}

enum { MANY = 20000 };
static unsigned values[MANY];

Test(base_map, keeps_many_keys_through_inserts_and_deletes) {
    struct map *m = map_new();
    char k[16];
    void *old = &old;
    for (unsigned i = 0; i < MANY; i++) {
        cr_assert_eq(map_put(m, key_of(k, i), &values[i], &old), 0);
        cr_assert_null(old);
    }
    cr_assert_eq(map_count(m), MANY);
    for (unsigned i = 0; i < MANY; i += 2) cr_assert_eq(map_del(m, key_of(k, i)), &values[i]);
    for (unsigned i = 0; i < MANY; i++)
        cr_assert_eq(map_get(m, key_of(k, i)), i % 2 ? (void *)&values[i] : NULL, "key %u", i);
    cr_assert_null(map_del(m, key_of(k, 0)));
    for (unsigned i = 0; i < MANY; i += 4) cr_assert_eq(map_put(m, key_of(k, i), k, NULL), 0);
    for (unsigned i = 0; i < MANY; i++) map_del(m, key_of(k, i));
    cr_assert_eq(map_count(m), 0);
    map_free(m);
    map_free(NULL);
}

Test(base_map, replaces_values_and_takes_any_bytes_as_keys) {
    struct map *m = map_new();
    int x, y;
    void *old = NULL;
    cr_assert_eq(map_put(m, STR("a\0b"), &x, NULL), 0);
    cr_assert_null(map_get(m, STR("a")));
    cr_assert_eq(map_put(m, STR("a\0b"), &y, &old), 0);
    cr_assert_eq(old, &x);
    cr_assert_eq(map_put(m, STR_NONE, &x, NULL), 0);
    cr_assert_eq(map_get(m, STR("")), &x);
    cr_assert_eq(map_count(m), 2);
    map_free(m);
}

Test(base_map, iteration_meets_every_member_once) {
    struct map *m = map_new();
    static unsigned char seen[500];
    char k[16];
    for (unsigned i = 0; i < 500; i++) cr_assert_eq(map_put(m, key_of(k, i), &seen[i], NULL), 0);
    struct str key;
    void *v;
    unsigned n = 0;
    for (size_t it = 0; map_next(m, &it, &key, &v); n++) {
        cr_assert(str_starts(key, STR("key-")));
        cr_assert_eq((*(unsigned char *)v)++, 0);
    }
    cr_assert_eq(n, 500);
    map_free(m);
}

Test(base_heap, nodes_leave_by_key_then_by_insertion) {
    enum { N = 3000 };
    static struct heap_node v[N];
    struct heap h;
    uint64_t r = 12345;
    heap_init(&h);
    cr_assert_null(heap_pop(&h));
    for (size_t i = 0; i < N; i++) {
        r = r * 6364136223846793005u + 1442695040888963407u;
        cr_assert_eq(heap_add(&h, &v[i], (int64_t)(r >> 56) - 100), 0);
    }
    for (size_t i = 0; i < N; i += 3) {
        heap_remove(&h, &v[i]);
        cr_assert_eq(v[i].pos, 0);
    }
    const struct heap_node *before = NULL;
    size_t n = 0;
    for (struct heap_node *x; (x = heap_min(&h)) != NULL; before = x, n++) {
        cr_assert_eq(heap_pop(&h), x);
        if (before)
            cr_assert(before->key < x->key || (before->key == x->key && before->order < x->order));
    }
    cr_assert_eq(n, N - N / 3);
    heap_fini(&h);
}

struct item {
    int v;
    struct list link;
};

Test(base_list, is_a_queue_with_removal) {
    struct list head;
    struct item a = {.v = 1}, b = {.v = 2}, c = {.v = 3};
    list_init(&head);
    cr_assert_null(list_pop(&head));
    list_add_tail(&head, &a.link);
    list_add_tail(&head, &b.link);
    list_add_tail(&head, &c.link);
    list_del(&b.link);
    cr_assert(list_empty(&b.link));
    cr_assert_eq(LIST_ENTRY(list_pop(&head), struct item, link)->v, 1);
    cr_assert_eq(LIST_ENTRY(list_pop(&head), struct item, link)->v, 3);
    cr_assert(list_empty(&head));
}

Test(base_embed, finds_files_by_name) {
    const struct embed_file *f = embed_find("api/schemas/run-event.schema.json");
    cr_assert_not_null(f);
    cr_assert_eq(embed_text(f).n, f->size);
    cr_assert_eq(f->data[f->size], '\0');
    cr_assert_eq(f->data[0], '{');
    cr_assert_null(embed_find("api/schemas/none.json"));
    for (f = EMBED_FILES; f->name && f[1].name; f++) cr_assert_lt(strcmp(f->name, f[1].name), 0);
}
