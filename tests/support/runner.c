/* runner.c: runs the tests that criterion/criterion.h of this folder collected; see there. */
#include <criterion/criterion.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_SKIPPED = 77, EXIT_FAILED = 1, TIMEOUT_DEFAULT_S = 300 };

static struct mini_test *tests;
static struct mini_suite *suites;
static unsigned failures; /* of the running test, in its own process */

void mini_add_test(struct mini_test *t) {
    struct mini_test **at = &tests;
    while (*at != NULL) at = &(*at)->next;
    *at = t;
}

void mini_add_suite(struct mini_suite *s) {
    s->next = suites;
    suites = s;
}

void mini_check(bool ok, bool fatal, const char *file, int line, const char *what,
                const char *format, ...) {
    va_list ap;
    if (ok) return;
    failures++;
    fprintf(stderr, "%s:%d: failed: %s", file, line, what);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    if (fatal) _exit(EXIT_FAILED);
}

void mini_skip(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
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

/* 0 passed, 1 failed, 2 skipped */
static int run_one(const struct mini_test *t, void *param) {
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) child(t, param);
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return 1;
    if (t->options.signal != 0)
        return WIFSIGNALED(status) && WTERMSIG(status) == t->options.signal ? 0 : 1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED) return 2;
    if (WIFEXITED(status) && WEXITSTATUS(status) == t->options.exit_code) return 0;
    fprintf(stderr, "%s::%s failed (status %d)\n", t->suite, t->name, status);
    return 1;
}

int main(void) {
    unsigned counts[3] = {0, 0, 0};
    for (struct mini_test *t = tests; t != NULL; t = t->next) {
        if (t->options.disabled) continue;
        if (t->params == NULL) {
            counts[run_one(t, NULL)]++;
            continue;
        }
        struct criterion_test_params p = t->params();
        for (size_t i = 0; i < p.length; i++) counts[run_one(t, (char *)p.params + i * p.size)]++;
    }
    printf("%u passed, %u failed, %u skipped\n", counts[0], counts[1], counts[2]);
    return counts[1] == 0 && counts[0] > 0 ? 0 : 1;
}
