/*
 * fuzz_agents.c: properties of the judge of agents and of the reader of sets on any definition.
 *  - it comes to an end, each finding has a place and a text, and the same text is judged the same;
 *  - what it calls good fits the published schema, has an id, a prompt and a class;
 *  - a set of what is good is read as it was written, and has the digest of its text.
 */
#include "base/mem.h"
#include "domain/agent_manifest.h"
#include "domain/published.h"

enum { FUZZ_BYTES_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void take(void *ctx, const struct lint_finding *f) {
    unsigned *n = ctx;
    ASSERT(f->text[0] != '\0' && memchr(f->pointer, '\0', sizeof f->pointer) != NULL);
    ASSERT(f->pointer[0] == '\0' || f->pointer[0] == '/');
    ++*n;
}

static const struct schema *published(void) {
    static struct schema_set *set; /* for as long as the process */
    static const struct schema *s;
    struct wopr_error err;
    if (s) return s;
    set = published_set_new();
    ASSERT(set != NULL);
    ASSERT(schema_compile(set, STR(PUBLISHED_URI "agent-manifest.schema.json"), &s, &err) == 0);
    return s;
}

static void check_set(struct str text, struct str id, struct arena *a) {
    struct agent_member m = {.id = id, .definition = text};
    struct agent_set set;
    struct agent g;
    struct str again;
    struct wopr_error err;
    if (agent_digest(text, &m.digest, &err) != 0) return; /* memory */
    ASSERT(agent_set_make(&m, 1, a, &set, &err) == 0);
    ASSERT(agent_set_digest(set.text, a, &again, &err) == 0 && str_eq(again, set.digest));
    struct str pin = arena_printf(a, "{\"agentId\":\"" STR_FMT "\"}", STR_ARG(id));
    ASSERT(agent_find(set.text, pin, a, &g));
    ASSERT(str_eq(g.id, id) && g.system_prompt.n > 0 && g.model_class != NULL);
    for (size_t i = 0; i < g.allow.n; i++)
        ASSERT(agent_allows(&g, json_string(g.allow.v[i], a), a));
    if (g.task_schema.n > 0) {
        bool judged = false;
        (void)agent_schema_wrong(g.task_schema, STR("{}"), a, &judged);
        ASSERT(judged);
    }
}

static void judge(struct str text, struct arena *a) {
    static const char *const CLASSES[] = {"chat", NULL};
    struct agent_rules rules = {.long_term = true}, strict = {.model_classes = CLASSES};
    struct agent_judgement sum, again;
    struct wopr_error err;
    unsigned told = 0, told_again = 0;
    ASSERT(agent_judge(text, &rules, take, &told, a, &sum, &err) == 0);
    ASSERT(agent_judge(text, &rules, take, &told_again, a, &again, &err) == 0);
    ASSERT(told == told_again && sum.errors == again.errors && sum.warnings == again.warnings);
    ASSERT(told <= LINT_MAX && told <= sum.errors + sum.warnings);
    ASSERT(agent_judge(text, &strict, take, &told, a, &again, &err) == 0);
    ASSERT(again.errors >= sum.errors);
    if (sum.errors > 0) return;
    ASSERT(agent_id_ok(sum.agent_id));
    ASSERT(schema_validate_text(published(), json_get(text, "manifest"), NULL) == 0);
    check_set(text, sum.agent_id, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct str text = str_n((const char *)data, len);
    if (len > FUZZ_BYTES_MAX || json_check(text, &JSON_LIMITS_DEFAULT, NULL) != 0) return 0;
    struct arena *a = arena_new(64u << 20);
    ASSERT(a != NULL);
    judge(text, a);
    arena_free(a);
    return 0;
}
