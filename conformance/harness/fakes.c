/* fakes.c: see fakes.h. */
#include "fakes.h"

#include "base/arena.h"
#include "base/buf.h"
#include "codec/json.h"

#include <stdio.h>
#include <string.h>

enum { DOOR_MCP, DOOR_A2A, NOTED_MAX = 4096, TASKS_MAX = 1024, ANSWER_MAX = 1 << 20 };

static struct { /* in the process of the fakes; of each door */
    char what[64];
} noted[DOORS_MAX][NOTED_MAX];
static size_t noted_nr[DOORS_MAX];
static char tasks[TASKS_MAX][24]; /* states */
static size_t tasks_nr;
static char forced[24];

static void note(int door, const char *what) {
    if (noted_nr[door] == NOTED_MAX) return;
    snprintf(noted[door][noted_nr[door]++].what, sizeof noted[0][0].what, "%s", what);
}

static void answer_buf(struct asked *a, const char *status, struct buf *b) {
    door_answer(a, status, b->p != NULL ? b->p : "", b->len);
    buf_fini(b);
}

static void answer_noted(struct asked *a) {
    struct buf b;
    struct jw w;
    buf_init(&b, ANSWER_MAX);
    jw_init(&w, &b);
    jw_array(&w);
    for (size_t i = 0; i < noted_nr[a->door]; i++) jw_strz(&w, noted[a->door][i].what);
    jw_end_array(&w);
    answer_buf(a, "200 OK", &b);
}

/* --- MCP (H7) --- */

#define INITIALIZED                                                                                \
    "{\"protocolVersion\":\"2025-03-26\",\"capabilities\":{\"tools\":{}},"                         \
    "\"serverInfo\":{\"name\":\"openwop-conformance-fake-mcp\",\"version\":\"1\"}}"
#define TOOLS                                                                                      \
    "{\"tools\":[{\"name\":\"echo\",\"description\":\"Says it again.\",\"inputSchema\":{"          \
    "\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},"                         \
    "\"required\":[\"text\"],\"additionalProperties\":false}}]}"

static void result_write(struct jw *w, struct str message, const char *method) {
    struct str params = json_get(message, "params"), text;
    bool call = strcmp(method, "tools/call") == 0;
    bool echo = call && str_eqc(json_get(params, "name"), "\"echo\"");
    text = json_get(json_get(params, "arguments"), "text");
    if (strcmp(method, "initialize") == 0) {
        jw_kraw(w, "result", STR(INITIALIZED));
    } else if (strcmp(method, "tools/list") == 0) {
        jw_kraw(w, "result", STR(TOOLS));
    } else if (echo && text.n > 0) {
        jw_key(w, "result");
        jw_object(w);
        jw_key(w, "content");
        jw_array(w);
        jw_object(w);
        jw_kstrz(w, "type", "text");
        jw_kraw(w, "text", text);
        jw_end_object(w);
        jw_end_array(w);
        jw_kbool(w, "isError", false);
        jw_end_object(w);
    } else {
        jw_kraw(w, "error",
                call ? STR("{\"code\":-32602,\"message\":\"no such tool\"}")
                     : STR("{\"code\":-32601,\"message\":\"no such method\"}"));
    }
}

static void mcp_serve(struct asked *a) {
    struct str message = str_n(a->body, a->body_n), id;
    struct buf b;
    struct jw w;
    char method[64] = "";
    bool ok = json_check(message, &JSON_LIMITS_DEFAULT, NULL) == 0;
    struct str raw = ok ? json_get(message, "method") : STR_NONE;
    if (raw.n > 2) snprintf(method, sizeof method, "%.*s", (int)raw.n - 2, raw.p + 1);
    note(DOOR_MCP, method);
    buf_init(&b, ANSWER_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstrz(&w, "jsonrpc", "2.0");
    id = ok ? json_get(message, "id") : STR_NONE;
    jw_kraw(&w, "id", id.n > 0 ? id : STR("null"));
    if (ok) result_write(&w, message, method);
    else jw_kraw(&w, "error", STR("{\"code\":-32700,\"message\":\"no JSON\"}"));
    jw_end_object(&w);
    answer_buf(a, ok ? "200 OK" : "400 Bad Request", &b);
}

/* --- A2A (H8) --- */

static void card_answer(struct asked *a, int port) {
    char card[400];
    int n = snprintf(card, sizeof card,
                     "{\"protocolVersion\":\"0.3.0\",\"name\":\"fake\",\"url\":\"http://127.0.0.1:"
                     "%d\",\"version\":\"1\",\"capabilities\":{\"streaming\":false},"
                     "\"skills\":[{\"id\":\"echo\",\"name\":\"echo\"}]}",
                     port);
    door_answer(a, "200 OK", card, (size_t)n);
}

static void task_answer(struct asked *a, size_t task, bool messages) {
    char text[200];
    int n = snprintf(
        text, sizeof text, "{\"taskId\":\"task-%zu\",\"state\":\"%s\"%s}", task, tasks[task],
        messages ? ",\"messages\":[{\"role\":\"agent\",\"parts\":[{\"text\":\"said\"}]}]" : "");
    door_answer(a, "200 OK", text, (size_t)n);
}

static void state_set(size_t task, const char *otherwise) {
    snprintf(tasks[task], sizeof tasks[0], "%s", forced[0] != '\0' ? forced : otherwise);
    forced[0] = '\0';
}

static int own_port; /* of the agent */

static void a2a_serve(struct asked *a) {
    char what[64], rest[32] = "";
    size_t task = 0;
    bool post = strcmp(a->method, "POST") == 0;
    bool known = sscanf(a->path, "/tasks/task-%zu%31s", &task, rest) >= 1 && task < tasks_nr;
    snprintf(what, sizeof what, "%.8s %.50s", a->method, a->path);
    note(DOOR_A2A, what);
    if (!post && strcmp(a->path, "/agent.json") == 0) {
        card_answer(a, own_port);
    } else if (post && strcmp(a->path, "/tasks") == 0 && tasks_nr < TASKS_MAX) {
        state_set(tasks_nr, "SUBMITTED");
        task_answer(a, tasks_nr++, false);
    } else if (post && known && strcmp(rest, "/messages") == 0) {
        state_set(task, "COMPLETED");
        task_answer(a, task, false);
    } else if (!post && known && rest[0] == '\0') {
        task_answer(a, task, true);
    } else {
        door_answer(a, "404 Not Found", "{\"error\":\"not_found\"}", 21);
    }
}

static void serve(struct asked *a) {
    if (strcmp(a->method, "LOOK") == 0) {
        answer_noted(a);
    } else if (strcmp(a->method, "FORCE") == 0) {
        snprintf(forced, sizeof forced, "%.20s", a->path + 1);
        door_answer(a, "200 OK", "{}", 2);
    } else if (a->door == DOOR_A2A) {
        const char *host = strstr(a->head, "\r\nHost: 127.0.0.1:");
        if (host != NULL) (void)sscanf(host + 18, "%d", &own_port);
        a2a_serve(a);
    } else if (strcmp(a->method, "POST") == 0) {
        mcp_serve(a);
    } else {
        door_answer(a, "405 Method Not Allowed", "{}", 2);
    }
}

bool fakes_start(struct doors *d, int mcp_port, int a2a_port) {
    d->port[DOOR_MCP] = mcp_port;
    d->port[DOOR_A2A] = a2a_port;
    return doors_start(d, "the fake MCP server or A2A agent", 2, serve);
}
