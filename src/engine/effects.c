/*
 * effects.c: what executors return as data becomes events (CHAN-4..7, CHAN-12, CHAN-13, CHAN-22,
 * CHAN-24, OBS-70..72). Everything is checked here, before the append; the fold only counts.
 */
#include "engine/effects.h"

#include "codec/jobj.h"
#include "domain/interrupt.h"
#include "engine/agents.h"
#include "engine/bounds.h"
#include "engine/conversation.h"
#include "engine/secret.h"

#define ARTIFACT_ID_SHOWN_MAX 200 /* bytes, in an error */
#define SHOWN_HASH_LEN        73u /* of a value as JSON: quotes, "sha256:" and 64 digits */

static int effect_fail(struct failure *f, struct str code, struct str message) {
    *f = (struct failure){.code = code, .message = message};
    return WOPR_E_VALIDATION;
}

static int effect_bad(struct failure *f, const char *message) {
    return effect_fail(f, STR("validation_error"), str_c(message));
}

static int effect_emit(struct step *st, enum ev_kind kind, int node, struct str payload,
                       struct str clear, struct failure *f) {
    if (step_emit_masked(st, kind, node, -1, payload, clear) != EMIT_REFUSED)
        return 0; /* or the plan failed */
    return effect_fail(f, STR("event_payload_invalid"),
                       STR("an effect of the node does not fit its event"));
}

/* A fork has of its source what the log shows: that is not hashed again. */
static bool is_shown(const struct step *st, struct str json) {
    return st->exec->fork.info && json.n == SHOWN_HASH_LEN && str_starts(json, STR("\"sha256:"));
}

/* A workflow that lets its own sensitive values pass does not let those of its parent pass. */
static int value_mask(struct step *st, struct str json, struct str *out) {
    struct str mode = st->state->wf->masking_mode;
    *out = json;
    if (is_shown(st, json)) return 0;
    if (!mask_masks(mode) && !secret_in(st, json)) return 0;
    int rc = mask_value(mask_inherited(mode), json, st->scratch, out, NULL);
    if (rc != 0) plan_fail(st->plan, rc, "a sensitive value cannot be masked");
    return rc;
}

struct str clear_member(struct step *st, const char *key, struct str value, struct str shown) {
    if (shown.p == value.p && shown.n == value.n) return STR_NONE;
    struct str out = jobj_of(st->plan->arena, key, value);
    if (!out.p) plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a sensitive value");
    return out;
}

/* --- what is said in conversations (OBS-71, CHAN-24) --- */

/* Ports and channels have what was said: where one is sensitive, no event of a turn shows it. */
static bool turns_hidden(const struct step *st, const struct wf_node *def) {
    const struct wf_channel *ch = conversation_channel(st->state->wf, def);
    if (!mask_masks(st->state->wf->masking_mode)) return false;
    bool is_outcome = json_get(def->config, "turnCount").n > 0; /* the last one */
    return port_sensitive(def, STR("turn")) || port_sensitive(def, STR("content")) ||
           port_sensitive(def, STR("answer")) || (ch && ch->sensitive) ||
           (is_outcome && port_sensitive(def, STR("outcome")));
}

static bool port_says(struct str port) {
    static const char *const PORTS[] = {"turn", "content", "outcome", "answer"};
    for (size_t i = 0; i < sizeof PORTS / sizeof *PORTS; i++)
        if (str_eqc(port, PORTS[i])) return true;
    return false;
}

static int said_mask(struct step *st, struct str raw, struct str *shown) {
    int rc = value_mask(st, raw, shown);
    if (rc == 0 && shown->n == 0) *shown = STR("null"); /* omitted: but a turn has content */
    return rc;
}

/* The object with another value of its member. */
static int member_put(struct step *st, struct str object, const char *key, struct str raw,
                      struct str *out) {
    struct json_members m = {0};
    struct jobj o;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    if (json_members(object, st->scratch, &m, NULL) != 0) jobj_fail(&o);
    for (size_t i = 0; i < m.n; i++) {
        jw_key_str(&o.w, m.v[i].key);
        jw_raw(&o.w, str_eqc(m.v[i].key, key) ? raw : m.v[i].raw);
    }
    *out = jobj_end(&o, st->scratch);
    if (!out->p) plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory to mask a turn");
    return out->p ? 0 : WOPR_E_NO_MEMORY;
}

/* Words of the host are no secret, and replays look for them; nor are those that open it, but in a
 * sensitive channel.  A turn keeps its form, so that what folds it, and a replay, find its id. */
static int turn_mask(struct step *st, int node, struct str turn, struct str *out) {
    struct str content = json_get(turn, "content"), shown;
    *out = turn;
    const struct wf_node *def = &st->state->wf->nodes[node];
    const struct wf_channel *ch = conversation_channel(st->state->wf, def);
    bool opens = str_eqc(json_get(turn, "turnIndex"), "0") && !(ch && ch->sensitive);
    if (opens || str_eqc(json_get(turn, "role"), "\"system\"") || content.n == 0 ||
        !turns_hidden(st, def))
        return 0;
    int rc = said_mask(st, content, &shown);
    return rc == 0 && shown.p != content.p ? member_put(st, turn, "content", shown, out) : rc;
}

/* An answer, or the payload of an event, as the log shows it; key: of its turn. */
static int said_shown(struct step *st, int node, struct str object, const char *key,
                      struct str *out) {
    const struct wf_node *def = &st->state->wf->nodes[node];
    struct str turn = json_get(object, key), outcome = json_get(object, "outcome"), shown = turn;
    bool hides = mask_masks(st->state->wf->masking_mode) && outcome.n > 0 &&
                 json_type_of(outcome) != JSON_NULL &&
                 (port_sensitive(def, STR("outcome")) || turns_hidden(st, def));
    int rc = 0;
    *out = object;
    if (turn.n > 0 && json_type_of(turn) == JSON_OBJECT) rc = turn_mask(st, node, turn, &shown);
    if (rc == 0 && shown.p != turn.p) rc = member_put(st, *out, key, shown, out);
    if (rc != 0 || !hides) return rc;
    rc = said_mask(st, outcome, &shown);
    return rc == 0 && shown.p != outcome.p ? member_put(st, *out, "outcome", shown, out) : rc;
}

static int effect_conversation(struct step *st, int node, const struct node_effect *x,
                               struct failure *f) {
    const char *key = x->kind == EFFECT_CONVERSATION_OPENED      ? "initialTurn"
                      : x->kind == EFFECT_CONVERSATION_EXCHANGED ? "turn"
                                                                 : "finalTurn";
    struct node_effect shown = *x;
    if (said_shown(st, node, x->value, key, &shown.value) != 0) return 0; /* the plan has failed */
    return conversation_effect(st, node, &shown, f);
}

/* --- channels --- */

static int turn_shown(struct step *st, int node, struct str value, struct str *shown) {
    int rc = turn_mask(st, node, value, shown);
    if (rc != 0 || !secret_in(st, *shown)) return rc;
    *shown = secret_scrub(st, *shown);
    if (!shown->p) plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory to mask a turn");
    return shown->p ? 0 : WOPR_E_NO_MEMORY;
}

struct failure channel_denied(struct step *st, int node, struct str channel, const char *allowed) {
    const struct wf_node *n = &st->state->wf->nodes[node];
    struct failure f;
    struct jobj o;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kstr(&o.w, "channel", channel);
    jw_key(&o.w, "requestedBy");
    jw_object(&o.w);
    jw_kstr(&o.w, "nodeId", n->id);
    jw_kstr(&o.w, "typeId", n->type_id);
    jw_end_object(&o.w);
    jw_kstrz(&o.w, "allowed", allowed);
    (void)effect_fail(&f, STR("channel_access_denied"),
                      STR("the node has no access to the channel"));
    f.details = jobj_end(&o, st->scratch);
    return f;
}

/* Bytes that the next write to the channel replaces. */
static size_t chan_replaced(struct run_state *s, struct str channel, enum reducer red) {
    const struct chan_state *c = run_state_chan(s, channel);
    return red == RED_REPLACE && c && !c->is_list && c->n > 0 ? c->v[0].value.n : 0;
}

#define NAME_OF_CALLERS                                                                            \
    "the name is reserved for what callers say to interrupts (votes, questions, answers); use "    \
    "another name"

/* One name has one value: snapshots show variables and undeclared channels together (CHAN-28). */
static bool name_is_variable(struct run_state *s, struct str name) {
    return workflow_variable(s->wf, name) != NULL || run_state_var(s, name) != NULL;
}

/* CHAN-19: a child may only use reducers whose writes commute. */
static int channel_foreign(struct step *st, struct str channel, const char *reducer,
                           struct str from_run, struct failure *f) {
    struct jobj o;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kstr(&o.w, "channel", channel);
    jw_kstrz(&o.w, "reducer", reducer);
    jw_kstr(&o.w, "sourceEngineId", st->engine->holder);
    jw_kstr(&o.w, "sourceRunId", from_run);
    int rc = effect_fail(f, STR("channel_cross_engine_write_forbidden"),
                         STR("a child run may write channels whose reducer is append, counter, "
                             "votes, feedback or message; map the value to a variable instead"));
    f->details = jobj_end(&o, st->scratch);
    return rc;
}

/* red: for a channel without declaration. */
static int channel_write(struct step *st, int node, enum reducer red, const struct node_effect *x,
                         struct failure *f) {
    struct str channel = x->name, value = x->value, from_run = x->from_run;
    const struct wf_node *n = &st->state->wf->nodes[node];
    const struct wf_channel *d = workflow_channel(st->state->wf, channel);
    const char *name = d ? arena_cstr(st->scratch, d->reducer_name) : reducer_name(red);
    struct wopr_error why = {0};
    if (name_of_callers(channel)) return effect_bad(f, NAME_OF_CALLERS);
    if (!d && name_is_variable(st->state, channel))
        return effect_bad(f, "the name is that of a variable; declare the channel under channels, "
                             "or use another name");
    if (d && !channel_admits(&d->writers, n)) { /* CHAN-5, CHAN-6 */
        *f = channel_denied(st, node, channel, "writers");
        return WOPR_E_VALIDATION;
    }
    if (d) red = d->reducer;
    if (from_run.n > 0 && name && !reducer_crosses(red))
        return channel_foreign(st, channel, name, from_run, f);
    if (!bound_state_room(st, chan_replaced(st->state, channel, red), value.n, f))
        return WOPR_E_VALIDATION;
    int rc = chan_write_check(st->state, channel, red, value, &why);
    if (rc == WOPR_E_NO_MEMORY || !name) {
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a channel write");
        return 0;
    }
    if (rc != 0)
        return effect_fail(f, STR("validation_error"), arena_str(st->scratch, str_c(why.message)));
    struct str shown = value;
    if (conversation_held_by(n)) rc = turn_shown(st, node, value, &shown);
    else if ((d && d->sensitive) || x->sensitive || secret_in(st, value)) /* CHAN-24 */
        rc = value_mask(st, value, &shown);
    if (rc != 0) return 0;
    step_now(st);
    const struct pay_channel written = {.channel = channel,
                                        .value = shown,
                                        .reducer = name,
                                        .written_ms = st->now_ms,
                                        .node_id = n->id,
                                        .schema_version = d ? d->schema_version : 0,
                                        .engine_id = from_run.n > 0 ? st->engine->holder : STR_NONE,
                                        .run_id = from_run};
    return effect_emit(st, EV_CHANNEL_WRITTEN, node, pay_channel_entry(st->plan->arena, &written),
                       clear_member(st, "value", value, shown), f);
}

static int effect_channel(struct step *st, int node, const struct node_effect *x,
                          struct failure *f) {
    return channel_write(st, node, x->reducer, x, f);
}

/* --- variables --- */

static bool variable_refuse(struct run_state *s, struct str name, const struct var_state *v,
                            struct failure *f) {
    const char *why = NULL;
    if (s->wf->channel_aware && workflow_channel(s->wf, name)) /* CHAN-22 */
        why = "the name is that of a declared channel; write the channel instead";
    else if (run_state_chan(s, name))
        why = "the name is that of a channel that was written; use another name";
    else if (!v && s->variables.n >= RUN_VARS_MAX) why = "the run has too many variables";
    return why && effect_bad(f, why) != 0;
}

static int effect_variable(struct step *st, int node, const struct node_effect *x,
                           struct failure *f) {
    struct run_state *s = st->state;
    const struct wf_variable *d = workflow_variable(s->wf, x->name);
    const struct chan_legacy *framework = s->wf->channel_aware ? NULL : chan_legacy(x->name);
    struct var_state *v = run_state_var(s, x->name);
    struct str next = x->value, previous = STR_NONE;
    if (name_of_callers(x->name)) return effect_bad(f, NAME_OF_CALLERS);
    if (framework && !d) /* CHAN-23 */
        return channel_write(st, node, framework->reducer, x, f);
    bool foreign = x->from_run.n > 0 && s->wf->channel_aware && workflow_channel(s->wf, x->name);
    if (foreign) return channel_write(st, node, RED_REPLACE, x, f);
    if (variable_refuse(s, x->name, v, f)) return WOPR_E_VALIDATION;
    if (!bound_state_room(st, v ? v->value.n : 0, x->value.n, f)) return WOPR_E_VALIDATION;
    if (v) previous = arena_str(st->scratch, var_shown(v)); /* shown values are masked already */
    if (((d && d->sensitive) || x->sensitive || secret_in(st, x->value)) &&
        value_mask(st, x->value, &next) != 0)
        return 0;
    struct str id = s->wf->nodes[node].id;
    return effect_emit(st, EV_VARIABLE_CHANGED, node,
                       pay_variable_changed(st->plan->arena, x->name, previous, next, id),
                       clear_member(st, "next", x->value, next), f);
}

/* --- the others --- */

static struct str log_payload(struct step *st, int node, const struct node_effect *x) {
    const char *level = arena_cstr(st->scratch, x->name);
    if (level)
        return pay_log(st->plan->arena, level, x->value, st->state->wf->nodes[node].id, x->extra);
    plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a log line");
    return STR_NONE;
}

static int effect_log(struct step *st, int node, const struct node_effect *x, struct failure *f) {
    struct str payload = log_payload(st, node, x);
    if (step_lost(st)) return 0;
    return effect_emit(st, EV_LOG_APPENDED, node, payload, STR_NONE, f);
}

static struct str chunk_payload(struct step *st, int node, const struct node_effect *x) {
    const struct wf_node *def = &st->state->wf->nodes[node];
    /* Nobody knows which port a chunk is part of, and a value may span two chunks. */
    bool hides = def->sensitive_nr > 0 && mask_masks(st->state->wf->masking_mode);
    struct str text = hides ? STR("[REDACTED]") : x->value;
    return pay_chunk(st->plan->arena, def->id, text, x->is_last, x->extra);
}

static int effect_chunk(struct step *st, int node, const struct node_effect *x, struct failure *f) {
    return effect_emit(st, EV_OUTPUT_CHUNK, node, chunk_payload(st, node, x), STR_NONE, f);
}

/* In the log, or in the plan of this step. */
static bool artifact_known(struct step *st, struct str id) {
    const struct plan *p = st->plan;
    struct wopr_error err = {0};
    bool known = false;
    for (size_t i = 0; i < p->artifacts_nr; i++)
        if (str_eq(p->artifacts[i].artifact_id, id)) return true;
    if (st->exec->run_no == 0) return false;
    int rc = store_artifact_known(st->engine->store, st->exec->run_no, id, &known, &err);
    if (rc != 0) plan_fail(st->plan, rc, "the artifacts of the run cannot be read");
    return known;
}

static int artifact_refuse(struct step *st, struct str id, struct failure *f) {
    struct str shown = id.n <= ARTIFACT_ID_SHOWN_MAX ? id : STR("...");
    struct str why = arena_printf(
        st->scratch,
        "the run has an artifact with the id '" STR_FMT "' already, and artifacts never change; "
        "give each its own id, with the attempt or the round of the loop in it",
        STR_ARG(shown));
    return effect_fail(f, STR("validation_error"), why);
}

/* What the row says of an artifact is what its event says: values are replaced in both (OBS-71). */
static void artifact_as_shown(struct arena *a, struct str event, struct plan_artifact *art) {
    art->artifact_id = json_string(json_get(event, "artifactId"), a);
    art->artifact_type = json_string(json_get(event, "artifactType"), a);
    art->version = json_string(json_get(event, "version"), a);
    art->summary = json_string(json_get(event, "summary"), a);
}

static int effect_artifact(struct step *st, int node, const struct node_effect *x,
                           struct failure *f) {
    struct plan_artifact art = {
        .artifact_id = x->name,
        .artifact_type = json_string(json_get(x->extra, "type"), st->scratch),
        .node_id = st->state->wf->nodes[node].id,
        .version = json_string(json_get(x->extra, "version"), st->scratch),
        .summary = json_string(json_get(x->extra, "summary"), st->scratch),
        .body = secret_scrub(st, x->value),
        .seq = st->state->next_seq,
    };
    struct str event = pay_artifact(st->plan->arena, &art), shown = secret_scrub(st, event);
    if (st->plan->failed != 0) return effect_fail(f, STR("internal_error"), STR("no memory"));
    if (shown.p && shown.p != event.p) artifact_as_shown(st->plan->arena, shown, &art);
    if (artifact_known(st, art.artifact_id)) return artifact_refuse(st, art.artifact_id, f);
    int rc = effect_emit(st, EV_ARTIFACT_CREATED, node, shown, STR_NONE, f);
    if (rc == 0 && !step_lost(st)) plan_artifact(st->plan, &art);
    return rc;
}

/* EVT-33.  A change id that the redactor would alter (OBS-75) would not be found again. */
static int effect_pin(struct step *st, int node, const struct node_effect *x, struct failure *f) {
    int64_t version;
    struct buf b;
    if (!json_int(x->value, &version))
        return effect_bad(f, "the version of a change is no whole number");
    buf_init(&b, EVENT_PAYLOAD_MAX);
    bool altered = redact_text(x->name, STR_NONE, &b) || buf_failed(&b);
    buf_fini(&b);
    if (altered) return effect_bad(f, "the id of a change has the shape of a credential");
    struct str id = st->state->wf->nodes[node].id;
    return effect_emit(st, EV_VERSION_PINNED, node,
                       pay_version_pinned(st->plan->arena, x->name, version, id), STR_NONE, f);
}

/* Which parts of an effect are JSON, and which may be absent? */
enum part { PART_TEXT, PART_JSON, PART_JSON_OR_NONE };
static const struct {
    int (*apply)(struct step *st, int node, const struct node_effect *x, struct failure *f);
    enum part value, extra;
} EFFECTS[] = {
    [EFFECT_VARIABLE] = {effect_variable, PART_JSON, PART_JSON_OR_NONE},
    [EFFECT_CHANNEL] = {effect_channel, PART_JSON, PART_JSON_OR_NONE},
    [EFFECT_LOG] = {effect_log, PART_TEXT, PART_JSON_OR_NONE},
    [EFFECT_CHUNK] = {effect_chunk, PART_TEXT, PART_JSON_OR_NONE},
    [EFFECT_ARTIFACT] = {effect_artifact, PART_JSON, PART_JSON_OR_NONE},
    [EFFECT_PIN] = {effect_pin, PART_JSON, PART_JSON_OR_NONE},
    [EFFECT_REASONED] = {agent_effect, PART_JSON, PART_JSON_OR_NONE},
    [EFFECT_TOOL_CALLED] = {agent_effect, PART_JSON, PART_JSON_OR_NONE},
    [EFFECT_TOOL_RETURNED] = {agent_effect, PART_JSON, PART_JSON_OR_NONE},
    [EFFECT_HANDOFF] = {agent_effect, PART_JSON, PART_JSON_OR_NONE},
    [EFFECT_DECIDED] = {agent_effect, PART_JSON, PART_JSON_OR_NONE},
    [EFFECT_ORCHESTRATED] = {agent_effect, PART_JSON, PART_JSON_OR_NONE},
    [EFFECT_CONVERSATION_OPENED] = {effect_conversation, PART_JSON, PART_JSON_OR_NONE},
    [EFFECT_CONVERSATION_EXCHANGED] = {effect_conversation, PART_JSON, PART_JSON_OR_NONE},
    [EFFECT_CONVERSATION_CLOSED] = {effect_conversation, PART_JSON, PART_JSON_OR_NONE},
};

/* Executors of embedding programs return foreign bytes. */
static bool part_valid(enum part part, struct str s) {
    if (part == PART_TEXT) return utf8_valid(s);
    if (part == PART_JSON_OR_NONE && s.n == 0) return true;
    return json_check(s, &JSON_LIMITS_STORED, NULL) == 0;
}

static bool effect_valid(const struct node_effect *x) {
    return (unsigned)x->kind < sizeof EFFECTS / sizeof EFFECTS[0] && utf8_valid(x->name) &&
           part_valid(EFFECTS[x->kind].value, x->value) &&
           part_valid(EFFECTS[x->kind].extra, x->extra);
}

int effect_apply(struct step *st, int node, const struct node_effect *x, struct failure *f) {
    if (!effect_valid(x))
        return effect_fail(f, STR("event_payload_invalid"),
                           STR("an effect of the node is not valid"));
    return EFFECTS[x->kind].apply(st, node, x, f);
}

bool effect_admits(struct step *st, int node, const struct node_effect *x) {
    bool log = x->kind == EFFECT_LOG;
    if (!effect_valid(x)) return false;
    struct str payload = log ? log_payload(st, node, x) : chunk_payload(st, node, x);
    return !step_lost(st) && step_admits(st, log ? EV_LOG_APPENDED : EV_OUTPUT_CHUNK, payload);
}

/* --- sensitive outputs (NODE-20, OBS-71) --- */

bool port_sensitive(const struct wf_node *def, struct str port) {
    for (size_t i = 0; i < def->sensitive_nr; i++)
        if (str_eq(def->sensitive_outputs[i], port)) return true;
    return false;
}

static bool port_open(const struct wf_node *def, struct str port) {
    for (size_t i = 0; i < def->open_nr; i++)
        if (str_eq(def->open_outputs[i], port)) return true;
    return false;
}

int outputs_mask(struct step *st, int node, struct str outputs, struct str *shown_out) {
    const struct wf_node *def = &st->state->wf->nodes[node];
    struct json_members m;
    struct buf b;
    struct jw w;
    bool any = false;
    *shown_out = outputs;
    bool said = conversation_held_by(def) && turns_hidden(st, def);
    bool declared = said || (def->sensitive_nr > 0 && mask_masks(st->state->wf->masking_mode));
    if (json_type_of(outputs) != JSON_OBJECT || (!declared && !st->state->secrecy.masks)) return 0;
    int rc = json_members(outputs, st->scratch, &m, NULL);
    if (rc != 0) {
        plan_fail(st->plan, rc, "no memory to mask outputs");
        return rc;
    }
    buf_init(&b, PLAN_BYTES_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    for (size_t i = 0; i < m.n && rc == 0; i++) {
        struct str raw = m.v[i].raw;
        if (said && str_eqc(m.v[i].key, "turn") && json_type_of(raw) == JSON_OBJECT) {
            rc = turn_mask(st, node, raw, &raw);
            any = any || raw.p != m.v[i].raw.p;
        } else if (port_sensitive(def, m.v[i].key) || (said && port_says(m.v[i].key)) ||
                   (secret_in(st, raw) && !port_open(def, m.v[i].key))) {
            rc = value_mask(st, raw, &raw);
            any = any || !str_eq(raw, m.v[i].raw);
        }
        if (rc != 0 || raw.n == 0) continue;
        jw_key_str(&w, m.v[i].key);
        jw_raw(&w, raw);
    }
    jw_end_object(&w);
    struct str out = rc == 0 && !buf_failed(&b) ? arena_str(st->scratch, buf_str(&b)) : STR_NONE;
    buf_fini(&b);
    if (!out.p) {
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory to mask outputs");
        return WOPR_E_NO_MEMORY;
    }
    *shown_out = any ? out : outputs;
    return 0;
}

int answer_value_mask(struct step *st, const struct intr_state *i, struct str value,
                      struct str *shown) {
    struct str whole;
    *shown = value;
    if (i->kind == INTR_CONVERSATION_EXCHANGE) return said_shown(st, i->node, value, "turn", shown);
    if (st->state->wf->nodes[i->node].sensitive_nr == 0) return 0;
    int rc = outputs_mask(st, i->node, value, shown);
    if (rc != 0 || (i->kind != INTR_CUSTOM && i->kind != INTR_EXTERNAL)) return rc;
    /* The outputs of these kinds have the value in one member (core.interrupt). */
    const char *port = i->kind == INTR_CUSTOM ? "resumeValue" : "eventPayload";
    struct str out = jobj_of(st->scratch, port, value);
    if (!out.p) plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory to mask an answer");
    if (!out.p || outputs_mask(st, i->node, out, &whole) != 0) return WOPR_E_NO_MEMORY;
    struct str member = json_get(whole, port);
    if (whole.p != out.p) *shown = member.n > 0 ? member : STR("null");
    return 0;
}
