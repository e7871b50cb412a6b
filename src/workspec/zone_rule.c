/*
 * zone_rule.c: offsets after the last change that the file of a zone lists, by the rule at its end:
 * as POSIX writes it in TZ, with the times beyond a day that RFC 8536 (3.3.1) adds.
 *
 *     CET-1CEST,M3.5.0,M10.5.0/3      <-02>2<-01>,M3.5.0/-1,M10.5.0/0      <+0545>-5:45
 */
#include "workspec/times.h"

enum { NAME_CHARS_MIN = 3, OFFSET_HOURS_MAX = 24, TIME_HOURS_MAX = 167, TWO_HOURS_S = 7200 };
#define DAY_S INT64_C(86400)

enum rule_day_kind { DAY_OF_YEAR, DAY_WITHOUT_LEAP, DAY_OF_WEEK };
struct rule_day { /* when clocks change, in the local time before that */
    enum rule_day_kind kind;
    int day; /* OF_YEAR: 0 to 365; WITHOUT_LEAP: 1 to 365, no February 29th */
    int month, week,
        on; /* OF_WEEK: the week'th (5: the last) day of the week of month, 0: Sunday */
    int32_t time_s;
};
struct rule {
    int32_t standard_s, summer_s; /* east of UTC */
    bool changes;
    struct rule_day start, end; /* of summer time */
};

/* --- reading --- */

static bool rule_char(struct str *s, char c) {
    if (s->n == 0 || s->p[0] != c) return false;
    *s = str_n(s->p + 1, s->n - 1);
    return true;
}

static bool rule_number(struct str *s, int max, int *out) {
    size_t n = 0;
    *out = 0;
    while (n < s->n && n < 4 && s->p[n] >= '0' && s->p[n] <= '9')
        *out = *out * 10 + s->p[n++] - '0';
    *s = str_n(s->p + n, s->n - n);
    return n > 0 && *out <= max;
}

static bool name_char(char c, bool quoted) {
    bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    return letter || (quoted && ((c >= '0' && c <= '9') || c == '+' || c == '-'));
}

static bool rule_name(struct str *s) {
    bool quoted = rule_char(s, '<');
    size_t n = 0;
    while (n < s->n && name_char(s->p[n], quoted)) n++;
    *s = str_n(s->p + n, s->n - n);
    return n >= NAME_CHARS_MIN && (!quoted || rule_char(s, '>'));
}

/* [+-]hh[:mm[:ss]] */
static bool rule_time(struct str *s, int hours_max, int32_t *out) {
    int h, m = 0, sec = 0;
    bool minus = rule_char(s, '-');
    if (!minus) (void)rule_char(s, '+');
    if (!rule_number(s, hours_max, &h)) return false;
    bool more = rule_char(s, ':');
    if (more && !rule_number(s, 59, &m)) return false;
    if (more && rule_char(s, ':') && !rule_number(s, 59, &sec)) return false;
    *out = (h * 60 + m) * 60 + sec;
    if (minus) *out = -*out;
    return true;
}

static bool rule_week(struct str *s, struct rule_day *d) {
    d->kind = DAY_OF_WEEK;
    return rule_number(s, 12, &d->month) && d->month >= 1 && rule_char(s, '.') &&
           rule_number(s, 5, &d->week) && d->week >= 1 && rule_char(s, '.') &&
           rule_number(s, 6, &d->on);
}

static bool rule_day_read(struct str *s, struct rule_day *d) {
    bool good;
    *d = (struct rule_day){.time_s = TWO_HOURS_S};
    if (!rule_char(s, ',')) return false;
    if (rule_char(s, 'M')) {
        good = rule_week(s, d);
    } else {
        d->kind = rule_char(s, 'J') ? DAY_WITHOUT_LEAP : DAY_OF_YEAR;
        good = rule_number(s, 365, &d->day) && (d->kind == DAY_OF_YEAR || d->day >= 1);
    }
    return good && (!rule_char(s, '/') || rule_time(s, TIME_HOURS_MAX, &d->time_s));
}

static bool rule_read(struct str s, struct rule *r) {
    int32_t west;
    *r = (struct rule){.changes = false};
    if (!rule_name(&s) || !rule_time(&s, OFFSET_HOURS_MAX, &west)) return false;
    r->standard_s = -west;
    r->summer_s = r->standard_s + 3600;
    if (s.n == 0) return true;
    r->changes = true;
    if (!rule_name(&s)) return false;
    if (s.n > 0 && s.p[0] != ',') {
        if (!rule_time(&s, OFFSET_HOURS_MAX, &west)) return false;
        r->summer_s = -west;
    }
    return rule_day_read(&s, &r->start) && rule_day_read(&s, &r->end) && s.n == 0;
}

/* --- asking --- */

static int64_t day_week(const struct rule_day *d, int64_t year) {
    int64_t first = ws_days_of(year, d->month, 1);
    int64_t weekday = ((first + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday */
    int64_t day = (d->on - weekday + 7) % 7 + (d->week - 1) * 7;
    while (day >= ws_month_days(year, d->month)) day -= 7;
    return first + day;
}

/* Seconds since 1970 in the local time before the change. */
static int64_t day_at(const struct rule_day *d, int64_t year) {
    int64_t day = ws_days_of(year, 1, 1);
    if (d->kind == DAY_OF_WEEK) day = day_week(d, year);
    else if (d->kind == DAY_OF_YEAR) day += d->day;
    else day += d->day - 1 + (d->day >= 60 && ws_month_days(year, 2) == 29); /* 60: March 1st */
    return day * DAY_S + d->time_s;
}

/* The last change before the instant decides; where both are at one, summer never ends. */
static bool rule_summer(const struct rule *r, int64_t at) {
    int64_t days = (at + r->standard_s) / DAY_S, year = ws_year_of(days), last = INT64_MIN;
    bool summer = false;
    for (int64_t y = year - 2; y <= year + 1; y++) {
        int64_t starts = day_at(&r->start, y) - r->standard_s;
        int64_t ends = day_at(&r->end, y) - r->summer_s;
        if (ends <= at && ends > last) last = ends, summer = false;
        if (starts <= at && starts >= last) last = starts, summer = true;
    }
    return summer;
}

bool ws_zone_rule(struct str rule, int64_t at, int32_t *offset_s) {
    struct rule r;
    if (!rule_read(rule, &r)) return false;
    *offset_s = r.changes && rule_summer(&r, at) ? r.summer_s : r.standard_s;
    return true;
}
