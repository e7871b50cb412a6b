/*
 * name.c: see name.h.
 */
#include "packs/name.h"
#include "codec/json.h"

static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_word(char c) {
    return is_lower(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* A segment of PACK-1: the second has no capitals. */
static bool segment_ok(struct str s, bool capitals) {
    if (s.n == 0 || !is_lower(s.p[0])) return false;
    for (size_t i = 1; i < s.n; i++)
        if (!is_word(s.p[i]) && !(capitals && s.p[i] >= 'A' && s.p[i] <= 'Z')) return false;
    return true;
}

/* Lower-case segments joined by dots, at least three; first is the scope. */
static bool reverse_dns(struct str name, struct str *first) {
    struct str part, rest = name;
    size_t n = 0;
    if (name.n == 0 || name.n > PACK_NAME_MAX) return false;
    for (bool more = true; more; n++) {
        struct str tail = STR_NONE;
        more = str_cut(rest, '.', &part, &tail);
        if (!more) part = rest;
        if (!segment_ok(part, n > 1)) return false;
        if (n == 0) *first = part;
        rest = tail;
    }
    return n >= 3;
}

int pack_name_check(struct str name, enum pack_scope *scope, struct wopr_error *err) {
    static const char *const SCOPES[PACK_SCOPE_NR] = {"core", "vendor", "community", "private"};
    struct str first = STR_NONE;
    if (!reverse_dns(name, &first))
        return wopr_error_at(err, WOPR_E_PACK_NAME, "name",
                             "the name of a pack is SCOPE.OWNER.NAME: segments of lower-case "
                             "letters, digits, '_' and '-', joined by dots");
    for (int i = 0; i < PACK_SCOPE_NR; i++) {
        if (!str_eqc(first, SCOPES[i])) continue;
        if (scope) *scope = (enum pack_scope)i;
        return 0;
    }
    return wopr_error_at(err, WOPR_E_PACK_SCOPE, "name",
                         "the scope of a pack is core, vendor, community or private");
}

bool pack_name_ok(struct str name) { return pack_name_check(name, NULL, NULL) == 0; }

struct str pack_namespace(struct str name) {
    size_t dots = 0, n = 0;
    if (!str_starts(name, STR("vendor.")) && !str_starts(name, STR("private."))) return name;
    while (n < name.n && (name.p[n] != '.' || ++dots < 2)) n++;
    return str_n(name.p, n);
}

/* --- files --- */

static bool part_ok(struct str part) {
    if (part.n == 0 || str_eqc(part, ".") || str_eqc(part, "..")) return false;
    for (size_t i = 0; i < part.n; i++) {
        unsigned char c = (unsigned char)part.p[i];
        /* '\\' and ':' separate on other systems; what controls a terminal is in no name. */
        if (c < 0x20 || c == 0x7F || c == '\\' || c == ':') return false;
    }
    return true;
}

bool pack_file_name(struct str raw, struct str *out) {
    struct str s = raw;
    while (str_starts(s, STR("./"))) s = str_n(s.p + 2, s.n - 2);
    if (str_eqc(s, ".")) s.n = 0;
    if (s.n > 0 && s.p[s.n - 1] == '/') s.n--;
    if (raw.n == 0 || s.n > PACK_FILE_NAME_MAX || !utf8_valid(s)) return false;
    if (s.n == 0) {
        *out = s;
        return raw.p[0] == '.';
    }
    struct str rest = s, part;
    size_t depth = 0;
    for (bool more = true; more;) {
        struct str tail = STR_NONE;
        more = str_cut(rest, '/', &part, &tail);
        if (!part_ok(more ? part : rest) || ++depth > PACK_FILE_DEPTH_MAX) return false;
        rest = tail;
    }
    *out = s;
    return true;
}
