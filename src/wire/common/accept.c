/*
 * accept.c: which form of the event route a client accepts (HTTP-20, SSE-3; RFC 9110 12.5.1).
 */
#include "wire/common/accept.h"

/* The text up to the next separator outside quoted strings; *rest begins after it. */
static struct str part_cut(struct str *rest, char separator) {
    bool quoted = false;
    size_t i = 0;
    for (; i < rest->n; i++) {
        char ch = rest->p[i];
        if (quoted && ch == '\\') i++;
        else if (ch == '"') quoted = !quoted;
        else if (!quoted && ch == separator) break;
    }
    if (i > rest->n) i = rest->n;
    struct str part = str_trim(str_n(rest->p, i));
    size_t used = i < rest->n ? i + 1 : i;
    *rest = str_n(rest->p + used, rest->n - used);
    return part;
}

/* "0", "0." and "0.000" mean: not acceptable. */
static bool weight_is_zero(struct str v) {
    for (size_t i = 0; i < v.n; i++)
        if (v.p[i] != '0' && !(i == 1 && v.p[i] == '.')) return false;
    return v.n > 0;
}

/* The parameters of one media range: q=0 excludes it. */
static bool range_accepted(struct str parameters) {
    while (parameters.n > 0) {
        struct str value = part_cut(&parameters, ';'), name = part_cut(&value, '=');
        if (str_eq_nocase(name, STR("q"))) return !weight_is_zero(value);
    }
    return true;
}

bool wire_accept_json(struct str accept) {
    bool json = false, stream = false;
    while (accept.n > 0) {
        struct str range = part_cut(&accept, ','), type = part_cut(&range, ';');
        if (!range_accepted(range)) continue;
        json = json || str_eq_nocase(type, STR("application/json"));
        stream = stream || str_eq_nocase(type, STR("text/event-stream"));
    }
    return json && !stream;
}
