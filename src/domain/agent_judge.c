/*
 * agent_judge.c: all that is wrong with the definition of an agent, at once (AGT-40 to AGT-44).
 * Each finding says the remedy; none quotes more than a short value.
 */
#include "codec/schema.h"
#include "domain/agent_manifest.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define PERSONA_MAX     200u /* characters */
#define LABEL_MAX       100u
#define DESCRIPTION_MAX 500u
#define FILE_NAME_MAX   256u /* bytes */
#define VALUE_URI       "wopr:value"

struct judge {
    const struct agent_rules *rules;
    lint_fn *each;
    void *ctx;
    struct arena *a;
    struct agent_judgement *out;
    struct json_members files;
    bool *named; /* which files the manifest names */
};

struct place {
    const char *at; /* JSON pointer */
    struct str raw; /* what is there, or empty */
};

__attribute__((format(printf, 4, 5))) static void
agent_judge_say(struct judge *j, bool error, struct place where, const char *fmt, ...) {
    struct lint_finding f = {.error = error};
    va_list ap;
    unsigned told = j->out->errors + j->out->warnings;
    *(error ? &j->out->errors : &j->out->warnings) += 1;
    if (told >= LINT_MAX) return;
    (void)snprintf(f.pointer, sizeof f.pointer, "%s", where.at);
    va_start(ap, fmt);
    (void)vsnprintf(f.text, sizeof f.text, fmt, ap);
    va_end(ap);
    if (where.raw.n <= LINT_VALUE_MAX) f.value = where.raw;
    j->each(j->ctx, &f);
}

/* --- members --- */

/* A pointer with one more segment, which is not ours; a long one is left out. */
static const char *agent_judge_below(struct judge *j, const char *at, struct str key) {
    struct buf b;
    buf_init(&b, LINT_POINTER - 1);
    buf_addz(&b, at);
    buf_addc(&b, '/');
    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] == '~') buf_addz(&b, "~0");
        else if (key.p[i] == '/') buf_addz(&b, "~1");
        else buf_addc(&b, key.p[i]);
    const char *z = buf_failed(&b) ? at : arena_cstr(j->a, buf_str(&b));
    buf_fini(&b);
    return z ? z : at;
}

/* What is there, checked for its type; raw empty: absent, or of another type, which was said. */
static struct place agent_judge_member(struct judge *j, struct str object, const char *at,
                                       const char *key, enum json_type type, const char *remedy) {
    struct place p = {agent_judge_below(j, at, str_c(key)), json_get(object, key)};
    if (p.raw.n == 0 || json_type_of(p.raw) == type) return p;
    agent_judge_say(j, true, p, "%s", remedy);
    p.raw = STR_NONE;
    return p;
}

static void agent_judge_closed(struct judge *j, struct str object, const char *at,
                               const char *const *keys, const char *remedy) {
    struct json_members m;
    if (json_members(object, j->a, &m, NULL) != 0) return;
    for (size_t i = 0; i < m.n; i++) {
        size_t k = 0;
        while (keys[k] && !str_eqc(m.v[i].key, keys[k])) k++;
        if (keys[k]) continue;
        agent_judge_say(j, true, (struct place){agent_judge_below(j, at, m.v[i].key), m.v[i].raw},
                        "%s", remedy);
    }
}

static bool text_within(struct judge *j, struct place p, unsigned min, unsigned max,
                        const char *name) {
    struct str s = p.raw.n > 0 ? json_string(p.raw, j->a) : STR_NONE;
    size_t n = utf8_count(s);
    if (p.raw.n == 0 || (n >= min && n <= max)) return true;
    agent_judge_say(j, true, p, "%s has %u to %u characters", name, min, max);
    return false;
}

/* --- values --- */

const char *agent_schema_wrong(struct str schema, struct str value, struct arena *a, bool *judged) {
    struct schema_issue issue = {.reason = ""};
    const struct schema *compiled = NULL;
    struct wopr_error why = {0};
    struct schema_set *set = schema_set_new(false);
    int rc = set ? schema_set_add(set, STR(VALUE_URI), schema, &why) : WOPR_E_NO_MEMORY;
    if (rc == 0) rc = schema_compile(set, STR(VALUE_URI), &compiled, &why);
    *judged = rc == 0;
    if (rc == 0 && value.n > 0) rc = schema_validate_text(compiled, value, &issue);
    schema_set_free(set);
    if (rc == 0) return NULL;
    if (!*judged) return "it is no JSON Schema of 2020-12 that this host can judge by";
    struct str text = arena_printf(a, "%s%s%s", issue.instance, issue.instance[0] ? ": " : "",
                                   issue.reason[0] ? issue.reason : "it cannot be judged");
    return text.p ? text.p : "it does not fit";
}

/* --- files --- */

static bool path_ok(struct str s) {
    struct str head, rest = s;
    if (s.n == 0 || s.n > FILE_NAME_MAX || s.p[0] == '/') return false;
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == '\\' || s.p[i] == ':') return false;
    for (bool more = true; more;) {
        struct str tail = STR_NONE;
        more = str_cut(rest, '/', &head, &tail);
        struct str part = more ? head : rest;
        if (part.n == 0 || str_eqc(part, ".") || str_eqc(part, "..")) return false;
        rest = tail;
    }
    return true;
}

/* The text of the file that is named there; p NULL: there is none, which was said. */
static struct str file_named(struct judge *j, struct place p) {
    struct str name = p.raw.n > 0 ? json_string(p.raw, j->a) : STR_NONE;
    if (p.raw.n == 0) return STR_NONE;
    if (!path_ok(name)) {
        agent_judge_say(
            j, true, p,
            "this is no name of a file: 1 to 256 bytes, relative, with / between its parts and "
            "none of them . or ..");
        return STR_NONE;
    }
    for (size_t i = 0; i < j->files.n; i++) {
        if (!str_eq(j->files.v[i].key, name)) continue;
        j->named[i] = true;
        if (json_type_of(j->files.v[i].raw) != JSON_STRING) return STR_NONE; /* said there */
        struct str text = json_string(j->files.v[i].raw, j->a);
        return text.p ? text : STR("");
    }
    agent_judge_say(
        j, true, p,
        "no file of this name is given: put its text into files of the definition, or the prompt "
        "itself into systemPrompt");
    return STR_NONE;
}

static void files_read(struct judge *j, struct str definition) {
    struct place p = agent_judge_member(j, definition, "", "files", JSON_OBJECT,
                                        "files is an object: names of files, and their texts");
    if (p.raw.n > 0 && json_members(p.raw, j->a, &j->files, NULL) != 0) j->files.n = 0;
    j->named = ARENA_ARRAY(j->a, bool, j->files.n + 1);
    if (!j->named) j->files.n = 0;
}

static void files_judge(struct judge *j) {
    for (size_t i = 0; i < j->files.n; i++) {
        struct place p = {agent_judge_below(j, "/files", j->files.v[i].key), j->files.v[i].raw};
        if (json_type_of(p.raw) != JSON_STRING)
            agent_judge_say(j, true, p, "the text of a file is a string");
        else if (p.raw.n > AGENT_FILE_MAX)
            agent_judge_say(j, true, p, "a file has at most %u bytes of JSON", AGENT_FILE_MAX);
        else if (!j->named[i])
            agent_judge_say(j, true, p,
                            "nothing in the manifest names this file: remove it, or name it in "
                            "systemPromptRef, handoff.taskSchemaRef or handoff.returnSchemaRef");
    }
}

/* --- parts of the manifest --- */

static void id_judge(struct judge *j, struct str m) {
    struct place p = agent_judge_member(j, m, "/manifest", "agentId", JSON_STRING,
                                        "agentId is a text, as "
                                        "\"vendor.acme.support.tier1\"");
    struct str id = p.raw.n > 0 ? json_string(p.raw, j->a) : STR_NONE;
    j->out->agent_id = id;
    if (json_get(m, "agentId").n == 0)
        agent_judge_say(j, true, p, "agentId is missing: give it an id as \"local.team.reviewer\"");
    else if (p.raw.n > 0 && !agent_id_ok(id))
        agent_judge_say(
            j, true, p,
            "agentId has a tier (core, vendor, community, private or local) and at least two "
            "more parts, which begin with a lower-case letter, with dots between; ids as host:x "
            "have no manifest");
    else if (p.raw.n > 0 && j->rules->pack.n > 0) { /* PACK-17 */ struct str pack = j->rules->pack;
        bool ok = str_starts(id, pack) && id.n > pack.n + 1 && id.p[pack.n] == '.' &&
                  memchr(id.p + pack.n + 1, '.', id.n - pack.n - 1) == NULL;
        if (!ok)
            agent_judge_say(j, true, p,
                            "agentId of an agent in a pack is the name of the pack, a dot and one "
                            "more part");
    }
}

static void class_judge(struct judge *j, struct str m) {
    static const char REMEDY[] = "modelClass is one of reasoning, writing, coding, research, "
                                 "classification and general";
    struct place p = agent_judge_member(j, m, "/manifest", "modelClass", JSON_STRING, REMEDY);
    const char *class = p.raw.n > 0 ? agent_model_class(json_string(p.raw, j->a)) : NULL;
    const char *const *known = j->rules->model_classes;
    if (json_get(m, "modelClass").n == 0)
        agent_judge_say(j, true, p, "modelClass is missing: %s", REMEDY + 14);
    else if (p.raw.n > 0 && !class) agent_judge_say(j, true, p, "%s", REMEDY);
    if (!class || !known) return;
    while (*known && strcmp(*known, class) != 0) known++;
    if (*known) return;
    agent_judge_say(
        j, true, p,
        "this host has no model of the class %s (agents.modelClasses in discovery): take another "
        "class, or let its operator name a provider for it",
        class);
    j->out->class_unsupported = true;
}

static void prompt_judge(struct judge *j, struct str m) {
    struct place text = agent_judge_member(j, m, "/manifest", "systemPrompt", JSON_STRING,
                                           "systemPrompt is a text of at least one character");
    struct place ref = agent_judge_member(j, m, "/manifest", "systemPromptRef", JSON_STRING,
                                          "systemPromptRef is the name of a file");
    bool has_text = json_get(m, "systemPrompt").n > 0,
         has_ref = json_get(m, "systemPromptRef").n > 0;
    if (!has_text && !has_ref)
        agent_judge_say(
            j, true, (struct place){"/manifest", STR_NONE},
            "an agent needs systemPrompt, its text, or systemPromptRef, the name of a file in "
            "files");
    if (has_text && has_ref)
        agent_judge_say(j, true, ref, "systemPrompt is there as well: keep one of the two");
    if (text.raw.n > 0 && json_string(text.raw, j->a).n == 0)
        agent_judge_say(j, true, text, "systemPrompt is empty: say what the agent is to do");
    if (text.raw.n > AGENT_FILE_MAX)
        agent_judge_say(j, true, text, "systemPrompt has at most %u bytes of JSON", AGENT_FILE_MAX);
    struct str file = file_named(j, ref);
    if (file.p && file.n == 0)
        agent_judge_say(j, true, ref, "the file is empty: a prompt has a text");
}

static bool agent_judge_scoped(struct str s) {
    struct str scope, tool;
    return str_cut(s, ':', &scope, &tool) && scope.n > 0 && tool.n > 0 &&
           (str_eqc(scope, "openwop") || str_eqc(scope, "mcp") || memchr(scope.p, '.', scope.n));
}

static void allow_judge(struct judge *j, struct str m) {
    struct place p = agent_judge_member(j, m, "/manifest", "toolAllowlist", JSON_ARRAY,
                                        "toolAllowlist is a list of texts, as [\"mcp:search\"]");
    struct json_elements l = {0};
    if (p.raw.n == 0 || json_elements(p.raw, j->a, &l, NULL) != 0) return;
    if (l.n > AGENT_ALLOW_MAX) {
        agent_judge_say(j, true, p, "toolAllowlist has at most %u entries", AGENT_ALLOW_MAX);
        return;
    }
    for (size_t i = 0; i < l.n; i++) {
        char nth[24];
        (void)snprintf(nth, sizeof nth, "%zu", i);
        struct place e = {agent_judge_below(j, p.at, str_c(nth)), l.v[i]};
        bool is_text = json_type_of(l.v[i]) == JSON_STRING;
        struct str s = is_text ? json_string(l.v[i], j->a) : STR_NONE;
        if (s.n == 0 || s.n > AGENT_ALLOW_BYTES)
            agent_judge_say(j, true, e, "an entry of toolAllowlist is a text of 1 to %u bytes",
                            AGENT_ALLOW_BYTES);
        else if (!agent_judge_scoped(s))
            agent_judge_say(
                j, false, e,
                "this names no tool: write openwop:<tool>, mcp:<tool> or <vendor>.<host>:<tool>");
    }
}

static void memory_judge(struct judge *j, struct str m) {
    static const char *const KEYS[] = {"scratchpad", "conversation", "longTerm", NULL};
    static const char REMEDY[] = "memoryShape has scratchpad, conversation and longTerm, each true "
                                 "or false, and nothing else";
    struct place p = agent_judge_member(j, m, "/manifest", "memoryShape", JSON_OBJECT, REMEDY);
    if (p.raw.n == 0) return;
    agent_judge_closed(j, p.raw, p.at, KEYS, REMEDY);
    for (size_t i = 0; KEYS[i]; i++) {
        struct place e = agent_judge_member(j, p.raw, p.at, KEYS[i], JSON_BOOL, REMEDY);
        bool on = false;
        if (i < 2 || e.raw.n == 0 || !json_bool(e.raw, &on) || !on || j->rules->long_term) continue;
        agent_judge_say(
            j, true, e, /* AGT-44 */
            "this host has no long-term memory (agents.memoryBackends: long-term): set longTerm "
            "to false, or let the operator turn it on");
    }
}

static void confidence_judge(struct judge *j, struct str m) {
    static const char *const KEYS[] = {"defaultThreshold", NULL};
    static const char REMEDY[] = "confidence has defaultThreshold, a number from 0 to 1, and "
                                 "nothing else";
    struct place p = agent_judge_member(j, m, "/manifest", "confidence", JSON_OBJECT, REMEDY);
    double v = 0;
    if (p.raw.n == 0) return;
    agent_judge_closed(j, p.raw, p.at, KEYS, REMEDY);
    struct place t = agent_judge_member(j, p.raw, p.at, KEYS[0], JSON_NUMBER, REMEDY);
    if (t.raw.n > 0 && (!json_double(t.raw, &v) || !isfinite(v) || v < 0 || v > 1))
        agent_judge_say(j, true, t, "%s", REMEDY);
}

static void handoff_judge(struct judge *j, struct str m) {
    static const char *const KEYS[] = {"taskSchemaRef", "returnSchemaRef", NULL};
    static const char REMEDY[] = "handoff has taskSchemaRef and returnSchemaRef, names of files, "
                                 "and nothing else";
    struct place p = agent_judge_member(j, m, "/manifest", "handoff", JSON_OBJECT, REMEDY);
    if (p.raw.n == 0) return;
    agent_judge_closed(j, p.raw, p.at, KEYS, REMEDY);
    for (size_t i = 0; KEYS[i]; i++) {
        struct place e = agent_judge_member(j, p.raw, p.at, KEYS[i], JSON_STRING, REMEDY);
        struct str text = file_named(j, e);
        bool judged = true;
        if (!text.p || text.n > AGENT_FILE_MAX) continue;
        if (json_check(text, &JSON_LIMITS_DEFAULT, NULL) == 0)
            (void)agent_schema_wrong(text, STR_NONE, j->a, &judged);
        else judged = false;
        if (!judged)
            agent_judge_say(
                j, true, e,
                "the file is no JSON Schema of 2020-12 that this host can judge by: mend it");
    }
}

/* --- */

static void manifest_judge(struct judge *j, struct str m) {
    static const char *const KEYS[] = {"agentId",      "persona",         "modelClass",
                                       "systemPrompt", "systemPromptRef", "toolAllowlist",
                                       "memoryShape",  "confidence",      "handoff",
                                       "label",        "description",     NULL};
    agent_judge_closed(j, m, "/manifest", KEYS, "a manifest has no such member: remove it");
    id_judge(j, m);
    struct place persona = agent_judge_member(j, m, "/manifest", "persona", JSON_STRING,
                                              "persona is a text, as \"Reviewer\"");
    if (json_get(m, "persona").n == 0)
        agent_judge_say(j, true, persona,
                        "persona is missing: name the agent for people, as \"Reviewer\"");
    (void)text_within(j, persona, 1, PERSONA_MAX, "persona");
    class_judge(j, m);
    prompt_judge(j, m);
    allow_judge(j, m);
    memory_judge(j, m);
    confidence_judge(j, m);
    handoff_judge(j, m);
    (void)text_within(
        j, agent_judge_member(j, m, "/manifest", "label", JSON_STRING, "label is a text"), 1,
        LABEL_MAX, "label");
    (void)text_within(
        j,
        agent_judge_member(j, m, "/manifest", "description", JSON_STRING, "description is a text"),
        0, DESCRIPTION_MAX, "description");
}

int agent_judge(struct str text, const struct agent_rules *rules, lint_fn *each, void *ctx,
                struct arena *a, struct agent_judgement *out, struct wopr_error *err) {
    static const char *const KEYS[] = {"manifest", "files", NULL};
    static const char REMEDY[] = "a definition is an object with manifest and, where that names "
                                 "files, files";
    struct judge j = {.rules = rules, .each = each, .ctx = ctx, .a = a, .out = out};
    *out = (struct agent_judgement){0};
    if (text.n > AGENT_DEFINITION_MAX)
        agent_judge_say(&j, true, (struct place){"", STR_NONE},
                        "the definition of an agent has at most %u "
                        "bytes",
                        AGENT_DEFINITION_MAX);
    else if (json_type_of(text) != JSON_OBJECT)
        agent_judge_say(&j, true, (struct place){"", text}, "%s", REMEDY);
    else {
        struct place m =
            agent_judge_member(&j, text, "", "manifest", JSON_OBJECT, "manifest is an object");
        agent_judge_closed(&j, text, "", KEYS, REMEDY);
        files_read(&j, text);
        if (json_get(text, "manifest").n == 0)
            agent_judge_say(&j, true, m, "manifest is missing: %s", REMEDY);
        if (m.raw.n > 0) manifest_judge(&j, m.raw);
        files_judge(&j);
    }
    if (arena_failed(a)) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a manifest");
    return 0;
}
