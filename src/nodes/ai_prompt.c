/*
 * ai_prompt.c: what a node asks a model, from its ports and its config (NODE-59): prompt,
 * systemPrompt, messages, tools and settings.  Texts of the config are templates, what comes from a
 * port is data (N5).  Messages name the member that is wrong and quote no value (NODE-18).
 */
#include "nodes/agent.h"
#include "nodes/ai.h"
#include "nodes/template.h"

#define MESSAGES_MAX 1024u
#define TOOLS_MAX    128u
#define TIMEOUT_MS   120000
#define TIMEOUT_MAX  600000
#define TOKENS_MAX   10000000
#define STOP_MAX     16u

struct reader {
    const struct node_call *call;
    struct ai_prompt *p;
    struct node_result *out;
    bool templates;
};

static bool ai_prompt_wrong(struct reader *x, const char *why) {
    node_invalid(x->out, why);
    return false;
}

static bool wrong_at(struct reader *x, const char *list, size_t i, const char *why) {
    struct str m = arena_printf(x->call->a, "%s[%zu]%s", list, i, why);
    return ai_prompt_wrong(x, m.p ? m.p : why);
}

static bool no_memory(struct reader *x) {
    node_no_memory(x->out);
    return false;
}

static bool from_config(const struct reader *x, const char *key) {
    return x->templates && json_get(x->call->inputs, key).n == 0;
}

/* The value of an argument with the templates of a config filled in. */
static bool ai_prompt_argument(struct reader *x, const char *key, struct str *out) {
    struct buf b;
    struct jw w;
    *out = node_arg(x->call, key);
    if (out->n == 0 || !from_config(x, key)) return true;
    buf_init(&b, EGRESS_BODY_MAX);
    jw_init(&w, &b);
    const char *why = template_fill_json(*out, x->call->inputs, x->call->a, &w);
    bool over = buf_over(&b), failed = buf_failed(&b);
    *out = !why && !failed ? arena_str(x->call->a, buf_str(&b)) : STR_NONE;
    buf_fini(&b);
    if (why) return ai_prompt_wrong(x, why);
    if (over) return ai_prompt_wrong(x, "the prompt is too large: at most 4 MiB leave the host");
    return out->p ? true : no_memory(x);
}

static bool text_argument(struct reader *x, const char *key, struct str *out) {
    struct str raw;
    if (!ai_prompt_argument(x, key, &raw)) return false;
    *out = STR_NONE;
    if (raw.n == 0) return true;
    if (json_type_of(raw) != JSON_STRING) {
        struct str m = arena_printf(x->call->a, "%s of a prompt must be a string", key);
        return ai_prompt_wrong(x, m.p ? m.p : "a member of a prompt must be a string");
    }
    *out = json_string(raw, x->call->a);
    return out->p ? true : no_memory(x);
}

/* --- messages --- */

static bool call_read(struct reader *x, size_t at, struct str raw, struct ai_tool_call *c) {
    struct arena *a = x->call->a;
    struct str args = json_get(raw, "arguments");
    c->id = json_string(json_get(raw, "id"), a);
    c->name = json_string(json_get(raw, "name"), a);
    c->arguments = args.n == 0                         ? STR("{}")
                   : json_type_of(args) == JSON_STRING ? json_string(args, a)
                                                       : args;
    if (c->id.n == 0 || c->name.n == 0)
        return wrong_at(x, "messages", at, ".toolCalls needs an id and a name for each call");
    if (c->arguments.n == 0) c->arguments = STR("{}");
    if (json_check(c->arguments, &JSON_LIMITS_DEFAULT, NULL) != 0 ||
        json_type_of(c->arguments) != JSON_OBJECT)
        return wrong_at(x, "messages", at, ".toolCalls: arguments must be a JSON object");
    return true;
}

static bool calls_read(struct reader *x, size_t at, struct str raw, struct ai_message *m) {
    struct json_elements l;
    if (raw.n == 0 || json_type_of(raw) == JSON_NULL) return true;
    if (m->role != AI_ASSISTANT)
        return wrong_at(x, "messages", at, ".toolCalls is for messages of the role assistant");
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, x->call->a, &l, NULL) != 0 ||
        l.n > AI_TOOL_CALLS_MAX)
        return wrong_at(x, "messages", at, ".toolCalls must be a list of at most 128 calls");
    m->calls = ARENA_ARRAY(x->call->a, struct ai_tool_call, l.n + 1);
    if (!m->calls) return no_memory(x);
    for (size_t i = 0; i < l.n; i++)
        if (!call_read(x, at, l.v[i], &m->calls[m->calls_nr++])) return false;
    return true;
}

static bool message_read(struct reader *x, size_t at, struct str raw, struct ai_message *m) {
    static const char *const ROLES[] = {"system", "user", "assistant", "tool"};
    struct arena *a = x->call->a;
    struct str role = json_string(json_get(raw, "role"), a);
    size_t r = 0;
    *m = (struct ai_message){0};
    while (r < 4 && !str_eqc(role, ROLES[r])) r++;
    if (r == 4) return wrong_at(x, "messages", at, ".role must be system, user, assistant or tool");
    m->role = (enum ai_role)r;
    if (!ai_text(json_get(raw, "content"), a, &m->content))
        return wrong_at(x, "messages", at, ".content must be a string");
    if (!calls_read(x, at, json_get(raw, "toolCalls"), m)) return false;
    m->call_id = json_string(json_get(raw, "toolCallId"), a);
    if (m->role == AI_TOOL && m->call_id.n == 0)
        return wrong_at(x, "messages", at,
                        ".toolCallId must be the id of the call whose result the message is");
    if (m->role != AI_TOOL && m->content.n == 0 && m->calls_nr == 0)
        return wrong_at(x, "messages", at, ".content is missing or empty");
    return true;
}

static void message_add(struct ai_prompt *p, enum ai_role role, struct str content) {
    p->messages[p->messages_nr++] = (struct ai_message){.role = role, .content = content};
}

/* Texts of the system first: one of the styles has them apart.  What the agent is comes before what
 * the node says, and is no template (AGT-40). */
static bool messages_read(struct reader *x) {
    struct ai_prompt *p = x->p;
    struct agent g;
    struct str prompt, system, raw;
    struct json_elements l = {0};
    if (!text_argument(x, "prompt", &prompt) || !text_argument(x, "systemPrompt", &system) ||
        !ai_prompt_argument(x, "messages", &raw))
        return false;
    if (raw.n > 0 && (json_type_of(raw) != JSON_ARRAY ||
                      json_elements(raw, x->call->a, &l, NULL) != 0 || l.n > MESSAGES_MAX))
        return ai_prompt_wrong(x, "messages of a prompt must be a list of at most 1024 messages");
    if (prompt.n == 0 && l.n == 0)
        return ai_prompt_wrong(
            x, "a prompt needs a text in prompt, or messages; give one of them as config "
               "or as an input port");
    p->messages = ARENA_ARRAY(x->call->a, struct ai_message, l.n + 3);
    struct ai_message *all = ARENA_ARRAY(x->call->a, struct ai_message, l.n + 1);
    if (!p->messages || !all) return no_memory(x);
    if (agent_manifest_of(x->call, &g) && g.system_prompt.n > 0)
        message_add(p, AI_SYSTEM, g.system_prompt);
    if (arena_failed(x->call->a)) return no_memory(x);
    if (system.n > 0) message_add(p, AI_SYSTEM, system);
    for (size_t i = 0; i < l.n; i++) {
        if (!message_read(x, i, l.v[i], &all[i])) return false;
        if (all[i].role == AI_SYSTEM) p->messages[p->messages_nr++] = all[i];
    }
    size_t systems = p->messages_nr;
    for (size_t i = 0; i < l.n; i++)
        if (all[i].role != AI_SYSTEM) p->messages[p->messages_nr++] = all[i];
    if (prompt.n > 0) message_add(p, AI_USER, prompt);
    return p->messages_nr > systems ||
           ai_prompt_wrong(x, "a prompt needs a message of another role than system");
}

/* --- tools --- */

static bool tool_read(struct reader *x, size_t at, struct str raw, struct ai_tool *t) {
    struct arena *a = x->call->a;
    *t = (struct ai_tool){.name = json_string(json_get(raw, "name"), a),
                          .parameters = json_get(raw, "parameters")};
    if (t->name.n == 0 || t->name.n > AI_NAME_MAX)
        return wrong_at(x, "tools", at, ".name must be a string of 1 to 128 bytes");
    if (!ai_text(json_get(raw, "description"), a, &t->description))
        return wrong_at(x, "tools", at, ".description must be a string");
    if (t->parameters.n > 0 && json_type_of(t->parameters) != JSON_OBJECT)
        return wrong_at(x, "tools", at, ".parameters must be a JSON Schema");
    return true;
}

static bool choice_read(struct reader *x) {
    static const char *const WORDS[] = {"auto", "none", "required"};
    struct ai_prompt *p = x->p;
    struct str raw = node_arg(x->call, "toolChoice");
    if (raw.n == 0) return true;
    p->tool_choice_named = json_type_of(raw) == JSON_OBJECT;
    p->tool_choice = json_string(p->tool_choice_named ? json_get(raw, "name") : raw, x->call->a);
    bool ok = false;
    for (size_t i = 0; !p->tool_choice_named && i < 3; i++)
        ok = ok || str_eqc(p->tool_choice, WORDS[i]);
    for (size_t i = 0; p->tool_choice_named && i < p->tools_nr; i++)
        ok = ok || str_eq(p->tools[i].name, p->tool_choice);
    return ok || ai_prompt_wrong(
                     x, "toolChoice must be auto, none, required, or {\"name\": a tool of tools}");
}

/* AGT-9: offered is what the manifest allows, under any scope: who calls it is the workflow. */
static void tools_narrow(struct reader *x) {
    struct ai_prompt *p = x->p;
    struct agent g;
    size_t n = 0;
    if (!agent_manifest_of(x->call, &g)) return;
    for (size_t i = 0; i < p->tools_nr; i++)
        if (agent_allows_name(&g, p->tools[i].name, x->call->a)) p->tools[n++] = p->tools[i];
    bool chosen = false;
    for (size_t i = 0; i < n; i++) chosen = chosen || str_eq(p->tools[i].name, p->tool_choice);
    if (n == 0 || (p->tool_choice_named && !chosen)) {
        p->tool_choice = STR_NONE;
        p->tool_choice_named = false;
    }
    p->tools_nr = n;
}

static bool tools_read(struct reader *x) {
    struct str raw = node_arg(x->call, "tools");
    struct json_elements l = {0};
    if (raw.n == 0) return true;
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, x->call->a, &l, NULL) != 0 ||
        l.n > TOOLS_MAX)
        return ai_prompt_wrong(x, "tools of a prompt must be a list of at most 128 tools");
    x->p->tools = ARENA_ARRAY(x->call->a, struct ai_tool, l.n + 1);
    if (!x->p->tools) return no_memory(x);
    for (size_t i = 0; i < l.n; i++)
        if (!tool_read(x, i, l.v[i], &x->p->tools[x->p->tools_nr++])) return false;
    if (!choice_read(x)) return false;
    tools_narrow(x);
    return true;
}

/* --- settings --- */

static bool whole_read(struct reader *x, const char *key, int64_t max, int64_t absent,
                       int64_t *out) {
    struct str raw = node_arg(x->call, key);
    *out = absent;
    if (raw.n == 0 || (json_int(raw, out) && *out >= 1 && *out <= max)) return true;
    struct str m = arena_printf(x->call->a, "%s of a prompt must be a whole number from 1 to %lld",
                                key, (long long)max);
    return ai_prompt_wrong(x, m.p ? m.p : "a number of a prompt is out of range");
}

static bool share_read(struct reader *x, const char *key, double max, struct str *out) {
    double v;
    *out = node_arg(x->call, key);
    if (out->n == 0 || (json_double(*out, &v) && v >= 0 && v <= max)) return true;
    struct str m =
        arena_printf(x->call->a, "%s of a prompt must be a number from 0 to %g", key, max);
    return ai_prompt_wrong(x, m.p ? m.p : "a number of a prompt is out of range");
}

static bool stop_read(struct reader *x) {
    struct json_elements l = {0};
    struct str raw = node_arg(x->call, "stop");
    bool ok = raw.n == 0 || (json_type_of(raw) == JSON_ARRAY &&
                             json_elements(raw, x->call->a, &l, NULL) == 0 && l.n <= STOP_MAX);
    for (size_t i = 0; ok && i < l.n; i++) ok = json_type_of(l.v[i]) == JSON_STRING;
    x->p->stop = l.n > 0 ? raw : STR_NONE;
    return ok || ai_prompt_wrong(x, "stop of a prompt must be a list of at most 16 strings");
}

static bool settings_read(struct reader *x) {
    struct ai_prompt *p = x->p;
    struct str raw = node_arg(x->call, "expectsStreaming");
    if (raw.n > 0 && !json_bool(raw, &p->stream))
        return ai_prompt_wrong(x, "expectsStreaming of a prompt must be true or false");
    return whole_read(x, "maxTokens", TOKENS_MAX, p->provider->max_tokens, &p->max_tokens) &&
           whole_read(x, "timeoutMs", TIMEOUT_MAX, TIMEOUT_MS, &p->timeout_ms) &&
           share_read(x, "temperature", 2, &p->temperature) &&
           share_read(x, "topP", 1, &p->top_p) && stop_read(x);
}

static bool provider_choose(struct reader *x, const struct ai_providers *all) {
    struct str name = STR_NONE;
    struct ai_prompt *p = x->p;
    struct agent g;
    if (ai_providers_count(all) == 0) {
        node_fail(x->out, "ai_provider_unavailable",
                  "no AI provider is configured on this host; its operator names them with "
                  "--ai-providers",
                  false);
        return false;
    }
    if (node_arg(x->call, "provider").n > 0 && !node_arg_string(x->call, "provider", &name))
        return ai_prompt_wrong(x, "provider of a prompt must be a string");
    const struct run_options *run = &x->call->run->options;
    if (name.n == 0) name = run->ai_provider; /* what the node names counts first */
    if (name.n == 0 && agent_manifest_of(x->call, &g) && ai_providers_classes(all) != 0) {
        p->provider = ai_provider_for(all, g.model_class); /* AGT-13, AGT-43 */
        if (!p->provider)
            node_fail(x->out, "ai_provider_unavailable",
                      "no AI provider of this host is named for the model class of the agent "
                      "(modelClasses in --ai-providers)",
                      false);
        if (!p->provider) return false;
    } else {
        p->provider = ai_provider_find(all, name);
    }
    if (!p->provider) {
        node_fail(x->out, "ai_provider_unavailable",
                  "this host has no AI provider of the name that provider says", false);
        return false;
    }
    p->model = p->provider->model;
    if (node_arg(x->call, "model").n > 0 &&
        (!node_arg_string(x->call, "model", &p->model) || p->model.n > AI_NAME_MAX))
        return ai_prompt_wrong(x, "model of a prompt must be a string of at most 128 bytes");
    /* A model of the run is one of the provider that the run names, if it names one. */
    if (run->ai_model.n > 0 &&
        (run->ai_provider.n == 0 || str_eq(run->ai_provider, p->provider->name)))
        p->model = run->ai_model;
    if (p->model.n > AI_NAME_MAX)
        return ai_prompt_wrong(
            x, "the model that the run names (ai.model, model) has more than 128 bytes");
    return p->model.n > 0 ||
           ai_prompt_wrong(x, "model of a prompt is missing, and its provider has no default");
}

static bool prompt_read(struct reader *x, const struct ai_providers *all, bool tools) {
    struct str raw = node_arg(x->call, "templates");
    *x->p = (struct ai_prompt){0};
    if (raw.n > 0 && !json_bool(raw, &x->templates))
        return ai_prompt_wrong(x, "templates of a prompt must be true or false");
    return provider_choose(x, all) && settings_read(x) && (!tools || tools_read(x)) &&
           messages_read(x);
}

bool ai_prompt_read(const struct node_call *call, const struct ai_providers *all,
                    struct ai_prompt *p, struct node_result *out) {
    struct reader x = {call, p, out, true};
    return prompt_read(&x, all, true);
}

bool ai_prompt_read_bare(const struct node_call *call, const struct ai_providers *all,
                         struct ai_prompt *p, struct node_result *out) {
    struct reader x = {call, p, out, true};
    return prompt_read(&x, all, false);
}
