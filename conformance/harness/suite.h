/*
 * suite.h: all that a scenario needs: ask, stream, wait, gates, values.
 * The host under test is named by OPENWOP_BASE_URL and OPENWOP_API_KEY; main.c sets both when it
 * started the host itself.  Every body that passes here is checked by verify.h first, so a scenario
 * states only what is particular to it.  Every wait is bounded.  One process per test; everything
 * lives in that process's arena.
 *
 * Names of tests: document_... judges the discovery document alone, offline_... needs no host.  All
 * others must fail or be skipped when nothing real stands behind the document; the self-test holds
 * them to it.
 */
#ifndef WOPR_CONFORMANCE_SUITE_H
#define WOPR_CONFORMANCE_SUITE_H

#include "base/arena.h"
#include "base/buf.h"
#include "codec/json.h"

#include <criterion/criterion.h>

#define SCENARIO(name) TestSuite(name, .timeout = 180)
#define COUNT(a)       (sizeof(a) / sizeof *(a))

struct arena *test_arena(void);
const char *fmt(const char *f, ...) __attribute__((format(printf, 1, 2))); /* in the arena */
int64_t now_ms(void);                                                      /* monotonic */
void nap_ms(int ms);               /* only inside bounded polling loops */
int lifecycle_ms(void);            /* OPENWOP_LIFECYCLE_TIMEOUT_MS, default 10000 */
const char *env(const char *name); /* NULL when unset or empty */

/* --- values of JSON text; p is NULL when absent --- */
struct str at(struct str json, const char *path);      /* raw, dotted path */
struct str text_at(struct str json, const char *path); /* string; fails the test when it is none */
struct str text_or_none(struct str json, const char *path);
int64_t int_at(struct str json, const char *path); /* integer; fails the test when it is none */
bool is_type(struct str json, const char *path, enum json_type t);
struct json_elements list_at(struct str json, const char *path); /* fails when it is no array */
bool has(struct str text, const char *part);
bool list_has(struct str array, const char *string);       /* an array of strings holds this one */
size_t count_of(struct json_elements l, const char *type); /* events of that type */
struct str first_of(struct json_elements l, const char *type);

/* --- requests --- */
struct reply {
    long status;
    struct str body, headers; /* headers: raw lines */
    struct str json;          /* the body when it is JSON, else p NULL */
};
extern const char *const NO_AUTH[]; /* as headers: send no credential */
/* headers: NULL-terminated lines or NULL; "Authorization:" alone removes the key. */
struct reply ask(const char *method, const char *path, const char *body,
                 const char *const *headers);
struct reply ask_base(const char *base, const char *method, const char *path, const char *body,
                      const char *const *headers);
/* The same with any bytes as the body; name their type among the headers. */
struct reply ask_bytes(const char *method, const char *path, struct str body,
                       const char *const *headers);
/* GET whose body is not judged: for gates, so that one bad document fails one scenario, not all. */
struct reply ask_unjudged(const char *path, const char *const *headers);
struct reply ask_keyed(const char *key, const char *path, const char *body); /* Idempotency-Key */
/* The same kind of request n times at once (POST path); bodies and keys have n entries each. */
#define PARALLEL_MAX 32
void ask_parallel(size_t n, const char *path, const char *const *bodies, const char *const *keys,
                  struct reply *out);
/* POSTs to different paths at once, without keys. */
void ask_at_once(size_t n, const char *const *paths, const char *const *bodies, struct reply *out);
struct str header(const struct reply *r, const char *name); /* trimmed value, p NULL if absent */
void expect_envelope(const struct reply *r); /* the closed error envelope, whatever the code */
const char *run_path(const char *run, const char *rest); /* /v1/runs/<encoded id><rest> */

/* --- event streams --- */
struct frame {
    struct str id, event, data; /* event is "message" when the frame names none */
};
struct stream {
    long status;
    bool closed_by_server; /* a complete answer; else our own time limit ended it */
    struct frame *v;
    size_t n;
    struct str raw, headers;
    int64_t took_ms;
};
struct stream stream(const char *run, const char *query, const char *last_event_id, int max_ms);
bool stream_names(const struct stream *st, const char *event);

/* --- runs --- */
/* 201 is asserted; extras are further members like "\"inputs\":{}" or NULL.  Returns the run id. */
const char *create_run(const char *workflow, const char *extras);
struct str snapshot(const char *run); /* 200 is asserted */
struct str wait_status(const char *run, const char *status, int max_ms);
struct str wait_terminal(const char *run, int max_ms);
struct str run_to_end(const char *workflow, const char *extras, const char *status); /* snapshot */
struct json_elements poll_events(const char *run, const char *query); /* .../events/poll */
struct json_elements json_events(const char *run);                    /* .../events as JSON */
/* A run that the host really finds: without it a 404 for a missing one proves nothing. */
const char *known_run(void);

/* --- gates: skip the test with the reason; nothing is passed silently --- */
struct str document(void);  /* discovery: 200 and valid, else the test fails */
struct str discovery(void); /* the same for gates: not judged; p NULL when there is none */
bool has_fixture(const char *id);
void need_fixture(const char *id);
void need_flag(const char *path);         /* boolean true in discovery */
struct str need_member(const char *path); /* present in discovery */

/* --- canaries (H10): a leak is the value or the marker alone --- */
#define CANARY_MARKER "CANARY-openwop-CONFORMANCE-NEVER-SECRET"
#define CANARY_OPENAI "sk-" CANARY_MARKER "-aaaaaaaaaaaa"
#define CANARY_CLAUDE "sk-ant-" CANARY_MARKER "-bbbbbbbbbbbb"
#define CANARY_GOOGLE "AIza" CANARY_MARKER "cccccccccccc"
#define CANARY_JWT    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ." CANARY_MARKER "-dddddd"
#define CANARY_CRED   "cred_" CANARY_MARKER "-eeeeeeeeeeee"
void expect_no_canary(struct str text, const char *where);

#endif
