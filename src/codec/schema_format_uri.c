/*
 * schema_format_uri.c: formats of URIs (RFC 3986), IRIs (RFC 3987) and templates (RFC 6570 with
 * erratum 6937: an apostrophe is a literal). Layer: codec.
 */
#include "codec/schema_format.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
static bool in_set(char c, const char *set) { return c != '\0' && strchr(set, c) != NULL; }

static bool is_ucschar(uint32_t cp) {
    if (cp < 0xA0 || (cp >= 0xE000 && cp <= 0xF8FF) || (cp >= 0xFDD0 && cp <= 0xFDEF)) return false;
    if (cp >= 0xFFF0 && cp <= 0xFFFF) return false;
    return (cp & 0xFFFE) != 0xFFFE && cp < 0xF0000 && !(cp >= 0xE0000 && cp < 0xE1000);
}

static bool is_private(uint32_t cp) {
    return (cp >= 0xE000 && cp <= 0xF8FF) || (cp >= 0xF0000 && (cp & 0xFFFE) != 0xFFFE);
}

enum wide { ASCII_ONLY, WIDE, WIDE_PRIVATE };

/* All of s: unreserved, sub-delims, percent triplets, and what `more` lists. */
static bool is_chars(struct str s, const char *more, enum wide wide) {
    while (s.n > 0) {
        char c = s.p[0];
        if (c == '%') {
            if (s.n < 3 || !is_hex(s.p[1]) || !is_hex(s.p[2])) return false;
            s = str_n(s.p + 3, s.n - 3);
            continue;
        }
        bool plain = is_alpha(c) || is_digit(c) || in_set(c, "-._~!$&'()*+,;=") || in_set(c, more);
        uint32_t cp = schema_utf8_next(&s);
        if (cp == UINT32_MAX) return false;
        if (plain) continue;
        if (wide == ASCII_ONLY || cp < 0x80) return false;
        if (!is_ucschar(cp) && !(wide == WIDE_PRIVATE && is_private(cp))) return false;
    }
    return true;
}

static bool is_ip_literal(struct str s) {
    if (s.n < 2 || s.p[s.n - 1] != ']') return false;
    s = str_n(s.p + 1, s.n - 2);
    if (s.n == 0 || (s.p[0] != 'v' && s.p[0] != 'V')) return schema_format_ipv6(s);
    struct str version, rest;
    if (!str_cut(str_n(s.p + 1, s.n - 1), '.', &version, &rest) || version.n == 0) return false;
    for (size_t i = 0; i < version.n; i++)
        if (!is_hex(version.p[i])) return false;
    return rest.n > 0 && memchr(rest.p, '%', rest.n) == NULL && is_chars(rest, ":", ASCII_ONLY);
}

static bool is_authority(struct str s, enum wide wide) {
    struct str user, rest = s, host;
    if (str_cut_last(s, '@', &user, &rest) && !is_chars(user, ":", wide)) return false;
    host = rest;
    size_t colon = rest.n;
    while (colon > 0 && is_digit(rest.p[colon - 1])) colon--;
    if (colon > 0 && rest.p[colon - 1] == ':') {
        host = str_n(rest.p, colon - 1); /* the port: digits, as found */
    }
    if (host.n > 0 && host.p[0] == '[') return is_ip_literal(host);
    return is_chars(host, "", wide);
}

static bool take_scheme(struct str *s) {
    size_t n = 0;
    while (n < s->n &&
           (is_alpha(s->p[n]) || (n > 0 && (is_digit(s->p[n]) || in_set(s->p[n], "+-.")))))
        n++;
    if (n == 0 || n == s->n || s->p[n] != ':') return false;
    *s = str_n(s->p + n + 1, s->n - n - 1);
    return true;
}

static bool is_reference(struct str s, bool relative_too, enum wide wide) {
    struct str head, tail;
    enum wide query_wide = wide == WIDE ? WIDE_PRIVATE : wide;
    bool absolute = take_scheme(&s);
    if (!absolute && !relative_too) return false;
    if (str_cut(s, '#', &head, &tail)) {
        if (!is_chars(tail, ":@/?", wide)) return false;
        s = head;
    }
    if (str_cut(s, '?', &head, &tail)) {
        if (!is_chars(tail, ":@/?", query_wide)) return false;
        s = head;
    }
    if (str_starts(s, STR("//"))) {
        s = str_n(s.p + 2, s.n - 2);
        size_t n = 0;
        while (n < s.n && s.p[n] != '/') n++;
        if (!is_authority(str_n(s.p, n), wide)) return false;
        s = str_n(s.p + n, s.n - n);
    } else if (!absolute) { /* a colon in the first segment would make a scheme */
        size_t n = 0;
        while (n < s.n && s.p[n] != '/') n++;
        if (n > 0 && memchr(s.p, ':', n) != NULL) return false;
    }
    return is_chars(s, ":@/", wide);
}

bool schema_format_uri(struct str s) { return is_reference(s, false, ASCII_ONLY); }
bool schema_format_uri_reference(struct str s) { return is_reference(s, true, ASCII_ONLY); }
bool schema_format_iri(struct str s) { return is_reference(s, false, WIDE); }
bool schema_format_iri_reference(struct str s) { return is_reference(s, true, WIDE); }

/* ---- templates ---- */

static bool is_varspec(struct str s) {
    if (s.n > 0 && s.p[s.n - 1] == '*') {
        s.n--;
    } else {
        struct str name, len;
        uint64_t v;
        if (str_cut(s, ':', &name, &len)) {
            if (len.n > 4 || !str_u64(len, &v) || v == 0 || len.p[0] == '0') return false;
            s = name;
        }
    }
    bool start = true;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '.') {
            if (start) return false;
            start = true;
            continue;
        }
        if (c == '%') {
            if (s.n - i < 3 || !is_hex(s.p[i + 1]) || !is_hex(s.p[i + 2])) return false;
            i += 2;
        } else if (!is_alpha(c) && !is_digit(c) && c != '_') {
            return false;
        }
        start = false;
    }
    return !start;
}

static bool is_expression(struct str s) {
    if (s.n > 0 && in_set(s.p[0], "+#./;?&")) s = str_n(s.p + 1, s.n - 1);
    struct str one, rest = s;
    for (bool more = true; more;) {
        one = rest;
        more = str_cut(rest, ',', &one, &rest);
        if (!is_varspec(one)) return false;
    }
    return true;
}

bool schema_format_uri_template(struct str s) {
    while (s.n > 0) {
        char c = s.p[0];
        struct str body, rest;
        if (c == '{') {
            if (!str_cut(str_n(s.p + 1, s.n - 1), '}', &body, &rest) || !is_expression(body))
                return false;
            s = rest;
            continue;
        }
        if (c == '%' && (s.n < 3 || !is_hex(s.p[1]) || !is_hex(s.p[2]))) return false;
        uint32_t cp = schema_utf8_next(&s);
        if (cp == UINT32_MAX || cp <= 0x20 || cp == 0x7F || in_set(c, "\"<>\\^`|}")) return false;
        if (cp >= 0x80 && !is_ucschar(cp) && !is_private(cp)) return false;
    }
    return true;
}
