/* cmd_serve.c: wopr serve. */
#include "base/log.h"
#include "base/mem.h"
#include "base/spare.h"
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define HELP_BYTES_MAX (1024u * 1024)

static const char USAGE[] =
    "usage: wopr serve [--print-config] [SETTINGS]    runs the host until SIGTERM or SIGINT\n";

static void start_logging(const struct config *c) {
    static const char *const names[] = {"debug", "info", "warn", "error"};
    for (int i = 0; i < 4; i++)
        if (strcmp(c->host_log_level, names[i]) == 0) logger_level((enum log_level)i);
    bool is_text = strcmp(c->host_log_format, "text") == 0;
    logger_human(is_text ||
                 (strcmp(c->host_log_format, "auto") == 0 && isatty(STDERR_FILENO) == 1));
    if (logger_start() != 0)
        fputs("wopr: the log writer did not start; lines are written directly\n", stderr);
}

/* Forbid core files and debuggers of the same user: they would reveal keys, secrets and the data of
 * runs. */
static void close_to_others(void) {
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static void banner_print(struct host *h, const struct config *c) {
    const char *scheme = c->http_tls_cert_file[0] != '\0' ? "https" : "http";
    printf("wopr %s listens on %s://%s:%u\n", WOPR_VERSION, scheme, c->http_host, host_port(h));
    if (host_ops_port(h) > 0)
        printf("health and metrics on http://%s:%d/metrics\n", c->http_ops_host, host_ops_port(h));
    printf("database %s\n", c->store_path);
    if (host_first_key(h) != NULL)
        printf("API key (shown once, all scopes, tenant %s): %s\n", c->host_tenant,
               host_first_key(h));
    fflush(stdout);
}

static int run_until_signal(struct host *h, const struct config *c, const sigset_t *set) {
    struct wopr_error err = {0};
    int sig = 0;
    int rc = host_start(h, &err);
    if (rc != 0) return cli_fail(&err);
    banner_print(h, c);
    while (sigwait(set, &sig) != 0) continue;
    log_info("stopping", "signal", sig == SIGTERM ? "SIGTERM" : "SIGINT");
    host_stop(h);
    return 0;
}

int cmd_serve(struct cli *c) {
    struct wopr_error err = {0};
    struct host *h = NULL;
    sigset_t set;
    struct buf b;
    c->usage = USAGE;
    if (c->asks_usage) return 0;
    buf_init(&b, HELP_BYTES_MAX);
    if (cli_take_flag(c, "--help") || cli_take_flag(c, "-h")) {
        fputs(USAGE, stdout);
        cli_options_print(c->name, stdout);
        fputs("settings:    [default; environment variable]\n", stdout);
        config_help(&b);
        cli_print(&b);
        buf_fini(&b);
        return 0;
    }
    bool print = cli_take_flag(c, "--print-config");
    int rc = cli_config(c);
    if (rc == 0 && c->argc > 0)
        rc = cli_usage("wopr: serve takes options only; see wopr serve --help\n");
    if (rc == 0 && print) {
        config_print(&c->cfg, &b);
        cli_print(&b);
    }
    config_env_doubts(&b);
    fwrite(buf_str(&b).p, 1, b.len, stderr);
    buf_fini(&b);
    if (rc != 0 || print) return rc;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* before any thread exists: all inherit it */
    start_logging(&c->cfg);
    if (!c->cfg.host_core_dumps) close_to_others();
    mem_serve();
    spare_keep();
    if (c->cfg.host_clock_file[0] != '\0') rc = test_clock_use(c->cfg.host_clock_file, &err);
    if (!c->cfg.host_wasm_program[0]) c->cfg.host_wasm_program = "/proc/self/exe";
    if (rc == 0) rc = host_new(&c->cfg, NULL, 0, &h, &err);
    rc = rc != 0 ? cli_fail(&err) : run_until_signal(h, &c->cfg, &set);
    host_free(h);
    logger_stop();
    return rc;
}
