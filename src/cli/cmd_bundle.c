/* cmd_bundle.c: wopr bundle: the debug bundle of a run, from the database file or from a host. */
#include "base/clock.h"
#include "base/settings.gen.h"
#include "cli/cli.h"
#include "wire/v1/v1.h"

#define HOST "{\"name\":\"wopr\",\"version\":\"" WOPR_VERSION "\",\"vendor\":\"wopr\"}"

static const char USAGE[] =
    "usage: wopr bundle RUN_ID [--url URL] > run.json\n"
    "Prints one JSON document: the run, its events, what was masked or left out.  It holds no\n"
    "secret that the log does not show, so it can be handed on with a report.  Reads the database\n"
    "file; with --url URL (or WOPR_URL) it asks a running host, with the key of WOPR_API_KEY,\n"
    "--api-key-file FILE or data/dev-api-key.\n";

static int bundle_print(struct cli *c, struct store *s, const char *run_id) {
    struct wopr_error err = {0};
    struct run_view view;
    struct run_head head;
    struct buf b;
    bool test;
    struct v1_bundle of = {.store = s, .view = &view, .host = STR(HOST)};
    of.bytes_max = c->cfg.wire_debug_bundle_max > 0 ? (size_t)c->cfg.wire_debug_bundle_max
                                                    : (size_t)SETTING_DEBUG_BUNDLE_BYTES;
    buf_init(&b, CLI_OUT_BYTES_MAX + of.bytes_max);
    int rc = cli_run_head(c, s, run_id, &head, &test, &err);
    if (rc == 0)
        rc = store_run_view(s, str_c(c->cfg.host_tenant), test, str_c(run_id), c->arena, &view,
                            &err);
    if (rc == 0) rc = v1_bundle_render(&of, clock_wall_ms(), &b, &err);
    if (rc == 0) {
        buf_addc(&b, '\n');
        cli_print(&b);
    }
    buf_fini(&b);
    return rc == 0 ? 0 : cli_fail(&err);
}

int cmd_bundle(struct cli *c) {
    struct store *s = NULL;
    if (cli_help(c, USAGE)) return 0;
    const char *url = cli_take_url(c);
    int rc = cli_config(c);
    if (rc != 0) return rc;
    if (c->argc != 1) return cli_usage(USAGE);
    if (url != NULL) return remote_run_bundle(c, url, c->argv[0]);
    rc = cli_store(c, true, &s);
    if (rc != 0) return rc;
    rc = bundle_print(c, s, c->argv[0]);
    store_close(s);
    return rc;
}
