/* embed.c: a program as its author would write it, against the installed header and archives only:
 * registers an executor, starts a host and stops it.  argv[1]: database file. */
#include <wopr/wopr.h>

#include <stdio.h>

static void greet(struct wopr_node *n, void *ctx) {
    (void)ctx;
    (void)wopr_node_complete(n, "{\"text\":\"hello\"}");
}

int main(int argc, char **argv) {
    static const struct wopr_node_type types[] = {{"vendor.acme.greet", greet, NULL}};
    struct wopr_host *host = NULL;
    char err[512] = "";
    if (argc != 2) return 2;
    const char *const settings[] = {
        "--port",      "0",     "--ops-port", "0",
        "--db",        argv[1], "--api-key",  "hk_a-key-that-only-this-test-knows",
        "--log-level", "warn",  NULL};
    if (wopr_host_new(settings, types, 1, &host, err, sizeof err) != 0 ||
        wopr_host_start(host, err, sizeof err) != 0) {
        fprintf(stderr, "%s\n", err);
        return 1;
    }
    int port = wopr_host_port(host);
    wopr_host_stop(host);
    wopr_host_free(host);
    return port > 0 ? 0 : 1;
}
