/*
 * wasm.h: what a WebAssembly engine must do here, so that another engine can take the place of the
 * first (wabt.cc).  Layer: sandbox, in the worker process alone.  Nothing of OpenWOP: abi.h.
 * Integer types of C only, for it is included by C++ too.  One thread.
 *
 * Numbers go in and out as 64 bits each: an i32 in the low half, zero above it.
 */
#ifndef WOPR_SANDBOX_WASM_H
#define WOPR_SANDBOX_WASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WASM_PAGE        65536u
#define WASM_PARAMS_MAX  4u
#define WASM_RESULTS_MAX 2u
#define WASM_WHY_MAX     200u
/* Of one module; more is refused when it is read. */
#define WASM_FUNCS_MAX  100000u
#define WASM_TABLES_MAX 16u
#define WASM_TABLE_MAX  100000u /* elements of a table */
/* Functions and host calls that are under way in one another. */
#define WASM_CALLS_MAX 4096u

enum wasm_type { WASM_I32, WASM_I64, WASM_OTHER };
struct wasm_sig {
    unsigned params_nr, results_nr; /* may exceed the arrays: then no function of ours has it */
    enum wasm_type params[WASM_PARAMS_MAX], results[WASM_RESULTS_MAX];
};
enum wasm_end {
    WASM_RETURNED,
    WASM_TRAPPED,     /* why: the engine's words */
    WASM_STOPPED,     /* an import asked for it */
    WASM_OUT_OF_TIME, /* go_on said no */
    WASM_NO_MEMORY,   /* of this process: it must end now */
    WASM_WRONG        /* not the module's doing: no such function, a module that is none */
};

/* Which import is this?  A number of the host from 0, below 0: none of mine. */
typedef int wasm_find_fn(void *ctx, const char *module, const char *name,
                         const struct wasm_sig *sig);
struct wasm_module;
/* Reads and validates a binary.  RETURNED, WRONG (why) or NO_MEMORY.  Bytes are copied. */
enum wasm_end wasm_module_new(const void *bytes, size_t n, wasm_find_fn *find, void *ctx,
                              struct wasm_module **out, char why[WASM_WHY_MAX]);
void wasm_module_free(struct wasm_module *m); /* after its instances; takes NULL */
/* The function exported under this name. */
bool wasm_module_func(const struct wasm_module *m, const char *name, struct wasm_sig *out);
bool wasm_module_has_memory(const struct wasm_module *m); /* exported as "memory" */

struct wasm_instance;
struct wasm_host {
    void *ctx;
    /* An import is called.  false: the execution stops (WASM_STOPPED). */
    bool (*call)(void *ctx, int which, const uint64_t *params, uint64_t *results);
    bool (*go_on)(void *ctx); /* asked every WASM_SLICE steps */
};
#define WASM_SLICE 1000
/* A fresh instance: memory, tables and globals as the module says, its start function executed
 * (metered like any other).  memory_max: bytes; a module that begins with more is WRONG, and one
 * that asks for more later is told that there is none.  *out is set whatever comes back, and may be
 * NULL. */
enum wasm_end wasm_instance_new(const struct wasm_module *m, uint64_t memory_max,
                                const struct wasm_host *host, struct wasm_instance **out,
                                char why[WASM_WHY_MAX]);
void wasm_instance_free(struct wasm_instance *i); /* takes NULL */
/* results: as many as its signature has, WASM_RESULTS_MAX at most.  May be called by an import,
 * once inside another. */
enum wasm_end wasm_call(struct wasm_instance *i, const char *name, const uint64_t *params,
                        uint64_t *results, char why[WASM_WHY_MAX]);
/* Its linear memory, valid until it runs again. */
uint8_t *wasm_memory(struct wasm_instance *i, uint64_t *size);
uint64_t wasm_steps(const struct wasm_instance *i); /* executed so far, rounded up to slices */

#ifdef __cplusplus
}
#endif
#endif
