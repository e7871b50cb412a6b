/*
 * selftest.c: points the suite at hosts that do nothing and judges what it says about them.
 * A test that passes there proves nothing about a real host.  Allowed are only document_... (it
 * judges the discovery document alone) at hosts with a valid document, and offline_... everywhere.
 */
#include "tiny_host.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_SIZE 512
#define TESTS_MIN 80 /* fewer lines than this: the suite did not run to its end */

struct expectation {
    const char *name;
    bool document_valid;
    unsigned passed_min; /* so that the control itself is known to work */
    unsigned failed_min;
};
static const struct expectation HOSTS[TINY_NR] = {
    [TINY_BARE] = {"a host that offers nothing", true, 5, 1},
    [TINY_BOASTER] = {"a host that offers everything and does nothing", true, 10, 60},
    [TINY_YES] = {"a host that says yes to everything", false, 0, 10},
};

static bool starts(const char *name, const char *prefix) {
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Runs the suite with its output in log; false when it could not run. */
static bool run_suite(int port, const char *results, const char *log) {
    char base[64];
    int status = 0;
    snprintf(base, sizeof base, "http://127.0.0.1:%d", port);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        setenv("OPENWOP_BASE_URL", base, 1);
        setenv("OPENWOP_API_KEY", "hk_test_selftest_0123456789", 1);
        setenv("OPENWOP_CONFORMANCE_RESULTS", results, 1);
        unsetenv("OPENWOP_LIMITED_BASE_URL");
        unsetenv("OPENWOP_PLAIN_BASE_URL");
        unsetenv("OPENWOP_CONFORMANCE_SCHEMAS");
        execl(WOPR_CONFORMANCE, "wopr-conformance", "--jobs", "2", (char *)NULL);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1) return true; /* something failed: expected */
    fprintf(stderr, "the suite ended with status %d, see %s\n", status, log);
    return false;
}

/* The number of findings. */
static unsigned judge(const struct expectation *x, const char *results) {
    unsigned passed = 0, failed = 0, skipped = 0, bad = 0;
    char line[LINE_SIZE];
    FILE *f = fopen(results, "r");
    if (f == NULL) return 1;
    while (fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *test = strchr(line, ' '), *name = strstr(line, "::");
        if (starts(line, "failed ")) failed++;
        if (starts(line, "skipped ")) skipped++;
        if (!starts(line, "passed ") || test == NULL || name == NULL) continue;
        passed++;
        if (starts(name + 2, "offline_") || (x->document_valid && starts(name + 2, "document_")))
            continue;
        bad++;
        printf("%s: passed, although nothing stands behind it: %s\n", x->name, test + 1);
    }
    fclose(f);
    printf("%s: %u passed, %u failed, %u skipped, %u wrongly passed\n", x->name, passed, failed,
           skipped, bad);
    if (passed < x->passed_min || failed < x->failed_min || passed + failed + skipped < TESTS_MIN) {
        printf("%s: expected at least %u passed, %u failed, %u in all\n", x->name, x->passed_min,
               x->failed_min, TESTS_MIN);
        bad++;
    }
    return bad;
}

int main(void) {
    const char *tmp = getenv("TMPDIR");
    char dir[256], results[300], log[300];
    unsigned bad = 0;
    snprintf(dir, sizeof dir, "%s/wopr-selftest-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(dir) == NULL) {
        fprintf(stderr, "no temporary folder: %s\n", strerror(errno));
        return 2;
    }
    snprintf(results, sizeof results, "%s/results", dir);
    snprintf(log, sizeof log, "%s/log", dir);
    for (int k = 0; k < TINY_NR; k++) {
        int port = 0;
        struct tiny_host *h = tiny_host_new((enum tiny_kind)k, &port);
        if (h == NULL || !run_suite(port, results, log)) bad++;
        else bad += judge(&HOSTS[k], results);
        tiny_host_free(h);
        unlink(results);
    }
    if (bad == 0) unlink(log);
    rmdir(dir); /* stays when the log does */
    return bad == 0 ? 0 : 1;
}
