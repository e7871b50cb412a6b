/*
 * effects.c: what executors return as data becomes events (CHAN-4..7, CHAN-12, CHAN-13, CHAN-22,
 * CHAN-24, OBS-70..72). Everything is checked here, before the append; the fold only counts.
 */
#include "codec/json.h"
#include "codec/schema.h"
#include "engine/internal.h"

#include <stdio.h>

#define EFFECT_NAMES_MAX   4000u /* variables, and channels, of one run */
#define EFFECT_FOLDED_MAX  (16u * 1024 * 1024)
#define EFFECT_MESSAGE_MAX 256

static int fail(struct failure *f, struct str code, struct str message) {
    *f = (struct failure){.code = code, .message = message};
    return WOPR_E_VALIDATION;
}

static int bad(struct failure *f, const char *message) {
    return fail(f, STR("validation_error"), str_c(message));
}

static int emit(struct step *st, enum ev_kind kind, int node, struct str payload,
                struct failure *f) {
    if (step_emit(st, kind, node, -1, payload) != EMIT_REFUSED) return 0; /* or the plan failed */
    return fail(f, STR("event_payload_invalid"),
                STR("an effect of the node does not fit its event"));
}

static int shown(struct step *st, struct str json, struct str *out) {
    int rc = mask_value(st->s->wf->masking_mode, json, st->a, out, NULL);
    if (rc != 0) plan_fail(st->p, rc, "a sensitive value cannot be masked");
    return rc;
}

/* --- variables --- */

static int variable(struct step *st, int node, const struct node_effect *x, struct failure *f) {
    struct run_state *s = st->s;
    const struct wf_variable *d = workflow_variable(s->wf, x->name);
    struct var_state *v = run_state_var(s, x->name);
    struct str next = x->value, previous = v ? arena_str(st->a, text_str(&v->value)) : STR_NONE;
    bool sensitive = d ? d->sensitive : v && v->sensitive;
    if (s->wf->channel_aware && workflow_channel(s->wf, x->name))
        return bad(f, "the name is that of a declared channel; write the channel instead");
    if (!v && s->vars_nr >= EFFECT_NAMES_MAX) return bad(f, "the run has too many variables");
    if (sensitive) {
        if (shown(st, next, &next) != 0) return 0;
        if (previous.n > 0 && shown(st, previous, &previous) != 0) return 0;
    }
    struct str id = s->wf->nodes[node].id;
    int rc = emit(st, EV_VARIABLE_CHANGED, node,
                  pay_variable_changed(st->p->arena, x->name, previous, next, id), f);
    if (rc != 0 || step_lost(st) || !sensitive) return rc;
    v = run_state_var(s, x->name); /* OBS-71: nodes of the run read the clear value */
    if (v && text_set(&v->value, x->value) != 0)
        plan_fail(st->p, WOPR_E_NO_MEMORY, "no memory for a variable");
    return 0;
}

/* --- channels --- */

static bool pattern_fits(struct str entry, const struct wf_node *n) {
    if (str_eq(entry, n->id)) return true;
    if (entry.n == 0 || entry.p[entry.n - 1] != '*') return str_eq(entry, n->type_id);
    return str_starts(n->type_id, str_n(entry.p, entry.n - 1)); /* CHAN-5 */
}

/* CHAN-5, CHAN-6 for writers. */
static bool may_write(struct step *st, const struct wf_channel *d, const struct wf_node *n) {
    struct json_elements list;
    if (d->access.n == 0 || json_type_of(d->access) == JSON_NULL) return true;
    if (json_type_of(d->access) == JSON_STRING)
        return !str_eqc(json_string(d->access, st->a), "private");
    struct str writers = json_get(d->access, "writers");
    if (writers.n == 0) return true;
    if (json_elements(writers, st->a, &list, NULL) != 0) return false;
    for (size_t i = 0; i < list.n; i++)
        if (pattern_fits(json_string(list.v[i], st->a), n)) return true;
    return false;
}

static int denied(struct step *st, const struct node_effect *x, const struct wf_node *n,
                  struct failure *f) {
    struct buf b;
    struct jw w;
    buf_init(&b, EVENT_PAYLOAD_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstr(&w, "channel", x->name);
    jw_key(&w, "requestedBy");
    jw_object(&w);
    jw_kstr(&w, "nodeId", n->id);
    jw_kstr(&w, "typeId", n->type_id);
    jw_end_object(&w);
    jw_kstrz(&w, "allowed", "writers");
    jw_end_object(&w);
    (void)fail(f, STR("channel_access_denied"), STR("the node may not write the channel"));
    f->details = arena_str(st->a, buf_str(&b));
    buf_fini(&b);
    return WOPR_E_VALIDATION;
}

static bool is_list(enum reducer r) {
    return r == RED_APPEND || r == RED_VOTES || r == RED_FEEDBACK || r == RED_MESSAGE;
}

/* The channel's value once x was added, as far as its schema and size can see it. */
static struct str folded(struct step *st, const struct wf_channel *d, struct str x) {
    const struct chan_state *c = run_state_chan(st->s, d->name);
    struct buf b;
    buf_init(&b, EFFECT_FOLDED_MAX);
    if (!c || chan_value(c, 0, &b) != 0 || b.len < 2) {
        buf_reset(&b);
        buf_addz(&b, "[]");
    }
    struct str list = buf_str(&b); /* rendered by us: "[" first, "]" last */
    bool empty = str_trim(str_n(list.p + 1, list.n - 2)).n == 0;
    struct str head = str_n(list.p, list.n - 1);
    struct str out =
        arena_printf(st->a, STR_FMT "%s" STR_FMT "]", STR_ARG(head), empty ? "" : ",", STR_ARG(x));
    buf_fini(&b);
    return out;
}

static int schema_fits(struct step *st, const struct wf_channel *d, struct str x,
                       struct failure *f) {
    struct schema_issue issue;
    struct str subject = x;
    if (!d->schema) return 0;
    if (is_list(d->reducer) && d->schema_is_array) subject = folded(st, d, x); /* CHAN-4 */
    if (!subject.p) return bad(f, "the channel is too large to be checked");
    int rc = schema_validate_text(d->schema, subject, &issue);
    if (rc == 0) return 0;
    if (rc == WOPR_E_NO_MEMORY) {
        plan_fail(st->p, rc, "no memory to check a channel");
        return 0;
    }
    char text[EFFECT_MESSAGE_MAX];
    snprintf(text, sizeof text, "the value does not fit the schema of the channel: %.180s",
             rc == WOPR_E_VALIDATION ? issue.reason : "it is too complex");
    return fail(f, STR("validation_error"), arena_str(st->a, str_c(text)));
}

static size_t member_count(struct step *st, struct str json) {
    struct json_members m = {0};
    struct json_elements v = {0};
    if (json_type_of(json) == JSON_ARRAY)
        return json_elements(json, st->a, &v, NULL) == 0 ? v.n : SIZE_MAX;
    if (json_type_of(json) == JSON_OBJECT)
        return json_members(json, st->a, &m, NULL) == 0 ? m.n : SIZE_MAX;
    return 1;
}

/* Keys of the merged object. */
static size_t merged_count(struct step *st, struct str old, struct str x) {
    struct json_members was = {0}, add = {0};
    if (old.n > 0 && json_members(old, st->a, &was, NULL) != 0) return SIZE_MAX;
    if (json_members(x, st->a, &add, NULL) != 0) return SIZE_MAX;
    size_t n = was.n;
    for (size_t i = 0; i < add.n; i++) {
        size_t k = 0;
        while (k < was.n && !str_eq(was.v[k].key, add.v[i].key)) k++;
        if (k == was.n) n++;
    }
    return n;
}

/* CHAN-13: lists drop their oldest, the others refuse. */
static int size_fits(struct step *st, const struct wf_channel *d, struct str x, struct failure *f) {
    if (d->max_size <= 0 || is_list(d->reducer)) return 0;
    const struct chan_state *c = run_state_chan(st->s, d->name);
    struct buf b;
    bool fits;
    double was = 0, by = 0;
    buf_init(&b, EFFECT_FOLDED_MAX);
    struct str old = c && c->n > 0 && chan_value(c, 0, &b) == 0 ? buf_str(&b) : STR_NONE;
    if (d->reducer == RED_MERGE) {
        fits = merged_count(st, old, x) <= (uint64_t)d->max_size;
    } else if (d->reducer == RED_COUNTER) {
        if (old.n > 0) (void)json_double(old, &was);
        (void)json_double(x, &by);
        fits = was + by <= (double)d->max_size && was + by >= -(double)d->max_size;
    } else {
        fits = member_count(st, x) <= (uint64_t)d->max_size;
    }
    buf_fini(&b);
    return fits ? 0 : bad(f, "the channel would grow over its maxSize");
}

static int channel(struct step *st, int node, const struct node_effect *x, struct failure *f) {
    struct run_state *s = st->s;
    const struct wf_node *n = &s->wf->nodes[node];
    const struct wf_channel *d = workflow_channel(s->wf, x->name);
    enum reducer red = d ? d->reducer : x->reducer;
    const char *name = d ? arena_cstr(st->a, d->reducer_name) : reducer_name(red);
    struct str value = x->value;
    if (d && !may_write(st, d, n)) return denied(st, x, n, f);
    if (!d && !run_state_chan(s, x->name) && s->chans_nr >= EFFECT_NAMES_MAX)
        return bad(f, "the run has too many channels");
    if (red == RED_MERGE && json_type_of(value) != JSON_OBJECT) /* CHAN-12 */
        return bad(f, "a merge channel takes objects only");
    if (red == RED_COUNTER && json_type_of(value) != JSON_NUMBER)
        return bad(f, "a counter channel takes numbers only");
    if (d) {
        int rc = schema_fits(st, d, value, f);
        if (rc == 0) rc = size_fits(st, d, value, f);
        if (rc != 0 || step_lost(st)) return rc;
    }
    if (d && d->sensitive && shown(st, value, &value) != 0) return 0; /* CHAN-24 */
    if (!name) {
        plan_fail(st->p, WOPR_E_NO_MEMORY, "no memory for a channel write");
        return 0;
    }
    step_now(st);
    return emit(st, EV_CHANNEL_WRITTEN, node,
                pay_channel_written(st->p->arena, x->name, value, name, st->now_ms, n->id,
                                    d ? d->schema_version : 0),
                f);
}

/* --- the others --- */

static int log_line(struct step *st, int node, const struct node_effect *x, struct failure *f) {
    struct str id = st->s->wf->nodes[node].id;
    const char *level = arena_cstr(st->a, x->name);
    if (!level) {
        plan_fail(st->p, WOPR_E_NO_MEMORY, "no memory for a log line");
        return 0;
    }
    return emit(st, EV_LOG_APPENDED, node, pay_log(st->p->arena, level, x->value, id, x->extra), f);
}

static int chunk(struct step *st, int node, const struct node_effect *x, struct failure *f) {
    struct str id = st->s->wf->nodes[node].id;
    return emit(st, EV_OUTPUT_CHUNK, node,
                pay_chunk(st->p->arena, id, x->value, x->is_last, x->extra), f);
}

static int artifact(struct step *st, int node, const struct node_effect *x, struct failure *f) {
    struct plan_artifact art = {
        .artifact_id = x->name,
        .artifact_type = json_string(json_get(x->extra, "type"), st->a),
        .node_id = st->s->wf->nodes[node].id,
        .version = json_string(json_get(x->extra, "version"), st->a),
        .summary = json_string(json_get(x->extra, "summary"), st->a),
        .body = x->value,
    };
    int rc = emit(st, EV_ARTIFACT_CREATED, node, pay_artifact(st->p->arena, &art), f);
    if (rc == 0 && !step_lost(st)) plan_artifact(st->p, &art);
    return rc;
}

/* EVT-33.  A change id that the redactor would alter (OBS-75) could not be found again. */
static int pin(struct step *st, int node, const struct node_effect *x, struct failure *f) {
    int64_t version;
    struct buf b;
    if (!json_int(x->value, &version)) return bad(f, "the version of a change is no whole number");
    buf_init(&b, EVENT_PAYLOAD_MAX);
    bool altered = redact_text(x->name, STR_NONE, &b) || buf_failed(&b);
    buf_fini(&b);
    if (altered) return bad(f, "the id of a change has the shape of a credential");
    struct str id = st->s->wf->nodes[node].id;
    return emit(st, EV_VERSION_PINNED, node, pay_version_pinned(st->p->arena, x->name, version, id),
                f);
}

/* Which parts of an effect are JSON, and may they be left out? */
enum part { PART_TEXT, PART_JSON, PART_JSON_OR_NONE };
static const struct {
    int (*apply)(struct step *st, int node, const struct node_effect *x, struct failure *f);
    enum part value, extra;
} EFFECTS[] = {
    [EFFECT_VARIABLE] = {variable, PART_JSON, PART_JSON_OR_NONE},
    [EFFECT_CHANNEL] = {channel, PART_JSON, PART_JSON_OR_NONE},
    [EFFECT_LOG] = {log_line, PART_TEXT, PART_JSON_OR_NONE},
    [EFFECT_CHUNK] = {chunk, PART_TEXT, PART_JSON_OR_NONE},
    [EFFECT_ARTIFACT] = {artifact, PART_JSON, PART_JSON_OR_NONE},
    [EFFECT_PIN] = {pin, PART_JSON, PART_JSON_OR_NONE},
};

/* Executors of embedding programs are foreign bytes too. */
static bool part_valid(enum part part, struct str s) {
    if (part == PART_TEXT) return utf8_valid(s);
    if (part == PART_JSON_OR_NONE && s.n == 0) return true;
    return json_check(s, &JSON_LIMITS_STORED, NULL) == 0;
}

int effect_apply(struct step *st, int node, const struct node_effect *x, struct failure *f) {
    if ((unsigned)x->kind >= sizeof EFFECTS / sizeof EFFECTS[0] || !utf8_valid(x->name) ||
        !part_valid(EFFECTS[x->kind].value, x->value) ||
        !part_valid(EFFECTS[x->kind].extra, x->extra))
        return fail(f, STR("event_payload_invalid"), STR("an effect of the node is not valid"));
    return EFFECTS[x->kind].apply(st, node, x, f);
}

/* --- sensitive outputs (NODE-20, OBS-71) --- */

static bool port_sensitive(const struct wf_node *def, struct str port) {
    for (size_t i = 0; i < def->sensitive_nr; i++)
        if (str_eq(def->sensitive_outputs[i], port)) return true;
    return false;
}

int outputs_mask(struct step *st, int node, struct str outputs, struct str *shown_out) {
    const struct wf_node *def = &st->s->wf->nodes[node];
    struct json_members m;
    struct buf b;
    struct jw w;
    if (def->sensitive_nr == 0) {
        *shown_out = outputs;
        return 0;
    }
    int rc = json_members(outputs, st->a, &m, NULL);
    if (rc != 0) {
        plan_fail(st->p, rc, "no memory to mask outputs");
        return rc;
    }
    buf_init(&b, PLAN_BYTES_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    for (size_t i = 0; i < m.n && rc == 0; i++) {
        struct str raw = m.v[i].raw;
        if (port_sensitive(def, m.v[i].key)) rc = shown(st, raw, &raw);
        if (rc != 0 || raw.n == 0) continue;
        jw_key_str(&w, m.v[i].key);
        jw_raw(&w, raw);
    }
    jw_end_object(&w);
    struct str out = rc == 0 && !buf_failed(&b) ? arena_str(st->a, buf_str(&b)) : STR_NONE;
    buf_fini(&b);
    if (!out.p) {
        plan_fail(st->p, WOPR_E_NO_MEMORY, "no memory to mask outputs");
        return WOPR_E_NO_MEMORY;
    }
    *shown_out = out;
    return 0;
}

void outputs_swap(struct run_exec *re) {
    if (!re->clear) return;
    for (size_t i = 0; i < re->state->wf->nodes_nr; i++) {
        if (re->clear[i].n == 0 || re->state->nodes[i].outputs.n == 0) continue;
        struct text t = re->clear[i];
        re->clear[i] = re->state->nodes[i].outputs;
        re->state->nodes[i].outputs = t;
    }
}
