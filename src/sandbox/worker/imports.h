/*
 * imports.h: the eight functions that a host gives to a module (WASM-7, WASM-9, WASM-15 to
 * WASM-18).  Layer: sandbox, in the worker process alone; for abi.c.
 */
#ifndef WOPR_SANDBOX_IMPORTS_H
#define WOPR_SANDBOX_IMPORTS_H

#include "codec/bytes.h"
#include "codec/json.h"
#include "sandbox/worker/abi.h"
#include "sandbox/worker/rules.h"
#include "sandbox/worker/wasm.h"

enum import {
    IMPORT_CHANNEL_READ,
    IMPORT_CHANNEL_WRITE,
    IMPORT_VARIABLE_GET,
    IMPORT_VARIABLE_SET,
    IMPORT_INTERRUPT,
    IMPORT_LOG,
    IMPORT_NOW_MS,
    IMPORT_RANDOM,
    IMPORT_NR
};
struct imports_own { /* a variable that this invocation has set */
    struct imports_own *next;
    struct str name, value;
};
struct imports {
    struct arena *a;
    struct wasm_instance *i;
    const bool *packed; /* by import: pointer and length come in one i64 (WASM-4) */
    /* Time is over when the process has had so much of a processor, or at the end in any case; the
     * deadline is when to look. */
    uint64_t deadline_ms, cpu_from_ms, cpu_until_ms, end_ms;
    uint64_t memory_max;
    struct str message;
    struct json_members variables, channels;
    struct json_elements closed, recorded;
    struct rules rules;
    size_t recorded_at;
    struct sha256 seed;
    uint64_t drawn; /* blocks of random bytes */
    int64_t now_ms;
    struct imports_own *own;
    struct buf calls, effects; /* elements of arrays, with commas */
    size_t calls_nr, effects_nr;
    bool inside; /* an import has called the module */
    /* Why it was stopped: */
    struct str interrupt; /* raw payload */
    const char *code;     /* of a failure, or NULL */
    char why[WASM_WHY_MAX];
    bool timed_out;
};
/* Which import is it, in a form that is right?  packed[which] is set. */
int imports_find(bool packed[IMPORT_NR], const char *module, const char *name,
                 const struct wasm_sig *sig);
/* text: a message, or empty for questions that need none.  false: no memory, or no message. */
bool imports_init(struct imports *im, struct arena *a, struct str text);
void imports_fini(struct imports *im);
bool imports_call(void *ctx, int which, const uint64_t *params, uint64_t *results);
bool imports_go_on(void *ctx);
/* Bytes of the module's memory (WASM-9).  false: they are not all there. */
bool imports_bytes(struct imports *im, uint64_t at, uint64_t n, struct str *out);
/* Text into memory that the module gives (openwop_alloc). */
bool imports_give(struct imports *im, struct str text, uint64_t *at);

#endif
