/*
 * negotiate.c: which major serves this request (D2, HTTP-1 to HTTP-3), as one pure function.
 * This host serves major 1 only: an unversioned path is refused, a foreign major is never ignored.
 */
#include "wire/v1/wire_int.h"

enum { MAJOR_ABSENT = -1, MAJOR_MALFORMED = -2, FIRST_SEGMENT_MAX = 24 };

/* "1" or "1.0": digits without leading zeros, one optional minor. */
static bool number(struct str s) {
    uint64_t v;
    return s.n > 0 && s.n <= 9 && (s.n == 1 || s.p[0] != '0') && str_u64(s, &v);
}

static int major_of(struct str header) {
    struct str major, minor;
    uint64_t v = 0;
    header = str_trim(header);
    if (header.n == 0) return MAJOR_ABSENT;
    if (str_cut(header, '.', &major, &minor)) {
        if (!number(minor)) return MAJOR_MALFORMED;
    } else {
        major = header;
    }
    if (!number(major) || !str_u64(major, &v)) return MAJOR_MALFORMED;
    return (int)v;
}

static bool is_version_segment(struct str s) {
    uint64_t v;
    return s.n >= 2 && s.p[0] == 'v' && str_u64(str_n(s.p + 1, s.n - 1), &v);
}

/* The first segment when it is a plain word, so that an error never repeats free text of the caller
 * (HTTP-14). */
static bool plain_word(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && s.p[i] != '-') return false;
    return s.n > 0 && s.n <= FIRST_SEGMENT_MAX;
}

int v1_negotiate(void *ctx, struct str path, struct str version_header, struct wopr_error *err) {
    (void)ctx;
    int major = major_of(version_header), rc;
    if (major == MAJOR_MALFORMED) {
        rc = wopr_error_set(err, WOPR_E_VALIDATION,
                            "the OpenWOP-Version header must be <major> or <major>.<minor>");
        wopr_error_details(err, "{\"header\":\"OpenWOP-Version\"}");
        return rc;
    }
    if (major != MAJOR_ABSENT && major != 1) {
        rc = wopr_error_set(err, WOPR_E_VERSION_UNSUPPORTED,
                            "this host does not serve the requested protocol version");
        wopr_error_details(err, "{\"protocolVersions\":[\"" V1_PROTOCOL_VERSION "\"]}");
        return rc;
    }
    struct str first, rest;
    if (path.n > 0 && path.p[0] == '/') path = str_n(path.p + 1, path.n - 1);
    if (!str_cut(path, '/', &first, &rest)) first = path;
    if (str_eq(first, STR("v1")) || str_eq(first, STR(".well-known"))) return 0;
    if (is_version_segment(first))
        return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such version prefix");
    rc = wopr_error_set(err, WOPR_E_VALIDATION, "the path must start with /v1/");
    if (plain_word(first)) wopr_error_details(err, "{\"path\":\"/" STR_FMT "\"}", STR_ARG(first));
    else wopr_error_details(err, "{\"path\":\"/\"}");
    return rc;
}
