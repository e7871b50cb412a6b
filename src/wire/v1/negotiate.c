/*
 * negotiate.c: which major serves this request (D2, HTTP-1 to HTTP-3), as one pure function.  This
 * host serves major 1 only: an unversioned path is refused, a foreign major is never ignored.  Also
 * chooses the error of a path without an operation, which only the router discovers.
 */
#include "codec/jobj.h"
#include "wire/v1/wire_int.h"

enum { MAJOR_ABSENT = -1, MAJOR_MALFORMED = -2 };

/* "1" or "1.0": digits without leading zeros, one optional minor. */
static bool is_number(struct str s) {
    uint64_t v;
    return s.n > 0 && s.n <= 9 && (s.n == 1 || s.p[0] != '0') && str_u64(s, &v);
}

static int major_of(struct str header) {
    struct str major, minor;
    uint64_t v = 0;
    header = str_trim(header);
    if (header.n == 0) return MAJOR_ABSENT;
    if (str_cut(header, '.', &major, &minor)) {
        if (!is_number(minor)) return MAJOR_MALFORMED;
    } else {
        major = header;
    }
    if (!is_number(major) || !str_u64(major, &v)) return MAJOR_MALFORMED;
    return (int)v;
}

static bool is_version_segment(struct str s) {
    uint64_t v;
    return s.n >= 2 && s.p[0] == 'v' && str_u64(str_n(s.p + 1, s.n - 1), &v);
}

int v1_negotiate(void *ctx, struct str path, struct str version_header, struct wopr_error *err) {
    (void)ctx;
    int major = major_of(version_header), rc;
    if (major == MAJOR_MALFORMED) {
        rc = wopr_error_set(err, WOPR_E_VALIDATION,
                            "the OpenWOP-Version header must be <major> or <major>.<minor>");
        jobj_details_str(err, "header", "OpenWOP-Version");
        return rc;
    }
    if (major != MAJOR_ABSENT && major != 1) {
        rc = wopr_error_set(err, WOPR_E_VERSION_UNSUPPORTED,
                            "this host does not serve the requested protocol version");
        wopr_error_details(err, "{\"protocolVersions\":[\"" V1_PROTOCOL_VERSION "\"]}");
        return rc;
    }
    char shown[HTTP_PATH_SHOWN_BYTES];
    struct str first, rest, segments = path;
    if (str_eq(path, STR("/"))) return 0; /* lists the entry points */
    if (path.n > 0 && path.p[0] == '/') segments = str_n(path.p + 1, path.n - 1);
    if (!str_cut(segments, '/', &first, &rest)) first = segments;
    if (str_eq(first, STR("v1")) || str_eq(first, STR(".well-known"))) return 0;
    if (is_version_segment(first))
        return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such version prefix");
    rc = wopr_error_set(err, WOPR_E_VALIDATION, "the path must start with /v1/");
    http_path_shown(path, shown);
    jobj_details_str(err, "path", shown);
    return rc;
}

/* "/v1", "/v2/..." and well-known paths carry their version or need none. */
static bool is_versioned(struct str path) {
    if (str_starts(path, STR("/.well-known/"))) return true;
    if (!str_starts(path, STR("/v"))) return false;
    size_t i = 2;
    while (i < path.n && path.p[i] >= '0' && path.p[i] <= '9') i++;
    return i > 2 && (i == path.n || path.p[i] == '/');
}

int v1_unknown_path(void *ctx, struct str path, struct wopr_error *err) {
    char shown[HTTP_PATH_SHOWN_BYTES];
    (void)ctx;
    if (is_versioned(path)) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such resource");
    http_path_shown(path, shown);
    (void)wopr_error_set(err, WOPR_E_VALIDATION,
                         "the path has no version prefix; protocol paths begin with /v1/");
    jobj_details_str(err, "path", shown);
    return WOPR_E_VALIDATION;
}
