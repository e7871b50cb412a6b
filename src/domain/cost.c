/*
 * cost.c: see cost.h.
 */
#include "domain/cost.h"

#include "codec/jobj.h"

#include <math.h>
#include <stdio.h>

#define PICO      INT64_C(1000000000000)
#define USD_MAX   9000000.0 /* of one record and of a sum: beyond it the sum stands still */
#define COUNT_MAX 9e15
#define WORD_MAX  256u
#define COST_MAX  4096u
static const char HEAD[] = "{\"" COST_MEMBER "\":";

static int64_t sum_of(int64_t x, int64_t y) { return x > INT64_MAX - y ? INT64_MAX : x + y; }

static bool number_of(struct str record, const char *key, double max, double *out) {
    struct str raw = json_get(record, key);
    return raw.n > 0 && json_double(raw, out) && *out >= 0 && *out <= max;
}

static bool count_of(struct str record, const char *key, int64_t *out) {
    double v;
    if (!number_of(record, key, COUNT_MAX, &v)) return false;
    *out = (int64_t)v; /* OBS-13: fractions are cut */
    return true;
}

static struct str word_of(struct str record, const char *key, struct arena *a) {
    struct str raw = json_get(record, key);
    struct str s = raw.n > 0 && raw.n <= WORD_MAX ? json_string(raw, a) : STR_NONE;
    return s;
}

void cost_read(struct str record, struct arena *a, struct cost *out) {
    double usd;
    *out = (struct cost){0};
    if (record.n == 0 || json_type_of(record) != JSON_OBJECT) return;
    out->provider = word_of(record, "openwop.cost.provider", a);
    out->model = word_of(record, "openwop.cost.model", a);
    bool in = count_of(record, "openwop.cost.tokens.input", &out->input);
    bool back = count_of(record, "openwop.cost.tokens.output", &out->output);
    out->counted = in || back;
    out->priced = number_of(record, "openwop.cost.usd", USD_MAX, &usd);
    if (out->priced) out->usd_pico = (int64_t)llround(usd * (double)PICO);
    out->timed = count_of(record, "openwop.cost.duration_ms", &out->duration_ms);
    out->known =
        out->counted || out->priced || out->timed || out->provider.n > 0 || out->model.n > 0;
}

void cost_usd_format(int64_t pico, char out[COST_USD_SIZE]) {
    int n = snprintf(out, COST_USD_SIZE, "%lld.%012lld", (long long)(pico / PICO),
                     (long long)(pico % PICO));
    while (n > 1 && out[n - 1] == '0') out[--n] = '\0';
    if (out[n - 1] == '.') out[n - 1] = '\0';
}

static void usd_put(struct jw *w, const char *key, int64_t pico) {
    char text[COST_USD_SIZE];
    cost_usd_format(pico, text);
    jw_kraw(w, key, str_c(text));
}

struct str cost_text(const struct cost *c, struct arena *a) {
    struct jobj o;
    if (!c->known) return STR_NONE;
    jobj_begin(&o, COST_MAX);
    jw_kstr_opt(&o.w, "openwop.cost.provider", c->provider);
    jw_kstr_opt(&o.w, "openwop.cost.model", c->model);
    if (c->counted) jw_kint(&o.w, "openwop.cost.tokens.input", c->input);
    if (c->counted) jw_kint(&o.w, "openwop.cost.tokens.output", c->output);
    if (c->priced) usd_put(&o.w, "openwop.cost.usd", c->usd_pico);
    if (c->timed) jw_kint(&o.w, "openwop.cost.duration_ms", c->duration_ms);
    return jobj_end(&o, a);
}

struct str cost_sanitize(struct str record, struct arena *a) {
    struct cost c;
    cost_read(record, a, &c);
    return cost_text(&c, a);
}

void cost_add(struct cost *sum, const struct cost *c) {
    sum->known = sum->known || c->known;
    sum->priced = sum->priced || c->priced;
    sum->counted = sum->counted || c->counted;
    sum->timed = sum->timed || c->timed;
    sum->usd_pico = sum_of(sum->usd_pico, c->usd_pico);
    if (sum->usd_pico > (int64_t)USD_MAX * PICO) sum->usd_pico = (int64_t)USD_MAX * PICO;
    sum->input = sum_of(sum->input, c->input);
    sum->output = sum_of(sum->output, c->output);
    sum->duration_ms = sum_of(sum->duration_ms, c->duration_ms);
    if (c->provider.n > 0) sum->provider = c->provider;
    if (c->model.n > 0) sum->model = c->model;
}

struct str cost_of(struct str object) {
    return str_starts(object, STR(HEAD)) ? json_get(object, COST_MEMBER) : STR_NONE;
}

void cost_put(struct jw *w, struct str record) {
    if (record.n > 0) jw_kraw(w, COST_MEMBER, record);
}

void cost_render(const struct cost *c, struct jw *w) {
    jw_object(w);
    if (c->priced) usd_put(w, "usd", c->usd_pico);
    if (c->counted) {
        jw_key(w, "tokens");
        jw_object(w);
        jw_kint(w, "input", c->input);
        jw_kint(w, "output", c->output);
        jw_end_object(w);
    }
    jw_kstr_opt(w, "model", c->model);
    jw_kstr_opt(w, "provider", c->provider);
    if (c->timed) jw_kint(w, "duration_ms", c->duration_ms);
    jw_end_object(w);
}
