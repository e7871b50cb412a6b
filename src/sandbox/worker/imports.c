/*
 * imports.c: what a module may ask of its host.  Everything is answered from the message and from
 * what this invocation did itself, so the same message gives the same execution; what it does is
 * told in the report and carried out by the engine.
 */
#include "sandbox/worker/imports.h"

#include "base/clock.h"

#include <stdio.h>

static const struct {
    const char *name;
    unsigned params_nr;
    enum { GIVES_NOTHING, GIVES_I32, GIVES_I64, GIVES_TEXT } gives;
} IMPORTS[IMPORT_NR] = {
    [IMPORT_CHANNEL_READ] = {"openwop_channel_read", 2, GIVES_TEXT},
    [IMPORT_CHANNEL_WRITE] = {"openwop_channel_write", 4, GIVES_I32},
    [IMPORT_VARIABLE_GET] = {"openwop_variable_get", 2, GIVES_TEXT},
    [IMPORT_VARIABLE_SET] = {"openwop_variable_set", 4, GIVES_I32},
    [IMPORT_INTERRUPT] = {"openwop_interrupt", 2, GIVES_TEXT},
    [IMPORT_LOG] = {"openwop_log", 3, GIVES_NOTHING},
    [IMPORT_NOW_MS] = {"openwop_now_ms", 0, GIVES_I64},
    [IMPORT_RANDOM] = {"openwop_random", 2, GIVES_NOTHING},
};
enum { STATUS_OK = 0, STATUS_DENIED = 1, STATUS_INVALID = 10, STATUS_BREACH = 20 }; /* WASM-7 */

#define EFFECT_BYTES_MAX (400u * 1024)
#define CALL_BYTES_MAX   (256u * 1024)

static bool sig_gives_text(const struct wasm_sig *s, bool *packed) {
    *packed = s->results_nr == 1 && s->results[0] == WASM_I64;
    return *packed ||
           (s->results_nr == 2 && s->results[0] == WASM_I32 && s->results[1] == WASM_I32);
}

static bool sig_fits(const struct wasm_sig *s, int which, bool *packed) {
    if (s->params_nr != IMPORTS[which].params_nr) return false;
    for (unsigned i = 0; i < s->params_nr; i++)
        if (s->params[i] != WASM_I32) return false;
    switch (IMPORTS[which].gives) {
    case GIVES_NOTHING:
        return s->results_nr == 0;
    case GIVES_I32:
        return s->results_nr == 1 && s->results[0] == WASM_I32;
    case GIVES_I64:
        return s->results_nr == 1 && s->results[0] == WASM_I64;
    case GIVES_TEXT:
        return sig_gives_text(s, packed);
    }
    return false;
}

int imports_find(bool packed[IMPORT_NR], const char *module, const char *name,
                 const struct wasm_sig *sig) {
    if (strcmp(module, "openwop") != 0) return -1;
    for (int i = 0; i < IMPORT_NR; i++)
        if (strcmp(name, IMPORTS[i].name) == 0) return sig_fits(sig, i, &packed[i]) ? i : -1;
    return -1;
}

static bool members_of(struct imports *im, struct str object, struct json_members *out) {
    if (object.n == 0) return true;
    if (json_members(object, im->a, out, NULL) != 0) return false;
    json_members_sort(out);
    return true;
}

static bool elements_of(struct imports *im, struct str array, struct json_elements *out) {
    return array.n == 0 || json_elements(array, im->a, out, NULL) == 0;
}

bool imports_init(struct imports *im, struct arena *a, struct str text) {
    *im = (struct imports){.a = a, .message = text};
    buf_init(&im->calls, CALL_BYTES_MAX);
    buf_init(&im->effects, EFFECT_BYTES_MAX);
    if (text.n == 0) return true;
    struct buf seed;
    buf_init(&seed, sizeof im->seed);
    bool ok = hex_decode(json_string(json_get(text, "seed"), a), &seed, NULL) == 0 &&
              seed.len == sizeof im->seed;
    if (ok) memcpy(&im->seed, seed.p, sizeof im->seed);
    buf_fini(&seed);
    return ok && json_int(json_get(text, "nowMs"), &im->now_ms) &&
           members_of(im, json_get(text, "variables"), &im->variables) &&
           members_of(im, json_get(text, "channels"), &im->channels) &&
           elements_of(im, json_get(text, "closed"), &im->closed) &&
           rules_read(&im->rules, json_get(text, "rules"), a) &&
           elements_of(im, json_get(text, "calls"), &im->recorded) && !arena_failed(a);
}

void imports_fini(struct imports *im) {
    buf_fini(&im->calls);
    buf_fini(&im->effects);
    rules_fini(&im->rules);
}

static bool imports_stop(struct imports *im, const char *code, const char *why) {
    im->code = code;
    snprintf(im->why, sizeof im->why, "%s", why);
    return false;
}

bool imports_go_on(void *ctx) {
    struct imports *im = ctx;
    uint64_t now_ms = clock_mono_ms();
    if (now_ms <= im->deadline_ms) return true;
    uint64_t cpu_ms = clock_cpu_ms();
    if (cpu_ms < im->cpu_until_ms && now_ms < im->end_ms) { /* others had the core */
        im->deadline_ms = now_ms + (im->cpu_until_ms - cpu_ms);
        return true;
    }
    im->timed_out = true;
    return false;
}

/* --- the module's memory --- */

bool imports_bytes(struct imports *im, uint64_t at, uint64_t n, struct str *out) {
    uint64_t size;
    const uint8_t *p = wasm_memory(im->i, &size);
    if (at > size || n > size - at)
        return imports_stop(im, "wasm_trap", "a pointer of the module leads out of its memory");
    *out = n > 0 ? str_n((const char *)p + at, (size_t)n) : STR("");
    return true;
}

bool imports_give(struct imports *im, struct str text, uint64_t *at) {
    uint64_t size = text.n, results[WASM_RESULTS_MAX] = {0};
    struct str room;
    char why[WASM_WHY_MAX] = "";
    enum wasm_end end = wasm_call(im->i, "openwop_alloc", &size, results, why);
    if (end == WASM_OUT_OF_TIME) return false;
    if (end == WASM_NO_MEMORY) return imports_stop(im, "wasm_memory_cap_exceeded", why);
    if (end != WASM_RETURNED) return im->code ? false : imports_stop(im, "wasm_trap", why);
    *at = results[0];
    if (*at == 0)
        return imports_stop(im, "wasm_trap", "openwop_alloc has no memory for a text of the host");
    if (!imports_bytes(im, *at, text.n, &room)) return false;
    uint8_t *p = wasm_memory(im->i, &size);
    if (text.n > 0) memcpy(p + *at, text.p, text.n);
    return true;
}

/* A text that the module names, copied: its memory may move. */
static bool text_of(struct imports *im, const uint64_t *params, struct str *out) {
    struct str s;
    if (!imports_bytes(im, params[0], params[1], &s)) return false;
    *out = arena_str(im->a, s);
    return out->p || imports_stop(im, "wasm_trap", "the module asks for too much at a time");
}

static bool answer_text(struct imports *im, int which, struct str text, uint64_t *results) {
    uint64_t at = 0;
    if (text.n > 0) { /* WASM-4: nothing is (0,0) */
        if (im->inside)
            return imports_stop(im, "wasm_trap", "openwop_alloc asks the host for a text");
        im->inside = true;
        bool given = imports_give(im, text, &at);
        im->inside = false;
        if (!given) return false;
    }
    results[0] = im->packed[which] ? at | (uint64_t)text.n << 32 : at;
    results[1] = text.n;
    return true;
}

/* --- what is recorded, and given again --- */

static void asked_hex(struct str asked, char hex[65]) {
    struct sha256 d = sha256_of(asked);
    sha256_hex(&d, hex);
}

/* The result of this call in an earlier execution.  false: there is none.  stopped: the module asks
 * for something else than it did then. */
static bool recorded_next(struct imports *im, int which, struct str asked, struct str *result,
                          bool *stopped) {
    struct json_elements e = {0};
    char hex[65];
    *stopped = false;
    if (im->recorded_at >= im->recorded.n) return false;
    asked_hex(asked, hex);
    struct str raw = im->recorded.v[im->recorded_at++];
    if (json_type_of(raw) == JSON_ARRAY && json_elements(raw, im->a, &e, NULL) == 0 && e.n == 3 &&
        str_eqc(json_string(e.v[0], im->a), IMPORTS[which].name) &&
        str_eqc(json_string(e.v[1], im->a), hex)) {
        *result = e.v[2];
        return true;
    }
    *stopped = true;
    imports_stop(
        im, "replay_diverged",
        "executed again after a wait, the module asks its host for something else than before");
    return false;
}

static void call_record(struct imports *im, int which, struct str asked, struct str result) {
    struct jw w;
    char hex[65];
    if (im->calls_nr >= ABI_CALLS_MAX) {
        im->calls.failed = true;
        return;
    }
    asked_hex(asked, hex);
    if (im->calls_nr++ > 0) buf_addc(&im->calls, ',');
    jw_init(&w, &im->calls);
    jw_array(&w);
    jw_strz(&w, IMPORTS[which].name);
    jw_strz(&w, hex);
    jw_raw(&w, result);
    jw_end_array(&w);
}

/* false: it is one too many, and nothing was added. */
static bool effect_add(struct imports *im, const char *kind, struct str name, struct str json) {
    struct jw w;
    size_t before = im->effects.len;
    if (im->effects_nr >= ABI_EFFECTS_MAX) return false;
    if (im->effects_nr > 0) buf_addc(&im->effects, ',');
    jw_init(&w, &im->effects);
    jw_array(&w);
    jw_strz(&w, kind);
    jw_str(&w, name);
    jw_raw(&w, json);
    jw_end_array(&w);
    if (buf_failed(&im->effects)) {
        im->effects.len = before; /* what does not fit is not there, the rest is */
        im->effects.failed = im->effects.over = false;
        return false;
    }
    im->effects_nr++;
    return true;
}

/* --- reading --- */

static struct str value_now(struct imports *im, int which, struct str name) {
    for (const struct imports_own *o = which == IMPORT_VARIABLE_GET ? im->own : NULL; o;
         o = o->next)
        if (str_eq(o->name, name)) return o->value;
    const struct json_member *m =
        json_member_sorted(which == IMPORT_VARIABLE_GET ? &im->variables : &im->channels, name);
    return m ? m->raw : STR_NONE;
}

static bool import_read(struct imports *im, int which, const uint64_t *params, uint64_t *results) {
    struct str name, value;
    bool stopped;
    if (!text_of(im, params, &name)) return false;
    if (recorded_next(im, which, name, &value, &stopped)) {
        if (str_eqc(value, "\"\"")) value = STR_NONE; /* there was nothing */
        else value = json_type_of(value) == JSON_STRING ? json_string(value, im->a) : value;
    } else if (stopped) {
        return false;
    } else {
        value = value_now(im, which, name);
    }
    struct buf quoted; /* as a string, so that nothing is told from null */
    buf_init(&quoted, CALL_BYTES_MAX);
    json_quote(&quoted, value);
    if (buf_failed(&quoted)) im->calls.failed = true;
    else call_record(im, which, name, buf_str(&quoted));
    buf_fini(&quoted);
    return answer_text(im, which, value, results);
}

/* --- writing --- */

static bool channel_closed(struct imports *im, struct str name) {
    for (size_t i = 0; i < im->closed.n; i++)
        if (str_eq(json_string(im->closed.v[i], im->a), name)) return true;
    return false;
}

static void own_set(struct imports *im, struct str name, struct str value) {
    struct imports_own *o = im->own;
    while (o && !str_eq(o->name, name)) o = o->next;
    if (!o) {
        o = ARENA_NEW(im->a, struct imports_own);
        if (!o) return; /* the arena remembers */
        *o = (struct imports_own){.next = im->own, .name = name};
        im->own = o;
    }
    o->value = value;
}

/* One name has one value: a variable is no channel (CHAN-22, CHAN-28). */
static bool name_fits(struct imports *im, bool variable, struct str name) {
    bool channel = rules_find(&im->rules, name) || channel_closed(im, name) ||
                   json_member_sorted(&im->channels, name);
    return rules_name_ok(name) &&
           (variable ? !channel : channel || !json_member_sorted(&im->variables, name));
}

static int imports_written(struct imports *im, int which, struct str name, struct str value) {
    bool variable = which == IMPORT_VARIABLE_SET;
    struct rule *rule = variable ? NULL : rules_find(&im->rules, name);
    if (!name_fits(im, variable, name) || json_check(value, &JSON_LIMITS_DEFAULT, NULL) != 0)
        return STATUS_INVALID;
    if (!variable && channel_closed(im, name)) return STATUS_DENIED;
    if (rule && !rule_takes(rule, value, im->a)) return STATUS_INVALID;
    if (!effect_add(im, variable ? "set" : "write", name, value)) return STATUS_BREACH;
    if (variable) own_set(im, name, value);
    return STATUS_OK;
}

static bool import_write(struct imports *im, int which, const uint64_t *params, uint64_t *results) {
    struct str name, value;
    if (!text_of(im, params, &name) || !text_of(im, params + 2, &value)) return false;
    results[0] = (uint64_t)imports_written(im, which, name, value);
    return true;
}

static bool import_log(struct imports *im, const uint64_t *params) {
    static const char *const LEVELS[] = {"debug", "debug", "info", "warn", "error"};
    struct str text;
    struct buf quoted;
    uint64_t level = params[0] < 5 ? params[0] : 4;
    uint64_t n = params[2];
    if (!imports_bytes(im, params[1], n, &text)) return false;
    if (text.n > ABI_LOG_MAX) {
        text.n = ABI_LOG_MAX;
        while (text.n > 0 && ((unsigned char)text.p[text.n] & 0xc0) == 0x80) text.n--;
    }
    buf_init(&quoted, 8 * ABI_LOG_MAX);
    json_quote(&quoted, text);
    (void)effect_add(im, "log", str_c(LEVELS[level]), buf_str(&quoted)); /* too many are left out */
    buf_fini(&quoted);
    return true;
}

/* --- the rest --- */

static bool import_interrupt(struct imports *im, const uint64_t *params, uint64_t *results) {
    struct str payload, value;
    bool stopped;
    if (!text_of(im, params, &payload)) return false;
    if (json_check(payload, &JSON_LIMITS_DEFAULT, NULL) != 0 ||
        json_type_of(payload) != JSON_OBJECT)
        return imports_stop(im, "validation_error",
                            "the payload of openwop_interrupt is no JSON object");
    if (!recorded_next(im, IMPORT_INTERRUPT, payload, &value, &stopped)) {
        if (stopped) return false;
        call_record(im, IMPORT_INTERRUPT, payload, STR("null")); /* its result: the answer */
        im->interrupt = payload;
        return false;
    }
    call_record(im, IMPORT_INTERRUPT, payload, value);
    return answer_text(im, IMPORT_INTERRUPT, value, results);
}

static bool import_random(struct imports *im, const uint64_t *params) {
    struct str room;
    uint64_t size;
    if (!imports_bytes(im, params[0], params[1], &room)) return false;
    uint8_t *p = wasm_memory(im->i, &size) + params[0];
    for (size_t at = 0; at < room.n; at += sizeof(struct sha256)) {
        unsigned char n[8];
        for (unsigned i = 0; i < 8; i++) n[i] = (unsigned char)(im->drawn >> (8 * i));
        im->drawn++;
        struct sha256 d = sha256_of2(str_n((const char *)&im->seed, sizeof im->seed),
                                     str_n((const char *)n, sizeof n));
        size_t left = room.n - at;
        memcpy(p + at, &d, left < sizeof d ? left : sizeof d);
        if (im->drawn % 4096 == 0 && !imports_go_on(im)) return false;
    }
    return true;
}

bool imports_call(void *ctx, int which, const uint64_t *params, uint64_t *results) {
    struct imports *im = ctx;
    switch (which) {
    case IMPORT_CHANNEL_READ:
    case IMPORT_VARIABLE_GET:
        return import_read(im, which, params, results);
    case IMPORT_CHANNEL_WRITE:
    case IMPORT_VARIABLE_SET:
        return import_write(im, which, params, results);
    case IMPORT_INTERRUPT:
        return import_interrupt(im, params, results);
    case IMPORT_LOG:
        return import_log(im, params);
    case IMPORT_NOW_MS:
        results[0] = (uint64_t)im->now_ms;
        return true;
    case IMPORT_RANDOM:
        return import_random(im, params);
    default:
        return imports_stop(im, "wasm_trap", "no such import");
    }
}
