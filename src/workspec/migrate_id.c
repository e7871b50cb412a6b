/* migrate_id.c: ids of version 2.0 out of any text (WS-127). */
#include "base/vec.h"
#include "workspec/migrate_int.h"
#include "workspec/validate.h"

enum { ID_MAX = 250, MAP_FIRST = 32, CHARACTER_MAX = 4 };

void list_add(struct migration *m, struct list *l, const struct ws_value *v) {
    if (v == NULL || VEC_ROOM_IN(m->a, l->v, l->nr, l->cap, 16) != 0) m->failed = true;
    else l->v[l->nr++] = v;
}

const struct ws_value *list_value(struct migration *m, const struct list *l) {
    const struct ws_value *v = ws_array_new(m->a, l->v, l->nr);
    if (v == NULL) m->failed = true;
    return v;
}

/* --- characters --- */

/* One of the text; the text is UTF-8. */
static uint32_t character_take(struct str *s) {
    const unsigned char *p = (const unsigned char *)s->p;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    uint32_t c = n == 1 ? p[0] : p[0] & (0xFFu >> (n + 1));
    if (n > s->n) n = s->n;
    for (size_t i = 1; i < n; i++) c = c << 6 | (p[i] & 0x3F);
    *s = str_n(s->p + n, s->n - n);
    return c;
}

static bool is_emoji(uint32_t c) {
    return (c >= 0x1F000 && c <= 0x1FAFF) || (c >= 0x2600 && c <= 0x27BF) ||
           (c >= 0x2B00 && c <= 0x2BFF) || (c >= 0x2300 && c <= 0x23FF);
}

/* Joiners and selectors of emoji, combining marks, apostrophes: nothing stays of them. */
static bool is_dropped(uint32_t c) {
    return c == 0x200D || (c >= 0xFE00 && c <= 0xFE0F) || (c >= 0x300 && c <= 0x36F) ||
           (c >= 0x20D0 && c <= 0x20FF) || c == '\'' || c == 0x2018 || c == 0x2019;
}

/* The letters that Latin letters with marks are made of, U+00C0 to U+017F; a blank: none. */
static const char *latin_base(uint32_t c) {
    static const char BASE[] = "aaaaaa ceeeeiiii nooooo  uuuuy  aaaaaa ceeeeiiii nooooo  uuuuy y"
                               "aaaaaaccccccccdd  eeeeeeeeeegggggggghh  iiiiiiiii   jjkk llllll "
                               "   nnnnnn   oooooo  rrrrrrsssssssstttt  uuuuuuuuuuuuwwyyyzzzzzzs";
    if (c < 0xC0 || c - 0xC0 >= sizeof BASE - 1) return NULL;
    return BASE[c - 0xC0] == ' ' ? NULL : &BASE[c - 0xC0];
}

struct str emoji_last(struct str s) {
    struct str last = STR("");
    while (s.n > 0) {
        const char *from = s.p;
        if (is_emoji(character_take(&s))) last = str_n(from, (size_t)(s.p - from));
    }
    return last;
}

/* --- ids --- */

static bool id_letter(uint32_t c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/* Lower-case letters, digits and single underscores of a text, none of these at the ends. */
static void slug_put(struct buf *b, struct str s) {
    size_t from = b->len;
    while (s.n > 0) {
        uint32_t c = character_take(&s);
        const char *base = latin_base(c);
        if (base != NULL) c = (unsigned char)*base;
        if (c >= 'A' && c <= 'Z') c = c - 'A' + 'a';
        if (is_dropped(c) || is_emoji(c)) continue;
        if (id_letter(c)) buf_addc(b, (char)c);
        else if (b->len > from && b->p[b->len - 1] != '_') buf_addc(b, '_');
    }
    while (b->len > from && b->p[b->len - 1] == '_') b->p[--b->len] = '\0';
}

/* number: of an id of which nothing stays. */
static void half_put(struct buf *b, struct str s, const char *kind, size_t number) {
    struct buf half;
    buf_init(&half, SIZE_MAX / 2);
    slug_put(&half, s);
    if (half.len == 0) buf_addf(b, "%s_%zu", kind, number);
    else if (half.p[0] < 'a') buf_addf(b, "%s_", kind);
    buf_adds(b, buf_str(&half));
    if (buf_failed(&half)) b->failed = true;
    buf_fini(&half);
}

/* taken has each id with the number that its next namesake gets. */
static struct str id_free(struct migration *m, struct id_map *map, struct str id) {
    struct str trial = id;
    uint32_t next;
    if (!ws_names_get(&map->taken, 0, id, &next)) return id;
    while (trial.p != NULL && ws_names_has(&map->taken, trial)) {
        size_t head = id.n < ID_MAX - 11 ? id.n : ID_MAX - 11;
        trial = arena_printf(m->a, "%.*s_%u", (int)head, id.p, next++);
    }
    if (!ws_names_put(&map->taken, 0, id, next)) m->failed = true;
    return trial;
}

static bool id_good(struct str s, bool spaced) {
    struct str space;
    return ws_plain_id(s) || (spaced && ws_object_id(s, &space));
}

struct str id_add(struct migration *m, struct id_map *map, struct str old, const char *kind,
                  bool spaced) {
    struct str head, tail;
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    if (id_good(old, spaced)) {
        buf_adds(&b, old);
    } else if (spaced && str_cut(old, ':', &head, &tail)) {
        half_put(&b, head, kind, map->nr + 1);
        buf_addc(&b, ':');
        half_put(&b, tail, kind, map->nr + 1);
    } else {
        half_put(&b, old, kind, map->nr + 1);
    }
    struct str made = buf_str(&b);
    if (made.n > ID_MAX) made.n = ID_MAX;
    struct str id = buf_failed(&b) ? STR_NONE : arena_str(m->a, made);
    buf_fini(&b);
    if (made.n == ID_MAX && id.p != NULL && id.p[id.n - 1] == '_') id.n--;
    if (id.p != NULL) id = id_free(m, map, id);
    if (id.p == NULL || VEC_ROOM_IN(m->a, map->v, map->nr, map->cap, MAP_FIRST) != 0 ||
        !ws_names_put(&map->taken, 0, id, 2) ||
        (!ws_names_has(&map->names, old) &&
         !ws_names_put(&map->names, 0, old, (uint32_t)map->nr))) {
        m->failed = true;
        return STR("");
    }
    map->v[map->nr++] = id;
    return id;
}

struct str id_mapped_text(const struct id_map *map, struct str old) {
    uint32_t at;
    return ws_names_get(&map->names, 0, old, &at) ? map->v[at] : old;
}

const struct ws_value *id_mapped(struct migration *m, const struct id_map *map,
                                 const struct ws_value *old) {
    if (!ws_is(old, WS_STRING)) return old;
    struct str id = id_mapped_text(map, ws_raw(old));
    if (id.p == old->text) return old;
    const struct ws_value *v = ws_text(m->a, id);
    if (v == NULL) m->failed = true;
    return v;
}

const struct ws_value *time_padded(struct migration *m, const struct ws_value *v) {
    struct str s = ws_str(v);
    bool short_hour = s.n >= 4 && s.p[0] >= '0' && s.p[0] <= '9' && s.p[1] == ':';
    if (!short_hour) return v;
    struct str padded = arena_printf(m->a, "0" STR_FMT, STR_ARG(s));
    const struct ws_value *out = padded.p == NULL ? NULL : ws_text(m->a, padded);
    if (out == NULL) m->failed = true;
    return out;
}
