/*
 * mask.c: masking of values marked sensitive (OBS-70..73) and of the credential reference (RUN-13).
 */
#include "codec/bytes.h"
#include "codec/jobj.h"
#include "domain/options.h"

#define MASK_BYTES_MAX (16u * 1024 * 1024)

static int mask_hash(struct str json, struct arena *a, struct str *out, struct wopr_error *err) {
    struct buf b;
    char hex[65];
    buf_init(&b, MASK_BYTES_MAX);
    int rc = json_canonical(json, &b, err);
    if (rc == WOPR_E_SYNTAX) { /* numbers beyond a double have no canonical form: use the text */
        buf_reset(&b);
        rc = json_canonical_exact(json, &b, err);
    }
    if (rc == 0) {
        struct sha256 d = sha256_of(buf_str(&b));
        sha256_hex(&d, hex);
        struct str s = arena_printf(a, "\"sha256:%s\"", hex);
        if (s.p) *out = s;
        else rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to mask a value");
    }
    buf_fini(&b);
    return rc;
}

bool mask_masks(struct str mode) { return !str_eqc(mode, "passthrough"); }

struct str mask_inherited(struct str mode) {
    return mask_masks(mode) ? mode : STR("mask");
}

int mask_value(struct str mode, struct str json, struct arena *a, struct str *out,
               struct wopr_error *err) {
    if (str_eqc(mode, "hash")) return mask_hash(json, a, out, err);
    if (str_eqc(mode, "omit")) *out = STR_NONE;
    else if (str_eqc(mode, "passthrough")) *out = json;
    else *out = STR(MASK_TEXT); /* "mask", and unknown modes: hide rather than show */
    return 0;
}

static int inits_render(const struct var_inits *inits, bool clear, struct arena *a,
                        struct str *out) {
    struct jobj o;
    jobj_begin(&o, MASK_BYTES_MAX);
    for (size_t i = 0; i < inits->n; i++) {
        const struct var_init *v = &inits->v[i];
        struct str raw = clear ? v->value : v->shown;
        bool masked = v->sensitive && !str_eq(v->shown, v->value);
        if (!v->from_input || (clear && !masked) || raw.n == 0) continue;
        jw_key_str(&o.w, v->name);
        jw_raw(&o.w, raw);
    }
    *out = jobj_end(&o, a);
    return out->p ? 0 : WOPR_E_NO_MEMORY;
}

int run_inputs_mask(struct var_inits *inits, struct str mode, struct arena *a, struct str *shown,
                    struct str *clear, struct wopr_error *err) {
    bool any = false;
    int rc = 0;
    *clear = STR_NONE;
    for (size_t i = 0; rc == 0 && i < inits->n; i++) {
        struct var_init *v = &inits->v[i];
        v->shown = v->value;
        if (!v->sensitive || (!v->inherited && !mask_masks(mode))) continue;
        any = any || v->from_input;
        rc = mask_value(v->inherited ? mask_inherited(mode) : mode, v->value, a, &v->shown, err);
    }
    if (rc != 0) return rc;
    if (inits->accepted.p != NULL) { /* a program has no sensitive variables */
        *shown = inits->accepted;
        return 0;
    }
    rc = inits_render(inits, false, a, shown);
    if (rc == 0 && any) rc = inits_render(inits, true, a, clear);
    return rc == 0 ? 0 : wopr_error_set(err, rc, "no memory for the inputs");
}

/* Append the text up to `secret` and the mask in its place; *rest begins after it. */
static void mask_span(struct buf *out, struct str *rest, struct str secret) {
    size_t before = (size_t)(secret.p - rest->p);
    buf_add(out, rest->p, before);
    buf_adds(out, STR(MASK_TEXT));
    *rest = (struct str){str_end(secret), rest->n - before - secret.n};
}

/* Spliced, not parsed, so that every accepted text can be shown whatever its size. */
int configurable_masked(struct str configurable, struct buf *out, struct wopr_error *err) {
    struct str rest = configurable, flat = json_get(configurable, "ai.credentialRef"),
               nested = json_get(json_get(configurable, "ai"), "credentialRef");
    bool nested_first = nested.p && flat.p && nested.p < flat.p;
    if (configurable.n == 0) return 0;
    if (nested_first) mask_span(out, &rest, nested);
    if (flat.p) mask_span(out, &rest, flat);
    if (nested.p && !nested_first) mask_span(out, &rest, nested);
    buf_adds(out, rest);
    return buf_failed(out) ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to mask configurable")
                           : 0;
}
