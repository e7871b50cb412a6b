/* runs_remote.c: wopr runs list|show|events and wopr interrupts list against a running host: the
 * lines that the file gives, over HTTP; and lists of any kind, a page at a time. */
#include "cli/cli.h"
#include "codec/bytes.h"
#include "codec/json.h"

#include <stdio.h>

#define PATH_MAX_BYTES 8192
#define PAGE_ROWS      200
#define PAGE_ARENA_MAX (64u * 1024 * 1024)
#define AFTER_SIZE     1024 /* a cursor of a host, escaped */
#define POLL_S         1    /* of a poll whose answer is there already */

/* A path and its query; values are escaped. */
struct target {
    struct buf b;
    char sep;
};

static void target_begin(struct target *t, const char *path) {
    *t = (struct target){.sep = '?'};
    buf_init(&t->b, PATH_MAX_BYTES);
    buf_addz(&t->b, path);
}

static void target_add(struct target *t, const char *name, const char *value) {
    if (value == NULL || value[0] == '\0') return;
    buf_addf(&t->b, "%c%s=", t->sep, name);
    percent_encode(&t->b, str_c(value));
    t->sep = '&';
}

static int target_ask(struct cli *c, const struct cli_remote *r, struct target *t,
                      struct str *answer) {
    int rc = buf_failed(&t->b) ? cli_usage("wopr: the arguments are too long\n")
                               : cli_ask(c, r, "GET", buf_str(&t->b), STR_NONE, answer);
    buf_fini(&t->b);
    return rc;
}

static void doc_print(struct str doc) {
    struct buf b;
    buf_init(&b, CLI_OUT_BYTES_MAX);
    buf_adds(&b, doc);
    buf_addc(&b, '\n');
    cli_print(&b);
    buf_fini(&b);
}

static int elements_of(struct cli *c, struct str answer, const char *name,
                       struct json_elements *out) {
    struct str raw = json_get(answer, name);
    *out = (struct json_elements){0};
    if (raw.p != NULL && json_type_of(raw) == JSON_ARRAY &&
        json_elements(raw, c->arena, out, NULL) == 0)
        return 0;
    fprintf(stderr, "wopr: the answer has no %s; is this address that of a host?\n", name);
    return 1;
}

/* --- lists, a page at a time --- */

static void run_line(struct cli *c, struct str row) {
    printf("%-32.*s %-17.*s ", STR_ARG(cli_member(c, row, "runId")),
           STR_ARG(cli_member(c, row, "status")));
    printf("%-32.*s " STR_FMT "\n", STR_ARG(cli_member(c, row, "workflowId")),
           STR_ARG(cli_member(c, row, "createdAt")));
}

static void interrupt_line(struct cli *c, struct str row) {
    char age[CLI_AGE_SIZE];
    int64_t ms = 0;
    (void)json_int(json_get(row, "ageMs"), &ms);
    cli_age(ms, age);
    printf("%-32.*s %-20.*s ", STR_ARG(cli_member(c, row, "runId")),
           STR_ARG(cli_member(c, row, "nodeId")));
    printf("%-16.*s %-5s " STR_FMT "\n", STR_ARG(cli_member(c, row, "kind")), age,
           STR_ARG(cli_member(c, row, "workflowId")));
}

static const struct remote_list RUNS = {
    .path = "/v1/runs",
    .rows = "runs",
    .next = "nextBefore",
    .cursor = "before",
    .head = "RUN                              STATUS            WORKFLOW                         "
            "CREATED",
    .line = run_line};
static const struct remote_list INTERRUPTS = {
    .path = "/v1/host/wopr/interrupts",
    .rows = "interrupts",
    .next = "nextCursor",
    .cursor = "cursor",
    .head = "RUN                              NODE                 KIND             AGE   "
            "WORKFLOW",
    .line = interrupt_line};

struct query {
    const struct remote_list *list;
    const struct remote_filter *filter;
    char after[AFTER_SIZE];
    unsigned left;
};

static int page_print(struct cli *c, const struct cli_remote *r, struct query *q) {
    const struct remote_filter *f = q->filter;
    struct json_elements l;
    struct target t;
    struct str answer;
    char limit[16];
    (void)snprintf(limit, sizeof limit, "%u", q->left < PAGE_ROWS ? q->left : PAGE_ROWS);
    target_begin(&t, q->list->path);
    target_add(&t, "limit", limit);
    for (size_t i = 0; i < REMOTE_FILTERS; i++) target_add(&t, f->v[i].name, f->v[i].value);
    target_add(&t, q->list->cursor, q->after);
    int rc = target_ask(c, r, &t, &answer);
    if (rc == 0) rc = elements_of(c, answer, q->list->rows, &l);
    if (rc != 0) return rc;
    if (!f->json && q->after[0] == '\0') printf("%s\n", q->list->head); /* the first page */
    for (size_t i = 0; i < l.n && q->left > 0; i++, q->left--) {
        if (f->json) doc_print(l.v[i]);
        else q->list->line(c, l.v[i]);
    }
    struct str next = json_get(answer, q->list->next); /* a text, or a number as it is */
    if (next.n > 0 && next.p[0] == '"') next = json_string(next, c->arena);
    (void)snprintf(q->after, sizeof q->after, STR_FMT, STR_ARG(next));
    return 0;
}

int remote_list(struct cli *c, const char *url, const struct remote_list *list,
                const struct remote_filter *f) {
    struct query query = {.list = list, .filter = f, .left = f->max}, *q = &query;
    struct cli_remote r;
    int rc = cli_remote(c, url, &r);
    if (rc != 0) return rc;
    do {
        struct cli page = *c;
        page.arena = arena_new(PAGE_ARENA_MAX);
        if (page.arena == NULL) return cli_usage("wopr: out of memory\n");
        rc = page_print(&page, &r, q);
        arena_free(page.arena);
    } while (rc == 0 && q->left > 0 && q->after[0] != '\0' && !ferror(stdout));
    return rc;
}

int remote_runs_list(struct cli *c, const char *url, const struct remote_filter *f) {
    return remote_list(c, url, &RUNS, f);
}

int remote_interrupts_list(struct cli *c, const char *url, const struct remote_filter *f) {
    return remote_list(c, url, &INTERRUPTS, f);
}

/* --- one run --- */

static void run_target(struct target *t, const char *run_id, const char *rest) {
    target_begin(t, "/v1/runs/");
    percent_encode(&t->b, str_c(run_id));
    buf_addz(&t->b, rest);
}

static int document_print(struct cli *c, const char *url, const char *run_id, const char *rest) {
    struct cli_remote r;
    struct target t;
    struct str answer;
    int rc = cli_remote(c, url, &r);
    if (rc != 0) return rc;
    run_target(&t, run_id, rest);
    rc = target_ask(c, &r, &t, &answer);
    if (rc == 0) doc_print(answer);
    return rc;
}

int remote_run_show(struct cli *c, const char *url, const char *run_id) {
    return document_print(c, url, run_id, "");
}

int remote_run_bundle(struct cli *c, const char *url, const char *run_id) {
    return document_print(c, url, run_id, "/debug-bundle");
}

/* One answer of events after *last.  *end: nothing is left now. */
static int events_page(struct cli *c, const struct cli_remote *r, const char *run_id, int64_t *last,
                       bool *end) {
    struct json_elements l;
    struct target t;
    struct str answer;
    run_target(&t, run_id, "/events/poll");
    target_add(&t, "timeout", arena_printf(c->arena, "%d", POLL_S).p);
    if (*last >= 0)
        target_add(&t, "lastSequence", arena_printf(c->arena, "%lld", (long long)*last).p);
    int rc = target_ask(c, r, &t, &answer);
    if (rc == 0) rc = elements_of(c, answer, "events", &l);
    if (rc != 0) return rc;
    for (size_t i = 0; i < l.n; i++) {
        doc_print(l.v[i]);
        (void)json_int(json_get(l.v[i], "sequence"), last);
    }
    *end = l.n == 0 || str_eqc(json_get(answer, "isComplete"), "true");
    return 0;
}

int remote_run_events(struct cli *c, const char *url, const char *run_id, int64_t from) {
    struct cli_remote r;
    int64_t last = from - 1;
    bool end = false;
    int rc = cli_remote(c, url, &r);
    while (rc == 0 && !end && !ferror(stdout)) {
        struct cli page = *c;
        page.arena = arena_new(PAGE_ARENA_MAX);
        if (page.arena == NULL) return cli_usage("wopr: out of memory\n");
        rc = events_page(&page, &r, run_id, &last, &end);
        arena_free(page.arena);
    }
    return rc;
}
