/*
 * schema_format.h: the formats of strings: schema_format.c has the table, schema_format_net.c and
 * schema_format_uri.c some of the rows.  Layer: codec, private to schema*.c.
 */
#ifndef WOPR_CODEC_SCHEMA_FORMAT_H
#define WOPR_CODEC_SCHEMA_FORMAT_H

#include "codec/schema_internal.h"

const struct schema_format *schema_format_find(struct str name);
bool schema_format_email(struct str s);
bool schema_format_idn_email(struct str s);
bool schema_format_hostname(struct str s);
bool schema_format_idn_hostname(struct str s);
bool schema_format_ipv4(struct str s);
bool schema_format_ipv6(struct str s);
bool schema_format_uri(struct str s);
bool schema_format_uri_reference(struct str s);
bool schema_format_iri(struct str s);
bool schema_format_iri_reference(struct str s);
bool schema_format_uri_template(struct str s);
/* One code point from *s (advanced); 0xFFFFFFFF at a malformed byte. */
uint32_t schema_utf8_next(struct str *s);

#endif
