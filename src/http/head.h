/*
 * head.h: the grammar of the request heads this host accepts (RFC 9110, RFC 9112).  Layer: http.
 * Pure: bytes in, a verdict out.  It is stricter than the RFCs allow wherever two readers of one
 * head could disagree about where a request ends or what it asks for.
 *
 * Accepted: any empty lines up to HEAD_BLANKS_MAX (9112 2.2); "METHOD SP target SP HTTP/1.1" or
 * 1.0, one blank each (9112 3); fields "name:OWS value OWS", every line ended by CR LF; the target
 * in origin form, in absolute form with http or https, or * with OPTIONS (9112 3.2).
 * Refused: bare CR or LF, NUL and other controls, obs-fold, a blank before the colon (9112 2.2,
 * 5.1, 5.2); no or more than one Host in 1.1, a Host that is no host[:port] (9112 3.2); any
 * Content-Length but one of digits only, any Transfer-Encoding but one "chunked", both together,
 * Transfer-Encoding in 1.0 (9112 6.1 to 6.3); a field of which one value counts, twice.
 */
#ifndef WOPR_HTTP_HEAD_H
#define WOPR_HTTP_HEAD_H

#include "base/error.h"
#include "base/str.h"

enum {
    HEAD_BYTES_MAX = 16 * 1024, /* from the method to the empty line */
    HEAD_TARGET_MAX = 8 * 1024,
    HEAD_METHOD_MAX = 32,
    HEAD_FIELD_MAX = 8 * 1024, /* one line */
    HEAD_FIELDS_MAX = 100,
    HEAD_BLANKS_MAX = 4
};
struct head_field {
    struct str name, value; /* value without the blanks around it */
};
struct http_head { /* borrows the text */
    struct str method;
    struct str path, query; /* as sent; path is never empty once the target was read */
    struct str host; /* host[:port] of the target, else of the Host field; may be empty in 1.0 */
    unsigned minor;  /* HTTP/1.minor */
    bool keep_alive, closes, expects_continue, chunked, has_length;
    uint64_t length;
    size_t fields_nr;
    struct head_field fields[HEAD_FIELDS_MAX];
};

/* Where the head ends, found as bytes arrive.  All zero at first. */
struct head_scan {
    size_t start; /* of the request line */
    size_t line;  /* of the line at hand */
    size_t at;    /* looked at so far */
    size_t end;   /* one past the empty line */
    unsigned blanks, lines;
};
enum head_seen { HEAD_MORE, HEAD_WHOLE, HEAD_BAD };
/* seen: all bytes since the last request, more than at the last call.  HEAD_WHOLE: the head is
 * seen[start..end).  HEAD_BAD: no byte to come can make a request of it, err says why. */
enum head_seen head_scan(struct head_scan *s, struct str seen, struct wopr_error *err);

/* 0, or VALIDATION, TARGET_TOO_LONG, HEAD_TOO_LARGE, BODY_TOO_LARGE, CODING_UNKNOWN, HTTP_VERSION.
 * After a failure out holds what was read before it.  text may be cut at the end of any line. */
MUST_CHECK int head_parse(struct str text, struct http_head *out, struct wopr_error *err);

/* host[:port], port at most 65535 (RFC 3986 3.2.2) */
bool head_host_valid(struct str host);

#endif
