/* runs.c: values, waits and gates of suite.h. */
#include "suite.h"
#include "verify.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ARENA_BYTES (512u * 1024 * 1024)
#define POLL_MS     100
#define FMT_MAX     8192

struct arena *test_arena(void) {
    static struct arena *a;
    if (a == NULL) a = arena_new(ARENA_BYTES);
    cr_assert_not_null(a);
    return a;
}

const char *fmt(const char *f, ...) {
    char small[FMT_MAX];
    va_list ap;
    va_start(ap, f);
    int n = vsnprintf(small, sizeof small, f, ap);
    va_end(ap);
    cr_assert(n >= 0 && (size_t)n < sizeof small);
    return arena_cstr(test_arena(), str_n(small, (size_t)n));
}

int64_t now_ms(void) { return (int64_t)clock_mono_ms(); }

void nap_ms(int ms) {
    struct timespec t = {ms / 1000, (ms % 1000) * 1000000L};
    nanosleep(&t, NULL);
}

const char *env(const char *name) {
    const char *v = getenv(name);
    return v != NULL && *v != '\0' ? v : NULL;
}

int lifecycle_ms(void) {
    const char *v = env("OPENWOP_LIFECYCLE_TIMEOUT_MS");
    long n = v != NULL ? strtol(v, NULL, 10) : 0;
    return n > 0 && n < 3600000 ? (int)n : 10000;
}

/* --- values --- */
struct str at(struct str json, const char *path) {
    if (json.n == 0) return STR_NONE;
    if (*path == '\0') return json;
    return json_path_get(json, str_c(path), test_arena());
}

struct str text_or_none(struct str json, const char *path) {
    struct str raw = at(json, path);
    return raw.p != NULL ? json_string(raw, test_arena()) : STR_NONE;
}

struct str text_at(struct str json, const char *path) {
    struct str s = text_or_none(json, path);
    cr_assert_not_null(s.p, "%s is no string in " STR_FMT, path, STR_ARG(json));
    return s;
}

int64_t int_at(struct str json, const char *path) {
    int64_t v = 0;
    struct str raw = at(json, path);
    cr_assert(raw.p != NULL && json_int(raw, &v), "%s is no integer in " STR_FMT, path,
              STR_ARG(json));
    return v;
}

bool is_type(struct str json, const char *path, enum json_type t) {
    struct str raw = at(json, path);
    return raw.p != NULL && json_type_of(raw) == t;
}

struct json_elements list_at(struct str json, const char *path) {
    struct json_elements l = {0};
    struct str raw = at(json, path);
    cr_assert(raw.p != NULL && json_elements(raw, test_arena(), &l, NULL) == 0,
              "\"%s\" is no array in " STR_FMT, path, STR_ARG(json));
    return l;
}

bool has(struct str text, const char *part) {
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= text.n; i++)
        if (memcmp(text.p + i, part, n) == 0) return true;
    return false;
}

bool list_has(struct str array, const char *string) {
    struct json_elements l = {0};
    if (array.p == NULL || json_elements(array, test_arena(), &l, NULL) != 0) return false;
    for (size_t i = 0; i < l.n; i++)
        if (str_eqc(json_string(l.v[i], test_arena()), string)) return true;
    return false;
}

size_t count_of(struct json_elements l, const char *type) {
    size_t n = 0;
    for (size_t i = 0; i < l.n; i++) n += str_eqc(text_or_none(l.v[i], "type"), type);
    return n;
}

struct str first_of(struct json_elements l, const char *type) {
    for (size_t i = 0; i < l.n; i++)
        if (str_eqc(text_or_none(l.v[i], "type"), type)) return l.v[i];
    return STR_NONE;
}

/* --- runs --- */
const char *create_run(const char *workflow, const char *extras) {
    const char *body = fmt("{\"workflowId\":\"%s\"%s%s}", workflow, extras != NULL ? "," : "",
                           extras != NULL ? extras : "");
    struct reply r = ask("POST", "/v1/runs", body, NULL);
    cr_assert_eq(r.status, 201, "create %s: %ld " STR_FMT, workflow, r.status, STR_ARG(r.body));
    return arena_cstr(test_arena(), text_at(r.json, "runId"));
}

struct str snapshot(const char *run) {
    struct reply r = ask("GET", run_path(run, ""), NULL, NULL);
    cr_assert_eq(r.status, 200, "GET run: %ld " STR_FMT, r.status, STR_ARG(r.body));
    cr_assert_not_null(r.json.p, "the snapshot is not JSON");
    return r.json;
}

static bool is_terminal(struct str status) {
    return str_eqc(status, "completed") || str_eqc(status, "failed") ||
           str_eqc(status, "cancelled");
}

/* status NULL: any terminal one */
static struct str wait_for(const char *run, const char *status, int max_ms) {
    struct str last = STR_NONE;
    for (int64_t end = now_ms() + max_ms;; nap_ms(POLL_MS)) {
        struct str snap = snapshot(run);
        last = text_or_none(snap, "status");
        if (status == NULL ? is_terminal(last) : str_eqc(last, status)) return snap;
        cr_assert(now_ms() < end, "not %s within %d ms, but " STR_FMT,
                  status != NULL ? status : "terminal", max_ms, STR_ARG(last));
        cr_assert(status == NULL || !is_terminal(last), "ended as " STR_FMT " instead of %s",
                  STR_ARG(last), status);
    }
}

struct str wait_status(const char *run, const char *status, int max_ms) {
    return wait_for(run, status, max_ms);
}

struct str wait_terminal(const char *run, int max_ms) {
    return wait_for(run, NULL, max_ms);
}

struct str run_to_end(const char *workflow, const char *extras, const char *status) {
    struct str snap = wait_terminal(create_run(workflow, extras), lifecycle_ms());
    cr_assert(str_eqc(text_at(snap, "status"), status), "%s ended as " STR_FMT ": " STR_FMT,
              workflow, STR_ARG(text_at(snap, "status")), STR_ARG(snap));
    return snap;
}

struct json_elements poll_events(const char *run, const char *query) {
    struct reply r = ask("GET", run_path(run, fmt("/events/poll%s", query)), NULL, NULL);
    cr_assert_eq(r.status, 200, "poll: %ld " STR_FMT, r.status, STR_ARG(r.body));
    return list_at(r.json, "events");
}

struct json_elements json_events(const char *run) {
    struct reply r = ask("GET", run_path(run, "/events"), NULL, NULL);
    cr_assert_eq(r.status, 200, "events: %ld " STR_FMT, r.status, STR_ARG(r.body));
    return list_at(r.json, "events");
}

const char *known_run(void) {
    need_fixture("conformance-noop");
    const char *run = create_run("conformance-noop", NULL);
    cr_assert(str_eqc(text_at(snapshot(run), "runId"), run));
    return run;
}

/* --- gates --- */
struct str document(void) {
    struct reply r = ask("GET", "/.well-known/openwop", NULL, NO_AUTH);
    char why[VERIFY_WHY] = "";
    cr_assert_eq(r.status, 200, "discovery: %ld", r.status);
    cr_assert_not_null(r.json.p, "the discovery document is not JSON");
    cr_assert(verify_against("capabilities.schema.json", r.json, why), "%s", why);
    return r.json;
}

struct str discovery(void) {
    static struct reply r;
    if (r.status == 0) r = ask_unjudged("/.well-known/openwop", NO_AUTH);
    return r.status == 200 ? r.json : STR_NONE;
}

bool has_fixture(const char *id) { return list_has(at(discovery(), "fixtures"), id); }

void need_fixture(const char *id) {
    if (!has_fixture(id)) cr_skip("fixture %s is not advertised", id);
}

void need_flag(const char *path) {
    bool on = false;
    struct str raw = at(discovery(), path);
    if (raw.p == NULL || !json_bool(raw, &on) || !on) cr_skip("%s is not advertised", path);
}

struct str need_member(const char *path) {
    struct str raw = at(discovery(), path);
    if (raw.p == NULL) cr_skip("%s is not advertised", path);
    return raw;
}

void expect_no_canary(struct str text, const char *where) {
    cr_expect_not(has(text, CANARY_MARKER), "a planted secret came back in %s", where);
}
