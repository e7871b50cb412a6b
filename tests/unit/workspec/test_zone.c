/* test_zone.c: offsets of zones, within the lists of their files and after these (WS-59). */
#include "kit.h"

#include <stdlib.h>
#include <time.h>

TestSuite(workspec_zone);

Test(workspec_zone, rules_change_clocks_when_they_say) {
    static const struct {
        const char *rule;
        int64_t at;
        int32_t offset_s;
    } RULES[] = {
        {"UTC0", 0, 0},
        {"<+0545>-5:45", 3802550400, 20700},
        {"<-0930>9:30:30", 0, -34230},
        {"CET-1CEST,M3.5.0,M10.5.0/3", 2153350799, 3600},
        {"CET-1CEST,M3.5.0,M10.5.0/3", 2153350800, 7200},
        {"CET-1CEST,M3.5.0,M10.5.0/3", 2172099599, 7200},
        {"CET-1CEST,M3.5.0,M10.5.0/3", 2172099600, 3600},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 2216249999, -7200},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 2216250000, -3600},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", 13585190400, 3600},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", 13601087999, 0},
        {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 4070908800, 39600},
        {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 4086547200, 37800},
        {"EET-2EEST,M3.4.4/50,M10.4.4/50", 3802550400, 10800},
        {"<-04>4<-03>,M9.1.6/24,M4.1.6/24", 3815769600, -10800},
        /* the 60th day is March 1st in every year by J, in leap years February 29th else */
        {"AAA0BBB,J60/0,J300", 2214086399, 0}, /* 2040-02-28T23:59:59 */
        {"AAA0BBB,J60/0,J300", 2214172799, 0},
        {"AAA0BBB,J60/0,J300", 2214172800, 3600},
        {"AAA0BBB,59/0,300", 2214086399, 0},
        {"AAA0BBB,59/0,300", 2214086400, 3600},
        /* summer for ever (RFC 8536, 3.3.1) */
        {"EST5EDT,0/0,J365/25", 2208992400, -14400},
        {"EST5EDT,0/0,J365/25", 2208992399, -14400},
        {"EST5EDT,0/0,J365/25", 2224800000, -14400},
        /* before 1970 */
        {"CET-1CEST,M3.5.0,M10.5.0/3", -15721200, 7200}, /* 1969-07-03 */
        {"CET-1CEST,M3.5.0,M10.5.0/3", -1, 3600},
    };
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++) {
        int32_t offset_s = -1;
        cr_expect(ws_zone_rule(str_c(RULES[i].rule), RULES[i].at, &offset_s), "%zu", i);
        cr_expect_eq(offset_s, RULES[i].offset_s, "%s at %lld: %d", RULES[i].rule,
                     (long long)RULES[i].at, (int)offset_s);
    }
}

Test(workspec_zone, what_is_no_rule_is_none) {
    static const char *const BAD[] = {
        "",
        "C-1",
        "CET",
        "CET-",
        "CET-25",
        "CET-1x",
        "<CET-1",
        "CET-1CEST",
        "CET-1CEST,",
        "CET-1CEST,M3.5.0",
        "CET-1CEST,M3.5.0,M10.5.0/3,",
        "CET-1CEST,M0.5.0,M10.5.0",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.0.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,J0,J3",
        "CET-1CEST,366,3",
        "CET-1CEST,J1/168,J3",
        "CET-1CEST,J1/1:60,J3",
        "CET-1CEST,99999999999999999999,3",
    };
    int32_t offset_s = 77;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        cr_expect(!ws_zone_rule(str_c(BAD[i]), 0, &offset_s) && offset_s == 77, "%s", BAD[i]);
}

/* The C library reads the same files. */
Test(workspec_zone, offsets_are_those_of_the_c_library_also_in_centuries_to_come) {
    static const char *const NAMES[] = {
        "Europe/Berlin",    "Europe/Dublin",    "America/New_York",    "America/Nuuk",
        "America/Santiago", "America/Havana",   "Australia/Lord_Howe", "Pacific/Auckland",
        "Asia/Gaza",        "Asia/Jerusalem",   "Asia/Kathmandu",      "Africa/Casablanca",
        "Pacific/Apia",     "America/St_Johns", "Africa/Cairo",        "Asia/Beirut"};
    enum { STEP_S = 11 * 86400 + 7321 };
    struct ws_system_zones *system = ws_system_zones_new();
    const struct ws_zones zones = ws_system_zones(system);
    int32_t offset_s;
    if (!zones.offset(zones.ctx, STR("Europe/Berlin"), 0, &offset_s))
        cr_skip_test("this machine has no zone data");
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        cr_assert_eq(setenv("TZ", NAMES[i], 1), 0);
        tzset();
        for (int64_t at = -2000000000; at < 16000000000; at += STEP_S) { /* to the year 2477 */
            time_t t = (time_t)at;
            struct tm tm;
            cr_assert_not_null(localtime_r(&t, &tm));
            cr_assert(zones.offset(zones.ctx, str_c(NAMES[i]), at * 1000, &offset_s));
            cr_assert_eq(offset_s, (int32_t)tm.tm_gmtoff, "%s at %lld: %d and %ld", NAMES[i],
                         (long long)at, (int)offset_s, tm.tm_gmtoff);
        }
    }
    ws_system_zones_free(system);
}
