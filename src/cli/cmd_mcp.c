/* cmd_mcp.c: wopr mcp: MCP over standard input and output, as desktop clients start it. */
#include "base/fs.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/mcp_pipe.h"
#include "mcp/server.h"
#include "rail/tools.h"
#include "store/upkeep.h"
#include "wire/v1/v1.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char USAGE[] =
    "usage: wopr mcp [--url URL] [SETTINGS]    serves MCP on standard input and output\n"
    "       wopr mcp --describe               prints the tools with their schemas, as JSON\n"
    "Without --url (or WOPR_URL) it opens the database file (--db) and executes its runs until "
    "the\n"
    "input ends; other hosts may use the file at the same time.  With --url it speaks to a "
    "running\n"
    "host, with the key of WOPR_API_KEY, --api-key-file FILE or data/dev-api-key.  Messages go to\n"
    "standard output, everything else to standard error.\n";

/* --- signals --- */

/* A signal is the end of the input: reads that wait return (EINTR), later ones find an empty file.
 * Only the thread that reads gets it. */
static int empty_fd = -1;

static void on_signal(int sig) {
    (void)sig;
    if (empty_fd >= 0) (void)dup2(empty_fd, STDIN_FILENO);
}

static void signals_mask(int how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    (void)pthread_sigmask(how, &set, NULL);
}

static void signals_take(void) {
    struct sigaction end = {.sa_handler = on_signal}, none = {.sa_handler = SIG_IGN};
    empty_fd = fs_open_null();
    (void)sigaction(SIGTERM, &end, NULL);
    (void)sigaction(SIGINT, &end, NULL);
    (void)sigaction(SIGPIPE, &none, NULL);
}

/* --- the host of this process --- */

/* A key that the file keeps secret and that holds at this process only: runs have the same owner
 * every time. */
static int own_key(struct cli *c, struct wopr_error *err) {
    struct store *s = NULL;
    uint8_t secret[32];
    struct buf b;
    int rc = cli_store(c, false, &s);
    if (rc != 0) return rc;
    rc = store_secret(s, "mcp", secret, err);
    store_close(s);
    if (rc != 0) return cli_fail(err);
    buf_init(&b, 128);
    buf_addz(&b, KEY_PREFIX_LIVE "mcp_");
    hex_encode(&b, str_n((const char *)secret, sizeof secret));
    c->cfg.host_api_key = arena_cstr(c->arena, buf_str(&b));
    buf_fini(&b);
    return c->cfg.host_api_key ? 0 : cli_usage("wopr: out of memory\n");
}

/* Reached by this process only: loopback, any port. */
static void listen_here(struct config *cfg) {
    cfg->http_host = "127.0.0.1";
    cfg->http_port = 0;
    cfg->http_ops_port = -1;
    cfg->http_tls_cert_file = cfg->http_tls_key_file = "";
    cfg->http_public_url = "";
    cfg->wire_mcp = true;
}

static int pipe_run(const struct mcp_pipe_config *pipe, struct wopr_error *err) {
    signals_mask(SIG_UNBLOCK);
    return mcp_pipe_run(pipe, err);
}

static int serve_file(struct cli *c) {
    struct wopr_error err = {0};
    struct host *h = NULL;
    struct mcp_pipe_config pipe = {.in = stdin, .out = stdout};
    int rc = c->cfg.host_api_key[0] != '\0' ? 0 : own_key(c, &err);
    if (rc != 0) return rc;
    listen_here(&c->cfg);
    if (!c->cfg.host_wasm_program[0]) c->cfg.host_wasm_program = "/proc/self/exe";
    rc = host_new(&c->cfg, NULL, 0, &h, &err);
    if (rc == 0) rc = host_start(h, &err);
    if (rc == 0) {
        pipe.base = arena_printf(c->arena, "http://127.0.0.1:%u", host_port(h)).p;
        pipe.key = c->cfg.host_api_key;
        rc = pipe_run(&pipe, &err);
    }
    if (rc != 0) (void)cli_fail(&err);
    host_stop(h);
    host_free(h);
    return rc != 0;
}

static int serve_url(struct cli *c, const char *url) {
    struct wopr_error err = {0};
    struct cli_remote r;
    struct mcp_pipe_config pipe = {.in = stdin, .out = stdout};
    int rc = cli_remote(c, url, &r);
    if (rc != 0) return rc;
    pipe.base = r.base;
    pipe.key = r.key;
    rc = pipe_run(&pipe, &err);
    return rc != 0 ? cli_fail(&err) : 0;
}

/* --- --describe --- */

static int cmd_mcp_describe(struct cli *c) {
    static const struct mcp_about ABOUT = {.name = "wopr", .title = "WOPR", .version = ""};
    struct wopr_error err = {0};
    struct mcp_server *s = NULL;
    struct buf b;
    (void)c;
    buf_init(&b, CLI_OUT_BYTES_MAX);
    int rc = mcp_server_new(&ABOUT, &s, &err);
    if (rc == 0) rc = v1_mcp_offer(s, &err);
    if (rc == 0) rc = mcp_server_add(s, &RAIL_TOOLS_DESCRIBED, &err);
    if (rc == 0) mcp_server_describe(s, &b);
    mcp_server_free(s);
    buf_addc(&b, '\n');
    if (rc == 0) cli_print(&b);
    buf_fini(&b);
    return rc != 0 ? cli_fail(&err) : 0;
}

int cmd_mcp(struct cli *c) {
    if (cli_help(c, USAGE)) return 0;
    bool describes = cli_take_flag(c, "--describe");
    const char *url = cli_take_url(c);
    int rc = cli_config(c);
    if (rc == 0 && c->argc > 0)
        rc = cli_usage("wopr: mcp takes options only; see wopr mcp --help\n");
    if (rc != 0) return rc;
    if (describes) return cmd_mcp_describe(c);
    signals_take();
    signals_mask(SIG_BLOCK); /* before any thread exists: all inherit it */
    if (logger_start() != 0) fputs("wopr: the log writer did not start\n", stderr);
    rc = url && url[0] ? serve_url(c, url) : serve_file(c);
    logger_stop();
    return rc;
}
