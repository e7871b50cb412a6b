/* cmd_interrupts.c: wopr interrupts list|show|resolve.  list and show read the database file;
 * resolve asks a running host, as the API key of the settings. */
#include "base/clock.h"
#include "cli/verbs.h"
#include "codec/bytes.h"
#include "codec/json.h"
#include "domain/interrupt.h"
#include "egress/operator.h"
#include "store/interrupts.h"

#include <stdio.h>

#define LIST_ROWS      100 /* without --limit */
#define PATH_BYTES_MAX 4096
#define BODY_BYTES_MAX (1024u * 1024)

static const char USAGE[] =
    "usage: wopr interrupts list [--kind K] [--run RUN_ID] [--owner SUBJECT] [--limit N] [--test]\n"
    "                            [--json]                  what waits, oldest first\n"
    "       wopr interrupts show RUN_ID [NODE_ID]    all of a run, one JSON object per line\n"
    "       wopr interrupts resolve RUN_ID NODE_ID --action accept|reject|... [--comment TEXT]\n"
    "       wopr interrupts resolve RUN_ID NODE_ID --value JSON\n"
    "                            [--interrupt ID]          that one, and none that is asked since\n"
    "list and show read the database file; list with --url URL (or WOPR_URL), and resolve always, "
    "ask\n"
    "a running host, with the key of WOPR_API_KEY, --api-key-file FILE or data/dev-api-key.\n";

struct interrupt_args {
    struct interrupt_filter filter;
    const char *url, *action, *comment, *value, *interrupt;
    struct remote_filter remote;
    bool test, json, url_given;
};

static const char *state_name(enum interrupt_row_state s) {
    static const char *const NAMES[] = {[IROW_PENDING] = "pending",
                                        [IROW_RESUMED] = "resumed",
                                        [IROW_REJECTED] = "rejected",
                                        [IROW_TIMED_OUT] = "timed-out"}; /* STORE-8 */
    return NAMES[s];
}

static void time_of(struct jw *w, const char *key, int64_t ms) {
    char at[CLI_TIME_SIZE];
    if (ms > 0) jw_kstrz(w, key, cli_time(ms, at));
}

static void row_json(const struct interrupt_row *r, bool whole, struct buf *b) {
    struct jw w;
    jw_init(&w, b);
    jw_object(&w);
    jw_kstr(&w, "interruptId", r->interrupt_id);
    jw_kstr(&w, "runId", r->run_id);
    jw_kstr(&w, "workflowId", r->workflow_id);
    jw_kstr(&w, "nodeId", r->node_id);
    jw_kstr(&w, "kind", r->kind);
    jw_kstr(&w, "key", r->key);
    jw_kstrz(&w, "state", state_name(r->state));
    if (r->test_mode) jw_kbool(&w, "test", true);
    time_of(&w, "requestedAt", r->requested_ms);
    time_of(&w, "expiresAt", r->timeout_at_ms);
    if (whole) {
        time_of(&w, "resolvedAt", r->resolved_ms);
        if (r->resolved_by.n > 0) jw_kstr(&w, "resolvedBy", r->resolved_by);
        if (r->cause.n > 0) jw_kstr(&w, "cause", r->cause);
        jw_kraw(&w, "payload", r->payload);
        if (r->resume_value.n > 0) jw_kraw(&w, "resumeValue", r->resume_value);
    } else {
        jw_kint(&w, "ageMs", clock_wall_ms() - r->requested_ms);
    }
    jw_end_object(&w);
    buf_addc(b, '\n');
}

static void row_text(struct cli *c, const struct interrupt_row *r, struct buf *b) {
    char age[CLI_AGE_SIZE];
    cli_age(clock_wall_ms() - r->requested_ms, age);
    buf_addf(b, "%-32.*s %-20.*s %-16.*s %-5s " STR_FMT "%s\n", STR_ARG(r->run_id),
             STR_ARG(cli_text(c, r->node_id)), STR_ARG(cli_text(c, r->kind)), age,
             STR_ARG(cli_text(c, r->workflow_id)), r->test_mode ? " test" : "");
}

static void list_text(struct cli *c, const void *rows, size_t i, struct buf *b) {
    row_text(c, &((const struct interrupt_list *)rows)->v[i], b);
}

static void list_json(struct cli *c, const void *rows, size_t i, struct buf *b) {
    (void)c;
    row_json(&((const struct interrupt_list *)rows)->v[i], false, b);
}

static int interrupts_list(struct cli *c, struct store *s, const void *args) {
    const struct interrupt_args *in = args;
    static const char HEAD[] =
        "RUN                              NODE                 KIND             AGE   WORKFLOW\n";
    struct wopr_error err = {0};
    struct interrupt_list all;
    if (store_interrupts_pending(s, &in->filter, c->arena, &all, &err) != 0) return cli_fail(&err);
    cli_rows(c, in->json ? NULL : HEAD, all.n, in->json ? list_json : list_text, &all);
    return 0;
}

static int interrupts_show(struct cli *c, struct store *s, const void *args) {
    const struct interrupt_args *in = args;
    struct wopr_error err = {0};
    struct interrupt_list all;
    struct run_head head;
    struct str node = c->argc > 2 ? str_c(c->argv[2]) : STR_NONE;
    struct buf b;
    bool test;
    (void)in;
    int rc = cli_run_head(c, s, c->argv[1], &head, &test, &err);
    if (rc == 0) rc = store_interrupts_of_run(s, head.run_no, node, false, c->arena, &all, &err);
    if (rc == 0 && all.n == 0)
        rc = wopr_error_set(&err, WOPR_E_NOT_FOUND, "nothing was ever asked there");
    if (rc != 0) return cli_fail(&err);
    buf_init(&b, CLI_OUT_BYTES_MAX);
    for (size_t i = 0; i < all.n; i++) row_json(&all.v[i], true, &b);
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

static void body_render(const struct interrupt_args *in, struct buf *b) {
    struct jw w;
    jw_init(&w, b);
    jw_object(&w);
    jw_key(&w, "resumeValue");
    if (in->value != NULL) {
        jw_raw(&w, str_c(in->value));
    } else {
        jw_object(&w);
        jw_kstrz(&w, "action", in->action);
        if (in->comment != NULL) jw_kstrz(&w, "comment", in->comment);
        jw_end_object(&w);
    }
    jw_end_object(&w);
}

static int interrupt_resolve(struct cli *c, const void *args) {
    const struct interrupt_args *in = args;
    struct cli_remote r;
    struct buf path, body;
    struct str answer;
    if ((in->value == NULL) == (in->action == NULL))
        return cli_usage("wopr: give either --action or --value\n");
    if (in->value != NULL && json_check(str_c(in->value), &JSON_LIMITS_DEFAULT, NULL) != 0)
        return cli_usage("wopr: --value is not JSON; quote it for the shell\n");
    int rc = cli_remote(c, in->url, &r);
    if (rc != 0) return rc;
    buf_init(&path, PATH_BYTES_MAX);
    buf_init(&body, BODY_BYTES_MAX);
    buf_addz(&path, "/v1/runs/");
    percent_encode(&path, str_c(c->argv[1]));
    buf_addz(&path, "/interrupts/");
    percent_encode(&path, str_c(c->argv[2]));
    if (in->interrupt != NULL) {
        buf_addz(&path, "?interruptId=");
        percent_encode(&path, str_c(in->interrupt));
    }
    body_render(in, &body);
    if (buf_failed(&path) || buf_failed(&body))
        rc = cli_usage("wopr: the arguments are too long\n");
    else rc = cli_ask(c, &r, "POST", buf_str(&path), buf_str(&body), &answer);
    buf_fini(&body);
    buf_fini(&path);
    if (rc != 0) return rc;
    if (in->json) printf(STR_FMT "\n", STR_ARG(cli_text(c, answer)));
    else
        printf(STR_FMT " " STR_FMT "\n", STR_ARG(cli_member(c, answer, "runId")),
               STR_ARG(cli_member(c, answer, "status")));
    return 0;
}

static int args_take(struct cli *c, struct interrupt_args *in) {
    const char *kind = cli_take_value(c, "--kind"), *run = cli_take_value(c, "--run");
    const char *owner = cli_take_value(c, "--owner"), *limit = cli_take_value(c, "--limit");
    enum intr_kind known;
    unsigned max;
    const char *url = cli_take_value(c, "--url");
    *in = (struct interrupt_args){.url = url != NULL ? url : cli_take_url(c),
                                  .url_given = url != NULL,
                                  .action = cli_take_value(c, "--action"),
                                  .comment = cli_take_value(c, "--comment"),
                                  .value = cli_take_value(c, "--value"),
                                  .interrupt = cli_take_value(c, "--interrupt")};
    in->test = cli_take_flag(c, "--test");
    in->json = cli_take_flag(c, "--json");
    int rc = cli_config(c);
    if (rc != 0) return rc;
    if (!cli_limit(limit, LIST_ROWS, &max)) return 2;
    if (kind != NULL && !intr_kind_of(str_c(kind), &known))
        return cli_usage("wopr: --kind is no kind of interrupt\n");
    in->filter = (struct interrupt_filter){.tenant = str_c(c->cfg.host_tenant),
                                           .whole = true,
                                           .test_mode = in->test,
                                           .any_mode = !in->test,
                                           .kind = str_c(kind),
                                           .run_id = str_c(run),
                                           .owner_user_id = str_c(owner),
                                           .max = max};
    in->remote =
        (struct remote_filter){.v = {{"kind", kind}, {"runId", run}, {"ownerUserId", owner}},
                               .max = max,
                               .json = in->json};
    return 0;
}

static int list_remote(struct cli *c, const void *args) {
    const struct interrupt_args *in = args;
    return remote_interrupts_list(c, in->url, &in->remote);
}

static int show_remote(struct cli *c, const void *args) {
    (void)c, (void)args;
    return cli_usage("wopr: interrupts show reads the database file; over --url there is wopr "
                     "runs show RUN_ID\n");
}

int cmd_interrupts(struct cli *c) {
    static const struct cli_verb VERBS[] = {
        {"list", 0, 0, list_remote, interrupts_list, VERB_READS},
        {"show", 1, 2, show_remote, interrupts_show, VERB_READS},
        {"resolve", 2, 2, .on_host = interrupt_resolve}};
    struct interrupt_args in;
    if (cli_help(c, USAGE)) return 0;
    int rc = args_take(c, &in);
    if (rc != 0) return rc;
    bool shows = c->argc > 0 && strcmp(c->argv[0], "show") == 0; /* WOPR_URL does not count */
    const char *url = shows && !in.url_given ? NULL : in.url;
    return cli_verbs(c, VERBS, sizeof VERBS / sizeof *VERBS, url, &in);
}
