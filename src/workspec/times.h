/*
 * times.h: starts, durations and the common timeline of a document (3.2 to 3.5).  Layer:
 * workspec.
 * Pure but for zone data, which is asked for through struct ws_zones.  Virtual milliseconds count
 * from day 1, 00:00:00 (WS-46).
 */
#ifndef WOPR_WORKSPEC_TIMES_H
#define WOPR_WORKSPEC_TIMES_H

#include "workspec/value.h"

#define WS_DAY_MS     INT64_C(86400000)
#define WS_DAYS_MAX   36525 /* of {day, time}; also the longest duration: 100 years */
#define WS_MONTH_DAYS 31    /* at most */

enum ws_unit { WS_NO_UNIT, WS_SECONDS, WS_MINUTES, WS_HOURS };
enum ws_unit ws_unit_of(struct str s); /* WS-26 */

enum ws_start_form { WS_TIME, WS_DAYTIME, WS_DATETIME };
struct ws_start {
    enum ws_start_form form;
    int64_t days; /* date-time: days since 1970-01-01 in local time; else days since day 1 */
    int64_t ms;   /* of that day */
    bool zoned;   /* date-time: with an offset */
    bool seconds; /* they were written */
    int offset_min;
};
/* 3.2.  NULL, or the reason why it is none (R34). */
const char *ws_start_parse(const struct ws_value *v, struct ws_start *out);
/* The same for the text of a time of day or a date-time. */
const char *ws_start_text(struct str s, struct ws_start *out);
/* WS-27: a time of day or day/time in minutes, as the public validator counts them. */
double ws_start_minutes(const struct ws_start *s);

struct ws_duration {
    int64_t months; /* of the calendar */
    int64_t ms;
};
/* 3.3.  NULL, or the reason (R35, H4) but for calendar_needs_datetime. */
const char *ws_duration_parse(const struct ws_value *v, enum ws_unit unit, struct ws_duration *out);
/* WS-28: minutes as the public validator counts them; false: invalid. */
bool ws_duration_minutes(const struct ws_value *v, enum ws_unit unit, double *out);
/* WS-53: milliseconds from a start (a date-time when there are months) to its end. */
int64_t ws_duration_ms(const struct ws_start *s, const struct ws_duration *d);

/* --- zones and the timeline --- */
/* The offset from UTC in seconds at an instant (ms since 1970, UTC), false: no such zone. */
struct ws_zones {
    bool (*offset)(void *ctx, struct str name, int64_t utc_ms, int32_t *offset_s);
    void *ctx;
};
/* What of a plan came from zone data, once it was found: a plan that is made again from the same
 * bytes is then the same, whatever became of the zone data (WS-44, WS-95). */
struct ws_anchor {
    bool anchored;
    int64_t days; /* since 1970-01-01 */
    int32_t offset_min;
};
struct ws_timeline {
    bool anchored;
    int64_t anchor_days; /* since 1970-01-01 */
    int32_t offset_min;
    struct str zone; /* empty: UTC */
    const struct ws_zones *zones;
};
/* Whether the zone is usable (WS-59); *t then asks zones for it, else it is UTC. */
bool ws_timeline_init(struct ws_timeline *t, const struct ws_value *timezone,
                      const struct ws_zones *zones);
/* The date-time start with the least instant is offered with _offer, config.start_time (when it
 * is a
 * date-time) with _anchor, which counts more (WS-60). */
void ws_timeline_anchor(struct ws_timeline *t, const struct ws_start *s);
struct ws_anchor_search {
    bool any;
    int64_t utc_ms, days;
};
void ws_timeline_offer(const struct ws_timeline *t, struct ws_anchor_search *found,
                       const struct ws_start *s);
void ws_timeline_take(struct ws_timeline *t, const struct ws_anchor_search *found);
/* Virtual milliseconds of a start; a date-time needs an anchor. */
int64_t ws_timeline_ms(const struct ws_timeline *t, const struct ws_start *s);

/* --- the calendar (proleptic Gregorian); months and days count from 1 --- */
int64_t ws_days_of(int64_t year, int month, int day); /* since 1970-01-01 */
int64_t ws_year_of(int64_t days);
int ws_month_days(int64_t year, int month);

#define WS_DATE_SIZE 24
void ws_date_format(int64_t days, char out[WS_DATE_SIZE]); /* 2026-02-03 */
/* The zones of the machine (/usr/share/zoneinfo): names that its own list has, nothing else of a
 * document becomes a path (WS-3).  One user at a time. */
struct ws_system_zones;
struct ws_system_zones *ws_system_zones_new(void); /* NULL: no memory */
void ws_system_zones_free(struct ws_system_zones *z);
struct ws_zones ws_system_zones(struct ws_system_zones *z);
/* Seconds east of UTC at an instant (seconds since 1970) by the rule at the end of a zone's file,
 * which goes on where its list of changes ends.  false: it is no such rule. */
bool ws_zone_rule(struct str rule, int64_t at, int32_t *offset_s);

#endif
