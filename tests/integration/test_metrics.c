/*
 * test_metrics.c: /metrics as a scraper sees it: the text format, the naming conventions, numbers
 * that move when things happen, and docs/grafana-dashboard.json, which may ask for nothing that is
 * not there.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(metrics, .init = up, .fini = down, .timeout = 300);

static const char *const NO_AUTH[] = {"Authorization:", NULL};

static struct str scrape(void) {
    struct server ops = sv;
    cr_assert_gt(sv.ops_port, 0);
    snprintf(ops.base, sizeof ops.base, "http://127.0.0.1:%d", sv.ops_port);
    struct reply r = ask(&ops, "GET", "/metrics", NULL, NO_AUTH);
    cr_assert_eq(r.status, 200);
    cr_assert(str_eqc(header(&r, "Content-Type"), "text/plain; version=0.0.4; charset=utf-8"));
    return r.body;
}

/* Value of the sample with exactly this name and labels; 0 when it is not there. */
static double value_of(struct str text, const char *series) {
    struct str line, rest = text;
    size_t n = strlen(series);
    while (str_cut(rest, '\n', &line, &rest))
        if (line.n > n && memcmp(line.p, series, n) == 0 && line.p[n] == ' ')
            return strtod(line.p + n, NULL);
    return 0;
}
/* Sum of the samples that begin so. */
static double sum_of(struct str text, const char *series) {
    struct str line, rest = text;
    double sum = 0;
    while (str_cut(rest, '\n', &line, &rest)) {
        const char *blank = memchr(line.p, ' ', line.n);
        if (blank && str_starts(line, str_c(series))) sum += strtod(blank, NULL);
    }
    return sum;
}
static double value(const char *series) { return value_of(scrape(), series); }

/* Until the number is there: counters move after the answer that a client has seen. */
static void expect_reaches(const char *series, double want) {
    double v = -1;
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; nap_ms(5))
        if (fabs((v = value(series)) - want) < 1e-9) break;
    cr_expect_float_eq(v, want, 1e-9, "%s is %g, not %g", series, v, want);
}

/* ------------------------------------------------------------------------------ the format */
enum { FAMILIES_MAX = 200, SERIES_MAX = 4000 };
struct family {
    struct str name, type;
    bool has_samples;
};
struct exposition {
    struct family v[FAMILIES_MAX];
    size_t n;
    struct str series[SERIES_MAX]; /* name and labels */
    size_t series_nr;
    /* the histogram series at hand: cumulative counts must not fall, +Inf is the count */
    struct str hist;
    double last_le, last_count, inf;
};

static bool name_ok(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!(c == '_' || (c >= 'a' && c <= 'z') || (i > 0 && c >= '0' && c <= '9'))) return false;
    }
    return s.n > 0;
}

static bool ends(struct str s, const char *with) {
    size_t n = strlen(with);
    return s.n >= n && memcmp(s.p + s.n - n, with, n) == 0;
}

/* Naming: base units, _total for counters and for nothing else, no type in the name. */
static void check_name(const struct family *f) {
    static const char *const bad[] = {
        "_ms",     "_milliseconds", "_us",      "_kb",      "_kilobytes", "_count",    "_sum",
        "_bucket", "_gauge",        "_minutes", "_counter", "_histogram", "_megabytes"};
    bool counter = str_eqc(f->type, "counter");
    cr_expect(name_ok(f->name), STR_FMT, STR_ARG(f->name));
    cr_expect(str_starts(f->name, STR("wopr_")) || str_starts(f->name, STR("process_")), STR_FMT,
              STR_ARG(f->name));
    cr_expect_eq(ends(f->name, "_total"), counter, STR_FMT, STR_ARG(f->name));
    cr_expect(counter || str_eqc(f->type, "gauge") || str_eqc(f->type, "histogram"), STR_FMT,
              STR_ARG(f->type));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_not(ends(f->name, bad[i]), STR_FMT, STR_ARG(f->name));
}

static void take_comment(struct exposition *x, struct str line) {
    struct str word, name, text;
    cr_assert(str_cut(line, ' ', &word, &text) && str_cut(text, ' ', &word, &text));
    cr_assert(str_cut(text, ' ', &name, &text) && text.n > 0, STR_FMT, STR_ARG(line));
    if (str_eqc(word, "HELP")) {
        for (size_t i = 0; i < x->n; i++)
            cr_expect_not(str_eq(x->v[i].name, name), "twice: " STR_FMT, STR_ARG(name));
        cr_assert_lt(x->n, FAMILIES_MAX);
        x->v[x->n++] = (struct family){.name = name};
        return;
    }
    cr_assert(str_eqc(word, "TYPE"), STR_FMT, STR_ARG(line));
    cr_assert(x->n > 0 && str_eq(x->v[x->n - 1].name, name), "no HELP: " STR_FMT, STR_ARG(line));
    cr_assert(x->v[x->n - 1].type.n == 0 && !x->v[x->n - 1].has_samples);
    x->v[x->n - 1].type = text;
    check_name(&x->v[x->n - 1]);
}

/* name="value" pairs; le is cut out into *le. */
static void take_labels(struct str labels, struct str *le, struct buf *others) {
    while (labels.n > 0) {
        struct str key, rest, text;
        cr_assert(str_cut(labels, '=', &key, &rest) && name_ok(key), STR_FMT, STR_ARG(labels));
        cr_assert(rest.n > 1 && rest.p[0] == '"');
        rest = str_n(rest.p + 1, rest.n - 1);
        cr_assert(str_cut(rest, '"', &text, &labels), STR_FMT, STR_ARG(rest));
        cr_expect(text.n > 0 && memchr(text.p, '\\', text.n) == NULL);
        if (str_eqc(key, "le")) *le = text;
        else buf_addf(others, STR_FMT "=" STR_FMT ",", STR_ARG(key), STR_ARG(text));
        if (labels.n > 0) {
            cr_assert_eq(labels.p[0], ',');
            labels = str_n(labels.p + 1, labels.n - 1);
        }
    }
}

static void take_bucket(struct exposition *x, struct str others, struct str le, double v) {
    double bound = str_eqc(le, "+Inf") ? INFINITY : strtod(le.p, NULL);
    if (x->hist.p == NULL || !str_eq(x->hist, others)) {
        x->hist = arena_str(test_arena(), others);
        if (x->hist.p == NULL) x->hist = STR("");
        x->last_le = -1;
        x->last_count = 0;
    }
    cr_expect_gt(bound, x->last_le);
    cr_expect_geq(v, x->last_count, "buckets are cumulative");
    x->last_le = bound;
    x->last_count = v;
    if (isinf(bound)) x->inf = v;
}

static void take_sample(struct exposition *x, struct str line) {
    struct str series, number, name, labels = STR_NONE, le = STR_NONE;
    struct family *f = &x->v[x->n - 1];
    struct buf others;
    char *end;
    cr_assert(str_cut(line, ' ', &series, &number), STR_FMT, STR_ARG(line));
    double v = strtod(number.p, &end);
    cr_assert(end == number.p + number.n && !isnan(v), STR_FMT, STR_ARG(line));
    for (size_t i = 0; i < x->series_nr; i++)
        cr_expect_not(str_eq(x->series[i], series), "twice: " STR_FMT, STR_ARG(series));
    cr_assert_lt(x->series_nr, SERIES_MAX);
    x->series[x->series_nr++] = series;
    if (!str_cut(series, '{', &name, &labels)) name = series;
    else {
        cr_assert_eq(labels.p[labels.n - 1], '}', STR_FMT, STR_ARG(line));
        labels.n--;
    }
    buf_init(&others, 4096);
    take_labels(labels, &le, &others);
    cr_assert(x->n > 0 && str_starts(name, f->name), "before its HELP: " STR_FMT, STR_ARG(line));
    f->has_samples = true;
    struct str suffix = str_n(name.p + f->name.n, name.n - f->name.n);
    if (!str_eqc(f->type, "histogram")) {
        cr_expect_eq(suffix.n, 0, "in a foreign family: " STR_FMT, STR_ARG(line));
        cr_expect(!str_eqc(f->type, "counter") || v >= 0);
    } else if (str_eqc(suffix, "_bucket")) take_bucket(x, buf_str(&others), le, v);
    else if (str_eqc(suffix, "_count")) {
        cr_expect_float_eq(v, x->inf, 1e-9, STR_FMT, STR_ARG(line));
        x->hist = STR_NONE;
    } else cr_expect(str_eqc(suffix, "_sum"), STR_FMT, STR_ARG(line));
    buf_fini(&others);
}

static void parse(struct str text, struct exposition *x) {
    struct str line, rest = text;
    *x = (struct exposition){.n = 0};
    cr_assert(text.n > 0 && text.p[text.n - 1] == '\n');
    while (str_cut(rest, '\n', &line, &rest)) {
        cr_assert_gt(line.n, 0);
        if (line.p[0] == '#') take_comment(x, line);
        else take_sample(x, line);
    }
}

/* What Prometheus' own linter says, where it is installed. */
static void promtool(struct str text) {
    char line[512] = "";
    const char *path = getenv("PATH");
    struct str dir, rest = str_c(path != NULL ? path : "");
    bool found = false;
    while (!found && rest.n > 0) {
        if (!str_cut(rest, ':', &dir, &rest)) dir = rest, rest = STR_NONE;
        found = dir.n > 0 && access(fmt(STR_FMT "/promtool", STR_ARG(dir)), X_OK) == 0;
    }
    if (!found) return;
    const char *file = fmt("%s/scrape", sv.dir);
    FILE *f = fopen(file, "w");
    cr_assert(f != NULL && fwrite(text.p, 1, text.n, f) == text.n);
    fclose(f);
    FILE *p = popen(fmt("promtool check metrics < %s 2>&1", file), "r");
    cr_assert_not_null(p);
    size_t n = fread(line, 1, sizeof line - 1, p);
    line[n] = '\0';
    cr_expect_eq(pclose(p), 0, "promtool: %s", line);
}

Test(metrics, the_text_is_well_formed_and_named_by_the_conventions) {
    static struct exposition x;
    wait_terminal(&sv, create_run(&sv, "conformance-noop", NULL));
    wait_terminal(&sv, create_run(&sv, "conformance-failure", NULL));
    ask(&sv, "GET", "/v1/runs/none", NULL, NULL);
    ask(&sv, "GET", "/v1/runs/none", NULL, NO_AUTH);
    struct str text = scrape();
    parse(text, &x);
    cr_expect_gt(x.n, 50);
    promtool(text);
}

/* ------------------------------------------------------------------------------ numbers move */
Test(metrics, runs_move_the_counters_of_engine_log_and_store) {
    double commits = value("wopr_log_commit_seconds_count");
    double syncs = value("wopr_store_sync_seconds_count");
    double batches = value("wopr_log_batch_plans_count");
    wait_terminal(&sv, create_run(&sv, "conformance-noop", NULL));
    wait_terminal(&sv, create_run(&sv, "conformance-noop", NULL));
    wait_terminal(&sv, create_run(&sv, "conformance-failure", NULL));
    const char *id = create_run(&sv, "conformance-cancellable", NULL);
    wait_status(&sv, id, "running");
    expect_reaches("wopr_runs_active", 1);
    expect_reaches("wopr_store_runs_open", 1);
    cr_expect_geq(value("wopr_timers"), 1);
    cr_expect_eq(ask(&sv, "POST", fmt("/v1/runs/%s/cancel", id), "{}", NULL).status, 200);
    wait_status(&sv, id, "cancelled");
    expect_reaches("wopr_runs_created_total", 4);
    expect_reaches("wopr_runs_ended_total{status=\"completed\"}", 2);
    expect_reaches("wopr_runs_ended_total{status=\"failed\"}", 1);
    expect_reaches("wopr_runs_ended_total{status=\"cancelled\"}", 1);
    expect_reaches("wopr_nodes_ended_total{status=\"completed\"}", 2);
    cr_expect_geq(value("wopr_nodes_ended_total{status=\"failed\"}"), 1);
    expect_reaches("wopr_store_runs", 4);
    struct str now = scrape();
    cr_expect_gt(value_of(now, "wopr_log_commit_seconds_count"), commits);
    cr_expect_gt(value_of(now, "wopr_store_sync_seconds_count"), syncs);
    cr_expect_gt(value_of(now, "wopr_log_batch_plans_count"), batches);
    cr_expect_geq(value_of(now, "wopr_log_plans_total"), 4, "a creation carries its first step");
    double events = sum_of(now, "wopr_log_events_total{type=");
    cr_expect_geq(events, 16);
    cr_expect_float_eq(value_of(now, "wopr_store_events"), events, 0.5);
    cr_expect_eq(value_of(now, "wopr_log_events_total{type=\"run.started\"}"), 4);
    cr_expect_eq(value_of(now, "wopr_log_events_total{type=\"run.cancelled\"}"), 1);
    cr_expect_eq(value_of(now, "wopr_log_queue_length"), 0);
    cr_expect_geq(value_of(now, "wopr_log_queue_length_peak"), 1);
    cr_expect_eq(value_of(now, "wopr_runs_active"), 0);
    cr_expect_eq(value_of(now, "wopr_store_usable"), 1);
    cr_expect_gt(value_of(now, "wopr_store_database_bytes"), 4096);
    cr_expect_gt(value_of(now, "wopr_store_wal_bytes"), 4096);
}

Test(metrics, requests_are_counted_by_operation_and_class) {
    create_run(&sv, "conformance-noop", NULL);
    for (int i = 0; i < 3; i++) ask(&sv, "GET", "/v1/runs/none", NULL, NULL);
    ask(&sv, "GET", "/v1/no/such/path", NULL, NULL);
    expect_reaches("wopr_http_requests_total{operation=\"createRun\",class=\"2xx\"}", 1);
    expect_reaches("wopr_http_requests_total{operation=\"getRun\",class=\"4xx\"}", 3);
    expect_reaches("wopr_http_requests_total{operation=\"none\",class=\"4xx\"}", 1);
    expect_reaches("wopr_http_request_duration_seconds_count{operation=\"getRun\"}", 3);
    cr_expect_gt(value("wopr_http_request_duration_seconds_sum{operation=\"getRun\"}"), 0);
    static const char *const key[] = {"Idempotency-Key: k1", NULL};
    for (int i = 0; i < 2; i++)
        ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}", key);
    expect_reaches("wopr_http_idempotent_replays_total", 1);
}

Test(metrics, refusals_are_counted_by_reason) {
    struct str key;
    const char *const make[] = {"keys", "create", "--no-expiry", "--scopes", "runs:read", NULL};
    cr_assert_eq(program(&sv, make, &key, NULL), 0);
    const char *at_key = strstr(key.p, "hk_");
    cr_assert_not_null(at_key, STR_FMT, STR_ARG(key));
    const char *const reader[] = {
        fmt("Authorization: Bearer %.*s", (int)strcspn(at_key, " \r\n"), at_key), NULL};
    static const char *const wrong[] = {"Authorization: Bearer hk_test_wrong", NULL};
    const char *body = "{\"workflowId\":\"conformance-noop\"}";
    cr_expect_eq(ask(&sv, "POST", "/v1/runs", body, NO_AUTH).status, 401);
    cr_expect_eq(ask(&sv, "POST", "/v1/runs", body, wrong).status, 401);
    cr_expect_eq(ask(&sv, "POST", "/v1/runs", body, reader).status, 403);
    struct buf big;
    buf_init(&big, 4 << 20);
    buf_addz(&big, "{\"workflowId\":\"");
    for (int i = 0; i < 2000000; i++) buf_addc(&big, 'x');
    buf_addz(&big, "\"}");
    cr_expect_eq(ask(&sv, "POST", "/v1/runs", big.p, NULL).status, 413);
    buf_fini(&big);
    expect_reaches("wopr_http_refused_total{status=\"401\",reason=\"credential\"}", 2);
    expect_reaches("wopr_http_refused_total{status=\"403\",reason=\"scope\"}", 1);
    expect_reaches("wopr_http_refused_total{status=\"413\",reason=\"body_size\"}", 1);
    const char *id = create_run(&sv, "conformance-noop", NULL);
    wait_terminal(&sv, id);
    cr_expect_eq(ask(&sv, "POST", fmt("/v1/runs/%s:pause", id), "{}", NULL).status, 409);
    expect_reaches("wopr_commands_refused_total{reason=\"conflict\"}", 1);
    expect_reaches("wopr_http_refused_total{status=\"503\",reason=\"engine\"}", 0);
}

static void up_small(void) {
    static const char *const args[] = {"--runs-active-max",
                                       "1",
                                       "--address-rate",
                                       "1",
                                       "--address-burst",
                                       "2",
                                       "--streams-max",
                                       "1",
                                       "--key-rate",
                                       "0",
                                       NULL};
    server_start(&sv, args);
}
TestSuite(metrics_small, .init = up_small, .fini = down, .timeout = 300);

/* A stream held open by nobody but this socket. */
static int open_stream(const char *id) {
    const char *req = fmt("GET /v1/runs/%s/events HTTP/1.1\r\nHost: x\r\n"
                          "Authorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n",
                          id, sv.key);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)sv.port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert(fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    cr_assert_eq(send(fd, req, strlen(req), MSG_NOSIGNAL), (ssize_t)strlen(req));
    return fd;
}

Test(metrics_small, a_host_at_its_limits_counts_whom_it_sends_away) {
    static const char *const sse[] = {"Accept: text/event-stream", NULL};
    const char *body = "{\"workflowId\":\"conformance-cancellable\"}";
    const char *id = create_run(&sv, "conformance-cancellable", NULL);
    wait_status(&sv, id, "running");
    cr_expect_eq(ask(&sv, "POST", "/v1/runs", body, NULL).status, 503);
    expect_reaches("wopr_http_refused_total{status=\"503\",reason=\"engine\"}", 1);
    expect_reaches("wopr_commands_refused_total{reason=\"unavailable\"}", 1);
    expect_reaches("wopr_runs_active", 1);
    expect_reaches("wopr_runs_active_limit", 1);
    int fd = open_stream(id);
    expect_reaches("wopr_streams", 1);
    expect_reaches("wopr_stream_topics", 1);
    expect_reaches("wopr_http_connections", 1);
    struct reply full = ask(&sv, "GET", fmt("/v1/runs/%s/events", id), NULL, sse);
    cr_expect_eq(full.status, 503, "%ld " STR_FMT, full.status, STR_ARG(full.body));
    expect_reaches("wopr_http_refused_total{status=\"503\",reason=\"streams_max\"}", 1);
    close(fd);
    ask(&sv, "POST", fmt("/v1/runs/%s/cancel", id), "{}", NULL); /* the host sees the line closed */
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end && value("wopr_streams") > 0;) nap_ms(5);
    cr_expect_eq(value("wopr_streams"), 0);
    long status = 200;
    for (int i = 0; i < 50 && status == 200; i++)
        status = ask(&sv, "GET", "/.well-known/openwop", NULL, NO_AUTH).status;
    cr_expect_eq(status, 429);
    expect_reaches("wopr_http_refused_total{status=\"429\",reason=\"address_rate\"}", 1);
}

Test(metrics, streams_move_their_counters) {
    const char *id = create_run(&sv, "conformance-cancellable", NULL);
    wait_status(&sv, id, "running");
    int fd = open_stream(id);
    expect_reaches("wopr_streams", 1);
    expect_reaches("wopr_stream_readers", 1);
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; nap_ms(5))
        if (value("wopr_stream_events_total") >= 1 && value("wopr_stream_readers_behind") == 0)
            break; /* live: what follows comes from the ring */
    double events = value("wopr_stream_events_total");
    cr_expect_geq(events, 1);
    cr_expect_eq(ask(&sv, "POST", fmt("/v1/runs/%s/cancel", id), "{}", NULL).status, 200);
    wait_status(&sv, id, "cancelled");
    char chunk[4096];
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end;) { /* to the end of the stream */
        struct pollfd p = {fd, POLLIN, 0};
        if (poll(&p, 1, 50) > 0 && read(fd, chunk, sizeof chunk) <= 0) break;
    }
    close(fd);
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end && value("wopr_streams") > 0;) nap_ms(5);
    struct str now = scrape();
    cr_expect_eq(value_of(now, "wopr_streams"), 0);
    cr_expect_eq(value_of(now, "wopr_stream_readers"), 0);
    cr_expect_eq(value_of(now, "wopr_stream_opened_total"), 1);
    cr_expect_gt(value_of(now, "wopr_stream_events_total"), events);
    cr_expect_gt(value_of(now, "wopr_stream_bytes_total"), 100);
    cr_expect_geq(value_of(now, "wopr_stream_wakeups_total"), 1);
    cr_expect_geq(value_of(now, "wopr_stream_delivery_seconds_count"), 1);
    cr_expect_eq(value_of(now, "wopr_stream_backlog_bytes"), 0);
}

Test(metrics, the_process_is_described) {
    struct str now = scrape();
    double started = value_of(now, "process_start_time_seconds");
    cr_expect_gt(started, 1.6e9);
    cr_expect_gt(value_of(now, "process_open_fds"), 5);
    cr_expect_gt(value_of(now, "process_max_fds"), value_of(now, "process_open_fds"));
    cr_expect_gt(value_of(now, "process_resident_memory_bytes"), 1e6);
    cr_expect_gt(value_of(now, "process_threads"), 4);
    cr_expect_eq(value("process_start_time_seconds"), started);
    cr_expect_eq(value_of(now, "wopr_process_log_dropped_total"), 0);
    server_stop(&sv);
    server_again(&sv);
    cr_expect_gt(value("process_start_time_seconds"), started);
}

/* ------------------------------------------------------------------------------ the dashboard */
static bool exported(const struct exposition *x, struct str word) {
    static const char *const parts[] = {"_bucket", "_sum", "_count"};
    for (size_t i = 0; i < x->n; i++) {
        const struct family *f = &x->v[i];
        if (!str_eqc(f->type, "histogram")) {
            if (str_eq(f->name, word)) return true;
            continue;
        }
        for (size_t k = 0; k < 3; k++)
            if (str_starts(word, f->name) && word.n == f->name.n + strlen(parts[k]) &&
                ends(word, parts[k]))
                return true;
    }
    return false;
}

static bool promql_word(struct str w) {
    static const char *const words[] = {
        "sum", "max",   "min",     "rate",    "topk", "histogram_quantile",
        "by",  "count", "changes", "increase"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eqc(w, words[i])) return true;
    return false;
}

/* Metric names of an expression: words outside of {...}, [...], "by (...)" and strings. */
static size_t check_expr(const struct exposition *x, struct str e) {
    size_t names = 0;
    bool grouping = false;
    for (size_t i = 0; i < e.n;) {
        char c = e.p[i];
        if (c == '{' || c == '[' || (grouping && c == '(')) {
            char end = c == '{' ? '}' : c == '[' ? ']' : ')';
            while (i < e.n && e.p[i] != end) i++;
            cr_assert_lt(i, e.n, "not closed: " STR_FMT, STR_ARG(e));
            grouping = false;
            i++;
        } else if (isalpha((unsigned char)c) || c == '_') {
            size_t from = i;
            while (i < e.n && (isalnum((unsigned char)e.p[i]) || e.p[i] == '_')) i++;
            struct str w = str_n(e.p + from, i - from);
            grouping = str_eqc(w, "by");
            if (promql_word(w)) continue;
            cr_expect(exported(x, w), STR_FMT " is not exported: " STR_FMT, STR_ARG(w), STR_ARG(e));
            names++;
        } else if (isdigit((unsigned char)c)) {
            while (i < e.n && (isdigit((unsigned char)e.p[i]) || e.p[i] == '.')) i++;
        } else {
            cr_expect_not_null(strchr(" (),/*+-<>", c), "'%c' in " STR_FMT, c, STR_ARG(e));
            i++;
        }
    }
    cr_expect_gt(names, 0, STR_FMT, STR_ARG(e));
    return names;
}

/* Every metric that is not told by a panel is one nobody will look at. */
static bool asked_for(const char *dashboard, struct str name) {
    for (const char *p = dashboard; (p = strstr(p, fmt(STR_FMT, STR_ARG(name)))) != NULL; p++)
        if (p[name.n] == '{' || p[name.n] == '_') return true;
    return false;
}

static struct str read_all(const char *path) {
    struct buf b;
    char chunk[4096];
    size_t n;
    FILE *f = fopen(path, "r");
    cr_assert_not_null(f, "%s", path);
    buf_init(&b, 4 << 20);
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0) buf_add(&b, chunk, n);
    fclose(f);
    struct str s = arena_str(test_arena(), buf_str(&b));
    buf_fini(&b);
    return s;
}

Test(metrics, the_dashboard_asks_only_for_what_is_exported) {
    static struct exposition x;
    struct json_elements panels, targets;
    size_t rows = 0, exprs = 0;
    parse(scrape(), &x);
    struct str d = read_all(WOPR_SOURCE_DIR "/docs/grafana-dashboard.json");
    cr_assert_eq(json_check(d, &JSON_LIMITS_DEFAULT, NULL), 0);
    cr_expect_geq(int_at(d, "schemaVersion"), 38);
    cr_expect(str_eqc(text_at(d, "templating.list.0.type"), "datasource"));
    cr_assert_eq(json_elements(at(d, "panels"), test_arena(), &panels, NULL), 0);
    for (size_t i = 0; i < panels.n; i++) {
        cr_expect(text_at(panels.v[i], "title").n > 0);
        if (str_eqc(text_at(panels.v[i], "type"), "row")) {
            rows++;
            continue;
        }
        cr_expect(str_eqc(text_at(panels.v[i], "datasource.uid"), "${datasource}"));
        cr_assert_eq(json_elements(at(panels.v[i], "targets"), test_arena(), &targets, NULL), 0);
        cr_expect_gt(targets.n, 0);
        for (size_t k = 0; k < targets.n; k++, exprs++)
            check_expr(&x, text_at(targets.v[k], "expr"));
    }
    cr_expect_eq(rows, 5, "traffic, engine, store, streams, process");
    cr_expect_gt(exprs, 50);
    for (size_t i = 0; i < x.n; i++)
        cr_expect(asked_for(d.p, x.v[i].name) || str_eqc(x.v[i].name, "wopr_http_requests_limit") ||
                      str_eqc(x.v[i].name, "wopr_http_connections_limit"),
                  "no panel shows " STR_FMT, STR_ARG(x.v[i].name));
}

Test(metrics, the_alerts_in_the_documentation_ask_only_for_what_is_exported) {
    static struct exposition x;
    size_t n = 0;
    parse(scrape(), &x);
    struct str line, rest = read_all(WOPR_SOURCE_DIR "/docs/alerts.yaml");
    while (str_cut(rest, '\n', &line, &rest)) {
        line = str_trim(line);
        if (!str_starts(line, STR("expr: "))) continue;
        check_expr(&x, str_n(line.p + 6, line.n - 6));
        n++;
    }
    cr_expect_geq(n, 10);
}
