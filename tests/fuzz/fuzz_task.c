/*
 * fuzz_task.c: what workers say, to a host in this process: each line of an input is a letter and a
 * body; the letter says which call it is for, and a body that is an object gets the epoch of the
 * task at hand, unless it begins with a space.
 *  - every call is answered, never with 500, and every error is the closed envelope (ERR-1);
 *  - a word that was taken in ends the task, or leaves it with its worker, as its answer says, and
 *    the same word again is answered alike (WRK-17);
 *  - when the host goes, its database passes verification, with what open tasks hold (WRK-25).
 */
#include "inside.h"

enum { LINES_MAX = 12, INPUTS_PER_HOST = 400, TASK_BYTES = 64 };
#define WORKER_TYPES "/v1/host/wopr/worker-types"
#define TASKS        "/v1/host/wopr/tasks"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct inside w = {.fd = -1};
static char task[TASK_BYTES];
static int64_t epoch;

static void gone(void) { inside_down(&w); }

static void definition_put(void) {
    static const char text[] =
        "{\"id\":\"fuzz-task\",\"name\":\"F\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\","
        "\"typeId\":"
        "\"fuzz.work\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},\"config\":{},\"inputs\":{},"
        "\"settings\":{\"maxRetries\":2,\"retryDelayMs\":1}}],\"edges\":[],\"triggers\":[],"
        "\"variables\":[],\"metadata\":{},\"settings\":{}}";
    struct buf b;
    struct str answer;
    buf_init(&b, 8192);
    buf_addf(&b,
             "PUT /v1/host/wopr/workflows/fuzz-task HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
             "" INSIDE_KEY "\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             sizeof text - 1, text);
    int status = inside_ask(&w, buf_str(&b), &answer);
    ASSERT(status == 200 || status == 201);
    buf_fini(&b);
}

static void begin(void) {
    struct str answer;
    inside_up(&w);
    task[0] = '\0';
    ASSERT(inside_json(&w, WORKER_TYPES,
                       STR("{\"typeId\":\"fuzz.work\",\"outputSchema\":{\"properties\":{\"n\":{"
                           "\"type\":\"integer\"}}}}"),
                       &answer) == 200);
    definition_put();
}

/* A task of a run of its own, if there is none. */
static void task_want(void) {
    struct str answer, id;
    struct json_elements l = {0};
    for (int i = 0; i < 3 && task[0] == '\0'; i++) {
        ASSERT(inside_json(&w, "/v1/runs", STR("{\"workflowId\":\"fuzz-task\"}"), &answer) == 201);
        ASSERT(inside_json(&w, TASKS ":claim",
                           STR("{\"types\":[\"fuzz.work\"],\"waitMs\":5000,\"leaseMs\":3600000}"),
                           &answer) == 200);
        struct arena *a = arena_new(8u << 20);
        ASSERT(a && json_elements(json_get(answer, "tasks"), a, &l, NULL) == 0);
        if (l.n > 0) {
            id = json_get(l.v[0], "taskId");
            ASSERT(id.n > 2 && id.n < TASK_BYTES && json_int(json_get(l.v[0], "epoch"), &epoch));
            memcpy(task, id.p + 1, id.n - 2);
            task[id.n - 2] = '\0';
        }
        arena_free(a);
    }
    ASSERT(task[0] != '\0');
}

static const char *path_of(char letter, char out[128]) {
    static const char *const verbs[] = {"complete", "fail", "ask", "emit", "heartbeat"};
    switch (letter) {
    case 'r':
        return WORKER_TYPES;
    case 'x':
        return TASKS ":claim";
    case 'c':
    case 'f':
    case 'a':
    case 'e':
    case 'h':
        for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
            if (verbs[i][0] == letter) (void)snprintf(out, 128, TASKS "/%s:%s", task, verbs[i]);
        return out;
    default:
        return NULL;
    }
}

/* A claim of an input must not wait, nor take the task that is wanted. */
static bool claims_so(char letter, struct str body) {
    return letter != 'x' || (!strstr(body.p, "fuzz.work") && strstr(body.p, "\"waitMs\":0"));
}

static void task_look(int said, bool again_is_alike) {
    char path[128];
    struct str answer;
    (void)snprintf(path, sizeof path, TASKS "/%s", task);
    ASSERT(inside_json(&w, path, STR_NONE, &answer) == 200);
    bool leased = str_eqc(json_get(answer, "state"), "\"leased\"");
    ASSERT(said == 200 || leased);
    ASSERT(again_is_alike);
    if (!leased) task[0] = '\0';
}

/* A heartbeat may have left a second, which passes on a busy machine before the next line: what
 * that one says about the lease must not depend on time. */
static void lease_again(void) {
    char path[128], body[64];
    struct str answer;
    (void)path_of('h', path);
    (void)snprintf(body, sizeof body, "{\"epoch\":%lld,\"leaseMs\":3600000}", (long long)epoch);
    if (inside_json(&w, path, str_c(body), &answer) != 200) task[0] = '\0';
}

static void line_send(struct str line) {
    char path_text[128];
    struct str answer;
    struct buf b;
    task_want();
    const char *path = line.n > 0 ? path_of(line.p[0], path_text) : NULL;
    if (!path) return;
    buf_init(&b, 1 << 20);
    struct str body = str_n(line.p + 1, line.n - 1);
    bool word = strchr("cfa", line.p[0]) != NULL, of_task = strchr("cfaeh", line.p[0]) != NULL;
    if (of_task && body.n > 1 && body.p[0] == '{')
        buf_addf(&b, "{\"epoch\":%lld%s" STR_FMT, (long long)epoch, body.p[1] == '}' ? "" : ",",
                 (int)(body.n - 1), body.p + 1);
    else buf_adds(&b, body);
    buf_addc(&b, '\0');
    struct str sent = str_n(b.p, b.len - 1);
    if (claims_so(line.p[0], sent)) {
        int status = inside_json(&w, path, sent, &answer);
        int again = word ? inside_json(&w, path, sent, &answer) : status;
        if (line.p[0] == 'h') lease_again();
        else if (of_task) task_look(status, status == again);
    }
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool once;
    struct str rest = {(const char *)data, size}, line;
    if (!once) (void)atexit(gone);
    once = true;
    if (w.host && w.inputs++ >= INPUTS_PER_HOST) inside_down(&w);
    if (!w.host) begin();
    for (int i = 0; i < LINES_MAX && rest.n > 0; i++) {
        struct str more = STR_NONE;
        if (!str_cut(rest, '\n', &line, &more)) line = rest;
        line_send(line);
        rest = more;
    }
    return 0;
}
