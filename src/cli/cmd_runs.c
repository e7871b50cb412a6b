/* cmd_runs.c: wopr runs: the operator's view of runs. list, show and events read the database file
 * and need neither key nor host, unless an address is given; the other verbs ask a running host. */
#include "base/clock.h"
#include "cli/verbs.h"
#include "codec/bytes.h"
#include "codec/jobj.h"
#include "codec/json.h"
#include "egress/operator.h"
#include "store/events.h"
#include "store/run_lists.h"
#include "wire/v1/v1.h"

#include <stdio.h>

#define LIST_ROWS         50 /* without --limit */
#define EVENTS_PAGE       256
#define EVENTS_PAGE_BYTES (4u * 1024 * 1024)
#define EVENTS_ARENA_MAX  (32u * 1024 * 1024)
#define BODY_MAX_BYTES    (64u * 1024)
#define TIMEOUT_S_MAX     (365u * 86400)

static const char USAGE[] =
    "usage: wopr runs start WORKFLOW [--input NAME=VALUE]... [--inputs FILE] [--tag T]\n"
    "                       [--idempotency-key K] [--wait | --follow] [--timeout S] [--json]\n"
    "       wopr runs list [--status S] [--workflow ID] [--tag T] [--limit N] [--test] [--json]\n"
    "       wopr runs show RUN_ID\n"
    "       wopr runs events RUN_ID [--from SEQUENCE]    one JSON event per line\n"
    "       wopr runs cancel RUN_ID [--reason TEXT]\n"
    "       wopr runs bulk-cancel RUN_ID... | --workflow ID | --tag T | --status S | --all\n"
    "                       [--reason TEXT]\n"
    "       wopr runs pause RUN_ID [--reason TEXT] [--immediate]\n"
    "       wopr runs resume RUN_ID [--reason TEXT]\n"
    "       wopr runs fork RUN_ID [--from SEQUENCE] [--branch]    replays unless told to branch\n"
    "list, show and events read the database file unless --url URL (or WOPR_URL) names a host; "
    "the\n"
    "others always ask one.  The key is that of WOPR_API_KEY, --api-key-file FILE or\n"
    "data/dev-api-key.\n"
    "start prints the run id; --wait prints how the run ended, --follow its events.  Both end "
    "with\n"
    "the run: 0 it completed, 3 it failed, 4 it was cancelled, 5 --timeout was over (it goes on);\n"
    "1 the command failed, 2 wrong use.  VALUE is JSON, or else a text: amount=5, name=Ada.\n";

struct runs_args {
    struct run_filter filter;
    const char *url, *reason;
    uint64_t from;
    bool test, json, immediate, branch;
    struct start_args start; /* start, bulk-cancel */
    struct remote_filter remote;
};

static int status_of(const char *name) {
    for (int i = 0; i < RUN_STATUS_NR; i++)
        if (strcmp(name, run_status_name((enum run_status)i)) == 0) return i;
    return -1;
}

/* --- from the database file --- */

static void item_json(const struct run_list_item *r, struct buf *b) {
    struct jw w;
    char at[CLI_TIME_SIZE];
    jw_init(&w, b);
    jw_object(&w);
    jw_kstr(&w, "runId", r->head.run_id);
    jw_kstrz(&w, "status", run_status_name(r->head.status));
    jw_kstr(&w, "workflowId", r->workflow_id);
    jw_kstrz(&w, "createdAt", cli_time(r->created_ms, at));
    if (r->completed_ms > 0) jw_kstrz(&w, "completedAt", cli_time(r->completed_ms, at));
    jw_kint(&w, "events", r->head.next_seq);
    if (r->test_mode) jw_kbool(&w, "test", true);
    if (r->head.parked.n > 0) jw_kstr(&w, "parked", r->head.parked);
    jw_end_object(&w);
    buf_addc(b, '\n');
}

static void item_text(struct cli *c, const struct run_list_item *r, struct buf *b) {
    char at[CLI_TIME_SIZE];
    buf_addf(b, "%-32.*s %-17s %-32.*s ", STR_ARG(r->head.run_id), run_status_name(r->head.status),
             STR_ARG(cli_text(c, r->workflow_id)));
    buf_addf(b, "%-25s %lld%s%s\n", cli_time(r->created_ms, at), (long long)r->head.next_seq,
             r->test_mode ? " test" : "", r->head.parked.n > 0 ? " PARKED" : "");
}

static void list_text(struct cli *c, const void *rows, size_t i, struct buf *b) {
    item_text(c, &((const struct run_list *)rows)->v[i], b);
}

static void list_json(struct cli *c, const void *rows, size_t i, struct buf *b) {
    (void)c;
    item_json(&((const struct run_list *)rows)->v[i], b);
}

static int runs_list(struct cli *c, struct store *s, const void *args) {
    const struct runs_args *in = args;
    static const char HEAD[] =
        "RUN                              STATUS            "
        "WORKFLOW                         CREATED                   EVENTS\n";
    struct wopr_error err = {0};
    struct run_list all;
    int rc = store_run_list(s, &in->filter, c->arena, &all, &err);
    if (rc != 0) return cli_fail(&err);
    cli_rows(c, in->json ? NULL : HEAD, all.n, in->json ? list_json : list_text, &all);
    return 0;
}

static int run_show(struct cli *c, struct store *s, const void *args) {
    const struct runs_args *in = args;
    struct wopr_error err = {0};
    struct run_view v;
    struct buf b;
    struct str id = str_c(c->argv[1]);
    struct run_head head;
    bool test;
    (void)in;
    buf_init(&b, CLI_OUT_BYTES_MAX);
    int rc = cli_run_head(c, s, c->argv[1], &head, &test, &err);
    if (rc == 0) rc = store_run_view(s, str_c(c->cfg.host_tenant), test, id, c->arena, &v, &err);
    if (rc == 0) rc = v1_interrupt_of(s, &v, c->arena, &err);
    if (rc == 0) rc = v1_snapshot_render(&v, -1, clock_wall_ms(), &b, &err);
    if (rc == 0) {
        buf_addc(&b, '\n');
        cli_print(&b);
    }
    buf_fini(&b);
    return rc == 0 ? 0 : cli_fail(&err);
}

static int events_print(struct store *s, const struct run_head *head, int64_t from, struct arena *a,
                        struct wopr_error *err) {
    struct event_list page;
    struct buf b;
    int rc;
    buf_init(&b, EVENTS_ARENA_MAX);
    do {
        arena_reset(a);
        rc = store_events(s, head->run_no, from, EVENTS_PAGE, EVENTS_PAGE_BYTES, a, &page, err);
        for (size_t i = 0; rc == 0 && i < page.n; i++) {
            v1_event_render(head->run_id, &page.v[i], &b);
            buf_addc(&b, '\n');
            from = page.v[i].seq + 1;
        }
        cli_print(&b);
    } while (rc == 0 && page.n > 0 && !ferror(stdout));
    buf_fini(&b);
    return rc;
}

static int run_events(struct cli *c, struct store *s, const void *args) {
    const struct runs_args *in = args;
    struct wopr_error err = {0};
    struct run_head head;
    struct arena *a = arena_new(EVENTS_ARENA_MAX);
    int rc = a == NULL ? wopr_error_set(&err, WOPR_E_NO_MEMORY, "out of memory") : 0;
    bool test;
    if (rc == 0) rc = cli_run_head(c, s, c->argv[1], &head, &test, &err);
    if (rc == 0) rc = events_print(s, &head, (int64_t)in->from, a, &err);
    arena_free(a);
    return rc == 0 ? 0 : cli_fail(&err);
}

/* --- through the host --- */

static struct str control_body(struct cli *c, const struct runs_args *in, bool drains) {
    struct jobj o;
    jobj_begin(&o, BODY_MAX_BYTES);
    if (in->reason != NULL) jw_kstrz(&o.w, "reason", in->reason);
    if (drains && in->immediate) jw_kstrz(&o.w, "drainPolicy", "immediate");
    struct str body = jobj_end(&o, c->arena);
    return body;
}

/* verb: what follows the run id in the path, ":pause". */
static int ask_host(struct cli *c, const struct runs_args *in, const char *verb, struct str body) {
    struct str answer;
    if (body.p == NULL) return cli_usage("wopr: the arguments are too long\n");
    int rc = cli_ask_at(c, in->url, "POST", cli_path(c, "/v1/runs/", str_c(c->argv[1]), verb), body,
                        &answer);
    if (rc != 0) return rc;
    if (in->json) printf(STR_FMT "\n", STR_ARG(cli_text(c, answer)));
    else
        printf(STR_FMT " " STR_FMT "\n", STR_ARG(cli_member(c, answer, "runId")),
               STR_ARG(cli_member(c, answer, "status")));
    return 0;
}

static int run_control(struct cli *c, const struct runs_args *in, const char *verb, bool drains) {
    return ask_host(c, in, verb, control_body(c, in, drains));
}

static int fork_run(struct cli *c, const void *args) {
    const struct runs_args *in = args;
    struct jobj o;
    jobj_begin(&o, BODY_MAX_BYTES);
    jw_kstrz(&o.w, "mode", in->branch ? "branch" : "replay");
    jw_kint(&o.w, "fromSeq", (int64_t)in->from);
    return ask_host(c, in, ":fork", jobj_end(&o, c->arena));
}
static int run_cancel(struct cli *c, const void *args) {
    const struct runs_args *in = args;
    return run_control(c, in, "/cancel", false);
}
static int pause_run(struct cli *c, const void *args) {
    const struct runs_args *in = args;
    return run_control(c, in, ":pause", true);
}
static int run_resume(struct cli *c, const void *args) {
    const struct runs_args *in = args;
    return run_control(c, in, ":resume", false);
}

static int list_remote(struct cli *c, const void *args) {
    const struct runs_args *in = args;
    return remote_runs_list(c, in->url, &in->remote);
}
static int show_remote(struct cli *c, const void *args) {
    const struct runs_args *in = args;
    return remote_run_show(c, in->url, c->argv[1]);
}
static int events_remote(struct cli *c, const void *args) {
    const struct runs_args *in = args;
    return remote_run_events(c, in->url, c->argv[1], (int64_t)in->from);
}

static int start_verb(struct cli *c, const void *args) {
    const struct runs_args *in = args;
    return start_run(c, &in->start);
}
static int cancel_verb(struct cli *c, const void *args) {
    const struct runs_args *in = args;
    return cancel_many(c, &in->start);
}

static const struct cli_verb VERBS[] = {
    {"list", 0, 0, list_remote, runs_list, VERB_READS},
    {"show", 1, 1, show_remote, run_show, VERB_READS},
    {"events", 1, 1, events_remote, run_events, VERB_READS},
    {"cancel", 1, 1, .on_host = run_cancel},
    {"pause", 1, 1, .on_host = pause_run},
    {"resume", 1, 1, .on_host = run_resume},
    {"fork", 1, 1, .on_host = fork_run},
    {"start", 1, 1, .on_host = start_verb},
    {"bulk-cancel", 0, VERB_ANY_ARGS, .on_host = cancel_verb},
};

static int start_take(struct cli *c, struct start_args *in) {
    const char *timeout, *input;
    in->inputs_file = cli_take_value(c, "--inputs");
    in->key = cli_take_value(c, "--idempotency-key");
    in->follow = cli_take_flag(c, "--follow");
    in->wait = cli_take_flag(c, "--wait");
    in->all = cli_take_flag(c, "--all");
    while ((input = cli_take_value(c, "--input")) != NULL) {
        if (in->inputs_nr == START_INPUTS_MAX)
            return cli_usage("wopr: too many inputs; put them into a file (--inputs)\n");
        in->inputs[in->inputs_nr++] = input;
    }
    timeout = cli_take_value(c, "--timeout");
    if (timeout != NULL && (!str_u64(str_c(timeout), &in->timeout_s) || in->timeout_s == 0 ||
                            in->timeout_s > TIMEOUT_S_MAX))
        return cli_usage("wopr: --timeout must be a number of seconds, from 1 to a year\n");
    return 0;
}

static int args_take(struct cli *c, struct runs_args *in) {
    const char *status = cli_take_value(c, "--status"), *limit = cli_take_value(c, "--limit");
    const char *workflow = cli_take_value(c, "--workflow"), *tag = cli_take_value(c, "--tag");
    const char *from = cli_take_value(c, "--from");
    unsigned max;
    *in = (struct runs_args){.url = cli_take_url(c), .reason = cli_take_value(c, "--reason")};
    in->start = (struct start_args){
        .url = in->url, .reason = in->reason, .workflow = workflow, .tag = tag, .status = status};
    in->test = cli_take_flag(c, "--test");
    in->json = cli_take_flag(c, "--json");
    in->immediate = cli_take_flag(c, "--immediate");
    in->branch = cli_take_flag(c, "--branch");
    in->start.json = in->json;
    int rc = start_take(c, &in->start);
    if (rc == 0) rc = cli_config(c);
    if (rc != 0) return rc;
    if (!cli_limit(limit, LIST_ROWS, &max)) return 2;
    if (from != NULL && (!str_u64(str_c(from), &in->from) || in->from > INT64_MAX))
        return cli_usage("wopr: --from must be a sequence number\n");
    if (status != NULL && status_of(status) < 0)
        return cli_usage("wopr: --status is no run status\n");
    in->filter = (struct run_filter){.tenant = str_c(c->cfg.host_tenant),
                                     .test_mode = in->test,
                                     .any_mode = !in->test,
                                     .whole = true,
                                     .status = status != NULL ? status_of(status) : -1,
                                     .workflow_id = str_c(workflow),
                                     .tag = str_c(tag),
                                     .max = max};
    in->remote =
        (struct remote_filter){.v = {{"status", status}, {"workflowId", workflow}, {"tag", tag}},
                               .max = max,
                               .json = in->json};
    return 0;
}

int cmd_runs(struct cli *c) {
    struct runs_args in;
    if (cli_help(c, USAGE)) return 0;
    int rc = args_take(c, &in);
    return rc == 0 ? cli_verbs(c, VERBS, sizeof VERBS / sizeof *VERBS, in.url, &in) : rc;
}
