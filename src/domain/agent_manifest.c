/*
 * agent_manifest.c: pins, sets, and what a manifest says to those who execute; see
 * agent_manifest.h.
 */
#include "domain/agent_manifest.h"

#include "codec/jobj.h"

#include <stdlib.h>

#define DIGEST_PREFIX "sha256:"
#define LOCAL_TIER    "local."

/* --- ids --- */

static bool agent_manifest_lower(char c) { return c >= 'a' && c <= 'z'; }

static bool word_rest(char c, bool capitals) {
    return agent_manifest_lower(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           (capitals && c >= 'A' && c <= 'Z');
}

static bool segment_ok(struct str s, bool capitals) {
    if (s.n == 0 || !agent_manifest_lower(s.p[0])) return false;
    for (size_t i = 1; i < s.n; i++)
        if (!word_rest(s.p[i], capitals)) return false;
    return true;
}

bool agent_id_ok(struct str id) {
    static const char *const TIERS[] = {"core", "vendor", "community", "private", "local"};
    struct str head, rest = id;
    size_t tier = 0, segments = 0;
    if (id.n > AGENT_ID_MAX || !str_cut(id, '.', &head, &rest)) return false;
    while (tier < 5 && !str_eqc(head, TIERS[tier])) tier++;
    if (tier == 5) return false;
    for (bool more = true; more; segments++) {
        struct str tail = STR_NONE;
        more = str_cut(rest, '.', &head, &tail);
        if (!segment_ok(more ? head : rest, segments > 0)) return false;
        rest = tail;
    }
    return segments >= 2;
}

const char *const AGENT_CLASSES[AGENT_CLASSES_NR] = {"reasoning", "tool-using",     "chat",
                                                     "code",      "vision",         "multimodal",
                                                     "embedding", "classification", "retrieval"};

int agent_class_no(struct str name) {
    for (unsigned i = 0; i < AGENT_CLASSES_NR; i++)
        if (str_eqc(name, AGENT_CLASSES[i])) return (int)i;
    return -1;
}

const char *agent_model_class(struct str of_manifest) {
    static const struct {
        const char *manifest, *ref;
    } CLASSES[] = {{"reasoning", "reasoning"}, {"writing", "chat"},
                   {"coding", "code"},         {"research", "retrieval"},
                   {"general", "chat"},        {"classification", "classification"}};
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++)
        if (str_eqc(of_manifest, CLASSES[i].manifest)) return CLASSES[i].ref;
    return NULL;
}

/* --- definitions --- */

struct str agent_definition(struct str manifest, struct str files, struct arena *a) {
    struct jobj o;
    jobj_begin(&o, 2 * AGENT_SET_BYTES);
    jw_kraw(&o.w, "manifest", manifest);
    jw_kraw_opt(&o.w, "files", files);
    return jobj_end(&o, a);
}

int agent_digest(struct str definition, struct sha256 *out, struct wopr_error *err) {
    struct buf b;
    buf_init(&b, 2 * AGENT_SET_BYTES);
    int rc = json_canonical_exact(definition, &b, err);
    if (rc == 0) *out = sha256_of(buf_str(&b));
    buf_fini(&b);
    return rc;
}

/* --- pins --- */

struct str agent_of_pin(struct str pin, struct arena *a) {
    struct str id;
    if (pin.n == 0) return STR_NONE;
    id = json_string(json_get(pin, "sourceManifestId"), a);
    if (id.n == 0) id = json_string(json_get(pin, "agentId"), a);
    return agent_id_ok(id) ? id : STR_NONE;
}

bool agent_must_exist(struct str id) { return str_starts(id, STR(LOCAL_TIER)); }

static int pin_order(const void *x, const void *y) {
    const struct agent_pin *p = x, *q = y;
    int c = str_cmp(p->id, q->id);
    return c != 0 ? c : (p->node > q->node) - (p->node < q->node);
}

int agent_pins_of(const struct workflow *wf, struct arena *a, struct agent_pins *out,
                  struct wopr_error *err) {
    size_t pinned = 0, n = 0;
    *out = (struct agent_pins){NULL, 0};
    for (size_t i = 0; i < wf->nodes_nr; i++) pinned += wf->nodes[i].agent.n > 0;
    if (pinned == 0) return 0;
    struct agent_pin *v = ARENA_ARRAY(a, struct agent_pin, pinned);
    for (size_t i = 0; v && i < wf->nodes_nr; i++) {
        v[n] = (struct agent_pin){.id = agent_of_pin(wf->nodes[i].agent, a), .node = (int)i};
        n += v[n].id.n > 0;
        if (n == pinned) break;
    }
    if (arena_failed(a)) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for agents");
    if (n > 0) qsort(v, n, sizeof *v, pin_order);
    for (size_t i = 0; i < n; i++)
        if (out->n == 0 || !str_eq(v[out->n - 1].id, v[i].id)) v[out->n++] = v[i];
    out->v = v;
    return 0;
}

/* --- sets --- */

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the agents of a run");
}

static int set_sum(const struct agent_member *v, size_t n, struct arena *a, struct str *out,
                   struct wopr_error *err) {
    char hex[65];
    struct buf b;
    buf_init(&b, AGENT_SET_BYTES);
    for (size_t i = 0; i < n; i++) {
        sha256_hex(&v[i].digest, hex);
        buf_adds(&b, v[i].id);
        buf_addf(&b, " %s\n", hex);
    }
    struct sha256 sum = sha256_of(buf_str(&b));
    bool failed = buf_failed(&b);
    buf_fini(&b);
    sha256_hex(&sum, hex);
    *out = failed ? STR_NONE : arena_printf(a, DIGEST_PREFIX "%s", hex);
    return out->p ? 0 : no_memory(err);
}

int agent_set_make(const struct agent_member *v, size_t n, struct arena *a, struct agent_set *out,
                   struct wopr_error *err) {
    struct jobj o;
    size_t bytes = 0;
    *out = (struct agent_set){.text = STR_NONE};
    if (n == 0) return 0;
    for (size_t i = 0; i < n; i++) bytes += v[i].definition.n;
    if (n > AGENT_SET_MAX || bytes > AGENT_SET_BYTES)
        return wopr_error_set(err, WOPR_E_TOO_BIG,
                              "the nodes of the workflow are pinned to %zu agents with %zu bytes; "
                              "a run has at most %u agents, and %u bytes of their definitions",
                              n, bytes, AGENT_SET_MAX, AGENT_SET_BYTES);
    jobj_begin(&o, 2 * AGENT_SET_BYTES);
    for (size_t i = 0; i < n; i++) {
        jw_key_str(&o.w, v[i].id);
        jw_raw(&o.w, v[i].definition);
    }
    out->text = jobj_end(&o, a);
    return out->text.p ? set_sum(v, n, a, &out->digest, err) : no_memory(err);
}

static int member_order(const void *x, const void *y) {
    return str_cmp(((const struct agent_member *)x)->id, ((const struct agent_member *)y)->id);
}

int agent_set_digest(struct str set, struct arena *a, struct str *out, struct wopr_error *err) {
    struct json_members m;
    int rc = json_check(set, &JSON_LIMITS_STORED, err);
    if (rc == 0) rc = json_members(set, a, &m, err);
    if (rc != 0) return rc;
    struct agent_member *v = ARENA_ARRAY(a, struct agent_member, m.n + 1);
    if (!v) return no_memory(err);
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        v[i] = (struct agent_member){.id = m.v[i].key, .definition = m.v[i].raw};
        rc = agent_digest(m.v[i].raw, &v[i].digest, err);
    }
    if (rc == 0 && m.n > 0) qsort(v, m.n, sizeof *v, member_order);
    return rc == 0 ? set_sum(v, m.n, a, out, err) : rc;
}

/* --- what one says --- */

static struct str member_of(struct str object, struct str name, struct arena *a) {
    const char *z = name.n > 0 ? arena_cstr(a, name) : NULL;
    return z && strlen(z) == name.n ? json_get(object, z) : STR_NONE;
}

/* The text of the file that a member of an object names, or empty. */
static struct str file_of(struct str files, struct str object, const char *key, struct arena *a) {
    struct str name = object.n > 0 ? json_string(json_get(object, key), a) : STR_NONE;
    return json_string(member_of(files, name, a), a);
}

bool agent_find(struct str set, struct str pin, struct arena *a, struct agent *out) {
    struct str id = set.n > 0 ? agent_of_pin(pin, a) : STR_NONE;
    struct str definition = member_of(set, id, a), manifest = json_get(definition, "manifest");
    struct str files = json_get(definition, "files"), handoff;
    if (manifest.n == 0) return false;
    handoff = json_get(manifest, "handoff");
    struct str allow = json_get(manifest, "toolAllowlist");
    *out = (struct agent){
        .id = id,
        .manifest = manifest,
        .system_prompt = json_string(json_get(manifest, "systemPrompt"), a),
        .threshold = json_get(json_get(manifest, "confidence"), "defaultThreshold"),
        .task_schema = file_of(files, handoff, "taskSchemaRef", a),
        .return_schema = file_of(files, handoff, "returnSchemaRef", a),
        .model_class = agent_model_class(json_string(json_get(manifest, "modelClass"), a))};
    if (out->system_prompt.n == 0)
        out->system_prompt = file_of(files, manifest, "systemPromptRef", a);
    if (allow.n > 0 && json_elements(allow, a, &out->allow, NULL) != 0) return false;
    return !arena_failed(a);
}

bool agent_allows(const struct agent *g, struct str tool, struct arena *a) {
    for (size_t i = 0; i < g->allow.n; i++)
        if (str_eq(json_string(g->allow.v[i], a), tool)) return true;
    return false;
}

bool agent_allows_name(const struct agent *g, struct str name, struct arena *a) {
    for (size_t i = 0; i < g->allow.n; i++) {
        struct str scope, tool;
        if (str_cut(json_string(g->allow.v[i], a), ':', &scope, &tool) && str_eq(tool, name))
            return true;
    }
    return false;
}
