/*
 * accept.c: which form of the event route a client accepts (HTTP-20, SSE-3; RFC 9110 12.5.1).
 */
#include "wire/v1/wire_int.h"

/* Up to the next separator outside of quoted strings; *rest moves behind it. */
static struct str next_part(struct str *rest, char separator) {
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

/* "0", "0." and "0.000" mean never. */
static bool weight_is_zero(struct str v) {
    for (size_t i = 0; i < v.n; i++)
        if (v.p[i] != '0' && !(i == 1 && v.p[i] == '.')) return false;
    return v.n > 0;
}

/* The parameters of one media range: q=0 takes it back. */
static bool wanted(struct str parameters) {
    while (parameters.n > 0) {
        struct str value = next_part(&parameters, ';'), name = next_part(&value, '=');
        if (str_eq_nocase(name, STR("q"))) return !weight_is_zero(value);
    }
    return true;
}

bool v1_accept_json(struct str accept) {
    bool json = false, stream = false;
    while (accept.n > 0) {
        struct str range = next_part(&accept, ','), type = next_part(&range, ';');
        if (!wanted(range)) continue;
        json = json || str_eq_nocase(type, STR("application/json"));
        stream = stream || str_eq_nocase(type, STR("text/event-stream"));
    }
    return json && !stream;
}
