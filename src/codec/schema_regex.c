/*
 * schema_regex.c: compiled patterns and bounded matching on PCRE2.  Layer: codec.
 * Every match draws on the step budget of its validation: the callouts that the translation put in
 * charge one step each, and one per SCAN_PER_STEP bytes that the match went over since the last
 * one. The PCRE2 block of a thread (match data and context) is made at its first match and ends
 * with it.
 */
#include "base/mem.h"
#include "codec/pattern.h"
#include "codec/schema_pattern.h"

#include <pthread.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
    SCAN_PER_STEP = 16,
    MATCH_LIMIT = 10000000, /* a second bound: the budget is used up first */
    DEPTH_LIMIT = 200000,   /* nested backtracking points */
    HEAP_LIMIT_KIB = 16384, /* of one match */
    OUT_BYTES_MAX = 1 << 20,
};

struct schema_pattern {
    pcre2_code *code;
    struct schema_pattern_cost cost;
    struct schema_pattern *next;
};

struct thread_block {
    pcre2_match_data *data;
    pcre2_match_context *context;
};

struct meter { /* of one match */
    uint64_t *steps;
    size_t last;  /* position at the last callout */
    size_t fixed; /* bytes charged at each callout beyond the way made */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t block_key;
static bool has_key;

static void *take_mem(size_t n, void *ctx) {
    (void)ctx;
    return mem_alloc(n);
}

static void give_mem(void *p, void *ctx) {
    (void)ctx;
    mem_free(p);
}

static void block_free(void *p) {
    struct thread_block *b = p;
    if (b == NULL) return;
    pcre2_match_data_free(b->data);
    pcre2_match_context_free(b->context);
    mem_free(b);
}

static void make_key(void) { has_key = pthread_key_create(&block_key, block_free) == 0; }

static int on_callout(pcre2_callout_block *c, void *data) {
    struct meter *m = data;
    size_t now = c->current_position;
    size_t way = now > m->last ? now - m->last : 0;
    size_t left = c->subject_length - now;
    uint64_t cost = 1 + way / SCAN_PER_STEP + (m->fixed < left ? m->fixed : left) / SCAN_PER_STEP;
    m->last = now;
    if (cost >= *m->steps) {
        *m->steps = 0;
        return PCRE2_ERROR_CALLOUT;
    }
    *m->steps -= cost;
    return 0;
}

static struct thread_block *block_get(void) {
    (void)pthread_once(&once, make_key);
    if (!has_key) return NULL;
    struct thread_block *b = pthread_getspecific(block_key);
    if (b != NULL) return b;
    pcre2_general_context *general = pcre2_general_context_create(take_mem, give_mem, NULL);
    b = MEM_NEW(struct thread_block);
    if (general == NULL || b == NULL) goto fail;
    b->data = pcre2_match_data_create(1, general);
    b->context = pcre2_match_context_create(general);
    if (b->data == NULL || b->context == NULL) goto fail;
    (void)pcre2_set_match_limit(b->context, MATCH_LIMIT);
    (void)pcre2_set_depth_limit(b->context, DEPTH_LIMIT);
    (void)pcre2_set_heap_limit(b->context, HEAP_LIMIT_KIB);
    if (pthread_setspecific(block_key, b) != 0) goto fail;
    pcre2_general_context_free(general);
    return b;
fail:
    block_free(b);
    pcre2_general_context_free(general);
    return NULL;
}

/* Compile; *code set on success only. */
static int regex_compile(struct str src, uint32_t options, pcre2_code **code,
                         struct schema_pattern_cost *cost, const char **why) {
    pcre2_general_context *general = pcre2_general_context_create(take_mem, give_mem, NULL);
    pcre2_compile_context *context = NULL;
    struct buf out;
    int rc = WOPR_E_NO_MEMORY, error;
    PCRE2_SIZE offset;
    buf_init(&out, OUT_BYTES_MAX);
    if (general == NULL) goto done;
    context = pcre2_compile_context_create(general);
    if (context == NULL) goto done;
    if (options & PCRE2_MULTILINE) (void)pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
    rc = schema_pattern_translate(src, &out, cost, why);
    if (rc != 0) goto done;
    pcre2_code *c = pcre2_compile((PCRE2_SPTR)out.p, out.len,
                                  options | PCRE2_UTF | PCRE2_DOLLAR_ENDONLY |
                                      PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C,
                                  &error, &offset, context);
    if (c != NULL) {
        *code = c;
    } else if (error == PCRE2_ERROR_HEAP_FAILED) {
        rc = WOPR_E_NO_MEMORY;
    } else {
        *why = "uses an expression that is too large or not supported here";
        rc = WOPR_E_VALIDATION;
    }
done:
    pcre2_compile_context_free(context);
    pcre2_general_context_free(general);
    buf_fini(&out);
    return rc;
}

int schema_pattern_get(struct schema_set *s, struct str src, const struct schema_pattern **out,
                       const char **why) {
    struct schema_pattern *p = map_get(s->patterns, src);
    if (p == NULL) {
        p = ARENA_NEW(s->arena, struct schema_pattern);
        if (p == NULL) return WOPR_E_NO_MEMORY;
        int rc = regex_compile(src, 0, &p->code, &p->cost, why);
        if (rc != 0) return rc;
        p->next = s->pattern_list;
        s->pattern_list = p;
        if (map_put(s->patterns, src, p, NULL) != 0) return WOPR_E_NO_MEMORY;
    }
    *out = p;
    return 0;
}

void schema_pattern_list_free(struct schema_pattern *list) {
    for (; list != NULL; list = list->next) pcre2_code_free(list->code);
}

bool schema_pattern_valid(struct str src) {
    pcre2_code *code = NULL;
    struct schema_pattern_cost cost = {.dot_all = false};
    const char *why;
    if (regex_compile(src, 0, &code, &cost, &why) != 0) return false;
    pcre2_code_free(code);
    return true;
}

int schema_pattern_match(const struct schema_pattern *p, struct str subject, uint64_t *steps,
                         bool *matches) {
    struct thread_block *b = block_get();
    if (b == NULL) return WOPR_E_NO_MEMORY;
    struct meter m = {.steps = steps, .fixed = p->cost.backrefs ? SIZE_MAX : p->cost.fixed};
    const char *text = subject.p != NULL ? subject.p : "";
    (void)pcre2_set_callout(b->context, on_callout, &m);
    int rc = pcre2_match(p->code, (PCRE2_SPTR)text, subject.n, 0, 0, b->data, b->context);
    switch (rc) {
    case PCRE2_ERROR_NOMATCH:
        *matches = false;
        return 0;
    case PCRE2_ERROR_CALLOUT:
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT:
    case PCRE2_ERROR_HEAPLIMIT:
        return WOPR_E_TOO_BIG;
    case PCRE2_ERROR_NOMEMORY:
        return WOPR_E_NO_MEMORY;
    default:
        break;
    }
    *matches = rc >= 0; /* any other error: the subject is no valid UTF-8 */
    return 0;
}

/* --- pattern.h --- */

struct pattern {
    struct schema_pattern p;
};

/* false: an unknown flag, or one that is there twice. */
static bool flags_read(struct str flags, uint32_t *options, bool *dot_all) {
    static const char KNOWN[] = "imsu";
    unsigned seen = 0;
    *options = 0;
    for (size_t i = 0; i < flags.n; i++) {
        const char *at = flags.p[i] != '\0' ? strchr(KNOWN, flags.p[i]) : NULL;
        if (at == NULL || (seen >> (at - KNOWN) & 1u) != 0) return false;
        seen |= 1u << (at - KNOWN);
    }
    if (seen & 1u) *options |= PCRE2_CASELESS;
    if (seen & 2u) *options |= PCRE2_MULTILINE;
    *dot_all = (seen & 4u) != 0;
    return true;
}

int pattern_new(struct str src, struct str flags, struct pattern **out, struct wopr_error *err) {
    uint32_t options;
    const char *why = "";
    struct pattern *p = MEM_NEW(struct pattern);
    if (p == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    int rc = WOPR_E_VALIDATION;
    if (!flags_read(flags, &options, &p->p.cost.dot_all)) why = "has flags other than i, m, s, u";
    else rc = regex_compile(src, options, &p->p.code, &p->p.cost, &why);
    if (rc == 0) {
        *out = p;
        return 0;
    }
    mem_free(p);
    if (rc == WOPR_E_NO_MEMORY) return wopr_error_set(err, rc, "out of memory");
    return wopr_error_set(err, WOPR_E_VALIDATION, "the pattern %s", why);
}

void pattern_free(struct pattern *p) {
    if (p == NULL) return;
    pcre2_code_free(p->p.code);
    mem_free(p);
}

int pattern_match(const struct pattern *p, struct str subject, uint64_t *steps, bool *matches) {
    return schema_pattern_match(&p->p, subject, steps, matches);
}
