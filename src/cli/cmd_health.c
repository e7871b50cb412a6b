/* cmd_health.c: wopr health: the answer of a host's operations listener, as an exit status. */
#include "cli/cli.h"
#include "egress/operator.h"

#include <stdio.h>

enum { HEALTH_TIMEOUT_MS = 3000, OPS_PORT_USUAL = 9464, OPS_PORT_IF_FREE = -2 };

static const char USAGE[] =
    "usage: wopr health [--url URL]    0: the host accepts work; 1: it does not, or is not there\n"
    "It asks /readyz of the operations listener, which needs no key.\n";

static const char *listener_of(struct cli *c) {
    const char *host = cli_host_reachable(c->cfg.http_ops_host);
    long long port = c->cfg.http_ops_port;
    bool v6 = strchr(host, ':') != NULL;
    if (port == OPS_PORT_IF_FREE) port = OPS_PORT_USUAL;
    if (port <= 0) {
        (void)cli_usage("wopr: say where the operations listener is: --url http://HOST:PORT, or "
                        "--ops-port\n");
        return NULL;
    }
    return arena_printf(c->arena, "http://%s%s%s:%lld", v6 ? "[" : "", host, v6 ? "]" : "", port).p;
}

int cmd_health(struct cli *c) {
    struct wopr_error err = {0};
    struct operator_answer a;
    if (cli_help(c, USAGE)) return 0;
    const char *url = cli_take_value(c, "--url");
    int rc = cli_config(c);
    if (rc != 0) return rc;
    if (c->argc > 0) return cli_usage(USAGE);
    struct operator_request q = {.base = url != NULL ? url : listener_of(c),
                                 .method = "GET",
                                 .path = STR("/readyz"),
                                 .timeout_ms = HEALTH_TIMEOUT_MS};
    if (q.base == NULL) return 2;
    if (operator_ask(&q, c->arena, &a, &err) != 0) return cli_fail(&err);
    if (a.status != 200 && a.status != 503) {
        fprintf(stderr, "wopr: %s is not the operations listener of a host; check --url\n", q.base);
        return 1;
    }
    while (a.body.n > 0 && a.body.p[a.body.n - 1] == '\n') a.body.n--;
    struct str says = cli_text(c, a.body);
    fprintf(a.status == 200 ? stdout : stderr, STR_FMT "\n", STR_ARG(says));
    return a.status == 200 ? 0 : 1;
}
