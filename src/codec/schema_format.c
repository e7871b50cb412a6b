/*
 * schema_format.c: the table of formats, and those of dates, times and small tokens.  Layer: codec.
 */
#include "codec/schema_format.h"
#include "codec/schema_pattern.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Exactly n digits at the front of *s; advances. */
static bool digits_take(struct str *s, size_t n, unsigned *out) {
    unsigned v = 0;
    if (s->n < n) return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_digit(s->p[i])) return false;
        v = v * 10 + (unsigned)(s->p[i] - '0');
    }
    *s = str_n(s->p + n, s->n - n);
    *out = v;
    return true;
}

static bool char_take(struct str *s, const char *set) {
    if (s->n == 0 || s->p[0] == '\0' || strchr(set, s->p[0]) == NULL) return false;
    *s = str_n(s->p + 1, s->n - 1);
    return true;
}

/* ---- dates and times: RFC 3339 ---- */

static bool date_part(struct str *s) {
    static const unsigned char DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    unsigned y, m, d;
    if (!digits_take(s, 4, &y) || !char_take(s, "-") || !digits_take(s, 2, &m) ||
        !char_take(s, "-") || !digits_take(s, 2, &d) || m < 1 || m > 12 || d < 1)
        return false;
    bool leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    return d <= DAYS[m - 1] + (m == 2 && leap ? 1u : 0u);
}

static bool time_part(struct str *s) {
    unsigned h, m, sec, zh = 0, zm = 0, skip;
    if (!digits_take(s, 2, &h) || !char_take(s, ":") || !digits_take(s, 2, &m) ||
        !char_take(s, ":") || !digits_take(s, 2, &sec) || h > 23 || m > 59 || sec > 60)
        return false;
    if (char_take(s, ".")) {
        if (!digits_take(s, 1, &skip)) return false;
        while (digits_take(s, 1, &skip)) continue;
    }
    if (s->n == 0) return false;
    char sign = s->p[0];
    if (!char_take(s, "zZ")) {
        if (!char_take(s, "+-") || !digits_take(s, 2, &zh) || !char_take(s, ":") ||
            !digits_take(s, 2, &zm) || zh > 23 || zm > 59)
            return false;
    }
    if (sec < 60) return true;
    /* A leap second ends a day of UTC. */
    unsigned local = h * 60 + m, offset = zh * 60 + zm;
    unsigned utc = sign == '-' ? local + offset : local + 1440 - offset;
    return utc % 1440 == 1439;
}

static bool is_date(struct str s) { return date_part(&s) && s.n == 0; }
static bool is_time(struct str s) { return time_part(&s) && s.n == 0; }
static bool is_date_time(struct str s) {
    return date_part(&s) && char_take(&s, "tT") && time_part(&s) && s.n == 0;
}

/* Number-unit pairs whose units follow each other in `units` without a gap (RFC 3339, appendix A).
 * At least one; s is left after the last. */
static bool duration_units(struct str *s, const char *units) {
    const char *at = units;
    bool any = false;
    while (s->n > 0 && is_digit(s->p[0])) {
        unsigned skip;
        while (digits_take(s, 1, &skip)) continue;
        const char *hit = s->n > 0 && s->p[0] != '\0' ? strchr(at, s->p[0]) : NULL;
        if (hit == NULL || (any && hit != at)) return false;
        at = hit + 1;
        any = true;
        (void)char_take(s, units);
    }
    return any;
}

static bool is_duration(struct str s) {
    if (!char_take(&s, "P") || s.n == 0) return false;
    struct str week = s;
    if (duration_units(&week, "W") && week.n == 0) return true;
    if (s.p[0] != 'T' && !duration_units(&s, "YMD")) return false;
    if (char_take(&s, "T")) return duration_units(&s, "HMS") && s.n == 0;
    return s.n == 0;
}

/* ---- tokens ---- */

static bool is_uuid(struct str s) {
    if (s.n != 36) return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        bool hex = is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (dash ? c != '-' : !hex) return false;
    }
    return true;
}

static bool is_json_pointer(struct str s) {
    if (s.n > 0 && s.p[0] != '/') return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '~' && (i + 1 == s.n || (s.p[i + 1] != '0' && s.p[i + 1] != '1')))
            return false;
    return true;
}

static bool is_relative_json_pointer(struct str s) {
    unsigned skip;
    if (s.n == 0 || !is_digit(s.p[0])) return false;
    bool zero = s.p[0] == '0';
    size_t n = 0;
    while (digits_take(&s, 1, &skip)) n++;
    if (zero && n > 1) return false;
    return str_eq(s, STR("#")) || is_json_pointer(s);
}

static const struct schema_format FORMATS[] = {
    {"date-time", is_date_time},
    {"date", is_date},
    {"time", is_time},
    {"duration", is_duration},
    {"email", schema_format_email},
    {"idn-email", schema_format_idn_email},
    {"hostname", schema_format_hostname},
    {"idn-hostname", schema_format_idn_hostname},
    {"ipv4", schema_format_ipv4},
    {"ipv6", schema_format_ipv6},
    {"uri", schema_format_uri},
    {"uri-reference", schema_format_uri_reference},
    {"iri", schema_format_iri},
    {"iri-reference", schema_format_iri_reference},
    {"uri-template", schema_format_uri_template},
    {"uuid", is_uuid},
    {"json-pointer", is_json_pointer},
    {"relative-json-pointer", is_relative_json_pointer},
    {"regex", schema_pattern_valid},
};

const struct schema_format *schema_format_find(struct str name) {
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++)
        if (str_eqc(name, FORMATS[i].name)) return &FORMATS[i];
    return NULL;
}
