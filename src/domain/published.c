/*
 * published.c: see published.h.
 *
 * One relaxation is made in memory, under the document's own URI, so that the served schemas stay
 * as published: channel.written.reducer also allows "message" (EVT-14 a, CX-12).  The other two
 * relaxations of EVT-14 are ways of writing events, not of checking them: kinds that the enum lacks
 * are left out, and interrupt.requested carries no identity.
 */
#include "domain/published.h"

#include "base/embed.h"

#include <stdio.h>
#include <string.h>

#define SCHEMA_DIR      "api/schemas/"
#define SCHEMA_PATH_MAX 128
#define CHANNEL_FILE    "channel-written-payload.schema.json"
#define REDUCER_FROM    "|feedback|vendor"
#define REDUCER_TO      "|feedback|message|vendor"

/* text with the one occurrence of REDUCER_FROM replaced (EVT-14 a). */
static int channel_schema_relax(struct str text, struct buf *out, struct wopr_error *err) {
    const size_t n = sizeof REDUCER_FROM - 1;
    size_t found = 0, at = 0;
    for (size_t i = 0; i + n <= text.n; i++)
        if (memcmp(text.p + i, REDUCER_FROM, n) == 0) {
            at = i;
            found++;
        }
    if (found != 1)
        return wopr_error_set(err, WOPR_E_INTERNAL,
                              "the embedded %s has %zu reducer patterns where one is expected: "
                              "check the relaxation of EVT-14 against it",
                              CHANNEL_FILE, found);
    buf_adds(out, str_n(text.p, at));
    buf_addz(out, REDUCER_TO);
    buf_adds(out, str_n(text.p + at + n, text.n - at - n));
    return 0;
}

static int published_text(struct str uri, struct buf *out, struct wopr_error *err) {
    const struct str at = STR(PUBLISHED_URI);
    char path[SCHEMA_PATH_MAX];
    if (!str_starts(uri, at)) return 0;
    struct str name = str_n(uri.p + at.n, uri.n - at.n);
    int n = snprintf(path, sizeof path, SCHEMA_DIR STR_FMT, STR_ARG(name));
    const struct embed_file *f = n > 0 && (size_t)n < sizeof path ? embed_find(path) : NULL;
    if (f == NULL) return 0;
    if (str_eqc(name, CHANNEL_FILE)) return channel_schema_relax(embed_text(f), out, err);
    buf_adds(out, embed_text(f));
    return 0;
}

struct schema_set *published_set_new(void) {
    return schema_set_new_from(true, published_text);
}
