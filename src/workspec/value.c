/* value.c: reading, comparing and writing values; see value.h. */
#include "workspec/value.h"
#include "base/clock.h"
#include "codec/json.h"

#include <stdatomic.h>

/* --- names --- */

struct ws_name_slot {
    uint64_t hash;
    struct str name;
    uint32_t owner, value;
    bool used;
};

enum { NAMES_FIRST = 16 };

/* One seed for the process: asking for a new one costs more than a small table does. */
static uint64_t names_seed(void) {
    static atomic_uint_fast64_t seed;
    uint_fast64_t expected = 0, s = atomic_load_explicit(&seed, memory_order_relaxed);
    if (s != 0) return s;
    uint64_t fresh = rng_u64() | 1;
    return atomic_compare_exchange_strong(&seed, &expected, fresh) ? fresh : expected;
}

void ws_names_init(struct ws_names *n, struct arena *a) {
    *n = (struct ws_names){.a = a, .seed = names_seed()};
}

static uint64_t name_hash(const struct ws_names *n, uint32_t owner, struct str name) {
    return str_hash(name, n->seed ^ (owner * 0x9E3779B97F4A7C15u));
}

static struct ws_name_slot *slot_find(const struct ws_names *n, uint64_t hash, uint32_t owner,
                                      struct str name) {
    size_t i = (size_t)hash & (n->cap - 1);
    while (n->slots[i].used && !(n->slots[i].hash == hash && n->slots[i].owner == owner &&
                                 str_eq(n->slots[i].name, name)))
        i = (i + 1) & (n->cap - 1);
    return &n->slots[i];
}

bool ws_names_get(const struct ws_names *n, uint32_t owner, struct str name, uint32_t *value) {
    if (n->nr == 0) return false;
    const struct ws_name_slot *s = slot_find(n, name_hash(n, owner, name), owner, name);
    if (s->used) *value = s->value;
    return s->used;
}

static bool names_grow(struct ws_names *n) {
    struct ws_names wider = *n;
    wider.cap = n->cap == 0 ? NAMES_FIRST : n->cap * 2;
    wider.slots = ARENA_ARRAY(n->a, struct ws_name_slot, wider.cap);
    if (wider.slots == NULL) return false;
    for (size_t i = 0; i < n->cap; i++) {
        const struct ws_name_slot *s = &n->slots[i];
        if (s->used) *slot_find(&wider, s->hash, s->owner, s->name) = *s;
    }
    *n = wider;
    return true;
}

bool ws_names_put(struct ws_names *n, uint32_t owner, struct str name, uint32_t value) {
    if (n->nr * 2 >= n->cap && !names_grow(n)) return false;
    uint64_t hash = name_hash(n, owner, name);
    struct ws_name_slot *s = slot_find(n, hash, owner, name);
    n->nr += !s->used;
    *s = (struct ws_name_slot){hash, name, owner, value, true};
    return true;
}

/* --- white space, WS-8 --- */

/* Bytes of the white space character at p, 0 when there is none. */
static size_t space_at(const unsigned char *p, size_t n) {
    if (n >= 1 && ((p[0] >= 9 && p[0] <= 13) || p[0] == ' ')) return 1;
    if (n >= 2 && p[0] == 0xC2 && p[1] == 0xA0) return 2; /* 00A0 */
    if (n < 3) return 0;
    uint32_t c = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
    bool space = c == 0xE19A80 ||                    /* 1680 */
                 (c >= 0xE28080 && c <= 0xE2808A) || /* 2000-200A */
                 c == 0xE280A8 || c == 0xE280A9 ||   /* 2028, 2029 */
                 c == 0xE280AF || c == 0xE2819F ||   /* 202F, 205F */
                 c == 0xE38080 || c == 0xEFBBBF;     /* 3000, FEFF */
    return space ? 3 : 0;
}

struct str ws_trim(struct str s) {
    const unsigned char *p = (const unsigned char *)s.p;
    size_t n;
    while (s.n > 0 && (n = space_at(p, s.n)) > 0) p += n, s.n -= n;
    for (;;) {
        size_t back = s.n >= 3 && space_at(p + s.n - 3, 3) == 3   ? 3
                      : s.n >= 2 && space_at(p + s.n - 2, 2) == 2 ? 2
                      : s.n >= 1 && space_at(p + s.n - 1, 1) == 1 ? 1
                                                                  : 0;
        if (back == 0) break;
        s.n -= back;
    }
    return str_n((const char *)p, s.n);
}

/* --- reading --- */

/* Most names differ in length or in their first byte, which costs no call. */
static inline bool name_same(struct str a, struct str b) {
    return a.n == b.n && (a.n == 0 || (a.p[0] == b.p[0] && memcmp(a.p + 1, b.p + 1, a.n - 1) == 0));
}

const struct ws_value *ws_get_str(const struct ws_value *v, struct str name) {
    uint32_t at;
    if (!ws_is(v, WS_OBJECT)) return NULL;
    if (v->index != NULL) return ws_names_get(v->index, 0, name, &at) ? v->members[at].value : NULL;
    for (size_t i = 0; i < v->nr; i++)
        if (name_same(v->members[i].name, name)) return v->members[i].value;
    return NULL;
}

const struct ws_value *ws_object_of(const struct ws_value *v) {
    return ws_is(v, WS_OBJECT) ? v : NULL;
}

const struct ws_value *ws_array_of(const struct ws_value *v) {
    return ws_is(v, WS_ARRAY) ? v : NULL;
}

struct str ws_raw(const struct ws_value *v) {
    return ws_is(v, WS_STRING) ? str_n(v->text, v->nr) : STR("");
}

struct str ws_str(const struct ws_value *v) {
    return ws_trim(ws_raw(v));
}

bool ws_blank(const struct ws_value *v) { return ws_str(v).n == 0; }

const char *ws_typeof(const struct ws_value *v) {
    static const char *const NAMES[] = {"object", "boolean", "number",
                                        "string", "object",  "object"};
    return v == NULL ? "undefined" : NAMES[v->kind];
}

const char *ws_kind_name(const struct ws_value *v) {
    static const char *const NAMES[] = {"null", "boolean", "number", "string", "array", "object"};
    return v == NULL ? "absent" : NAMES[v->kind];
}

bool ws_equal_counted(const struct ws_value *a, const struct ws_value *b, uint64_t *work) {
    *work += 1;
    if (a == b) return true;
    if (a == NULL || b == NULL || a->kind != b->kind) return false;
    switch ((enum ws_kind)a->kind) {
    case WS_NULL:
        return true;
    case WS_BOOL:
        return a->truth == b->truth;
    case WS_NUMBER:
        return a->number == b->number;
    case WS_STRING:
        *work += a->nr / 64;
        return str_eq(ws_raw(a), ws_raw(b));
    case WS_ARRAY:
        if (a->nr != b->nr) return false;
        for (size_t i = 0; i < a->nr; i++)
            if (!ws_equal_counted(a->elements[i], b->elements[i], work)) return false;
        return true;
    case WS_OBJECT:
        break;
    }
    if (a->nr != b->nr) return false;
    for (size_t i = 0; i < a->nr; i++) {
        const struct ws_value *other = ws_get_str(b, a->members[i].name);
        if (other == NULL || !ws_equal_counted(a->members[i].value, other, work)) return false;
    }
    return true;
}

bool ws_equal(const struct ws_value *a, const struct ws_value *b) {
    uint64_t work = 0;
    return ws_equal_counted(a, b, &work);
}

/* --- writing --- */

static void line_begin(struct buf *b, unsigned indent, unsigned depth) {
    if (indent == 0) return;
    buf_addc(b, '\n');
    for (unsigned i = 0; i < indent * depth; i++) buf_addc(b, ' ');
}

static void value_put(struct buf *b, const struct ws_value *v, unsigned indent, unsigned depth);

static void container_put(struct buf *b, const struct ws_value *v, unsigned indent,
                          unsigned depth) {
    bool object = v->kind == WS_OBJECT;
    buf_addc(b, object ? '{' : '[');
    for (size_t i = 0; i < v->nr && !buf_failed(b); i++) { /* nobody reads the rest */
        if (i > 0) buf_addc(b, ',');
        line_begin(b, indent, depth + 1);
        if (object) {
            json_quote(b, v->members[i].name);
            buf_addz(b, indent > 0 ? ": " : ":");
        }
        value_put(b, object ? v->members[i].value : v->elements[i], indent, depth + 1);
    }
    if (v->nr > 0) line_begin(b, indent, depth);
    buf_addc(b, object ? '}' : ']');
}

static void value_put(struct buf *b, const struct ws_value *v, unsigned indent, unsigned depth) {
    char number[32];
    switch (v == NULL ? WS_NULL : (enum ws_kind)v->kind) {
    case WS_NULL:
        buf_addz(b, "null");
        return;
    case WS_BOOL:
        buf_addz(b, v->truth ? "true" : "false");
        return;
    case WS_NUMBER:
        buf_add(b, number, json_number_format(v->number, number));
        return;
    case WS_STRING:
        json_quote(b, ws_raw(v));
        return;
    case WS_ARRAY:
    case WS_OBJECT:
        container_put(b, v, indent, depth);
        return;
    }
}

void ws_write(struct buf *b, const struct ws_value *v, unsigned indent) {
    value_put(b, v, indent, 0);
}

struct str ws_written(struct arena *a, const struct ws_value *v) {
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    ws_write(&b, v, 0);
    struct str out = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    return out;
}

/* --- making --- */

struct ws_value *ws_new(struct arena *a, enum ws_kind kind) {
    struct ws_value *v = ARENA_NEW(a, struct ws_value);
    if (v != NULL) v->kind = (uint8_t)kind;
    return v;
}

const struct ws_value *ws_number(struct arena *a, double n) {
    struct ws_value *v = ws_new(a, WS_NUMBER);
    if (v != NULL) v->number = n == 0 ? 0 : n;
    return v;
}

const struct ws_value *ws_text(struct arena *a, struct str s) {
    struct ws_value *v = ws_new(a, WS_STRING);
    if (v == NULL) return NULL;
    v->text = s.p;
    v->nr = (uint32_t)s.n;
    return v;
}

const struct ws_value *ws_textz(struct arena *a, const char *z) { return ws_text(a, str_c(z)); }

bool ws_object_index(struct arena *a, struct ws_value *v) {
    if (v->nr < WS_INDEXED_FROM) return true;
    struct ws_names *n = ARENA_NEW(a, struct ws_names);
    if (n == NULL) return false;
    ws_names_init(n, a);
    for (uint32_t i = 0; i < v->nr; i++)
        if (!ws_names_put(n, 0, v->members[i].name, i)) return false;
    v->index = n;
    return true;
}

const struct ws_value *ws_object_new(struct arena *a, struct ws_member *members, size_t nr) {
    struct ws_value *v = ws_new(a, WS_OBJECT);
    if (v == NULL) return NULL;
    v->members = members;
    v->nr = (uint32_t)nr;
    return ws_object_index(a, v) ? v : NULL;
}

const struct ws_value *ws_array_new(struct arena *a, const struct ws_value **elements, size_t nr) {
    struct ws_value *v = ws_new(a, WS_ARRAY);
    if (v == NULL) return NULL;
    v->elements = elements;
    v->nr = (uint32_t)nr;
    return v;
}

const struct ws_value *ws_with(struct arena *a, const struct ws_value *object, struct str name,
                               const struct ws_value *value) {
    size_t was = object == NULL ? 0 : object->nr, n = 0;
    struct ws_member *members = ARENA_ARRAY(a, struct ws_member, was + 1);
    bool found = false;
    if (members == NULL) return NULL;
    for (size_t i = 0; i < was; i++) {
        struct ws_member m = object->members[i];
        if (str_eq(m.name, name)) {
            found = true;
            m.value = value;
        }
        if (m.value != NULL) members[n++] = m;
    }
    if (!found && value != NULL) members[n++] = (struct ws_member){name, value};
    return ws_object_new(a, members, n);
}

const struct ws_value *ws_appended(struct arena *a, const struct ws_value *array,
                                   const struct ws_value *value) {
    uint32_t n = array == NULL ? 0 : array->nr;
    struct ws_value *v = ws_new(a, WS_ARRAY);
    if (v == NULL) return NULL;
    v->nr = n + 1;
    if (array != NULL && array->room != NULL && array->room->used == n &&
        n < array->room->cap) { /* the last to have grown: the next place is free */
        v->elements = array->elements;
        v->room = array->room;
    } else {
        v->room = ARENA_NEW(a, struct ws_room);
        if (v->room == NULL) return NULL;
        v->room->cap = n < 4 ? 8 : n * 2;
        v->elements = arena_array(a, v->room->cap, sizeof *v->elements);
        if (v->elements == NULL) return NULL;
        if (n > 0) memcpy(v->elements, array->elements, n * sizeof *v->elements);
    }
    v->elements[n] = value;
    v->room->used = n + 1;
    return v;
}

/* --- pointers --- */

struct str ws_token(struct arena *a, struct str name) {
    size_t more = 0;
    for (size_t i = 0; i < name.n; i++) more += name.p[i] == '~' || name.p[i] == '/';
    if (more == 0) return name;
    char *out = arena_alloc(a, name.n + more + 1);
    if (out == NULL) return STR("");
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        bool special = name.p[i] == '~' || name.p[i] == '/';
        out[n++] = special ? '~' : name.p[i];
        if (special) out[n++] = name.p[i] == '~' ? '0' : '1';
    }
    return str_n(out, n);
}
