/*
 * ident.c: ULIDs, id grammars, RFC 3339.
 */
#include "codec/ident.h"
#include "base/clock.h"

#include <pthread.h>

/* --- ULID --- */

#define ULID_MS_MAX ((UINT64_C(1) << 48) - 1)

static const char CROCKFORD[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/* The last one minted: 48 bits of time, then 80 random bits as 16 + 64. */
static struct {
    pthread_mutex_t lock;
    uint64_t ms, lo;
    uint16_t hi;
} last = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void fresh_random(void) {
    unsigned char r[10];
    rng_ids(r, sizeof r);
    memcpy(&last.lo, r, 8);
    memcpy(&last.hi, r + 8, 2);
}

/* Within a millisecond (or while the clock is set back) add a random step, so that one id does
 * not reveal the next. */
static void step_up(void) {
    uint32_t step;
    rng_ids(&step, sizeof step);
    uint64_t lo = last.lo + step + 1;
    bool carry = lo < last.lo;
    last.lo = lo;
    if (!carry || ++last.hi != 0) return;
    last.ms++; /* the 80 bits are spent: borrow from the future */
    fresh_random();
}

static void ulid_encode(char out[ULID_LEN + 1], uint64_t ms, uint16_t hi, uint64_t lo) {
    for (int i = 9; i >= 0; i--, ms >>= 5) out[i] = CROCKFORD[ms & 31];
    /* 80 bits in sixteen characters: the last 12 hold 60 bits of lo, 4 bits remain
     * for the others. */
    for (int i = 25; i >= 14; i--, lo >>= 5) out[i] = CROCKFORD[lo & 31];
    uint32_t top = (uint32_t)hi << 4 | (uint32_t)lo;
    for (int i = 13; i >= 10; i--, top >>= 5) out[i] = CROCKFORD[top & 31];
    out[ULID_LEN] = '\0';
}

void ulid_new(char out[ULID_LEN + 1]) {
    int64_t now = clock_wall_ms();
    uint64_t ms = now < 0 ? 0 : (uint64_t)now;
    if (ms > ULID_MS_MAX) ms = ULID_MS_MAX;
    pthread_mutex_lock(&last.lock);
    if (ms > last.ms) {
        last.ms = ms;
        fresh_random();
    } else {
        step_up();
    }
    uint64_t at = last.ms, lo = last.lo;
    uint16_t hi = last.hi;
    pthread_mutex_unlock(&last.lock);
    ulid_encode(out, at, hi, lo);
}

void ulid_from(int64_t unix_ms, const uint8_t bits[10], char out[ULID_LEN + 1]) {
    uint64_t ms = unix_ms < 0 ? 0 : (uint64_t)unix_ms, lo = 0;
    for (int i = 2; i < 10; i++) lo = lo << 8 | bits[i];
    ulid_encode(out, ms > ULID_MS_MAX ? ULID_MS_MAX : ms, (uint16_t)(bits[0] << 8 | bits[1]), lo);
}

bool ulid_valid(struct str s) {
    if (s.n != ULID_LEN || s.p[0] > '7') return false; /* 128 bits, not 130 */
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '\0' || !strchr(CROCKFORD, s.p[i])) return false;
    return true;
}

/* --- id grammars --- */

enum { ID_BYTES_MAX = 128 };

static bool char_alnum(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Letters, digits and others, 1 to max of them. */
static bool made_of(struct str s, const char *others, size_t max) {
    if (s.n == 0 || s.n > max) return false;
    for (size_t i = 0; i < s.n; i++)
        if (!char_alnum(s.p[i]) && (s.p[i] == '\0' || !strchr(others, s.p[i]))) return false;
    return true;
}

bool id_opaque_valid(struct str s) { return made_of(s, "_-", ID_BYTES_MAX); }
bool id_author_valid(struct str s) { return made_of(s, "._~:-", ID_BYTES_MAX); }
bool id_tenant_valid(struct str s) { return made_of(s, "._-", ID_BYTES_MAX); }
bool id_type_valid(struct str s) {
    return made_of(s, "._-", ID_TYPE_MAX) && s.p[0] >= 'a' && s.p[0] <= 'z';
}

/* --- time --- */

enum { MS_PER_DAY = 86400000, DAYS_PER_ERA = 146097 };

#define TIME_MS_MIN INT64_C(-62167219200000) /* 0000-01-01T00:00:00.000Z */
#define TIME_MS_MAX INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z */

/* Days since 1970-01-01 of a date of the proleptic Gregorian calendar.  Years are counted from
 * March, so that the leap day is the last of its year; an era is 400 of them. */
static int64_t days_of(int64_t y, int m, int d) {
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
    int64_t day_of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * DAYS_PER_ERA + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719468;
}

static void date_of(int64_t days, int *y, int *m, int *d) {
    int64_t z =
        days + 719468; /* since 0000-03-01; never negative in our range but for two months */
    int64_t era = (z >= 0 ? z : z - (DAYS_PER_ERA - 1)) / DAYS_PER_ERA;
    int64_t of_era = z - era * DAYS_PER_ERA;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / (DAYS_PER_ERA - 1)) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;
    *d = (int)(of_year - (153 * month + 2) / 5 + 1);
    *m = (int)(month < 10 ? month + 3 : month - 9);
    *y = (int)(year + era * 400 + (*m <= 2));
}

static void put_number(char *out, int v, int width) {
    for (int i = width - 1; i >= 0; i--, v /= 10) out[i] = (char)('0' + v % 10);
}

void time_format(int64_t unix_ms, char out[TIME_LEN + 1]) {
    if (unix_ms < TIME_MS_MIN) unix_ms = TIME_MS_MIN;
    if (unix_ms > TIME_MS_MAX) unix_ms = TIME_MS_MAX;
    int64_t days = unix_ms / MS_PER_DAY;
    int rest = (int)(unix_ms % MS_PER_DAY), y, m, d;
    if (rest < 0) {
        rest += MS_PER_DAY;
        days--;
    }
    date_of(days, &y, &m, &d);
    memcpy(out, "0000-00-00T00:00:00.000Z", TIME_LEN + 1);
    put_number(out, y, 4);
    put_number(out + 5, m, 2);
    put_number(out + 8, d, 2);
    put_number(out + 11, rest / 3600000, 2);
    put_number(out + 14, rest / 60000 % 60, 2);
    put_number(out + 17, rest / 1000 % 60, 2);
    put_number(out + 20, rest % 1000, 3);
}

/* width digits, then the byte after (0 = none), moving *s. */
static bool digits_take(struct str *s, int width, char after, int *out) {
    int v = 0;
    if (s->n < (size_t)width + (after ? 1 : 0)) return false;
    for (int i = 0; i < width; i++) {
        if (s->p[i] < '0' || s->p[i] > '9') return false;
        v = v * 10 + (s->p[i] - '0');
    }
    if (after && (s->p[width] | (after == 't' ? 0x20 : 0)) != after) return false;
    size_t used = (size_t)width + (after ? 1 : 0);
    *s = (struct str){s->p + used, s->n - used};
    *out = v;
    return true;
}

static bool take_fraction(struct str *s, int *ms) {
    *ms = 0;
    if (s->n == 0 || s->p[0] != '.') return true;
    size_t i = 1;
    for (int scale = 100; i < s->n && s->p[i] >= '0' && s->p[i] <= '9'; i++, scale /= 10)
        *ms += (s->p[i] - '0') * scale;
    if (i == 1) return false;
    *s = (struct str){s->p + i, s->n - i};
    return true;
}

static bool take_offset(struct str s, int *minutes) {
    int h, m;
    *minutes = 0;
    if (s.n == 1) return s.p[0] == 'Z' || s.p[0] == 'z';
    if (s.n != 6 || (s.p[0] != '+' && s.p[0] != '-')) return false;
    bool minus = s.p[0] == '-';
    s = (struct str){s.p + 1, s.n - 1};
    if (!digits_take(&s, 2, ':', &h) || !digits_take(&s, 2, 0, &m) || h > 23 || m > 59)
        return false;
    *minutes = minus ? -(h * 60 + m) : h * 60 + m;
    return true;
}

static int days_in_month(int y, int m) {
    static const char DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return m == 2 && leap ? 29 : DAYS[m - 1];
}

bool time_parse(struct str s, int64_t *unix_ms) {
    int y, mo, d, h, mi, sec, ms, offset;
    if (!digits_take(&s, 4, '-', &y) || !digits_take(&s, 2, '-', &mo) ||
        !digits_take(&s, 2, 't', &d))
        return false;
    if (!digits_take(&s, 2, ':', &h) || !digits_take(&s, 2, ':', &mi) ||
        !digits_take(&s, 2, 0, &sec))
        return false;
    if (!take_fraction(&s, &ms) || !take_offset(s, &offset)) return false;
    if (mo < 1 || mo > 12 || d < 1 || d > days_in_month(y, mo)) return false;
    if (h > 23 || mi > 59 || sec > 60) return false;
    int64_t minute = days_of(y, mo, d) * 1440 + h * 60 + mi - offset;
    /* A leap second ends a UTC day; elsewhere 60 is a mistake. */
    if (sec == 60 && ((minute % 1440) + 1440) % 1440 != 1439) return false;
    *unix_ms = (minute * 60 + sec) * 1000 + ms;
    return true;
}
