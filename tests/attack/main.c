/*
 * main.c: attack [--binary PATH] [--full] [--bench] [--slow] [--json FILE] [--list] [NAME...]
 * Runs the rows of the table one by one, each against a fresh host, and says in one line each what
 * held.  Exit status 0: all held; 1: something did not; 2: bad usage.
 * WOPR_ATTACKS_EVERY: without names only every so many of them, others each day (./test asan: 3).
 */
#include "attack.h"
#include "judge.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static int list(void) {
    for (size_t i = 0; i < ATTACKS_NR; i++)
        printf("%-18s %-10s small %-8zu full %-8zu %s\n", ATTACKS[i].name, ATTACKS[i].finding,
               ATTACKS[i].small, ATTACKS[i].full, ATTACKS[i].says);
    return 0;
}

static int usage(const char *why, const char *what) {
    fprintf(stderr,
            "attack: %s%s\nusage: attack [--binary PATH] [--full] [--bench] [--slow] [--json FILE] "
            "[--list] "
            "[NAME...]\n",
            why, what);
    return 2;
}

static bool files_up(void) { /* ours: thousands of connections */
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) != 0) return false;
    l.rlim_cur = l.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &l) == 0;
}

static bool known(const char *name) {
    for (size_t i = 0; i < ATTACKS_NR; i++)
        if (strcmp(ATTACKS[i].name, name) == 0) return true;
    return false;
}

/* The rows of today: each has its turn within a few days. */
static bool turn_of(size_t row) {
    enum { DAY_S = 86400 };
    const char *text = getenv("WOPR_ATTACKS_EVERY");
    unsigned long every = text ? strtoul(text, NULL, 10) : 1;
    return every <= 1 || (row + (size_t)(time(NULL) / DAY_S)) % every == 0;
}

static bool wanted(size_t row, char **names, int names_nr) {
    for (int i = 0; i < names_nr; i++)
        if (strcmp(names[i], ATTACKS[row].name) == 0) return true;
    return names_nr == 0 && turn_of(row);
}

/* Names are moved to the front of argv; how many, or -1. */
static int options(int argc, char **argv, struct plan *p) {
    int names = 0;
    for (int i = 1; i < argc; i++) {
        const bool more = i + 1 < argc;
        if (strcmp(argv[i], "--full") == 0) p->full = true;
        else if (strcmp(argv[i], "--bench") == 0) p->bench = true;
        else if (strcmp(argv[i], "--slow") == 0) p->slow = true;
        else if (strcmp(argv[i], "--binary") == 0 && more) p->binary = argv[++i];
        else if (strcmp(argv[i], "--json") == 0 && more) p->json_path = argv[++i];
        else if (argv[i][0] == '-') return usage("unknown option ", argv[i]), -1;
        else if (!known(argv[i])) return usage("no such attack (see --list): ", argv[i]), -1;
        else argv[names++] = argv[i];
    }
    return names;
}

int main(int argc, char **argv) {
    struct plan plan = {.binary = WOPR_PROGRAM, .slow = ATTACK_SLOW};
    size_t failed = 0, skipped = 0, done = 0;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) return list();
    int names = options(argc, argv, &plan);
    if (names < 0) return 2;
    if (!files_up()) fprintf(stderr, "attack: the limit of open files stays where it is\n");
    (void)signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    judge_begin(&plan);
    for (size_t i = 0; i < ATTACKS_NR; i++) {
        if (!wanted(i, argv, names)) continue;
        switch (judge_one(&plan, &ATTACKS[i])) {
        case HELD:
            done++;
            break;
        case FAILED:
            failed++;
            break;
        case LATE_ONLY:
        case SKIPPED:
            skipped++;
            break;
        }
    }
    judge_end(&plan);
    if (!plan.bench) printf("attack: %zu held, %zu failed, %zu skipped\n", done, failed, skipped);
    return failed > 0 ? 1 : 0;
}
