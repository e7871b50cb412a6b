/* types.c: ids, types and their traits (1.2, 1.7, 1.8); see validate.h. */
#include "workspec/validate.h"

static bool types_lower(char c) { return c >= 'a' && c <= 'z'; }

static bool id_part(struct str s) {
    if (s.n == 0 || !types_lower(s.p[0])) return false;
    for (size_t i = 1; i < s.n; i++)
        if (!types_lower(s.p[i]) && !(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != '_')
            return false;
    return true;
}

enum { ID_MAX = 250 };

bool ws_plain_id(struct str s) { return s.n <= ID_MAX && id_part(s); }

bool ws_object_id(struct str s, struct str *space) {
    struct str head, tail;
    *space = STR("");
    if (s.n > ID_MAX) return false;
    if (!str_cut(s, ':', &head, &tail)) return id_part(s);
    *space = head;
    return id_part(head) && id_part(tail);
}

enum ws_base ws_base_builtin(struct str type) {
    static const char *const NAMES[] = {"",        "actor",          "equipment",
                                        "service", "resource",       "product",
                                        "display", "screen_element", "digital_object"};
    for (size_t i = 1; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_eqc(type, NAMES[i])) return (enum ws_base)i;
    return WS_NO_BASE;
}

enum ws_base ws_base_of(const struct ws_value *definitions, struct str type) {
    size_t steps = ws_is(definitions, WS_OBJECT) ? definitions->nr + 1 : 1;
    for (size_t i = 0; i <= steps; i++) { /* more steps than definitions: it repeats */
        enum ws_base b = ws_base_builtin(type);
        if (b != WS_NO_BASE || type.n == 0) return b;
        const struct ws_value *d = ws_get_str(definitions, type);
        if (!ws_is(d, WS_OBJECT)) return WS_NO_BASE;
        type = ws_str(ws_get(d, "extends"));
    }
    return WS_NO_BASE;
}

void ws_bases_init(struct ws_bases *m, const struct ws_value *definitions, struct arena *a) {
    m->definitions = ws_is(definitions, WS_OBJECT) ? definitions : NULL;
    ws_names_init(&m->known, a);
}

static struct str base_next(const struct ws_bases *m, struct str type) {
    return ws_str(ws_get(ws_object_of(ws_get_str(m->definitions, type)), "extends"));
}

bool ws_bases_get(struct ws_bases *m, struct str type, enum ws_base *out) {
    uint32_t known;
    struct str first = type;
    size_t steps = 0, most = m->definitions != NULL ? m->definitions->nr : 0;
    for (; steps <= most && type.n > 0; steps++, type = base_next(m, type)) {
        *out = ws_base_builtin(type);
        if (*out != WS_NO_BASE) break;
        if (ws_names_get(&m->known, 0, type, &known)) {
            *out = (enum ws_base)known;
            break;
        }
    }
    if (type.n == 0 || steps > most) *out = WS_NO_BASE;
    bool noted = true;
    for (type = first; steps > 0; steps--, type = base_next(m, type))
        noted = ws_names_put(&m->known, 0, type, *out) && noted;
    return noted;
}

bool ws_performs(enum ws_base b) { return b >= WS_ACTOR && b <= WS_SERVICE; }

bool ws_quantifiable(enum ws_base b) {
    return b == WS_RESOURCE || b == WS_PRODUCT || b == WS_DIGITAL_OBJECT;
}

bool ws_stateful(enum ws_base b) { return ws_performs(b) || b >= WS_DISPLAY; }
