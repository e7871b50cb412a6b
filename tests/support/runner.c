/*
 * runner.c: runs the tests that criterion/criterion.h of this folder collected; see there.
 * Of Criterion's options it takes --filter SUITE/TEST (wildcards), --jobs N, --list and --verbose,
 * which prints a line with the time of each test as it ends.  WOPR_TESTS_OF: see its_turn().
 */
#define _GNU_SOURCE /* sigabbrev_np */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    EXIT_SKIPPED = 77,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    TIMEOUT_DEFAULT_S = 300,
    JOBS_MAX = 16,
    REPORT_FD_MIN = 3
};

static struct mini_test *tests;
static struct mini_suite *suites;
static unsigned failures; /* of the running test, in its own process */
static int report_fd = STDERR_FILENO;

void mini_add_test(struct mini_test *t) {
    struct mini_test **at = &tests;
    while (*at != NULL) at = &(*at)->next;
    *at = t;
}

void mini_add_suite(struct mini_suite *s) {
    s->next = suites;
    suites = s;
}

/* What a test said of itself, to where the program's messages went at first: a test may have put
 * a pipe of its own there (capture.h). */
static void say(const char *format, va_list ap) {
    (void)vdprintf(report_fd, format, ap);
    (void)dprintf(report_fd, "\n");
}

void mini_failed(bool fatal, const char *file, int line, const char *what, const char *format,
                 ...) {
    va_list ap;
    failures++;
    (void)dprintf(report_fd, "%s:%d: failed: %s", file, line, what);
    va_start(ap, format);
    say(format, ap);
    va_end(ap);
    if (fatal) _exit(EXIT_FAILED);
}

void mini_skip(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    say(format, ap);
    va_end(ap);
    _exit(EXIT_SKIPPED);
}

static const struct mini_options *suite_of(const struct mini_test *t) {
    static const struct mini_options none;
    for (struct mini_suite *s = suites; s != NULL; s = s->next)
        if (strcmp(s->suite, t->suite) == 0) return &s->options;
    return &none;
}

static void child(const struct mini_test *t, void *param) {
    const struct mini_options *s = suite_of(t);
    double timeout = t->options.timeout > 0 ? t->options.timeout : s->timeout;
    alarm(timeout > 0 ? (unsigned)timeout * 4 : TIMEOUT_DEFAULT_S);
    void (*init)(void) = t->options.init != NULL ? t->options.init : s->init;
    void (*fini)(void) = t->options.fini != NULL ? t->options.fini : s->fini;
    if (init != NULL) init();
    if (t->fn != NULL) t->fn();
    else t->param_fn(param);
    if (fini != NULL) fini();
    exit(failures == 0 ? 0 : EXIT_FAILED);
}

enum outcome { PASSED, FAILED, SKIPPED, OUTCOMES_NR };

static struct {
    const char *filter;
    unsigned jobs;
    bool list, verbose;
} options = {.filter = "*", .jobs = 1};

struct job { /* a test under way */
    const struct mini_test *test;
    pid_t pid; /* 0 = free */
    double began;
};
static struct job jobs[JOBS_MAX];
static unsigned running, counts[OUTCOMES_NR];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static enum outcome judge(const struct mini_test *t, int status) {
    if (t->options.signal != 0)
        return WIFSIGNALED(status) && WTERMSIG(status) == t->options.signal ? PASSED : FAILED;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED) return SKIPPED;
    if (WIFEXITED(status) && WEXITSTATUS(status) == t->options.exit_code) return PASSED;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        fprintf(stderr, "%s::%s took too long\n", t->suite, t->name);
    else if (WIFSIGNALED(status))
        fprintf(stderr, "%s::%s crashed (SIG%s)\n", t->suite, t->name,
                sigabbrev_np(WTERMSIG(status)));
    else fprintf(stderr, "%s::%s failed (status %d)\n", t->suite, t->name, WEXITSTATUS(status));
    return FAILED;
}

static void ended(struct job *j, int status) {
    enum outcome o = judge(j->test, status);
    counts[o]++;
    running--;
    j->pid = 0;
    if (!options.verbose) return;
    printf("%s %7.2f s %s::%s\n", (const char *[]){"ok  ", "FAIL", "skip"}[o], now() - j->began,
           j->test->suite, j->test->name);
}

static void await_one(void) {
    int status = 0;
    pid_t pid = waitpid(-1, &status, 0);
    for (unsigned i = 0; i < options.jobs; i++)
        if (pid > 0 && jobs[i].pid == pid) ended(&jobs[i], status);
}

static void start(const struct mini_test *t, void *param) {
    unsigned i = 0;
    while (running >= options.jobs) await_one();
    while (jobs[i].pid != 0) i++;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) child(t, param);
    if (pid < 0) {
        perror("fork");
        exit(EXIT_FAILED);
    }
    jobs[i] = (struct job){.test = t, .pid = pid, .began = now()};
    running++;
}

static void start_all_of(const struct mini_test *t) {
    if (t->params == NULL) {
        start(t, NULL);
        return;
    }
    struct criterion_test_params p = t->params();
    for (size_t i = 0; i < p.length; i++) start(t, (char *)p.params + i * p.size);
    if (p.cleanup != NULL) p.cleanup(&p);
}

static bool wanted(const struct mini_test *t) {
    char name[512];
    snprintf(name, sizeof name, "%s/%s", t->suite, t->name);
    return !t->options.disabled && fnmatch(options.filter, name, 0) == 0;
}

static unsigned long from_environment(const char *name) {
    const char *text = getenv(name);
    return text != NULL ? strtoul(text, NULL, 10) : 0;
}

static unsigned long wanted_nr(void) {
    unsigned long n = 0;
    for (struct mini_test *t = tests; t != NULL; t = t->next) n += wanted(t);
    return n;
}

/*
 * WOPR_TESTS_OF=N: of all that are wanted each Nth is played, from number WOPR_TESTS_TURN on.  A
 * program with fewer than N plays one: none would be no run at all.
 */
static bool its_turn(void) {
    static unsigned long n;
    unsigned long of = from_environment("WOPR_TESTS_OF"), all = wanted_nr();
    if (of > all) of = all;
    return of <= 1 || n++ % of == from_environment("WOPR_TESTS_TURN") % of;
}

/* The value of an option that begins with this name: "--name VALUE" or "--name=VALUE". */
static const char *value(const char *name, char ***at) {
    const size_t n = strlen(name);
    if (strncmp(**at, name, n) != 0) return NULL;
    if ((**at)[n] == '=') return **at + n + 1;
    if ((**at)[n] != '\0' || (*at)[1] == NULL) return NULL;
    return *++*at;
}

static void usage(const char *what) {
    fprintf(stderr,
            "unknown option %s\n"
            "usage: [--filter SUITE/TEST] [--jobs 1..%d] [--list] [--verbose]\n",
            what, JOBS_MAX);
    exit(EXIT_USAGE);
}

static void parse(char **argv) {
    const char *v;
    for (; *argv != NULL; argv++) {
        if (strcmp(*argv, "--list") == 0) options.list = true;
        else if (strcmp(*argv, "--verbose") == 0) options.verbose = true;
        else if ((v = value("--filter", &argv)) != NULL) options.filter = v;
        else if ((v = value("--jobs", &argv)) != NULL)
            options.jobs = (unsigned)strtoul(v, NULL, 10);
        else usage(*argv);
    }
    if (options.jobs < 1 || options.jobs > JOBS_MAX) usage("--jobs");
}

int main(int argc, char **argv) {
    (void)argc;
    parse(argv + 1);
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, REPORT_FD_MIN);
    if (fd >= 0) report_fd = fd;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (struct mini_test *t = tests; t != NULL; t = t->next) {
        if (!wanted(t) || !its_turn()) continue;
        if (options.list) printf("%s/%s\n", t->suite, t->name);
        else start_all_of(t);
    }
    while (running > 0) await_one();
    if (options.list) return 0;
    printf("%u passed, %u failed, %u skipped\n", counts[PASSED], counts[FAILED], counts[SKIPPED]);
    return counts[FAILED] == 0 && counts[PASSED] > 0 ? 0 : EXIT_FAILED;
}
