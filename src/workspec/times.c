/* times.c: starts, durations, the calendar, the timeline; see times.h. */
#include "workspec/times.h"
#include "codec/json.h"

#include <math.h>
#include <stdio.h>

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS   INT64_C(3600000)
/* 100 years in ms, and in months */
#define LONGEST_MS     (WS_DAYS_MAX * WS_DAY_MS)
#define LONGEST_MONTHS 1200

enum ws_unit ws_unit_of(struct str s) {
    if (str_eq_nocase(s, STR("seconds"))) return WS_SECONDS;
    if (str_eq_nocase(s, STR("minutes"))) return WS_MINUTES;
    return str_eq_nocase(s, STR("hours")) ? WS_HOURS : WS_NO_UNIT;
}

/* --- digits --- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* n digits at *p, moved past; -1 when they are not there. */
static int digits_take(struct str *s, size_t n) {
    int v = 0;
    if (s->n < n) return -1;
    for (size_t i = 0; i < n; i++) {
        if (!is_digit(s->p[i])) return -1;
        v = v * 10 + (s->p[i] - '0');
    }
    *s = str_n(s->p + n, s->n - n);
    return v;
}

static bool char_take(struct str *s, const char *one_of) {
    if (s->n == 0 || s->p[0] == '\0' || strchr(one_of, s->p[0]) == NULL) return false;
    *s = str_n(s->p + 1, s->n - 1);
    return true;
}

/* --- the calendar (proleptic Gregorian) --- */

int64_t ws_days_of(int64_t y, int m, int d) {
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

static void civil_from_days(int64_t days, int64_t *y, int *m, int *d) {
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t doe = days - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    *d = (int)(doy - (153 * mp + 2) / 5 + 1);
    *m = (int)(mp < 10 ? mp + 3 : mp - 9);
    *y = yoe + era * 400 + (*m <= 2);
}

int64_t ws_year_of(int64_t days) {
    int64_t y;
    int m, d;
    civil_from_days(days, &y, &m, &d);
    return y;
}

int ws_month_days(int64_t y, int m) {
    static const int DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return DAYS[m - 1] + (m == 2 && leap);
}

void ws_date_format(int64_t days, char out[WS_DATE_SIZE]) {
    int64_t y;
    int m, d;
    civil_from_days(days, &y, &m, &d);
    snprintf(out, WS_DATE_SIZE, "%04lld-%02d-%02d", (long long)y, m, d);
}

/* --- starts --- */

/* A time of day at the beginning of *s, moved past. */
static bool clock_take(struct str *s, struct ws_start *out) {
    int h = digits_take(s, 2);
    if (h < 0 || h > 23 || !char_take(s, ":")) return false;
    int m = digits_take(s, 2), sec = 0;
    if (m < 0 || m > 59) return false;
    out->seconds = char_take(s, ":");
    if (out->seconds) sec = digits_take(s, 2);
    if (sec < 0 || sec > 59) return false;
    out->ms = h * HOUR_MS + m * MINUTE_MS + sec * INT64_C(1000);
    return true;
}

/* .f with one to nine digits, cut to milliseconds */
static bool fraction_take(struct str *s, int64_t *ms) {
    int v = 0, n = 0;
    if (!char_take(s, ".")) return true;
    for (; s->n > 0 && is_digit(s->p[0]); n++) {
        if (n < 3) v = v * 10 + (s->p[0] - '0');
        *s = str_n(s->p + 1, s->n - 1);
    }
    for (int i = n; i < 3; i++) v *= 10;
    *ms += v;
    return n >= 1 && n <= 9;
}

static bool zone_take(struct str *s, struct ws_start *out) {
    if (s->n == 0) return true;
    out->zoned = true;
    if (char_take(s, "Zz")) return true;
    int sign = s->p[0] == '-' ? -1 : 1;
    if (!char_take(s, "+-")) return false;
    int h = digits_take(s, 2);
    if (h < 0 || h > 23 || !char_take(s, ":")) return false;
    int m = digits_take(s, 2);
    if (m < 0 || m > 59) return false;
    out->offset_min = sign * (h * 60 + m);
    return true;
}

static const char *datetime_parse(struct str s, struct ws_start *out) {
    static const char NONE[] = "string";
    int y = digits_take(&s, 4);
    if (y < 0 || !char_take(&s, "-")) return NONE;
    int m = digits_take(&s, 2);
    if (m < 0 || !char_take(&s, "-")) return NONE;
    int d = digits_take(&s, 2);
    if (d < 0 || !char_take(&s, "Tt") || !clock_take(&s, out)) return NONE;
    if (out->seconds && !fraction_take(&s, &out->ms)) return NONE;
    if (!zone_take(&s, out) || s.n > 0) return NONE;
    if (y < 1 || m < 1 || m > 12 || d < 1 || d > ws_month_days(y, m)) return "invalid_date";
    out->form = WS_DATETIME;
    out->days = ws_days_of(y, m, d);
    return NULL;
}

const char *ws_start_text(struct str text, struct ws_start *out) {
    struct str s = ws_trim(text), rest = s;
    *out = (struct ws_start){.form = WS_TIME};
    if (clock_take(&rest, out) && rest.n == 0) return NULL;
    *out = (struct ws_start){.form = WS_TIME};
    return datetime_parse(s, out);
}

const char *ws_start_parse(const struct ws_value *v, struct ws_start *out) {
    if (ws_is(v, WS_STRING)) return ws_start_text(ws_raw(v), out);
    if (!ws_is(v, WS_OBJECT)) return ws_typeof(v);
    const struct ws_value *day = ws_get(v, "day"), *time = ws_get(v, "time");
    *out = (struct ws_start){.form = WS_DAYTIME};
    if (!ws_is(day, WS_NUMBER) || day->number != floor(day->number) || day->number < 1 ||
        day->number > WS_DAYS_MAX)
        return "invalid_day";
    if (!ws_is(time, WS_STRING)) return "invalid_time";
    struct str s = ws_str(time);
    if (!clock_take(&s, out) || s.n > 0) return "invalid_time_format";
    out->days = (int64_t)day->number - 1;
    return NULL;
}

double ws_start_minutes(const struct ws_start *s) {
    double minutes = (double)(s->ms / MINUTE_MS);
    if (s->seconds) minutes += (double)(s->ms % MINUTE_MS / 1000) / 60;
    return s->form == WS_DAYTIME ? (double)s->days * 1440 + minutes : minutes;
}

/* --- durations --- */

struct iso {
    int64_t part[7];     /* Y M W D, H M S */
    bool given[7], time; /* time: there is a T */
};
enum { ISO_Y, ISO_MONTH, ISO_W, ISO_D, ISO_H, ISO_MINUTE, ISO_S, ISO_PARTS };
#define ISO_NUMBER_MAX INT64_C(1000000000000000) /* larger parts count as this */

static int64_t number_take(struct str *s) {
    int64_t v = 0;
    if (s->n == 0 || !is_digit(s->p[0])) return -1;
    for (; s->n > 0 && is_digit(s->p[0]); *s = str_n(s->p + 1, s->n - 1))
        v = v < ISO_NUMBER_MAX ? v * 10 + (s->p[0] - '0') : ISO_NUMBER_MAX;
    return v < ISO_NUMBER_MAX ? v : ISO_NUMBER_MAX;
}

/* P[nY][nM][nW][nD][T[nH][nM][nS]] in either case. */
static bool iso_parse(struct str s, struct iso *out) {
    static const char LETTERS[] = "YMWDHMS";
    size_t next = 0;
    *out = (struct iso){0};
    if (!char_take(&s, "Pp")) return false;
    while (s.n > 0) {
        if (!out->time && char_take(&s, "Tt")) {
            out->time = true;
            next = ISO_H;
            continue;
        }
        int64_t n = number_take(&s);
        if (n < 0 || s.n == 0) return false;
        char letter = (char)(s.p[0] >= 'a' ? s.p[0] - 'a' + 'A' : s.p[0]);
        size_t last = out->time ? ISO_PARTS : ISO_H;
        while (next < last && LETTERS[next] != letter) next++;
        if (next == last) return false;
        out->part[next] = n;
        out->given[next++] = true;
        s = str_n(s.p + 1, s.n - 1);
    }
    return true;
}

static bool iso_any(const struct iso *d, size_t from) {
    for (size_t i = from; i < ISO_PARTS; i++)
        if (d->given[i]) return true;
    return false;
}

/* n times unit in ms, saturated beyond what any duration may have */
static int64_t span_ms(int64_t n, int64_t unit) {
    return n > LONGEST_MS / unit ? LONGEST_MS + 1 : n * unit;
}

static const char *range_check(const struct ws_duration *d) {
    double days = (double)d->months * 30.4375 + (double)d->ms / (double)WS_DAY_MS;
    if (d->months > LONGEST_MONTHS || d->ms > LONGEST_MS || days > WS_DAYS_MAX)
        return "out_of_range";
    return NULL;
}

static const char *iso_duration(const struct iso *d, struct ws_duration *out) {
    static const int64_t UNITS[] = {0, 0, 7 * WS_DAY_MS, WS_DAY_MS, HOUR_MS, MINUTE_MS, 1000};
    if (!iso_any(d, 0) || (d->time && !iso_any(d, ISO_H))) return "string";
    int64_t years = d->part[ISO_Y] < LONGEST_MONTHS ? d->part[ISO_Y] : LONGEST_MONTHS;
    int64_t months = d->part[ISO_MONTH] <= LONGEST_MONTHS ? d->part[ISO_MONTH] : LONGEST_MONTHS + 1;
    out->months = years * 12 + months;
    for (size_t i = ISO_W; i < ISO_PARTS; i++) out->ms += span_ms(d->part[i], UNITS[i]);
    return out->months == 0 && out->ms == 0 ? "zero" : range_check(out);
}

/* number and letter, nothing between; *number is the text of the number */
static bool shorthand_cut(struct str s, struct str *number, char *letter) {
    size_t i = 0;
    while (i < s.n && is_digit(s.p[i])) i++;
    if (i == 0) return false;
    if (i < s.n && s.p[i] == '.') {
        size_t from = ++i;
        while (i < s.n && is_digit(s.p[i])) i++;
        if (i == from) return false;
    }
    *number = str_n(s.p, i);
    *letter = i + 1 == s.n ? s.p[i] : '\0';
    return *letter != '\0' && strchr("smhdwWM", *letter) != NULL;
}

/* The nearest double of digits and a dot. */
static double decimal_of(struct str s) {
    double v;
    while (s.n > 1 && s.p[0] == '0' && is_digit(s.p[1])) s = str_n(s.p + 1, s.n - 1);
    return json_double(s, &v) ? v : HUGE_VAL;
}

static int64_t letter_ms(char letter) {
    switch (letter) {
    case 's':
        return 1000;
    case 'm':
        return MINUTE_MS;
    case 'h':
        return HOUR_MS;
    case 'd':
        return WS_DAY_MS;
    default:
        return 7 * WS_DAY_MS;
    }
}

static const char *shorthand_duration(struct str number, char letter, struct ws_duration *out) {
    double n = decimal_of(number);
    if (n <= 0) return "zero";
    if (letter == 'M') {
        if (n != floor(n)) return "calendar_fraction";
        out->months = n <= LONGEST_MONTHS ? (int64_t)n : LONGEST_MONTHS + 1;
        return range_check(out);
    }
    double ms = floor(n * (double)letter_ms(letter) + 0.5);
    out->ms = ms > (double)LONGEST_MS ? LONGEST_MS + 1 : (int64_t)ms;
    return out->ms == 0 ? "zero" : range_check(out);
}

static const char *integer_duration(double n, enum ws_unit unit, struct ws_duration *out) {
    static const int64_t UNITS[] = {MINUTE_MS, 1000, MINUTE_MS, HOUR_MS};
    if (n != floor(n) || n <= 0) return "number";
    out->ms = n > (double)LONGEST_MS ? LONGEST_MS + 1 : span_ms((int64_t)n, UNITS[unit]);
    return range_check(out);
}

const char *ws_duration_parse(const struct ws_value *v, enum ws_unit unit,
                              struct ws_duration *out) {
    struct str number;
    struct iso iso;
    char letter;
    *out = (struct ws_duration){0, 0};
    if (ws_is(v, WS_NUMBER)) return integer_duration(v->number, unit, out);
    if (!ws_is(v, WS_STRING)) return "type";
    struct str s = ws_str(v);
    if (iso_parse(s, &iso)) return iso_duration(&iso, out);
    if (shorthand_cut(s, &number, &letter)) return shorthand_duration(number, letter, out);
    return "string";
}

static bool iso_minutes(const struct iso *d, struct str s, double *out) {
    static const double UNITS[] = {525600, 43200, 0, 1440, 60, 1};
    if (d->given[ISO_W] || (s.n == 1)) return false;
    *out = 0;
    for (size_t i = ISO_Y; i < ISO_S; i++) *out += (double)d->part[i] * UNITS[i];
    *out += (double)d->part[ISO_S] / 60;
    return true;
}

bool ws_duration_minutes(const struct ws_value *v, enum ws_unit unit, double *out) {
    struct str number;
    struct iso iso;
    char letter;
    if (ws_is(v, WS_NUMBER)) {
        double n = v->number;
        if (n != floor(n) || n <= 0 || unit == WS_NO_UNIT) return false;
        *out = unit == WS_SECONDS ? n / 60 : unit == WS_MINUTES ? n : n * 60;
        return true;
    }
    if (!ws_is(v, WS_STRING)) return false;
    struct str s = ws_str(v);
    if (iso_parse(s, &iso)) return iso_minutes(&iso, s, out);
    if (!shorthand_cut(s, &number, &letter)) return false;
    double n = decimal_of(number);
    if (letter == 's') *out = n / 60;
    else if (letter == 'M') *out = n * 43200;
    else *out = n * ((double)letter_ms(letter) / (double)MINUTE_MS);
    return n > 0 && isfinite(n) && isfinite(*out);
}

int64_t ws_duration_ms(const struct ws_start *s, const struct ws_duration *d) {
    int64_t y;
    int m, day;
    if (d->months == 0) return d->ms;
    civil_from_days(s->days, &y, &m, &day);
    int64_t months = y * 12 + (m - 1) + d->months;
    y = months / 12;
    m = (int)(months % 12) + 1;
    int last = ws_month_days(y, m);
    return (ws_days_of(y, m, day < last ? day : last) - s->days) * WS_DAY_MS + d->ms;
}

/* --- the timeline --- */

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static bool zone_is_utc(struct str s) {
    return s.n == 0 || str_eq(s, STR("UTC")) || str_eq(s, STR("Etc/UTC")) ||
           str_eq(s, STR("GMT")) || str_eq(s, STR("Z"));
}

bool ws_timeline_init(struct ws_timeline *t, const struct ws_value *timezone,
                      const struct ws_zones *zones) {
    int32_t offset;
    *t = (struct ws_timeline){.zones = zones};
    struct str name = ws_str(timezone);
    if (timezone == NULL || (ws_is(timezone, WS_STRING) && name.n > 0 && zone_is_utc(name)))
        return true;
    if (name.n == 0 || zones == NULL || !zones->offset(zones->ctx, name, 0, &offset)) return false;
    t->zone = name;
    return true;
}

static int32_t offset_at(const struct ws_timeline *t, int64_t utc_ms) {
    int32_t s = 0;
    if (t->zone.n == 0 || !t->zones->offset(t->zones->ctx, t->zone, utc_ms, &s)) return 0;
    return s / 60;
}

/* Of a local time; where clocks jump, one of the two. */
static int32_t offset_local(const struct ws_timeline *t, int64_t local_ms) {
    int32_t guess = offset_at(t, local_ms);
    return offset_at(t, local_ms - guess * MINUTE_MS);
}

static int64_t local_of(const struct ws_start *s) { return s->days * WS_DAY_MS + s->ms; }

static int64_t utc_of(const struct ws_timeline *t, const struct ws_start *s) {
    int32_t offset = s->zoned ? s->offset_min : offset_local(t, local_of(s));
    return local_of(s) - offset * MINUTE_MS;
}

static int64_t date_of(const struct ws_timeline *t, const struct ws_start *s) {
    if (!s->zoned) return s->days;
    int64_t utc = utc_of(t, s);
    return floor_div(utc + offset_at(t, utc) * MINUTE_MS, WS_DAY_MS);
}

static void anchor_set(struct ws_timeline *t, int64_t days) {
    t->anchored = true;
    t->anchor_days = days;
    t->offset_min = offset_local(t, days * WS_DAY_MS);
}

void ws_timeline_anchor(struct ws_timeline *t, const struct ws_start *s) {
    anchor_set(t, date_of(t, s));
}

void ws_timeline_offer(const struct ws_timeline *t, struct ws_anchor_search *found,
                       const struct ws_start *s) {
    int64_t utc = utc_of(t, s);
    if (found->any && found->utc_ms <= utc) return;
    *found = (struct ws_anchor_search){true, utc, date_of(t, s)};
}

void ws_timeline_take(struct ws_timeline *t, const struct ws_anchor_search *found) {
    if (found->any && !t->anchored) anchor_set(t, found->days);
}

int64_t ws_timeline_ms(const struct ws_timeline *t, const struct ws_start *s) {
    if (s->form != WS_DATETIME) return local_of(s);
    int64_t local = local_of(s) - t->anchor_days * WS_DAY_MS;
    return s->zoned ? local + (t->offset_min - s->offset_min) * MINUTE_MS : local;
}
