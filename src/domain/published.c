/*
 * published.c: see published.h.
 *
 * Two relaxations are made in memory, under the document's own URI, so that the served schemas stay
 * as published: channel.written.reducer also allows "message" (EVT-14 a, CX-12), and the kind of
 * cap.breached the two words that ORCH-9 and DISP-11 ask for.  The other two
 * relaxations of EVT-14 are ways of writing events, not of checking them: kinds that the enum lacks
 * are left out, and interrupt.requested carries no identity.
 */
#include "domain/published.h"

#include "base/embed.h"

#include <stdio.h>
#include <string.h>

#define SCHEMA_DIR      "api/schemas/"
#define SCHEMA_PATH_MAX 128

/* A text of a document that is replaced; it must occur once. */
static const struct relaxation {
    const char *file, *from, *to;
} RELAXATIONS[] = {
    {"channel-written-payload.schema.json", "|feedback|vendor", "|feedback|message|vendor"},
    {"run-event-payloads.schema.json",
     "\"enum\": [\"clarification\", \"schema\", \"envelopes\", \"node-executions\"]",
     "\"enum\": [\"clarification\", \"schema\", \"envelopes\", \"node-executions\", "
     "\"orchestrator-iterations\", \"dispatch-iterations\", \"wasm-memory\", "
     "\"wasm-execution-time\"]"},
};

static int text_relax(const struct relaxation *r, struct str text, struct buf *out,
                      struct wopr_error *err) {
    const struct str from = str_c(r->from);
    size_t found = 0, at = 0;
    for (size_t i = 0; i + from.n <= text.n; i++)
        if (memcmp(text.p + i, from.p, from.n) == 0) {
            at = i;
            found++;
        }
    if (found != 1)
        return wopr_error_set(err, WOPR_E_INTERNAL,
                              "the embedded %s has %zu places to relax where one is expected: "
                              "check EVT-14 against it",
                              r->file, found);
    buf_adds(out, str_n(text.p, at));
    buf_addz(out, r->to);
    buf_adds(out, str_n(text.p + at + from.n, text.n - at - from.n));
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
    for (size_t i = 0; i < sizeof RELAXATIONS / sizeof *RELAXATIONS; i++)
        if (str_eqc(name, RELAXATIONS[i].file))
            return text_relax(&RELAXATIONS[i], embed_text(f), out, err);
    buf_adds(out, embed_text(f));
    return 0;
}

struct schema_set *published_set_new(void) {
    return schema_set_new_from(true, published_text);
}
