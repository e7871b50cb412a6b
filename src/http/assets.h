/*
 * assets.h: files of the program that browsers load, as a mount: the dashboard.  Layer: http.
 *
 * The files are compiled in as gzip streams (tools/web.py, tools/embed.py); a client that does not
 * take gzip gets them unpacked.  No credential is asked for, since every host of a version has the
 * same files: what they show comes from the wires, with the key of whoever looks at it.
 */
#ifndef WOPR_HTTP_ASSETS_H
#define WOPR_HTTP_ASSETS_H

#include "http/http.h"

#define HTTP_ASSETS_PREFIX "/ui"

struct http_assets;
/* All embedded files named "ui/<file>.gz"; index.html answers "/ui/", and "/ui" is sent there.
 * CONFIG: the program has none of them; CORRUPT: one does not unpack; NO_MEMORY. */
MUST_CHECK int http_assets_new(struct http_assets **out, struct wopr_error *err);
void http_assets_free(struct http_assets *s); /* after the server; takes NULL */
/* Lives as long as s. */
const struct http_mount *http_assets_mount(const struct http_assets *s);

/* Does an Accept header prefer a page to JSON?  Browsers name text/html; clients of the protocol
 * name application/json, anything or nothing. */
bool http_assets_wanted(struct str accept);

#endif
