/*
 * run_roots.c: variables, channels and inputs of a run as texts, as expressions see them (WF-9,
 * WF-10).  Ports see the values as nodes read them; conditions are evaluated inside the fold, which
 * must decide the same from the log alone, and the log holds sensitive variables and channels
 * masked (NODE-20): they see neither (hides).
 */
#include "codec/jobj.h"
#include "domain/sched_int.h"
#include "domain/state_internal.h"

enum run_root run_root_of(struct str name) {
    static const char *const NAMES[ROOT_NR] = {"status",   "output", "value", "variables",
                                               "channels", "inputs", "config"};
    int i = 0;
    while (i < ROOT_NR && !str_eqc(name, NAMES[i])) i++;
    return (enum run_root)i;
}

bool root_hides(const struct run_state *s, struct str variable) {
    const struct wf_variable *d = workflow_variable(s->wf, variable);
    return d && d->sensitive;
}

struct str root_var(const struct run_state *s, const struct var_state *v, bool hides) {
    if (!hides) return text_str(&v->value);
    return root_hides(s, text_str(&v->name)) ? STR("") : var_shown(v);
}

/* --- objects of variables and channels --- */

static int channel_add(const struct run_state *s, const struct chan_state *c, bool hides,
                       int64_t now_ms, struct jw *w) {
    struct buf value;
    buf_init(&value, SCOPE_BYTES_MAX);
    int rc =
        hides ? chan_shown(c, s->wf->masking_mode, now_ms, &value) : chan_value(c, now_ms, &value);
    if (rc == 0 && buf_failed(&value)) rc = WOPR_E_NO_MEMORY;
    if (rc == 0 && value.len > 0) {
        jw_key_str(w, text_str(&c->name));
        jw_raw(w, buf_str(&value));
    }
    buf_fini(&value);
    return rc;
}

bool root_channel(const struct chan_state *c, enum run_root which, bool hides) {
    if ((c->decl != NULL) != (which == ROOT_CHANNELS)) return false;
    return c->decl == NULL || !hides || !c->decl->sensitive;
}

int root_object(const struct run_state *s, enum run_root which, bool hides, int64_t now_ms,
                struct arena *a, struct str *out) {
    struct jobj o;
    int rc = 0;
    jobj_begin(&o, SCOPE_BYTES_MAX);
    for (size_t i = 0; which == ROOT_VARIABLES && i < s->variables.n; i++) {
        struct str raw = root_var(s, &s->variables.v[i], hides);
        if (raw.n == 0) continue;
        jw_key_str(&o.w, text_str(&s->variables.v[i].name));
        jw_raw(&o.w, raw);
    }
    for (size_t i = 0; i < s->channels.n; i++)
        if (root_channel(&s->channels.v[i], which, hides) &&
            channel_add(s, &s->channels.v[i], hides, now_ms, &o.w) != 0)
            rc = WOPR_E_NO_MEMORY;
    *out = jobj_end(&o, a);
    return out->p ? rc : WOPR_E_NO_MEMORY;
}

/* As jw_key_str writes it. */
static size_t key_bytes(struct str name) {
    size_t n = name.n + 2;
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') continue;
        struct buf b;
        buf_init(&b, SCOPE_BYTES_MAX);
        json_quote(&b, name);
        n = buf_failed(&b) ? n : b.len;
        buf_fini(&b);
        break;
    }
    return n + 1; /* and the colon */
}

static void member_count(size_t *bytes, struct str name, size_t n) {
    *bytes += (*bytes > 2 ? 1 : 0) + key_bytes(name) + n;
}

int root_object_bytes(const struct run_state *s, enum run_root which, int64_t now_ms,
                      size_t *bytes) {
    size_t sum = 2;
    int rc = 0;
    for (size_t i = 0; which == ROOT_VARIABLES && i < s->variables.n; i++) {
        struct str raw = root_var(s, &s->variables.v[i], true);
        if (raw.n > 0) member_count(&sum, text_str(&s->variables.v[i].name), raw.n);
    }
    for (size_t i = 0; i < s->channels.n; i++) {
        const struct chan_state *c = &s->channels.v[i];
        if (!root_channel(c, which, true)) continue;
        size_t n = chan_shown_bytes(c, s->wf->masking_mode, now_ms);
        if (n > SCOPE_BYTES_MAX) rc = WOPR_E_TOO_BIG;
        else if (n > 0) member_count(&sum, text_str(&c->name), n);
    }
    *bytes = sum <= SCOPE_BYTES_MAX ? sum : 0;
    return *bytes > 0 ? rc : WOPR_E_TOO_BIG;
}

/* --- inputs --- */

static int inputs_shown(const struct run_state *s, struct arena *a, struct str *out) {
    struct json_members m = {0};
    struct jobj o;
    int rc = json_members(s->meta.inputs, a, &m, NULL);
    jobj_begin(&o, SCOPE_BYTES_MAX);
    for (size_t i = 0; i < m.n; i++) {
        if (root_hides(s, m.v[i].key)) continue;
        jw_key_str(&o.w, m.v[i].key);
        jw_raw(&o.w, m.v[i].raw);
    }
    *out = jobj_end(&o, a);
    return out->p && rc == 0 ? 0 : WOPR_E_NO_MEMORY;
}

int root_inputs(const struct run_state *s, bool hides, struct arena *a, struct str *out) {
    *out = STR_NONE;
    if (s->meta.inputs.n == 0) return 0;
    if (hides) return inputs_shown(s, a, out);
    if (s->meta.inputs_clear.n > 0)
        return overlay_object(s->meta.inputs, s->meta.inputs_clear, a, out, NULL) != 0
                   ? WOPR_E_NO_MEMORY
                   : 0;
    *out = s->meta.inputs;
    return 0;
}
