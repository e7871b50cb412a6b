/*
 * abi.c: a module is loaded and asked who it is; a type of it is invoked (WASM-2, WASM-10 to
 * WASM-14).  Reports: abi.h.
 */
#include "sandbox/worker/abi.h"

#include "base/clock.h"
#include "base/mem.h"
#include "codec/jobj.h"
#include "sandbox/frame.h"
#include "sandbox/worker/imports.h"

#include <stdio.h>

#define ABI_ARENA_MAX    (64u * 1024 * 1024) /* of one invocation: what it asks and is given */
#define ABI_TEXT_MAX     256u                /* bytes of a name */
#define ABI_RESPONSE_MAX (400u * 1024)
#define REQUEST_KEPT_MAX (128u * 1024)

struct abi_module {
    struct wasm_module *m;
    struct arena *a;
    bool packed[IMPORT_NR];
    struct str *types;
    size_t types_nr;
};

enum gives { GIVES_NOTHING, GIVES_I32, GIVES_TEXT };
static const struct {
    const char *name;
    unsigned params_nr;
    enum gives gives;
} EXPORTS[] = {
    {"openwop_abi_version", 0, GIVES_I32},  {"openwop_pack_name", 0, GIVES_TEXT},
    {"openwop_node_count", 0, GIVES_I32},   {"openwop_node_id_at", 1, GIVES_TEXT},
    {"openwop_alloc", 1, GIVES_I32},        {"openwop_free", 2, GIVES_NOTHING},
    {"openwop_node_invoke", 3, GIVES_TEXT},
};

/* --- one execution: an instance with its imports --- */

struct execution {
    const struct abi_module *m;
    const struct abi_bounds *bounds;
    struct imports im;
    struct wasm_instance *i;
    enum wasm_end end;
    char why[WASM_WHY_MAX];
    bool *spent;
};

static bool abi_ended(struct execution *x, enum wasm_end end) {
    x->end = end;
    if (end == WASM_NO_MEMORY) *x->spent = true;
    return end == WASM_RETURNED;
}

static void bounds_start(struct execution *x) {
    uint64_t now_ms = clock_mono_ms(), time_ms = (uint64_t)x->bounds->time_ms;
    x->im.cpu_from_ms = clock_cpu_ms();
    x->im.cpu_until_ms = x->im.cpu_from_ms + time_ms;
    x->im.deadline_ms = now_ms + time_ms;
    x->im.end_ms = now_ms + time_ms * FRAME_WALL_TIMES;
}

static bool execution_begin(struct execution *x, struct arena *a, struct str message) {
    const struct wasm_host host = {&x->im, imports_call, imports_go_on};
    if (!imports_init(&x->im, a, message)) {
        x->im.code = "out_of_memory";
        return false;
    }
    x->im.packed = x->m->packed;
    x->im.memory_max = x->bounds->memory_max;
    bounds_start(x);
    enum wasm_end end = wasm_instance_new(x->m->m, x->bounds->memory_max, &host, &x->i, x->why);
    x->im.i = x->i;
    return abi_ended(x, end);
}

static void execution_end(struct execution *x) {
    wasm_instance_free(x->i);
    imports_fini(&x->im);
}

static bool abi_ask(struct execution *x, const char *name, const uint64_t *params,
                    uint64_t *results) {
    return abi_ended(x, wasm_call(x->i, name, params, results, x->why));
}

/* The text of a function that gives pointer and length, borrowed from the module's memory. */
static bool ask_text(struct execution *x, const char *name, const uint64_t *params,
                     struct str *out) {
    struct wasm_sig sig;
    uint64_t r[WASM_RESULTS_MAX] = {0};
    if (!wasm_module_func(x->m->m, name, &sig) || !abi_ask(x, name, params, r)) return false;
    bool packed = sig.results_nr == 1; /* WASM-4 */
    uint64_t at = packed ? r[0] & 0xffffffffu : r[0], n = packed ? r[0] >> 32 : r[1];
    return imports_bytes(&x->im, at, n, out);
}

/* --- reports --- */

static void report_usage(struct execution *x, struct jw *w) {
    uint64_t size = 0;
    if (x->i) (void)wasm_memory(x->i, &size);
    jw_kint(w, "memoryBytes", (int64_t)size);
    jw_kint(w, "steps", x->i ? (int64_t)wasm_steps(x->i) : 0);
}

static void report_begin(struct buf *b, struct jw *w, const char *outcome) {
    buf_reset(b);
    jw_init(w, b);
    jw_object(w);
    jw_kstrz(w, "outcome", outcome);
}

static void report_failed(struct execution *x, struct buf *b, const char *code, const char *why) {
    struct jw w;
    report_begin(b, &w, "failed");
    jw_kstrz(&w, "code", code);
    jw_kstr(&w, "message", str_c(why));
    report_usage(x, &w);
    jw_end_object(&w);
}

static void report_cap(struct execution *x, struct buf *b, const char *code, const char *why,
                       const char *kind, int64_t limit, int64_t observed) {
    struct jw w;
    report_begin(b, &w, "failed");
    jw_kstrz(&w, "code", code);
    jw_kstr(&w, "message", str_c(why));
    jw_key(&w, "cap");
    jw_object(&w);
    jw_kstrz(&w, "kind", kind);
    jw_kint(&w, "limit", limit);
    jw_kint(&w, "observed", observed);
    jw_end_object(&w);
    report_usage(x, &w);
    jw_end_object(&w);
}

/* Nothing tells that a module was refused memory.  One that traps with more than half of what it
 * may have was, in all likelihood: allocators double.  What its calls take is not counted: they end
 * when the process has no more. */
static bool memory_was_short(struct execution *x, uint64_t *size) {
    *size = 0;
    if (x->i) (void)wasm_memory(x->i, size);
    return *size > x->bounds->memory_max / 2;
}

/* What was more than it may be: processor time, or else all that the clock allows. */
static int64_t time_observed(const struct execution *x) {
    uint64_t used_ms = clock_cpu_ms() - x->im.cpu_from_ms;
    uint64_t most_ms = (uint64_t)x->bounds->time_ms;
    return (int64_t)(used_ms >= most_ms ? used_ms : most_ms * FRAME_WALL_TIMES);
}

/* Why an execution did not come to its end (WASM-13, WASM-14). */
static void report_broken(struct execution *x, struct buf *b) {
    uint64_t size;
    int64_t time_ms = x->bounds->time_ms;
    if (x->im.timed_out)
        report_cap(x, b, "wasm_execution_time_exceeded",
                   "the node took longer than the host lets a module execute",
                   "wasm-execution-time", time_ms, time_observed(x));
    else if (x->im.code) report_failed(x, b, x->im.code, x->im.why);
    else if (memory_was_short(x, &size))
        report_cap(x, b, "wasm_memory_cap_exceeded",
                   "the module stopped for want of memory: it has all that the host gives it",
                   "wasm-memory", (int64_t)x->bounds->memory_max, (int64_t)size);
    else report_failed(x, b, "wasm_trap", x->why[0] ? x->why : "the module stopped");
}

/* --- loading --- */

static bool exports_right(const struct abi_module *m, char why[WASM_WHY_MAX]) {
    for (size_t i = 0; i < sizeof EXPORTS / sizeof *EXPORTS; i++) {
        struct wasm_sig s;
        bool there = wasm_module_func(m->m, EXPORTS[i].name, &s);
        bool fits = there && s.params_nr == EXPORTS[i].params_nr;
        for (unsigned p = 0; fits && p < s.params_nr; p++) fits = s.params[p] == WASM_I32;
        bool i32 = there && s.results_nr == 1 && s.results[0] == WASM_I32;
        bool text =
            there && ((s.results_nr == 1 && s.results[0] == WASM_I64) ||
                      (s.results_nr == 2 && s.results[0] == WASM_I32 && s.results[1] == WASM_I32));
        if (fits)
            fits = EXPORTS[i].gives == GIVES_NOTHING ? s.results_nr == 0
                   : EXPORTS[i].gives == GIVES_I32   ? i32
                                                     : text;
        if (fits) continue;
        snprintf(why, WASM_WHY_MAX, "the module does not export %s%s", EXPORTS[i].name,
                 there ? " with the right type" : "");
        return false;
    }
    if (wasm_module_has_memory(m->m)) return true;
    snprintf(why, WASM_WHY_MAX, "the module does not export its memory");
    return false;
}

static bool name_copy(struct execution *x, struct str text, struct str *out) {
    if (text.n == 0 || text.n > ABI_TEXT_MAX || !utf8_valid(text)) {
        x->im.code = "pack_load_failure";
        snprintf(x->im.why, sizeof x->im.why,
                 "a name that the module gives is empty, not UTF-8 or longer than 256 bytes");
        return false;
    }
    *out = arena_str(x->m->a, text);
    return out->p != NULL;
}

static bool types_ask(struct execution *x, struct abi_module *m) {
    uint64_t n[WASM_RESULTS_MAX] = {0};
    struct str text;
    if (!abi_ask(x, "openwop_node_count", NULL, n)) return false;
    if (n[0] == 0 || n[0] > ABI_TYPES_MAX) {
        x->im.code = "pack_load_failure";
        snprintf(x->im.why, sizeof x->im.why, "the module has not 1 to %u types", ABI_TYPES_MAX);
        return false;
    }
    m->types = ARENA_ARRAY(m->a, struct str, (size_t)n[0]);
    if (!m->types) return false;
    for (uint64_t i = 0; i < n[0]; i++) {
        if (!ask_text(x, "openwop_node_id_at", &i, &text)) return false;
        if (!name_copy(x, text, &m->types[i])) return false;
    }
    m->types_nr = (size_t)n[0];
    return true;
}

static bool abi_describe(struct execution *x, struct abi_module *m, struct buf *report) {
    uint64_t version[WASM_RESULTS_MAX] = {0};
    struct str text, pack;
    struct jw w;
    if (!abi_ask(x, "openwop_abi_version", NULL, version)) return false;
    if (version[0] != ABI_VERSION) {
        x->im.code = "unsupported_abi_version";
        snprintf(x->im.why, sizeof x->im.why, "the module has ABI version %u, this host %d",
                 (unsigned)version[0], ABI_VERSION);
        return false;
    }
    if (!ask_text(x, "openwop_pack_name", NULL, &text) || !name_copy(x, text, &pack)) return false;
    if (!types_ask(x, m)) return false;
    report_begin(report, &w, "loaded");
    jw_kstr(&w, "pack", pack);
    jw_key(&w, "types");
    jw_array(&w);
    for (size_t i = 0; i < m->types_nr; i++) jw_str(&w, m->types[i]);
    jw_end_array(&w);
    report_usage(x, &w);
    jw_end_object(&w);
    return !buf_failed(report);
}

static int abi_find(void *ctx, const char *module, const char *name, const struct wasm_sig *sig) {
    return imports_find(ctx, module, name, sig);
}

static bool abi_module_load(struct execution *x, struct abi_module *m, struct str bytes,
                            struct buf *report) {
    x->end = wasm_module_new(bytes.p, bytes.n, abi_find, m->packed, &m->m, x->why);
    if (x->end == WASM_RETURNED && !exports_right(m, x->why)) x->end = WASM_WRONG;
    if (x->end == WASM_NO_MEMORY) *x->spent = true;
    if (x->end != WASM_RETURNED) return false;
    return execution_begin(x, m->a, STR_NONE) && abi_describe(x, m, report);
}

/* A trap while a module says who it is has the code of what cannot be loaded. */
static void report_unloaded(struct execution *x, struct buf *b) {
    bool version = x->im.code && strcmp(x->im.code, "unsupported_abi_version") == 0;
    report_failed(x, b, version ? x->im.code : "pack_load_failure",
                  x->im.timed_out ? "the module takes too long to say who it is"
                  : !x->im.code || x->end == WASM_WRONG ? x->why
                                                        : x->im.why);
}

struct abi_module *abi_load(struct str bytes, const struct abi_bounds *b, struct buf *report,
                            bool *spent) {
    struct abi_module *m = MEM_NEW(struct abi_module);
    if (m) m->a = arena_new(1024u * 1024);
    if (!m || !m->a) {
        mem_free(m);
        *spent = true;
        return NULL;
    }
    struct execution x = {.m = m, .bounds = b, .spent = spent};
    bool right = abi_module_load(&x, m, bytes, report);
    if (!right) report_unloaded(&x, report);
    execution_end(&x);
    if (right) return m;
    abi_free(m);
    return NULL;
}

void abi_free(struct abi_module *m) {
    if (!m) return;
    wasm_module_free(m->m);
    arena_free(m->a);
    mem_free(m);
}

/* --- invoking --- */

static void list_report(struct jw *w, const char *key, const struct buf *elements) {
    struct buf b;
    buf_init(&b, FRAME_REPORT_MAX);
    buf_addc(&b, '[');
    buf_adds(&b, buf_str(elements));
    buf_addc(&b, ']');
    if (buf_failed(&b)) w->b->failed = true;
    else jw_kraw(w, key, buf_str(&b));
    buf_fini(&b);
}

static void report_interrupt(struct execution *x, struct buf *b) {
    struct jw w;
    if (buf_failed(&x->im.calls)) {
        report_failed(x, b, "wasm_suspend_too_large",
                      "what the module has read before it waits is more than the host keeps: 10000 "
                      "calls, 256 KiB");
        return;
    }
    report_begin(b, &w, "interrupt");
    jw_kraw(&w, "interrupt", x->im.interrupt);
    jw_kint(&w, "nowMs", x->im.now_ms);
    bool keep = false;
    struct str request = json_get(x->im.message, "request");
    if (json_bool(json_get(x->im.message, "keep"), &keep) && keep && request.n <= REQUEST_KEPT_MAX)
        jw_kraw(&w, "request", request);
    list_report(&w, "calls", &x->im.calls);
    list_report(&w, "effects", &x->im.effects);
    report_usage(x, &w);
    jw_end_object(&w);
}

static void report_response(struct execution *x, struct str response, struct buf *b) {
    struct jw w;
    struct wopr_error err;
    if (response.n > ABI_RESPONSE_MAX) {
        report_failed(x, b, "validation_error",
                      "the response of the module is longer than 400 KiB");
        return;
    }
    if (json_check(response, &JSON_LIMITS_DEFAULT, &err) != 0) {
        report_failed(x, b, "validation_error", "the response of the module is not JSON");
        return;
    }
    report_begin(b, &w, "response");
    jw_kraw(&w, "response", response);
    list_report(&w, "effects", &x->im.effects);
    report_usage(x, &w);
    jw_end_object(&w);
}

static bool abi_export_invoke(struct execution *x, uint64_t index, struct str request,
                              struct str *response) {
    uint64_t at;
    if (!imports_give(&x->im, request, &at)) {
        if (!x->im.code && !x->im.timed_out) x->im.code = "wasm_trap";
        return false;
    }
    const uint64_t params[] = {index, at, request.n};
    return ask_text(x, "openwop_node_invoke", params, response);
}

void abi_invoke(struct abi_module *m, struct str type_id, struct str message,
                const struct abi_bounds *b, struct buf *report, bool *spent) {
    struct execution x = {.m = m, .bounds = b, .spent = spent};
    struct arena *a = arena_new(ABI_ARENA_MAX);
    struct str response;
    size_t index = 0;
    while (index < m->types_nr && !str_eq(m->types[index], type_id)) index++;
    if (!a) *spent = true;
    else if (index == m->types_nr)
        report_failed(&x, report, "not_found", "the module has no such type");
    else if (execution_begin(&x, a, message) &&
             abi_export_invoke(&x, index, json_get(message, "request"), &response))
        report_response(&x, response, report);
    else if (x.im.interrupt.n > 0) report_interrupt(&x, report);
    else report_broken(&x, report);
    execution_end(&x);
    arena_free(a);
}
