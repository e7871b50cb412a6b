/*
 * pieces.c: see pieces.h.
 */
#include "engine/pieces.h"

#include "codec/jobj.h"
#include "engine/effects.h"
#include "engine/outcome.h"

#define PIECE_MAX 16384u /* bytes of one chunk */
#define WORD_MAX  4096u  /* a word that is longer is cut */

struct pieces_mark pieces_mark_read(struct str outcome) {
    struct pieces_mark m = {0};
    int64_t n = 0, attempt = 0;
    (void)json_bool(json_get(outcome, "streamAgain"), &m.again);
    if (!json_int(json_get(outcome, "streamed"), &n) || n <= 0 ||
        !json_int(json_get(outcome, "streamAttempt"), &attempt) || attempt < 0 ||
        attempt > INT32_MAX)
        return m;
    m.streamed = (size_t)n;
    m.attempt = (int32_t)attempt;
    return m;
}

struct str pieces_mark_add(struct str outcome, struct pieces_mark m, struct arena *a) {
    const char *again = m.again ? ",\"streamAgain\":true" : "";
    if (outcome.n <= 2) /* {} or nothing */
        return arena_printf(a, "{\"streamed\":%zu,\"streamAttempt\":%d%s}", m.streamed, m.attempt,
                            again);
    return arena_printf(a, "{\"streamed\":%zu,\"streamAttempt\":%d%s," STR_FMT, m.streamed,
                        m.attempt, again, (int)(outcome.n - 1), outcome.p + 1);
}

static size_t char_start(struct str s, size_t n) {
    while (n > 0 && n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80) n--;
    return n;
}

size_t pieces_ready(struct str text) {
    size_t n = text.n;
    while (n > 0 && text.p[n - 1] != ' ' && text.p[n - 1] != '\n' && text.n - n < WORD_MAX) n--;
    return text.n - n < WORD_MAX ? n : char_start(text, text.n);
}

static struct str piece_meta(struct step *st, struct str model, bool restarted) {
    struct jobj o;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kstr_opt(&o.w, "model", model);
    if (restarted) jw_kraw(&o.w, "providerExtensions", STR("{\"restarted\":true}"));
    return jobj_end(&o, st->scratch);
}

bool pieces_emit(struct step *st, int node, struct str text, struct str model, bool restarted) {
    step_now(st);
    while (text.n > 0) {
        size_t n = char_start(text, text.n < PIECE_MAX ? text.n : PIECE_MAX);
        struct failure f = {0};
        struct node_effect x = {.kind = EFFECT_CHUNK,
                                .value = str_n(text.p, n),
                                .extra = piece_meta(st, model, restarted),
                                .is_last = -1};
        if (!x.extra.p) {
            plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a chunk");
            return false;
        }
        if (effect_apply(st, node, &x, &f) != 0) {
            attempt_failed(st, node, &f);
            return false;
        }
        if (step_lost(st)) return false;
        restarted = false;
        text = str_n(text.p + n, text.n - n);
    }
    return true;
}
