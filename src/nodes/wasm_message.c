/*
 * wasm_message.c: what a module may know of its run.  Nothing masked is in it: a value that the
 * outside sees masked reaches a module only through a port that the author has wired to its node.
 */
#include "codec/bytes.h"
#include "codec/jobj.h"
#include "nodes/wasm.h"

#define MESSAGE_MAX (4u * 1024 * 1024)
#define SCHEMAS_MAX (256u * 1024) /* of channels; the engine judges by the others */

static bool wasm_message_readable(const struct node_call *call, const struct chan_state *c) {
    return !c->sensitive && (!c->decl || channel_admits(&c->decl->readers, call->def));
}

static void channel_write(const struct node_call *call, const struct chan_state *c, struct jw *w) {
    struct buf b;
    buf_init(&b, MESSAGE_MAX);
    if (chan_value(c, call->now_ms, &b) != 0) w->b->failed = true;
    if (b.len > 0) {
        jw_key_str(w, text_str(&c->name));
        jw_raw(w, buf_str(&b));
    }
    buf_fini(&b);
}

static void channels_write(const struct node_call *call, bool declared_too, struct jw *w) {
    for (size_t i = 0; i < call->run->channels.n; i++) {
        const struct chan_state *c = &call->run->channels.v[i];
        if ((declared_too || !c->decl) && wasm_message_readable(call, c)) channel_write(call, c, w);
    }
}

static bool variable_shown(const struct var_state *v) { return !v->sensitive && v->value.n > 0; }

static void variables_write(const struct node_call *call, struct jw *w) {
    jw_key(w, "variables");
    jw_object(w);
    for (size_t i = 0; i < call->run->variables.n; i++) {
        const struct var_state *v = &call->run->variables.v[i];
        if (!variable_shown(v)) continue;
        jw_key_str(w, text_str(&v->name));
        jw_raw(w, text_str(&v->value));
    }
    channels_write(call, false, w); /* CHAN-28: they share the names of variables */
    jw_end_object(w);
}

/* FIX-52: the variables of the run, and over them the ports. */
static void inputs_write(const struct node_call *call, struct jw *w) {
    struct json_members ports = {0};
    if (call->inputs.n > 0 && json_members(call->inputs, call->a, &ports, NULL) != 0)
        w->b->failed = true;
    jw_key(w, "inputs");
    jw_object(w);
    if (call->inputs.n > 0) jw_members(w, call->inputs);
    json_members_sort(&ports);
    for (size_t i = 0; i < call->run->variables.n; i++) {
        const struct var_state *v = &call->run->variables.v[i];
        if (!variable_shown(v) || json_member_sorted(&ports, text_str(&v->name))) continue;
        jw_key_str(w, text_str(&v->name));
        jw_raw(w, text_str(&v->value));
    }
    jw_end_object(w);
}

/* CAP-36: what the node requires is there; of its values a module is given none. */
static void secrets_write(const struct node_call *call, struct jw *w) {
    const struct wasm_type *t = call->type_ctx;
    if (t->secrets_nr == 0) return;
    jw_key(w, "secrets");
    jw_array(w);
    for (size_t i = 0; i < t->secrets_nr; i++) {
        const struct node_secret *n = &t->secrets[i];
        jw_object(w);
        jw_kstr(w, "id", n->id);
        jw_kstrz(w, "kind", credential_kind_name(n->kind));
        jw_kstr(w, "scope", n->scope);
        jw_kstr_opt(w, "provider", n->provider);
        jw_kstr(w, "ref", arena_printf(call->a, "secret:" STR_FMT, STR_ARG(n->id)));
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void request_write(const struct node_call *call, struct str resume, struct jw *w) {
    const struct run_meta *m = &call->run->meta;
    jw_key(w, "request");
    jw_object(w);
    jw_kint(w, "abiVersion", 1);
    jw_key(w, "nodeContext");
    jw_object(w);
    jw_kstr(w, "runId", m->run_id);
    jw_kstr(w, "nodeId", call->def->id);
    jw_kstr(w, "tenantId", m->tenant);
    jw_kint(w, "attempt", call->attempt);
    struct buf shown;
    buf_init(&shown, MESSAGE_MAX);
    if (m->configurable.n > 0 && configurable_masked(m->configurable, &shown, NULL) != 0)
        w->b->failed = true;
    jw_kraw(w, "configurable", shown.len > 0 ? buf_str(&shown) : STR("{}"));
    buf_fini(&shown);
    jw_kraw(w, "agent", call->def->agent.n > 0 ? call->def->agent : STR("null"));
    secrets_write(call, w);
    jw_end_object(w);
    inputs_write(call, w);
    jw_kraw(w, "config", call->config.n > 0 ? call->config : STR("{}"));
    jw_kraw_opt(w, "resume", resume);
    jw_end_object(w);
}

/* WASM-17. */
static void seed_write(const struct node_call *call, struct jw *w) {
    struct str run = call->ids_run_id.n > 0 ? call->ids_run_id : call->run->meta.run_id;
    struct str text = arena_printf(call->a, STR_FMT "\n" STR_FMT "\n%d", STR_ARG(run),
                                   STR_ARG(call->def->id), call->attempt);
    struct sha256 d = sha256_of(text);
    char hex[65];
    sha256_hex(&d, hex);
    jw_kstrz(w, "seed", hex);
}

static void closed_write(const struct node_call *call, struct jw *w) {
    const struct workflow *wf = call->run->wf;
    jw_key(w, "closed");
    jw_array(w);
    for (size_t i = 0; i < wf->channels_nr; i++)
        if (!channel_admits(&wf->channels[i].writers, call->def)) jw_str(w, wf->channels[i].name);
    jw_end_array(w);
}

/* What the sandbox can judge by the value alone (WASM-7): a schema of a folded list it cannot. */
static void rule_write(const struct wf_channel *d, size_t *room, struct jw *w) {
    bool lists = d->schema_is_array && reducer_is_list(d->reducer);
    bool shown = d->schema_text.n > 0 && d->schema_text.n <= *room && (!lists || d->schema_is_each);
    jw_object(w);
    jw_kstr(w, "name", d->name);
    jw_kstr(w, "reducer", d->reducer_name);
    if (shown) {
        *room -= d->schema_text.n;
        jw_kraw(w, "schema", d->schema_text);
        if (lists) jw_kbool(w, "each", true);
    }
    jw_end_object(w);
}

static void rules_write(const struct node_call *call, struct jw *w) {
    const struct workflow *wf = call->run->wf;
    size_t room = SCHEMAS_MAX;
    jw_key(w, "rules");
    jw_array(w);
    for (size_t i = 0; i < wf->channels_nr; i++)
        if (channel_admits(&wf->channels[i].writers, call->def))
            rule_write(&wf->channels[i], &room, w);
    jw_end_array(w);
}

static void calls_write(struct str calls, struct jw *w) {
    struct buf b;
    buf_init(&b, MESSAGE_MAX);
    buf_addc(&b, '[');
    buf_adds(&b, calls);
    buf_addc(&b, ']');
    if (buf_failed(&b)) w->b->failed = true;
    else jw_kraw(w, "calls", buf_str(&b));
    buf_fini(&b);
}

struct str wasm_message(const struct node_call *call, const struct wasm_ask *ask) {
    struct jobj o;
    jobj_begin(&o, MESSAGE_MAX);
    if (ask->request.n > 0) jw_kraw(&o.w, "request", ask->request);
    else request_write(call, ask->resume, &o.w);
    variables_write(call, &o.w);
    jw_key(&o.w, "channels");
    jw_object(&o.w);
    channels_write(call, true, &o.w);
    jw_end_object(&o.w);
    closed_write(call, &o.w);
    rules_write(call, &o.w);
    seed_write(call, &o.w);
    jw_kint(&o.w, "nowMs", ask->now_ms);
    jw_kbool(&o.w, "keep", !call->run->secrecy.masks);
    calls_write(ask->calls, &o.w);
    return jobj_end(&o, call->a);
}
