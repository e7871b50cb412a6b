/*
 * request.c: arguments of the tools (9.2), checked member by member.
 */
#include "base/near.h"
#include "workrail/context.h"
#include "workrail/event_shape.h"
#include "workrail/operate.h"

#include <stdio.h>

enum { SEARCH_MAX = 256, NOTES_GIVEN_MAX = 262144, MEMBERS_MAX = 10 };

enum member {
    M_WORKFLOW_ID,
    M_MODE,
    M_WORKSPACE,
    M_CONTEXT,
    M_ANCHORS,
    M_PREFERENCES,
    M_STATE,
    M_ACK,
    M_CHECKPOINT,
    M_INTENT,
    M_OUTPUT,
    M_QUERY,
    M_BRANCH,
    M_HEAD,
    M_END
};
static const char *const MEMBERS[] = {"workflowId",      "mode",        "workspacePath", "context",
                                      "anchors",         "preferences", "stateToken",    "ackToken",
                                      "checkpointToken", "intent",      "output",        "query",
                                      "gitBranch",       "gitHeadSha"};

static const struct tool_row {
    const char *name, *template; /* template: a call that is right */
    int members[MEMBERS_MAX];    /* M_END at the end */
    int due;                     /* the first members that must be there */
} TOOLS[WR_TOOLS] = {
    [WR_TOOL_LIST] = {"list_workflows", "{}", {M_WORKSPACE, M_END}, 0},
    [WR_TOOL_INSPECT] = {"inspect_workflow",
                         "{\"workflowId\":\"...\",\"mode\":\"preview\"}",
                         {M_WORKFLOW_ID, M_MODE, M_WORKSPACE, M_END},
                         1},
    [WR_TOOL_START] = {"start_workflow",
                       "{\"workflowId\":\"...\"}",
                       {M_WORKFLOW_ID, M_CONTEXT, M_WORKSPACE, M_ANCHORS, M_PREFERENCES, M_END},
                       1},
    [WR_TOOL_CONTINUE] = {"continue_workflow",
                          "{\"stateToken\":\"st...\",\"ackToken\":\"ack...\",\"output\":"
                          "{\"notesMarkdown\":\"...\"}}",
                          {M_STATE, M_ACK, M_INTENT, M_CONTEXT, M_OUTPUT, M_WORKSPACE, M_ANCHORS,
                           M_PREFERENCES, M_END},
                          1},
    [WR_TOOL_CHECKPOINT] = {"checkpoint_workflow",
                            "{\"checkpointToken\":\"chk...\"}",
                            {M_CHECKPOINT, M_STATE, M_OUTPUT, M_END},
                            1},
    [WR_TOOL_RESUME] = {"resume_session",
                        "{\"query\":\"...\"}",
                        {M_QUERY, M_BRANCH, M_HEAD, M_WORKSPACE, M_END},
                        0},
};

const char *wr_tool_name(enum wr_tool tool) { return TOOLS[tool].name; }

struct call_in {
    enum wr_tool tool;
    struct arena *a;
    struct wr_call *out;
    struct wr_fault *f;
};

/* VALIDATION_ERROR with the path, and a call that is right (WR-219). */
static int call_wrong(struct call_in *in, const char *path, const char *what) {
    int rc = wr_fail(in->f, WR_VALIDATION_ERROR, path, "%s: %s", path, what);
    struct buf b;
    struct jw w;
    buf_init(&b, WOPR_DETAILS_SIZE);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstrz(&w, "suggestion", "Send a call like template; validationErrors says what is wrong.");
    jw_kraw(&w, "template", str_c(TOOLS[in->tool].template));
    jw_key(&w, "validationErrors");
    jw_array(&w);
    jw_object(&w);
    jw_kstrz(&w, "message", what);
    jw_kstrz(&w, "path", path);
    jw_end_object(&w);
    jw_end_array(&w);
    jw_end_object(&w);
    if (!buf_failed(&b)) wr_fault_details(in->f, "%s", b.p);
    buf_fini(&b);
    return rc;
}

static int text_take(struct call_in *in, const char *path, struct str raw, size_t max,
                     struct str *out) {
    char what[96];
    if (json_type_of(raw) != JSON_STRING) return call_wrong(in, path, "a text is due here");
    *out = json_string(raw, in->a);
    if (out->p == NULL || out->n == 0) {
        if (arena_failed(in->a)) return wr_no_memory(in->f);
        return call_wrong(in, path, "the text is empty; leave the member out instead");
    }
    snprintf(what, sizeof what, "the text is longer than %zu bytes", max);
    return out->n <= max ? 0 : call_wrong(in, path, what);
}

/* Search words may be empty: then they are not given (WR-178). */
static int search_take(struct call_in *in, const char *path, struct str raw, struct str *out) {
    if (json_type_of(raw) != JSON_STRING) return call_wrong(in, path, "a text is due here");
    *out = json_string(raw, in->a);
    if (arena_failed(in->a)) return wr_no_memory(in->f);
    if (utf8_count(*out) > SEARCH_MAX)
        return call_wrong(in, path, "the text is longer than 256 characters");
    return 0;
}

static int choice_take(struct call_in *in, const char *path, struct str raw,
                       const struct wr_names *names, int *out) {
    char what[160];
    size_t n = 0;
    *out = json_type_of(raw) == JSON_STRING ? wr_name_find(names, json_string(raw, in->a)) : -1;
    if (*out >= 0) return 0;
    n = (size_t)snprintf(what, sizeof what, "one of ");
    for (size_t i = 0; i < names->nr && n < sizeof what; i++)
        n += (size_t)snprintf(what + n, sizeof what - n, "%s%s", i > 0 ? ", " : "", names->v[i]);
    return call_wrong(in, path, what);
}

/* A member that is not known, and perhaps which one was meant. */
static int unknown_member(struct call_in *in, const char *prefix, struct str name,
                          const char *const *known, size_t nr) {
    struct near near;
    char hint[NEAR_HINT], what[256], path[128];
    near_init(&near, name);
    for (size_t i = 0; i < nr; i++) near_try(&near, str_c(known[i]));
    snprintf(path, sizeof path, "%s%.*s", prefix, name.n > 64 ? 64 : (int)name.n,
             name.n > 0 ? name.p : "");
    snprintf(what, sizeof what, "no member known here%s", near_hint(&near, hint));
    return call_wrong(in, path, what);
}

/* --- nested objects --- */

typedef int member_take(struct call_in *in, size_t i, const char *path, struct str raw);

static int object_take(struct call_in *in, const char *name, struct str raw,
                       const char *const *known, size_t nr, member_take *take) {
    struct json_members m;
    char path[128], prefix[64];
    snprintf(prefix, sizeof prefix, "%s.", name);
    if (json_type_of(raw) != JSON_OBJECT) return call_wrong(in, name, "an object is due here");
    if (json_members(raw, in->a, &m, NULL) != 0) return wr_no_memory(in->f);
    for (size_t i = 0; i < m.n; i++) {
        size_t k = 0;
        while (k < nr && !str_eqc(m.v[i].key, known[k])) k++;
        if (k == nr) return unknown_member(in, prefix, m.v[i].key, known, nr);
        snprintf(path, sizeof path, "%s.%s", name, known[k]);
        int rc = take(in, k, path, m.v[i].raw);
        if (rc != 0) return rc;
    }
    return 0;
}

static int anchor_take(struct call_in *in, size_t i, const char *path, struct str raw) {
    struct wr_anchors *n = &in->out->anchors;
    struct str *const TO[] = {&n->branch, &n->head_sha, &n->root_hash, &n->root};
    return text_take(in, path, raw, 4096, TO[i]);
}

static int preference_take(struct call_in *in, size_t i, const char *path, struct str raw) {
    return choice_take(in, path, raw, i == 0 ? &WR_AUTONOMY_NAMES : &WR_RISK_NAMES,
                       i == 0 ? &in->out->autonomy : &in->out->risk);
}

static int artifacts_take(struct call_in *in, const char *path, struct str raw) {
    const struct json_limits lim = {WR_ARTIFACT_MAX * 4, WR_CONTEXT_DEPTH_MAX};
    struct wr_texts *t = &in->out->output.artifacts;
    struct json_elements e;
    char at[64];
    if (json_type_of(raw) != JSON_ARRAY) return call_wrong(in, path, "a list is due here");
    if (json_elements(raw, in->a, &e, NULL) != 0) return wr_no_memory(in->f);
    if (e.n > WR_ARTIFACTS_MAX) return call_wrong(in, path, "more than 32 artifacts in one call");
    t->v = ARENA_ARRAY(in->a, struct str, e.n);
    if (t->v == NULL) return wr_no_memory(in->f);
    for (; t->nr < e.n; t->nr++) {
        snprintf(at, sizeof at, "%s[%zu]", path, t->nr);
        if (json_type_of(e.v[t->nr]) != JSON_OBJECT)
            return call_wrong(in, at, "an artifact is an object");
        int rc = wr_canonical(e.v[t->nr], &lim, in->a, &t->v[t->nr], in->f);
        if (rc == WOPR_E_NO_MEMORY) return rc;
        if (rc != 0) return call_wrong(in, at, "it nests deeper than 64, or has no canonical form");
        if (t->v[t->nr].n > WR_ARTIFACT_MAX)
            return call_wrong(in, at, "larger than 262144 bytes; pass a reference instead");
    }
    return 0;
}

static int output_member(struct call_in *in, size_t i, const char *path, struct str raw) {
    if (i == 0) return text_take(in, path, raw, NOTES_GIVEN_MAX, &in->out->output.notes);
    return artifacts_take(in, path, raw);
}

static int output_take(struct call_in *in, struct str raw) {
    static const char *const KNOWN[] = {"notesMarkdown", "artifacts"};
    in->out->has_output = true;
    return object_take(in, "output", raw, KNOWN, 2, output_member);
}

/* --- members of a call --- */

static int head_take(struct call_in *in, struct str raw) {
    struct str *s = &in->out->head_sha;
    int rc = search_take(in, "gitHeadSha", raw, s);
    if (rc != 0 || str_trim(*s).n == 0) return rc;
    bool good = s->n == 40;
    for (size_t i = 0; good && i < s->n; i++)
        good = (s->p[i] >= '0' && s->p[i] <= '9') || (s->p[i] >= 'a' && s->p[i] <= 'f');
    return good ? 0 : call_wrong(in, "gitHeadSha", "40 hexadecimal digits, lower case");
}

static int intent_take(struct call_in *in, struct str raw, int *intent) {
    static const char *const INTENTS[] = {"advance", "rehydrate"};
    static const struct wr_names NAMES = WR_NAMES(INTENTS);
    return choice_take(in, "intent", raw, &NAMES, intent);
}

static int mode_take(struct call_in *in, struct str raw) {
    static const char *const MODES[] = {"metadata", "preview"};
    static const struct wr_names NAMES = WR_NAMES(MODES);
    int mode = -1, rc = choice_take(in, "mode", raw, &NAMES, &mode);
    if (rc == 0) in->out->mode = str_c(MODES[mode]);
    return rc;
}

static int member_read(struct call_in *in, int m, struct str raw, int *intent) {
    static const char *const ANCHORS[] = {"gitBranch", "gitHeadSha", "repoRootHash", "repoRoot"};
    static const char *const PREFERENCES[] = {"autonomy", "riskPolicy"};
    struct wr_call *c = in->out;
    switch (m) {
    case M_WORKFLOW_ID:
        return text_take(in, "workflowId", raw, 256, &c->workflow_id);
    case M_MODE:
        return mode_take(in, raw);
    case M_WORKSPACE:
        return text_take(in, "workspacePath", raw, 4096, &c->workspace_path);
    case M_CONTEXT:
        return wr_context_check(raw, in->a, &c->context, in->f);
    case M_ANCHORS:
        return object_take(in, "anchors", raw, ANCHORS, 4, anchor_take);
    case M_PREFERENCES:
        return object_take(in, "preferences", raw, PREFERENCES, 2, preference_take);
    case M_STATE:
        return text_take(in, "stateToken", raw, 65536, &c->state_token);
    case M_ACK:
        return text_take(in, "ackToken", raw, 65536, &c->ack_token);
    case M_CHECKPOINT:
        return text_take(in, "checkpointToken", raw, 65536, &c->checkpoint_token);
    case M_INTENT:
        return intent_take(in, raw, intent);
    case M_OUTPUT:
        return output_take(in, raw);
    case M_QUERY:
        return search_take(in, "query", raw, &c->query);
    case M_BRANCH:
        return search_take(in, "gitBranch", raw, &c->branch);
    default:
        return head_take(in, raw);
    }
}

/* WR-216. */
static int continue_check(struct call_in *in, int intent) {
    struct wr_call *c = in->out;
    c->advance = intent < 0 ? c->ack_token.p != NULL : intent == 0;
    if (c->advance && c->ack_token.p == NULL)
        return call_wrong(in, "ackToken",
                          "missing; to advance, send the ackToken of the last reply");
    if (!c->advance && c->ack_token.p != NULL)
        return call_wrong(in, "ackToken",
                          "not with intent rehydrate; leave it out to read, or send "
                          "intent advance");
    if (!c->advance && c->has_output)
        return call_wrong(in, "output",
                          "rehydrate changes nothing and takes no output; send "
                          "ackToken with it");
    if (!c->advance && (c->autonomy >= 0 || c->risk >= 0))
        return call_wrong(in, "preferences", "rehydrate changes nothing; send them with ackToken");
    return 0;
}

static int members_read(struct call_in *in, const struct json_members *m, int *intent) {
    const struct tool_row *row = &TOOLS[in->tool];
    const char *names[MEMBERS_MAX];
    size_t nr = 0;
    while (row->members[nr] != M_END) {
        names[nr] = MEMBERS[row->members[nr]];
        nr++;
    }
    for (size_t i = 0; i < m->n; i++) {
        size_t k = 0;
        while (k < nr && !str_eqc(m->v[i].key, names[k])) k++;
        if (k == nr) return unknown_member(in, "", m->v[i].key, names, nr);
    }
    for (size_t k = 0; k < nr; k++) {
        const struct json_member *found = json_member_find(m, names[k]);
        if (found == NULL && (int)k < row->due) return call_wrong(in, names[k], "missing");
        int rc = found != NULL ? member_read(in, row->members[k], found->raw, intent) : 0;
        if (rc != 0) return rc;
    }
    return 0;
}

int wr_call_read(enum wr_tool tool, struct str arguments, struct arena *a, struct wr_call *out,
                 struct wr_fault *f) {
    struct wr_fault own;
    struct json_members m;
    int intent = -1;
    struct call_in in = {tool, a, out, f != NULL ? f : &own};
    *out = (struct wr_call){.tool = tool, .mode = STR("preview"), .autonomy = -1, .risk = -1};
    out->anchors.confidence = WR_MED;
    if (json_type_of(arguments) != JSON_OBJECT)
        return call_wrong(&in, "arguments", "an object is due here");
    if (json_members(arguments, a, &m, NULL) != 0) return wr_no_memory(in.f);
    int rc = members_read(&in, &m, &intent);
    return rc == 0 && tool == WR_TOOL_CONTINUE ? continue_check(&in, intent) : rc;
}
