/*
 * replay.c: runs every fuzz target over its corpus and its regressions, without libFuzzer.
 * The targets are compiled into this program under the names fuzz_<target>_one; the build lists
 * them as T(target) in FUZZ_TARGETS.  usage: fuzz_replay FOLDER (tests/fuzz)
 * Besides each file, what is left of it after a cut at some places is tried too: cheap, and near
 * what broken peers send.
 */
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 1 << 20, CUTS = 16 };

#define T(target) int fuzz_##target##_one(const uint8_t *data, size_t len);
FUZZ_TARGETS
#undef T

static const struct {
    const char *name;
    int (*one)(const uint8_t *data, size_t len);
} TARGETS[] = {
#define T(target) {#target, fuzz_##target##_one},
    FUZZ_TARGETS
#undef T
};

static char now[512]; /* the file at hand, for the last words */

static void last_words(int sig) {
    static const char text[] = "fuzz_replay: failed at ";
    (void)sig;
    if (write(STDERR_FILENO, text, sizeof text - 1) > 0 &&
        write(STDERR_FILENO, now, strlen(now)) > 0 && write(STDERR_FILENO, "\n", 1) > 0)
        _exit(1);
    _exit(1);
}

/* Exactly n bytes on the heap, so that reading past them shows under AddressSanitizer. */
static void try_one(size_t target, struct str s) {
    struct buf b;
    buf_init(&b, FILE_BYTES_MAX);
    buf_adds(&b, s);
    size_t n;
    char *p = buf_take(&b, &n);
    (void)TARGETS[target].one((const uint8_t *)(p ? p : ""), s.n);
    mem_free(p);
}

static bool try_file(size_t target, const char *path) {
    struct buf b;
    char chunk[4096];
    size_t n;
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    buf_init(&b, FILE_BYTES_MAX);
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0) buf_add(&b, chunk, n);
    fclose(f);
    bool ok = !buf_failed(&b);
    struct str all = buf_str(&b);
    for (size_t i = 0; ok && i <= CUTS; i++) try_one(target, str_n(all.p, all.n * i / CUTS));
    buf_fini(&b);
    return ok;
}

/* Files tried; -1 when one could not be read. */
static int try_folder(size_t target, const char *root, const char *kind) {
    char folder[400];
    int tried = 0;
    snprintf(folder, sizeof folder, "%s/%s/%s", root, kind, TARGETS[target].name);
    DIR *d = opendir(folder);
    for (struct dirent *e; d && tried >= 0 && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.') continue;
        snprintf(now, sizeof now, "%.300s/%.200s", folder, e->d_name);
        tried = try_file(target, now) ? tried + 1 : -1;
    }
    if (d) closedir(d);
    return tried;
}

int main(int argc, char **argv) {
    int failed = 0;
    if (argc != 2) return fprintf(stderr, "usage: fuzz_replay FOLDER\n"), 2;
    (void)signal(SIGABRT, last_words);
    logger_level(LOG_ERROR);
    for (size_t i = 0; i < sizeof TARGETS / sizeof *TARGETS; i++) {
        int seeds = try_folder(i, argv[1], "corpus"), old = try_folder(i, argv[1], "regress");
        printf("%-14s %d seeds, %d regressions\n", TARGETS[i].name, seeds, old);
        if (seeds > 0 && old >= 0) continue;
        fprintf(stderr, "%s: no corpus, or a file that cannot be read\n", TARGETS[i].name);
        failed = 1;
    }
    return failed;
}
