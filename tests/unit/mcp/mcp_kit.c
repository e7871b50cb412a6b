/*
 * mcp_kit.c: a server with tools of its own, for the tests of mcp/.
 */
#include "mcp_kit.h"
#include "base/mem.h"
#include "codec/jobj.h"

#include <string.h>

struct kit kit;

static int echo(struct mcp_call *call) { return mcp_answer(call, call->arguments); }

static int prose(struct mcp_call *call) {
    return mcp_answer_text(call, STR("hello\nthere"), STR_NONE);
}

static int fails(struct mcp_call *call) {
    return mcp_fail_with(call, "NOT_FOUND", STR("There is no such thing."), MCP_RETRY_AFTER, 1500,
                         STR("{\"near\":\"x\"}"));
}

/* Answered at the third call of the handler. */
static int later(struct mcp_call *call) {
    if (call->phase == 2) return mcp_answer(call, STR("{\"phase\":2}"));
    mcp_resume(call);
    return MCP_PENDING;
}

static int silent(struct mcp_call *call) {
    (void)call;
    return MCP_DONE;
}

static int large(struct mcp_call *call) {
    size_t n = MCP_RESULT_BYTES_MAX + 1;
    char *text = arena_alloc(call->arena, n);
    memset(text, ' ', n);
    text[0] = '{', text[n - 1] = '}';
    return mcp_answer(call, str_n(text, n));
}

static int asks(struct mcp_call *call) {
    struct str said = json_get(call->input_responses, "who");
    if (said.n > 0) return mcp_answer(call, jobj_of(call->arena, "said", said));
    return mcp_ask_user(call, STR("{\"who\":{\"method\":\"elicitation/create\",\"params\":{}}}"),
                        STR("state"));
}

static int thing(struct mcp_call *call) {
    struct str id = mcp_param(call, "id"), part = mcp_param(call, "part");
    if (str_eqc(id, "none")) return fails(call);
    struct jobj o;
    jobj_begin(&o, 4096);
    jw_kstr(&o.w, "id", id);
    jw_kstr(&o.w, "part", part);
    return mcp_answer(call, jobj_end(&o, call->arena));
}

#define ANY "{\"type\":\"object\"}"
#define STRICT                                                                                     \
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"],"     \
    "\"additionalProperties\":false}"

static const struct mcp_tool TOOLS[] = {
    {"echo", "Echo", "Says it again.", STRICT, ANY, SCOPE_A, MCP_READS | MCP_REPEATS, echo},
    {"judge", "Judge", "Takes anything.", STRICT, NULL, SCOPE_A, MCP_JUDGES, echo},
    {"prose", "Prose", "Text.", ANY, NULL, SCOPE_A, 0, prose},
    {"fails", "Fails", "Never works.", ANY, NULL, SCOPE_A, MCP_DESTROYS, fails},
    {"later", "Later", "Takes time.", ANY, NULL, SCOPE_A, MCP_MAY_BLOCK, later},
    {"silent", "Silent", "Says nothing.", ANY, NULL, SCOPE_A, 0, silent},
    {"large", "Large", "Too much.", ANY, NULL, SCOPE_A, 0, large},
    {"asks", "Asks", "Asks.", ANY, NULL, SCOPE_A, MCP_OPEN_WORLD, asks},
    {"secret", "Secret", "Of few.", ANY, NULL, SCOPE_A | SCOPE_B, 0, echo},
};
static const struct mcp_resource RESOURCES[] = {
    {"kit://all", "all", "All", "All of it.", "application/json", SCOPE_A, 0, thing},
    {"kit://things/{id}", "thing", "A thing", "One.", "application/json", SCOPE_A, 0, thing},
    {"kit://things/{id}/{part}", "part", "A part", "One.", "application/json", SCOPE_B, 0, thing},
};
static const struct mcp_prompt PROMPTS[] = {
    {"greet",
     "Greet",
     "Says hello.",
     {{"name", "Whom.", true}, {"how", "How.", false}},
     "Greet {{name}}, {{how}}.",
     SCOPE_A},
    {"hidden", "Hidden", "Of few.", {{NULL, NULL, false}}, "Text.", SCOPE_B},
};
static const struct mcp_set SET = {.tools = TOOLS,
                                   .tools_nr = sizeof TOOLS / sizeof *TOOLS,
                                   .resources = RESOURCES,
                                   .resources_nr = sizeof RESOURCES / sizeof *RESOURCES,
                                   .prompts = PROMPTS,
                                   .prompts_nr = sizeof PROMPTS / sizeof *PROMPTS,
                                   .instructions = "Be kind."};

void kit_up(void) {
    static const struct mcp_about ABOUT = {.name = "kit", .title = "Kit", .version = "1"};
    struct wopr_error err = {0};
    kit = (struct kit){.a = arena_new(16 << 20), .scopes = SCOPE_A | SCOPE_B};
    buf_init(&kit.out, 16 << 20);
    cr_assert_eq(mcp_server_new(&ABOUT, &kit.server, &err), 0, "%s", err.message);
    cr_assert_eq(mcp_server_add(kit.server, &SET, &err), 0, "%s", err.message);
}

void kit_down(void) {
    mcp_server_free(kit.server);
    buf_fini(&kit.out);
    arena_free(kit.a);
}

static void resume(struct mcp_call *call) {
    (void)call;
    kit.resumed++;
}

struct str kit_send_with(const char *text, const struct mcp_headers *h) {
    static const struct mcp_carrier CARRIER = {resume};
    const struct mcp_origin from = {
        .who = {.scopes = kit.scopes}, .arena = kit.a, .carrier = &CARRIER};
    kit.x = (struct mcp_exchange){.server = NULL};
    kit.resumed = 0;
    buf_reset(&kit.out);
    enum mcp_step step = mcp_begin(kit.server, &kit.x, str_c(text), h, &from);
    if (step == MCP_NOTHING) return STR("");
    while (step == MCP_CALL && mcp_run(&kit.x) == MCP_PENDING) continue;
    mcp_write(&kit.x, &kit.out);
    cr_assert(!buf_failed(&kit.out));
    struct str answer = arena_str(kit.a, buf_str(&kit.out));
    cr_assert_eq(json_check(answer, &JSON_LIMITS_STORED, NULL), 0, STR_FMT, STR_ARG(answer));
    cr_assert_null(memchr(answer.p, '\n', answer.n), "an answer is one line");
    return answer;
}

struct str kit_send(const char *text) {
    struct mcp_headers h = {{0}, {0}, {0}, {0}};
    struct str all = str_c(text), params = json_get(all, "params");
    struct str meta = json_get(params, "_meta");
    h.version = json_string(json_get(meta, "io.modelcontextprotocol/protocolVersion"), kit.a);
    if (h.version.p) {
        h.method = json_string(json_get(all, "method"), kit.a);
        h.name = json_string(json_get(params, "name"), kit.a);
        if (!h.name.p) h.name = json_string(json_get(params, "uri"), kit.a);
    }
    return kit_send_with(text, &h);
}

struct str kit_at(struct str answer, const char *path) {
    struct str raw = json_path_get(answer, str_c(path), kit.a);
    if (raw.n > 0 && json_type_of(raw) == JSON_STRING) return json_string(raw, kit.a);
    return raw;
}
