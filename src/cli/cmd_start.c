/*
 * cmd_start.c: wopr runs start and wopr runs bulk-cancel: start a run on a running host, watch it
 * and report its end; cancel many.
 */
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/follow.h"
#include "codec/bytes.h"
#include "codec/ident.h"
#include "codec/jobj.h"
#include "codec/json.h"

#include <stdio.h>
#include <unistd.h>

#define INPUTS_BYTES_MAX (6u * 1024 * 1024)
#define BODY_BYTES_MAX   (8u * 1024 * 1024)
#define PATH_BYTES_MAX   4096
#define POLL_S           20
#define FOLLOW_ARENA_MAX (64u * 1024 * 1024)
#define PAGE_RUNS        200
#define CANCEL_RUNS_MAX  100000

/* Exit statuses of --wait and --follow; 1 and 2 are those of every command. */
enum { ENDED_COMPLETED = 0, ENDED_FAILED = 3, ENDED_CANCELLED = 4, NOT_ENDED = 5 };

/* --- inputs --- */

/* A value that is JSON as such, any other as a string: amount=5, name=Ada, ids=[1,2]. */
static void value_write(struct jw *w, struct str text) {
    if (text.n > 0 && json_check(text, &JSON_LIMITS_DEFAULT, NULL) == 0) jw_raw(w, text);
    else jw_str(w, text);
}

static bool input_given(const struct start_args *in, struct str key) {
    for (size_t i = 0; i < in->inputs_nr; i++) {
        struct str name, value;
        if (str_cut(str_c(in->inputs[i]), '=', &name, &value) && str_eq(name, key)) return true;
    }
    return false;
}

/* --inputs FILE, overridden by --input NAME=VALUE. */
static int inputs_write(struct cli *c, const struct start_args *in, struct jw *w) {
    struct wopr_error err = {0};
    struct json_members m = {0};
    struct buf file;
    if (in->inputs_file != NULL) {
        int rc = file_read(in->inputs_file, INPUTS_BYTES_MAX, &file, &err);
        if (rc == 0) rc = json_check(buf_str(&file), &JSON_LIMITS_STORED, &err);
        struct str text = rc == 0 ? arena_str(c->arena, buf_str(&file)) : STR_NONE;
        buf_fini(&file);
        if (rc == 0 && json_type_of(text) != JSON_OBJECT)
            rc =
                wopr_error_set(&err, WOPR_E_VALIDATION, "%s holds no JSON object", in->inputs_file);
        if (rc == 0) rc = json_members(text, c->arena, &m, &err);
        if (rc != 0) return cli_fail(&err);
    }
    jw_object(w);
    for (size_t i = 0; i < m.n; i++) {
        if (input_given(in, m.v[i].key)) continue;
        jw_key_str(w, m.v[i].key);
        jw_raw(w, m.v[i].raw);
    }
    for (size_t i = 0; i < in->inputs_nr; i++) {
        struct str name, value;
        if (!str_cut(str_c(in->inputs[i]), '=', &name, &value) || name.n == 0) {
            fprintf(stderr, "wopr: --input takes NAME=VALUE, not \"" STR_FMT "\"\n",
                    STR_ARG(cli_text(c, str_c(in->inputs[i]))));
            return 2;
        }
        jw_key_str(w, name);
        value_write(w, value);
    }
    jw_end_object(w);
    return 0;
}

static int body_build(struct cli *c, const struct start_args *in, struct str *body) {
    struct jobj o;
    jobj_begin(&o, BODY_BYTES_MAX);
    jw_kstrz(&o.w, "workflowId", c->argv[1]);
    jw_key(&o.w, "inputs");
    int rc = inputs_write(c, in, &o.w);
    if (rc != 0) {
        jobj_drop(&o);
        return rc;
    }
    if (in->configurable.n > 0) jw_kraw(&o.w, "configurable", in->configurable);
    if (in->tag != NULL) {
        jw_key(&o.w, "tags");
        jw_array(&o.w);
        jw_strz(&o.w, in->tag);
        jw_end_array(&o.w);
    }
    *body = jobj_end(&o, c->arena);
    return body->p != NULL ? 0 : cli_usage("wopr: the inputs are too large\n");
}

/* --- watching --- */

struct watch {
    const struct start_args *in;
    struct follow lines;
    struct str run_id; /* escaped */
    int64_t last;      /* sequence, -1: none */
    int64_t until_ms;  /* monotonic, 0: no end */
    int ended;         /* -1: not yet */
};

static int ended_of(enum ev_kind k) {
    if (k == EV_RUN_COMPLETED) return ENDED_COMPLETED;
    return k == EV_RUN_CANCELLED ? ENDED_CANCELLED : ENDED_FAILED;
}

static void event_take(struct watch *w, struct str doc, struct arena *a) {
    struct event e = {.type = json_string(json_get(doc, "type"), a),
                      .node_id = json_string(json_get(doc, "nodeId"), a),
                      .payload = json_get(doc, "payload")};
    (void)json_int(json_get(doc, "sequence"), &e.seq);
    (void)time_parse(json_string(json_get(doc, "timestamp"), a), &e.ts_ms);
    e.kind = event_kind_of(e.type);
    w->last = e.seq;
    if (w->in->follow && !w->in->json) follow_print(&w->lines, &e, a);
    if (w->in->follow && w->in->json) {
        struct buf b;
        buf_init(&b, FOLLOW_ARENA_MAX);
        buf_adds(&b, doc);
        buf_addc(&b, '\n');
        cli_print(&b);
        buf_fini(&b);
    }
    if (event_is_terminal(e.kind)) w->ended = ended_of(e.kind);
}

/* One long poll; scratch is the arena of its answer. */
static int events_poll(struct cli *c, const struct cli_remote *r, struct watch *w) {
    struct cli page = *c;
    struct json_elements l;
    struct str answer;
    int64_t left_s = POLL_S;
    if (w->until_ms > 0) left_s = (w->until_ms - (int64_t)clock_mono_ms() + 999) / 1000;
    if (left_s > POLL_S) left_s = POLL_S;
    if (left_s < 1) left_s = 1;
    arena_reset(page.arena);
    struct str path = arena_printf(page.arena, "/v1/runs/" STR_FMT "/events/poll?timeout=%lld",
                                   STR_ARG(w->run_id), (long long)left_s);
    if (w->last >= 0)
        path = arena_printf(page.arena, STR_FMT "&lastSequence=%lld", STR_ARG(path),
                            (long long)w->last);
    int rc = cli_ask(&page, r, "GET", path, STR_NONE, &answer);
    if (rc != 0) return rc;
    if (json_elements(json_get(answer, "events"), page.arena, &l, NULL) != 0) return 1;
    for (size_t i = 0; i < l.n; i++) event_take(w, l.v[i], page.arena);
    fflush(stdout);
    return ferror(stdout) ? 1 : 0;
}

static int run_watch(struct cli *c, const struct cli_remote *r, struct watch *w) {
    struct cli page = *c;
    int rc = 0;
    page.arena = arena_new(FOLLOW_ARENA_MAX);
    if (page.arena == NULL) return 1;
    if (w->in->timeout_s > 0)
        w->until_ms = (int64_t)clock_mono_ms() + (int64_t)w->in->timeout_s * 1000;
    while (rc == 0 && w->ended < 0) {
        if (w->until_ms > 0 && (int64_t)clock_mono_ms() >= w->until_ms) break;
        rc = events_poll(&page, r, w);
    }
    arena_free(page.arena);
    if (rc != 0) return rc;
    if (w->ended >= 0) return w->ended;
    fprintf(stderr, "wopr: the run did not end within %llu s; it goes on\n",
            (unsigned long long)w->in->timeout_s);
    return NOT_ENDED;
}

/* --- start --- */

static void warnings_print(struct cli *c, struct str answer) {
    struct json_elements l;
    struct str raw = json_get(answer, "warnings");
    if (raw.p == NULL || json_elements(raw, c->arena, &l, NULL) != 0) return;
    for (size_t i = 0; i < l.n; i++) {
        struct str near = json_get(l.v[i], "nearest");
        fprintf(stderr, "wopr: warning: " STR_FMT " is not declared by the workflow and is dropped",
                STR_ARG(cli_member(c, l.v[i], "path")));
        if (near.p != NULL)
            fprintf(stderr, "; did you mean " STR_FMT "?",
                    STR_ARG(cli_member(c, l.v[i], "nearest")));
        fputc('\n', stderr);
    }
}

static struct str id_escaped(struct cli *c, struct str id) {
    struct buf b;
    buf_init(&b, PATH_BYTES_MAX);
    percent_encode(&b, id);
    struct str s = buf_failed(&b) ? STR_NONE : arena_str(c->arena, buf_str(&b));
    buf_fini(&b);
    return s;
}

static int end_print(struct cli *c, const struct cli_remote *r, const struct watch *w, int rc) {
    struct str answer;
    struct str path = arena_printf(c->arena, "/v1/runs/" STR_FMT, STR_ARG(w->run_id));
    if (w->in->follow || cli_ask(c, r, "GET", path, STR_NONE, &answer) != 0) return rc;
    if (w->in->json) printf(STR_FMT "\n", STR_ARG(cli_text(c, answer)));
    else printf(STR_FMT "\n", STR_ARG(cli_member(c, answer, "status")));
    return rc;
}

int start_run(struct cli *c, const struct start_args *in) {
    struct cli_remote r;
    struct str body, answer;
    int rc = cli_remote(c, in->url, &r);
    if (rc == 0) rc = body_build(c, in, &body);
    if (rc == 0) rc = cli_ask_keyed(c, &r, "POST", STR("/v1/runs"), body, in->key, &answer);
    if (rc != 0) return rc;
    warnings_print(c, answer);
    bool watched = in->follow || in->wait;
    if (!in->json || !watched) {
        if (in->json) printf(STR_FMT "\n", STR_ARG(cli_text(c, answer)));
        else printf(STR_FMT "\n", STR_ARG(cli_member(c, answer, "runId")));
        fflush(stdout);
    }
    if (!watched) return 0;
    struct watch w = {.in = in,
                      .lines.tint = isatty(STDOUT_FILENO) == 1,
                      .run_id = id_escaped(c, json_string(json_get(answer, "runId"), c->arena)),
                      .last = -1,
                      .ended = -1};
    if (w.run_id.n == 0) return 1;
    rc = run_watch(c, &r, &w);
    return end_print(c, &r, &w, rc);
}

int remote_tail(struct cli *c, const char *url, const char *run_id, int64_t from, bool json) {
    const struct start_args in = {.url = url, .follow = true, .json = json};
    struct cli_remote r;
    int rc = cli_remote(c, url, &r);
    struct watch w = {.in = &in,
                      .lines.tint = isatty(STDOUT_FILENO) == 1,
                      .run_id = id_escaped(c, str_c(run_id)),
                      .last = from - 1,
                      .ended = -1};
    if (rc != 0) return rc;
    if (w.run_id.n == 0) return cli_usage("wopr: the run id is too long\n");
    rc = run_watch(c, &r, &w);
    return w.ended >= 0 ? 0 : rc;
}

/* --- many --- */

static int one_cancel(struct cli *c, const struct cli_remote *r, const struct start_args *in,
                      struct str run_id) {
    struct str answer;
    struct jobj o;
    jobj_begin(&o, PATH_BYTES_MAX * 2);
    if (in->reason != NULL) jw_kstrz(&o.w, "reason", in->reason);
    struct str body = jobj_end(&o, c->arena);
    struct str path =
        arena_printf(c->arena, "/v1/runs/" STR_FMT "/cancel", STR_ARG(id_escaped(c, run_id)));
    if (body.p == NULL || path.p == NULL) return cli_usage("wopr: the arguments are too long\n");
    int rc = cli_ask(c, r, "POST", path, body, &answer);
    if (rc == 0)
        printf(STR_FMT " " STR_FMT "\n", STR_ARG(cli_member(c, answer, "runId")),
               STR_ARG(cli_member(c, answer, "status")));
    return rc;
}

/* One page of runs.  Cancelling changes the list of a status, so the next page continues after the
 * last run of this one. */
static int page_cancel(struct cli *c, const struct cli_remote *r, const struct start_args *in,
                       const char *status, struct str *before, size_t *done) {
    struct json_elements l;
    struct str answer, path;
    path = arena_printf(c->arena, "/v1/runs?limit=%d&status=%s", PAGE_RUNS, status);
    if (in->workflow != NULL)
        path = arena_printf(c->arena, STR_FMT "&workflowId=" STR_FMT, STR_ARG(path),
                            STR_ARG(id_escaped(c, str_c(in->workflow))));
    if (in->tag != NULL)
        path = arena_printf(c->arena, STR_FMT "&tag=" STR_FMT, STR_ARG(path),
                            STR_ARG(id_escaped(c, str_c(in->tag))));
    if (before->n > 0)
        path = arena_printf(c->arena, STR_FMT "&before=" STR_FMT, STR_ARG(path), STR_ARG(*before));
    int rc = cli_ask(c, r, "GET", path, STR_NONE, &answer);
    if (rc != 0) return rc;
    if (json_elements(json_get(answer, "runs"), c->arena, &l, NULL) != 0) return 1;
    for (size_t i = 0; i < l.n && *done < CANCEL_RUNS_MAX; i++, (*done)++) {
        struct str id = json_string(json_get(l.v[i], "runId"), c->arena);
        if (one_cancel(c, r, in, id) != 0) rc = 1;
    }
    struct str next = json_string(json_get(answer, "nextBefore"), c->arena);
    *before = next.p != NULL ? id_escaped(c, next) : STR_NONE;
    return rc;
}

/* Each page has its own arena. */
static int status_cancel(struct cli *c, const struct cli_remote *r, const struct start_args *in,
                         const char *status, size_t *done) {
    char before[PATH_BYTES_MAX] = "";
    int rc = 0;
    do {
        struct cli page = *c;
        page.arena = arena_new(FOLLOW_ARENA_MAX);
        if (page.arena == NULL) return 1;
        struct str at = str_c(before);
        if (page_cancel(&page, r, in, status, &at, done) != 0) rc = 1;
        (void)snprintf(before, sizeof before, STR_FMT, STR_ARG(at));
        arena_free(page.arena);
    } while (before[0] != '\0' && *done < CANCEL_RUNS_MAX);
    return rc;
}

int cancel_many(struct cli *c, const struct start_args *in) {
    static const char *const OPEN[] = {"pending",          "running",       "paused",
                                       "waiting-approval", "waiting-input", "waiting-external"};
    struct cli_remote r;
    size_t done = 0;
    bool chosen = in->workflow != NULL || in->tag != NULL || in->status != NULL || in->all;
    if (c->argc < 2 && !chosen)
        return cli_usage(
            "wopr: say which: RUN_ID..., --workflow ID, --tag T, --status S or --all\n");
    if (c->argc > 1 && chosen)
        return cli_usage("wopr: name runs, or choose them by options, not both\n");
    int rc = cli_remote(c, in->url, &r), failed = 0;
    if (rc != 0) return rc;
    for (int i = 1; i < c->argc; i++)
        if (one_cancel(c, &r, in, str_c(c->argv[i])) != 0) failed = 1;
    for (size_t i = 0; chosen && i < sizeof OPEN / sizeof *OPEN; i++)
        if (in->status == NULL || strcmp(in->status, OPEN[i]) == 0)
            if (status_cancel(c, &r, in, OPEN[i], &done) != 0) failed = 1;
    return failed;
}
