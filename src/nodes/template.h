/*
 * template.h: texts of a config with values of input ports in them.  Layer: nodes.
 * "{{port}}" and "{{port.member.0}}" stand for a value.  Only the config, which the author wrote,
 * is ever read as a template; a value is data wherever it goes and is never read again.
 */
#ifndef WOPR_NODES_TEMPLATE_H
#define WOPR_NODES_TEMPLATE_H

#include "base/buf.h"
#include "codec/json.h"

enum template_form {
    TEMPLATE_TEXT, /* strings, numbers, true and false as they are */
    TEMPLATE_URL,  /* the same, all but unreserved characters as %XX (RFC 3986) */
    TEMPLATE_JSON  /* objects and lists, too, as JSON */
};
/* What is wrong with the marks of a text, or NULL. */
const char *template_wrong(struct str text);
bool template_has(struct str text);
/* Append text to out with its values.  NULL, or why there is no value (arena text): it names the
 * mark and quotes no value.  Whether out failed is for the caller to ask. */
const char *template_fill(struct str text, struct str ports, enum template_form form,
                          struct arena *a, struct buf *out);
/* The same for a JSON value: each string in it is a template, and one that is nothing but one mark
 * becomes the value itself, whatever its type. */
const char *template_fill_json(struct str json, struct str ports, struct arena *a, struct jw *w);

/* "a.b.0" of a JSON value; STR_NONE: it has none. */
struct str template_at(struct str json, struct str path, struct arena *a);
void template_encode(struct str value, struct buf *out); /* as %XX */

#endif
