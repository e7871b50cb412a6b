/* answer_clear.c: see answer_clear.h. */
#include "engine/answer_clear.h"

#include "codec/jobj.h"
#include "engine/clear.h"
#include "engine/secret.h"

#define MARK          "{\"sealed\":true,"
#define ORDINAL_BITS  43 /* activation * NODE_INVOKES_MAX + position */
#define OUTCOME_BYTES (8u * 1024 * 1024)

static int64_t place_of(int node, int64_t ordinal) {
    return SEALED_ANSWERS + ((int64_t)node << ORDINAL_BITS) + ordinal;
}

bool answer_is_shown(struct str outcome) { return str_starts(outcome, STR(MARK)); }

/* A body that is JSON is looked through as such: in its text a value may be spelled otherwise. What
 * cannot be replaced in its place (a number) hides it whole; of the recorded answers of models that
 * would leave nothing to read. */
static struct str body_shown(struct step *st, struct str body) {
    if (json_check(body, &JSON_LIMITS_STORED, NULL) != 0) return body;
    struct str shown = secret_scrub(st, body);
    bool recorded = json_get(shown, "recorded").n > 0;
    return !recorded && shown.n > 0 && secret_in(st, shown) ? STR("[REDACTED]") : shown;
}

/* The outcome with another body; .p NULL: no memory. */
static struct str body_replace(struct step *st, struct str outcome) {
    struct str raw = json_get(outcome, "body"), text, shown;
    struct buf b;
    if (raw.n == 0) return outcome;
    text = json_string(raw, st->scratch);
    shown = body_shown(st, text);
    if (str_eq(shown, text)) return outcome;
    buf_init(&b, OUTCOME_BYTES);
    buf_add(&b, outcome.p, (size_t)(raw.p - outcome.p));
    json_quote(&b, shown);
    buf_add(&b, str_end(raw), (size_t)(str_end(outcome) - str_end(raw)));
    outcome = buf_failed(&b) ? STR_NONE : arena_str(st->scratch, buf_str(&b));
    buf_fini(&b);
    return outcome;
}

struct str answer_shown(struct step *st, int node, int64_t ordinal, struct str outcome) {
    if (!st->state->secrecy.masks || outcome.n == 0) return outcome;
    struct str shown = body_replace(st, outcome);
    if (shown.p) shown = secret_scrub(st, shown);
    if (step_lost(st) || (shown.p && str_eq(shown, outcome))) return outcome;
    struct str clear = jobj_of(st->plan->arena, "outcome", outcome);
    if (shown.p)
        shown = arena_printf(st->plan->arena, MARK STR_FMT, (int)(shown.n - 1), shown.p + 1);
    if (!shown.p || !clear.p) {
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for an answer");
        return outcome;
    }
    clear_seal(st->engine, st->plan, st->state->meta.run_id, place_of(node, ordinal), clear);
    return shown;
}

int answer_clear(struct engine *e, int64_t run_no, int node, int64_t ordinal, struct arena *a,
                 struct str *out, struct wopr_error *err) {
    struct str clear;
    int rc = clear_one(e, run_no, place_of(node, ordinal), a, &clear, err);
    *out = rc == 0 && clear.n > 0 ? json_get(clear, "outcome") : STR_NONE;
    return rc;
}
