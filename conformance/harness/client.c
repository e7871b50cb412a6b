/* client.c: requests and streams of suite.h, by libcurl. */
#include "suite.h"
#include "verify.h"

#include <curl/curl.h>
#include <stdlib.h>

#define BODY_MAX    (64u * 1024 * 1024)
#define HEADERS_MAX (256u * 1024)
#define ANSWER_MS   90000L

const char *const NO_AUTH[] = {"Authorization:", NULL};

static const char *base_url(void) {
    const char *b = env("OPENWOP_BASE_URL");
    cr_assert_not_null(b, "OPENWOP_BASE_URL is not set");
    size_t n = strlen(b);
    return n > 0 && b[n - 1] == '/' ? arena_cstr(test_arena(), str_n(b, n - 1)) : b;
}

struct call {
    CURL *c;
    struct curl_slist *l;
    struct buf body, headers;
};

static size_t collect(char *p, size_t size, size_t n, void *ctx) {
    buf_add(ctx, p, size * n);
    return buf_failed(ctx) ? 0 : size * n;
}

static bool names_header(const char *const *headers, const char *name) {
    for (const char *const *h = headers; h != NULL && *h != NULL; h++)
        if (strncasecmp(*h, name, strlen(name)) == 0) return true;
    return false;
}

static void call_open(struct call *k, const char *url, const char *method, const char *body,
                      const char *const *headers, const char *accept) {
    const char *key = env("OPENWOP_API_KEY");
    *k = (struct call){.c = curl_easy_init()};
    cr_assert_not_null(k->c);
    buf_init(&k->body, BODY_MAX);
    buf_init(&k->headers, HEADERS_MAX);
    for (const char *const *h = headers; h != NULL && *h != NULL; h++)
        k->l = curl_slist_append(k->l, *h);
    if (!names_header(headers, "Authorization:") && key != NULL)
        k->l = curl_slist_append(k->l, fmt("Authorization: Bearer %s", key));
    if (!names_header(headers, "Accept:"))
        k->l = curl_slist_append(k->l, fmt("Accept: %s", accept));
    if (body != NULL && !names_header(headers, "Content-Type:"))
        k->l = curl_slist_append(k->l, "Content-Type: application/json");
    k->l = curl_slist_append(k->l, "Expect:");
    curl_easy_setopt(k->c, CURLOPT_URL, url);
    curl_easy_setopt(k->c, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(k->c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(k->c, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(k->c, CURLOPT_HTTPHEADER, k->l);
    if (body != NULL) curl_easy_setopt(k->c, CURLOPT_COPYPOSTFIELDS, body);
    curl_easy_setopt(k->c, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(k->c, CURLOPT_WRITEDATA, &k->body);
    curl_easy_setopt(k->c, CURLOPT_HEADERFUNCTION, collect);
    curl_easy_setopt(k->c, CURLOPT_HEADERDATA, &k->headers);
    curl_easy_setopt(k->c, CURLOPT_TIMEOUT_MS, ANSWER_MS);
}

static void call_close(struct call *k, const char *method, const char *path, struct reply *r) {
    curl_easy_getinfo(k->c, CURLINFO_RESPONSE_CODE, &r->status);
    r->body = arena_str(test_arena(), buf_str(&k->body));
    r->headers = arena_str(test_arena(), buf_str(&k->headers));
    r->json = verify_json(r->body) ? r->body : STR_NONE;
    curl_slist_free_all(k->l);
    curl_easy_cleanup(k->c);
    buf_fini(&k->body);
    buf_fini(&k->headers);
    if (method != NULL) verify_reply(method, path, r);
}

static struct reply perform(const char *base, const char *method, const char *path,
                            const char *body, const char *const *headers, bool judged) {
    struct reply r = {0};
    struct call k;
    call_open(&k, fmt("%s%s", base, path), method, body, headers, "application/json");
    CURLcode rc = curl_easy_perform(k.c);
    cr_assert_eq(rc, CURLE_OK, "%s %s: %s", method, path, curl_easy_strerror(rc));
    call_close(&k, judged ? method : NULL, path, &r);
    return r;
}

struct reply ask_base(const char *base, const char *method, const char *path, const char *body,
                      const char *const *headers) {
    return perform(base, method, path, body, headers, true);
}

struct reply ask_bytes(const char *method, const char *path, struct str body,
                       const char *const *headers) {
    struct reply r = {0};
    struct call k;
    call_open(&k, fmt("%s%s", base_url(), path), method, NULL, headers, "application/json");
    curl_easy_setopt(k.c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n);
    curl_easy_setopt(k.c, CURLOPT_COPYPOSTFIELDS, body.p);
    CURLcode rc = curl_easy_perform(k.c);
    cr_assert_eq(rc, CURLE_OK, "%s %s: %s", method, path, curl_easy_strerror(rc));
    call_close(&k, method, path, &r);
    return r;
}

struct reply ask_unjudged(const char *path, const char *const *headers) {
    return perform(base_url(), "GET", path, NULL, headers, false);
}

struct reply ask(const char *method, const char *path, const char *body,
                 const char *const *headers) {
    return ask_base(base_url(), method, path, body, headers);
}

struct reply ask_keyed(const char *key, const char *path, const char *body) {
    const char *const h[] = {fmt("Idempotency-Key: %s", key), NULL};
    return ask("POST", path, body, h);
}

/* keys may be NULL. */
static void post_all(size_t n, const char *const *paths, const char *const *bodies,
                     const char *const *keys, struct reply *out) {
    struct call k[PARALLEL_MAX];
    int running = 1, left;
    CURLM *m = curl_multi_init();
    cr_assert(m != NULL && n <= PARALLEL_MAX);
    for (size_t i = 0; i < n; i++) {
        const char *const h[] = {keys ? fmt("Idempotency-Key: %s", keys[i]) : NULL, NULL};
        call_open(&k[i], fmt("%s%s", base_url(), paths[i]), "POST", bodies[i], h,
                  "application/json");
        curl_multi_add_handle(m, k[i].c);
    }
    for (int64_t end = now_ms() + ANSWER_MS; running > 0 && now_ms() < end;) {
        cr_assert_eq(curl_multi_perform(m, &running), CURLM_OK);
        if (running > 0) curl_multi_poll(m, NULL, 0, 100, NULL);
    }
    for (CURLMsg *msg; (msg = curl_multi_info_read(m, &left)) != NULL;)
        cr_assert_eq(msg->data.result, CURLE_OK, "%s", curl_easy_strerror(msg->data.result));
    cr_assert_eq(running, 0, "parallel requests were not answered");
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct reply){0};
        curl_multi_remove_handle(m, k[i].c);
        call_close(&k[i], "POST", paths[i], &out[i]);
    }
    curl_multi_cleanup(m);
}

void ask_parallel(size_t n, const char *path, const char *const *bodies, const char *const *keys,
                  struct reply *out) {
    const char *paths[PARALLEL_MAX];
    cr_assert(n <= PARALLEL_MAX);
    for (size_t i = 0; i < n; i++) paths[i] = path;
    post_all(n, paths, bodies, keys, out);
}

void ask_at_once(size_t n, const char *const *paths, const char *const *bodies, struct reply *out) {
    post_all(n, paths, bodies, NULL, out);
}

struct str header(const struct reply *r, const char *name) {
    struct str rest = r->headers, line, key, value;
    while (str_cut(rest, '\n', &line, &rest)) {
        if (!str_cut(line, ':', &key, &value) || !str_eq_nocase(key, str_c(name))) continue;
        if (value.n > 0 && value.p[value.n - 1] == '\r') value.n--;
        return str_trim(value);
    }
    return STR_NONE;
}

const char *run_path(const char *run, const char *rest) {
    struct buf b;
    buf_init(&b, 4096);
    buf_addz(&b, "/v1/runs/");
    for (const char *p = run; *p != '\0'; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || strchr("-_.~", *p) != NULL;
        if (plain) buf_addc(&b, *p);
        else buf_addf(&b, "%%%02X", (unsigned)(unsigned char)*p);
    }
    buf_addz(&b, rest);
    const char *z = arena_cstr(test_arena(), buf_str(&b));
    buf_fini(&b);
    return z;
}

/* --- streams --- */
/* H5: line based, LF or CRLF; several data lines are joined; a frame without data is dropped; id
 * and event start anew with each frame; an unterminated last frame counts. */
static void parse_line(struct str line, struct frame *f) {
    struct str field, value;
    if (!str_cut(line, ':', &field, &value)) return;
    if (value.n > 0 && value.p[0] == ' ') value = str_n(value.p + 1, value.n - 1);
    if (str_eqc(field, "id")) f->id = value;
    if (str_eqc(field, "event")) f->event = value;
    if (!str_eqc(field, "data")) return;
    f->data = f->data.p == NULL ? value
                                : arena_printf(test_arena(), STR_FMT "\n" STR_FMT, STR_ARG(f->data),
                                               STR_ARG(value));
}

static void end_frame(struct stream *st, struct frame *f) {
    if (f->event.p == NULL) f->event = STR("message");
    if (f->data.p != NULL) st->v[st->n++] = *f;
    *f = (struct frame){STR_NONE, STR_NONE, STR_NONE};
}

static void parse_frames(struct stream *st) {
    struct str rest = st->raw, line;
    struct frame f = {STR_NONE, STR_NONE, STR_NONE};
    size_t max = 2;
    for (size_t i = 0; i < rest.n; i++) max += rest.p[i] == '\n';
    st->v = ARENA_ARRAY(test_arena(), struct frame, max);
    while (str_cut(rest, '\n', &line, &rest)) {
        if (line.n > 0 && line.p[line.n - 1] == '\r') line.n--;
        if (line.n == 0) end_frame(st, &f);
        else parse_line(line, &f);
    }
    if (!st->closed_by_server) return; /* we cut it: half a frame is no frame */
    parse_line(rest, &f);
    end_frame(st, &f);
}

struct stream stream(const char *run, const char *query, const char *last_event_id, int max_ms) {
    struct stream st = {0};
    struct reply r = {0};
    struct call k;
    const char *h[] = {"Cache-Control: no-cache", NULL, NULL};
    if (last_event_id != NULL) h[1] = fmt("Last-Event-ID: %s", last_event_id);
    const char *path = run_path(run, fmt("/events%s", query));
    call_open(&k, fmt("%s%s", base_url(), path), "GET", NULL, h, "text/event-stream");
    curl_easy_setopt(k.c, CURLOPT_TIMEOUT_MS, (long)max_ms);
    int64_t start = now_ms();
    CURLcode rc = curl_easy_perform(k.c);
    st.took_ms = now_ms() - start;
    st.closed_by_server = rc == CURLE_OK;
    cr_assert(rc == CURLE_OK || rc == CURLE_OPERATION_TIMEDOUT, "GET %s: %s", path,
              curl_easy_strerror(rc));
    call_close(&k, NULL, path, &r);
    cr_assert_neq(r.status, 0, "GET %s: no answer within %d ms", path, max_ms);
    st.status = r.status;
    st.raw = r.body;
    st.headers = r.headers;
    if (st.status != 200) {
        expect_envelope(&r);
        return st;
    }
    cr_expect(str_starts(header(&r, "Content-Type"), STR("text/event-stream")),
              "not an event stream: " STR_FMT, STR_ARG(header(&r, "Content-Type")));
    parse_frames(&st);
    for (size_t i = 0; i < st.n; i++) verify_frame(run, &st.v[i]);
    return st;
}

bool stream_names(const struct stream *st, const char *event) {
    for (size_t i = 0; i < st->n; i++)
        if (str_eqc(st->v[i].event, event)) return true;
    return false;
}
