/* follow.c: an event of a run as one line of a terminal; see follow.h. */
#include "cli/follow.h"
#include "cli/cli.h"
#include "codec/json.h"

#include <stdio.h>

#define DETAIL_BYTES 72

static const char *const TINTS[] = {
    [EV_TONE_DIM] = "\x1b[2m",  [EV_TONE_PLAIN] = "",        [EV_TONE_GOOD] = "\x1b[32m",
    [EV_TONE_BAD] = "\x1b[31m", [EV_TONE_WARN] = "\x1b[33m", [EV_TONE_MOVES] = "\x1b[36m",
};

/* The one member of a payload that deserves a place on the line. */
static struct str detail_of(const struct event *e, struct arena *a) {
    static const char *const members[] = {"error", "reason", "outputs", "next",
                                          "value", "chunk",  "delayMs", "message"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        struct str raw = json_get(e->payload, members[i]);
        if (raw.p == NULL || str_eqc(raw, "{}")) continue;
        return i == 0 ? json_string(json_get(raw, "message"), a) : raw;
    }
    return STR_NONE;
}

static struct str value_shown(struct str s, struct arena *a) {
    struct cli page = {.arena = a};
    return cli_text(&page, s);
}

void follow_print(struct follow *t, const struct event *e, struct arena *a) {
    enum ev_tone tone = event_tone(e->kind);
    if (event_kind_is(e->kind, EV_F_ENDS_NODE)) t->nodes_ended++;
    if (t->started_ms == 0) t->started_ms = e->ts_ms;
    struct str d = detail_of(e, a);
    bool cut = d.n > DETAIL_BYTES;
    if (cut) d.n = DETAIL_BYTES;
    while (cut && d.n > 0 && ((unsigned char)d.p[d.n] & 0xc0) == 0x80) d.n--; /* no half one */
    d = value_shown(d, a);
    char progress[24] = "";
    if (e->kind == EV_NODE_COMPLETED)
        snprintf(progress, sizeof progress, " [%u done]", t->nodes_ended);
    printf("%s%8.3fs %s %-20.*s %-20.*s%s " STR_FMT "%s%s\n", t->tint ? TINTS[tone] : "",
           (double)(e->ts_ms - t->started_ms) / 1000.0, event_mark(e->kind),
           STR_ARG(value_shown(e->type, a)), STR_ARG(value_shown(e->node_id, a)),
           t->tint && tone != EV_TONE_PLAIN ? "\x1b[0m" : "", STR_ARG(d), cut ? "..." : "",
           progress);
}
