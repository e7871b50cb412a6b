/* worker.c: frames in, frames out, and the modules that were loaded. */
#include "sandbox/worker/worker.h"

#include "base/mem.h"
#include "codec/json.h"
#include "sandbox/frame.h"
#include "sandbox/worker/abi.h"
#include "sandbox/worker/jail.h"
#include "sandbox/worker/wasm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define KEPT_MAX       8u /* modules */
#define KEPT_BYTES_MAX (32u * 1024 * 1024)
#define CPU_S          3600u
/* wabt's vectors double by copying; besides there are the module, texts and the program itself. */
#define ADDRESS_FACTOR 3u
#define ADDRESS_BASE   (512ull * 1024 * 1024)

struct kept {
    char digest[65];
    size_t bytes;
    uint64_t used;
    struct abi_module *m;
};
struct worker {
    struct kept kept[KEPT_MAX];
    size_t kept_bytes;
    uint64_t uses;
    uint64_t memory_max;
    struct arena *a;
    struct buf text, bytes, report;
    bool spent; /* short of memory: it answers, and ends */
};

static bool read_whole(void *p, size_t n) {
    char *at = p;
    while (n > 0) {
        ssize_t got = read(STDIN_FILENO, at, n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

static bool write_whole(const void *p, size_t n) {
    const char *at = p;
    while (n > 0) {
        ssize_t put = write(STDOUT_FILENO, at, n);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        at += put;
        n -= (size_t)put;
    }
    return true;
}

static bool part_read(struct buf *b, size_t n) {
    static const char zeros[4096];
    buf_reset(b);
    while (b->len < n && !buf_failed(b))
        buf_add(b, zeros, n - b->len < sizeof zeros ? n - b->len : sizeof zeros);
    return !buf_failed(b) && read_whole(b->p, n);
}

static bool report_send(struct worker *w) {
    unsigned char head[FRAME_HEAD];
    if (buf_failed(&w->report) || w->report.len == 0) {
        static const char none[] = "{\"outcome\":\"failed\",\"code\":\"out_of_memory\",\"message\":"
                                   "\"what the module said is too much to be passed on\"}";
        buf_reset(&w->report);
        buf_add(&w->report, none, sizeof none - 1);
        if (buf_failed(&w->report)) return false;
    }
    const struct frame f = {FRAME_REPORT, (uint32_t)w->report.len, 0};
    frame_head_write(&f, head);
    return write_whole(head, sizeof head) && write_whole(w->report.p, w->report.len);
}

static void worker_refuse(struct worker *w, const char *code, const char *message) {
    struct jw j;
    buf_reset(&w->report);
    jw_init(&j, &w->report);
    jw_object(&j);
    jw_kstrz(&j, "outcome", "failed");
    jw_kstrz(&j, "code", code);
    jw_kstrz(&j, "message", message);
    jw_end_object(&j);
}

/* --- modules --- */

static struct kept *kept_find(struct worker *w, struct str digest) {
    for (size_t i = 0; i < KEPT_MAX; i++)
        if (w->kept[i].m && str_eqc(digest, w->kept[i].digest)) return &w->kept[i];
    return NULL;
}

static void kept_drop(struct worker *w, struct kept *k) {
    abi_free(k->m);
    w->kept_bytes -= k->bytes;
    *k = (struct kept){0};
}

/* A free place; the one unused for longest makes room. */
static struct kept *kept_room(struct worker *w, size_t bytes) {
    for (;;) {
        struct kept *free_one = NULL, *oldest = NULL;
        for (size_t i = 0; i < KEPT_MAX; i++) {
            struct kept *k = &w->kept[i];
            if (!k->m) free_one = k;
            else if (!oldest || k->used < oldest->used) oldest = k;
        }
        if (!oldest || (free_one && w->kept_bytes + bytes <= KEPT_BYTES_MAX)) return free_one;
        kept_drop(w, oldest);
    }
}

static struct abi_bounds bounds_of(struct worker *w, struct str text) {
    int64_t memory = 0, ms = 0;
    struct abi_bounds b = {w->memory_max, 1};
    if (json_int(json_get(text, "memoryMax"), &memory) && memory > 0 &&
        (uint64_t)memory < w->memory_max)
        b.memory_max = (uint64_t)memory;
    if (json_int(json_get(text, "timeMs"), &ms) && ms > 0 && ms <= 3600000) b.time_ms = (int)ms;
    return b;
}

static void worker_load(struct worker *w, struct str text, struct str digest) {
    struct abi_bounds b = bounds_of(w, text);
    struct kept *k = kept_find(w, digest);
    if (k) kept_drop(w, k);
    k = kept_room(w, w->bytes.len);
    struct abi_module *m = abi_load(buf_str(&w->bytes), &b, &w->report, &w->spent);
    if (!m) return;
    *k = (struct kept){.bytes = w->bytes.len, .used = ++w->uses, .m = m};
    memcpy(k->digest, digest.p, 64);
    w->kept_bytes += k->bytes;
}

static void worker_invoke(struct worker *w, struct str text, struct str digest) {
    struct abi_bounds b = bounds_of(w, text);
    struct kept *k = kept_find(w, digest);
    struct str message = buf_str(&w->bytes);
    if (!k) {
        worker_refuse(w, "module_unknown", "the module is not loaded");
        return;
    }
    if (json_check(message, &JSON_LIMITS_STORED, NULL) != 0) {
        worker_refuse(w, "internal", "the message is not JSON");
        return;
    }
    k->used = ++w->uses;
    abi_invoke(k->m, json_string(json_get(text, "node"), w->a), message, &b, &w->report, &w->spent);
}

/* One frame and its answer.  false: the end. */
static bool worker_serve(struct worker *w) {
    unsigned char head[FRAME_HEAD];
    struct frame f;
    if (!read_whole(head, sizeof head) || !frame_head_read(head, &f)) return false;
    if (!part_read(&w->text, f.text_n) || !part_read(&w->bytes, f.bytes_n)) return false;
    struct str text = buf_str(&w->text);
    arena_reset(w->a);
    buf_reset(&w->report);
    if (json_check(text, &JSON_LIMITS_DEFAULT, NULL) != 0) return false;
    struct str digest = json_string(json_get(text, "module"), w->a);
    if (digest.n != 64) return false;
    if (f.kind == FRAME_LOAD) worker_load(w, text, digest);
    else if (f.kind == FRAME_INVOKE) worker_invoke(w, text, digest);
    else return false;
    return report_send(w) && !w->spent;
}

int worker_main(int argc, char **argv) {
    static struct worker w;
    char *end = NULL;
    w.memory_max = argc > 0 ? strtoull(argv[0], &end, 10) : 0;
    if (w.memory_max < WASM_PAGE || !end || *end) {
        fputs("wopr " WORKER_COMMAND
              " is started by wopr serve, with the bytes of memory that a module may "
              "have\n",
              stderr);
        return 2;
    }
    w.a = arena_new(1024u * 1024);
    buf_init(&w.text, FRAME_TEXT_MAX);
    buf_init(&w.bytes, FRAME_BYTES_MAX);
    buf_init(&w.report, FRAME_REPORT_MAX);
    const char *refused = jail_enter(ADDRESS_BASE + ADDRESS_FACTOR * w.memory_max, CPU_S);
    if (refused || !w.a) {
        fprintf(stderr, "wopr " WORKER_COMMAND ": the kernel refuses a limit: %s\n",
                refused ? refused : "memory");
        return 1;
    }
    if (!jail_shut()) _exit(1);
    while (worker_serve(&w)) continue;
    _exit(0);
}
