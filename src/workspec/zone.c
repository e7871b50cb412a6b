/*
 * zone.c: offsets of the IANA zones that this machine has, out of the compiled files (RFC 8536).
 * A name is looked up in the list that comes with them before it is made part of a path (WS-3).
 */
#include "base/fs.h"
#include "base/mem.h"
#include "workspec/times.h"

#include <stdio.h>

#define ZONE_FOLDER "/usr/share/zoneinfo/"
enum { LIST_MAX = 1 << 20, FILE_MAX = 1 << 18, NAME_MAX_BYTES = 64, HEAD_BYTES = 44 };

struct ws_system_zones {
    struct buf list; /* tzdata.zi; empty without one */
    char name[NAME_MAX_BYTES + 1];
    struct buf file; /* of the zone name, the last that was asked for */
};

struct ws_system_zones *ws_system_zones_new(void) {
    struct ws_system_zones *z = MEM_NEW(struct ws_system_zones);
    if (z == NULL) return NULL;
    if (fs_read(ZONE_FOLDER "tzdata.zi", LIST_MAX, &z->list) != FS_READ_OK)
        buf_init(&z->list, LIST_MAX);
    buf_init(&z->file, FILE_MAX);
    return z;
}

void ws_system_zones_free(struct ws_system_zones *z) {
    if (z == NULL) return;
    buf_fini(&z->list);
    buf_fini(&z->file);
    mem_free(z);
}

static bool name_plain(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!letter && (i == 0 || strchr("0123456789_+-/", c) == NULL || c == '\0')) return false;
    }
    return s.n > 0 && s.n <= NAME_MAX_BYTES;
}

/* "Z NAME ..." is a zone, "L TARGET NAME" a link to one. */
static bool line_names(struct str line, struct str name) {
    struct str kind, rest, first, second;
    if (!str_cut(line, ' ', &kind, &rest)) return false;
    bool more = str_cut(rest, ' ', &first, &second);
    if (str_eqc(kind, "Z")) return str_eq(more ? first : rest, name);
    return str_eqc(kind, "L") && more && str_eq(second, name);
}

static bool zone_listed(const struct ws_system_zones *z, struct str name) {
    struct str rest = buf_str(&z->list), line;
    while (rest.n > 0) {
        struct str tail = STR("");
        if (!str_cut(rest, '\n', &line, &tail)) line = rest;
        if (line_names(line, name)) return true;
        rest = tail;
    }
    return false;
}

static bool zone_open(struct ws_system_zones *z, struct str name) {
    char path[sizeof ZONE_FOLDER + NAME_MAX_BYTES];
    if (str_eqc(name, z->name)) return true;
    if (!name_plain(name) || !zone_listed(z, name)) return false;
    snprintf(path, sizeof path, "%s%.*s", ZONE_FOLDER, (int)name.n, name.p);
    buf_fini(&z->file);
    z->name[0] = '\0';
    if (fs_read(path, FILE_MAX, &z->file) != FS_READ_OK) {
        buf_init(&z->file, FILE_MAX);
        return false;
    }
    memcpy(z->name, name.p, name.n);
    z->name[name.n] = '\0';
    return true;
}

static uint64_t big_endian(const char *p, size_t n) {
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) v = v << 8 | (unsigned char)p[i];
    return v;
}

struct table {      /* a block of a zone file */
    const char *at; /* behind its head */
    size_t time_bytes, times, types, bytes;
};

static bool table_at(struct str s, size_t at, size_t time_bytes, struct table *t) {
    if (s.n < HEAD_BYTES || at > s.n - HEAD_BYTES || memcmp(s.p + at, "TZif", 4) != 0) return false;
    const char *n = s.p + at + 20;
    size_t isut = big_endian(n, 4), isstd = big_endian(n + 4, 4), leap = big_endian(n + 8, 4);
    size_t chars = big_endian(n + 20, 4);
    *t = (struct table){.at = s.p + at + HEAD_BYTES,
                        .time_bytes = time_bytes,
                        .times = big_endian(n + 12, 4),
                        .types = big_endian(n + 16, 4)};
    t->bytes =
        t->times * (time_bytes + 1) + t->types * 6 + chars + leap * (time_bytes + 4) + isstd + isut;
    return t->types > 0 && t->bytes <= s.n - at - HEAD_BYTES;
}

static int64_t table_time(const struct table *t, size_t i) {
    return (int64_t)big_endian(t->at + i * t->time_bytes, t->time_bytes);
}

/* Seconds east of UTC at an instant in seconds, by the last change before it.  *beyond: that was
 * the last of the list. */
static bool table_offset(const struct table *t, int64_t at, int32_t *out, bool *beyond) {
    size_t low = 0, high = t->times;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (table_time(t, mid) <= at) low = mid + 1;
        else high = mid;
    }
    const char *types = t->at + t->times * t->time_bytes;
    size_t type = low == 0 ? 0 : (unsigned char)types[low - 1];
    *beyond = low == t->times;
    if (type >= t->types) return false;
    *out = (int32_t)(uint32_t)big_endian(types + t->times + type * 6, 4);
    return *out > -86400 && *out < 86400;
}

/* The line after the second block: the lists reach to 2037 at most, or end with the last change
 * that is no rule. */
static struct str file_rule(struct str s, const struct table *t) {
    struct str rest = str_n(t->at + t->bytes, s.n - (size_t)(t->at - s.p) - t->bytes), rule, tail;
    if (rest.n == 0 || rest.p[0] != '\n') return STR("");
    return str_cut(str_n(rest.p + 1, rest.n - 1), '\n', &rule, &tail) ? rule : STR("");
}

static bool system_offset(void *ctx, struct str name, int64_t utc_ms, int32_t *offset_s) {
    struct ws_system_zones *z = ctx;
    int64_t at = utc_ms / 1000 - (utc_ms % 1000 < 0);
    struct table old, t;
    bool beyond;
    if (!zone_open(z, name)) return false;
    struct str s = buf_str(&z->file);
    if (!table_at(s, 0, 4, &old) || s.p[4] < '2') return false;
    if (!table_at(s, HEAD_BYTES + old.bytes, 8, &t)) return false;
    if (!table_offset(&t, at, offset_s, &beyond)) return false;
    if (beyond)
        (void)ws_zone_rule(file_rule(s, &t), at, offset_s); /* without one, the last stays */
    return true;
}

struct ws_zones ws_system_zones(struct ws_system_zones *z) {
    return (struct ws_zones){.offset = system_offset, .ctx = z};
}
