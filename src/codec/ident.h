/*
 * ident.h: ids and times.  Layer: codec.
 */
#ifndef WOPR_CODEC_IDENT_H
#define WOPR_CODEC_IDENT_H

#include "base/buf.h"
#include "base/str.h"

/* ULID: 26 characters Crockford base32, 48 bits of wall milliseconds and 80 random bits; strictly
 * ascending inside one process (D11). NUL-terminated. Thread-safe. */
#define ULID_LEN 26
void ulid_new(char out[ULID_LEN + 1]);
bool ulid_valid(struct str s);
/* The ULID of these milliseconds (clamped to 48 bits) and 80 given bits: ids that are derived. */
void ulid_from(int64_t unix_ms, const uint8_t bits[10], char out[ULID_LEN + 1]);
/* GEN-4 / HTTP-5: 1..128 bytes of [A-Za-z0-9_-] (opaque ids we mint) */
bool id_opaque_valid(struct str s);
/* D14: author ids ^[A-Za-z0-9._~:-]{1,128}$; D13: tenant ids ^[A-Za-z0-9._-]{1,128}$ */
bool id_author_valid(struct str s);
bool id_tenant_valid(struct str s);
/* NODE-2: ids of node types, ^[a-z][a-zA-Z0-9._-]*$ of 1..ID_TYPE_MAX bytes */
#define ID_TYPE_MAX 256
bool id_type_valid(struct str s);

/* GEN-2: YYYY-MM-DDTHH:MM:SS.mmmZ, 24 characters + NUL.  Years 0..9999. */
#define TIME_LEN 24
void time_format(int64_t unix_ms, char out[TIME_LEN + 1]);
/* Any RFC 3339 date-time (offsets, fractions, leap second 60 read as the next second). */
bool time_parse(struct str s, int64_t *unix_ms);

#endif
