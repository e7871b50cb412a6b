/*
 * a2a.c: core.a2a.invoke (A2A-3 to A2A-8): a task for an agent of somebody else, followed to its
 * end.  Which agents there are is the operator's choice.  All exchanges are in the invocation log:
 * what was answered is read again at each entry; between looks at the task stands a durable timer.
 */
#include "nodes/a2a.h"

#include "codec/jobj.h"
#include "nodes/template.h"
#include "nodes/untrusted.h"

#define INPUT_MAX      (1024u * 1024)
#define OUTPUTS_MAX    (900u * 1024)
#define QUESTION_MAX   4000u
#define QUESTIONS_MAX  50u
#define LOOK_MS        250 /* A2A-5 */
#define LOOKS_SOON     20u /* at that gap; then it grows */
#define LOOK_MS_MAX    5000
#define LOOKS_MOST     400 /* of a whole wait, about */
#define LOOKS_LOST_MAX 5u  /* one after the other, before the attempt fails */
#define LOOKS_BYTES    (4u * 1024 * 1024)

enum { ORDINAL_CARD, ORDINAL_TASK, ORDINAL_NEXT };

struct follow {
    unsigned ordinal, asked, looks, lost;
    int64_t waited_ms;
    size_t bytes;
};

/* --- failures --- */

static void a2a_report_unavailable(struct a2a *t, const char *why, bool again) {
    node_fail(t->out, "a2a_unavailable", "the A2A agent cannot be used", again);
    t->out->error_message =
        arena_printf(t->call->a, "the A2A agent \"" STR_FMT "\" cannot be used: %s",
                     STR_ARG(t->agent->name), why);
    t->out->error_details = STR_NONE;
}

static struct str text_begin(struct str s, size_t max) {
    if (s.n <= max) return s;
    while (max > 0 && ((unsigned char)s.p[max] & 0xc0) == 0x80) max--;
    return str_n(s.p, max);
}

static void task_failed(struct a2a *t, const struct a2a_task *task, const char *code,
                        const char *message) {
    struct jobj o;
    node_fail(t->out, code, message, false);
    jobj_begin(&o, 3 * QUESTION_MAX + 4096);
    jw_kstr(&o.w, "agent", t->agent->name);
    jw_kstr(&o.w, "taskId", t->task_id);
    if (task->text.n > 0) {
        jw_kstr(&o.w, "text", text_begin(task->text, 1000));
        jw_kstrz(&o.w, "trust", "untrusted");
    }
    t->out->error_details = jobj_end(&o, t->call->a);
}

/* --- what is asked --- */

/* Values of the run, as the outside sees them (A2A-5). */
static struct str variables_of(const struct node_call *call) {
    const struct run_variables *v = &call->run->variables;
    struct jobj o;
    jobj_begin(&o, INPUT_MAX);
    for (size_t i = 0; i < v->n; i++) {
        struct str shown = var_shown(&v->v[i]);
        if (shown.n == 0) continue;
        jw_key_str(&o.w, text_str(&v->v[i].name));
        jw_raw(&o.w, shown);
    }
    return jobj_end(&o, call->a);
}

static bool input_fill(struct a2a *t, struct str raw, struct str *out) {
    struct buf b;
    struct jw w;
    buf_init(&b, INPUT_MAX);
    jw_init(&w, &b);
    const char *why = template_fill_json(raw, t->call->inputs, t->call->a, &w);
    *out = !why && !buf_failed(&b) ? arena_str(t->call->a, buf_str(&b)) : STR_NONE;
    buf_fini(&b);
    if (why) node_invalid(t->out, why);
    return out->p != NULL;
}

/* The input of the task: config.input with values of ports, else the ports, else the variables. */
static bool input_read(struct a2a *t, struct str *out) {
    struct str raw = json_get(t->call->config, "input");
    struct json_members m = {0};
    if (raw.n > 0) return input_fill(t, raw, out);
    bool ports = json_members(t->call->inputs, t->call->a, &m, NULL) == 0 && m.n > 0;
    *out = ports ? t->call->inputs : variables_of(t->call);
    return out->p != NULL;
}

static const struct node_answer *task_begin(struct a2a *t) {
    struct str input = STR_NONE, body;
    struct jobj o;
    if (!t->call->ended && !input_read(t, &input)) {
        if (t->out->outcome != NODE_OUT_FAIL)
            node_invalid(t->out, "the input of the task is longer than 1 MiB");
        return NULL;
    }
    jobj_begin(&o, 2 * INPUT_MAX);
    jw_kstr(&o.w, "skill", t->skill);
    jw_kraw(&o.w, "input", input.n > 0 ? input : STR("{}"));
    body = jobj_end(&o, t->call->a);
    if (body.p) return a2a_ask(t, ORDINAL_TASK, a2a_task_url(t, ""), body, true);
    node_no_memory(t->out);
    return NULL;
}

static const struct node_answer *message_send(struct a2a *t, unsigned ordinal, struct str answer) {
    bool text = answer.n > 0 && json_type_of(answer) == JSON_STRING;
    struct jobj o;
    jobj_begin(&o, INPUT_MAX);
    jw_key(&o.w, "message");
    jw_object(&o.w);
    jw_kstrz(&o.w, "role", "user");
    jw_key(&o.w, "parts");
    jw_array(&o.w);
    jw_object(&o.w);
    jw_kstrz(&o.w, "kind", "text");
    jw_kstr(&o.w, "text", text ? json_string(answer, t->call->a) : answer);
    jw_end_object(&o.w);
    jw_end_array(&o.w);
    jw_end_object(&o.w);
    struct str body = jobj_end(&o, t->call->a);
    if (body.p) return a2a_ask(t, ordinal, a2a_task_url(t, "/messages"), body, true);
    node_invalid(t->out, "the answer for the agent is longer than 1 MiB");
    return NULL;
}

/* What an exchange that changes the task said.  false: nothing good. */
static bool a2a_posted(struct a2a *t, const struct node_answer *ans, struct a2a_task *task) {
    bool again = false;
    if (!ans) return false;
    const char *why = a2a_answer_wrong(ans, &again);
    if (!why && !a2a_task_read(ans->body, t->call->a, task))
        why = "its answer tells no task with an id and a known state";
    if (!why) return true;
    bool refused = ans->untouched || ans->status == 429 || ans->status == 503;
    a2a_report_unavailable(t, why, again && (refused || t->repeatable));
    return false;
}

/* --- questions (A2A-7) --- */

static bool person_asked(struct a2a *t, const struct a2a_task *task, unsigned nth,
                         struct str *answer) {
    bool auth = task->state == A2A_AUTH_REQUIRED;
    struct str said = text_begin(task->last, QUESTION_MAX);
    struct node_prompt q = {.kind = "clarification", .reason = auth ? "a2a-auth" : "a2a-input"};
    struct node_reply r;
    struct jobj o;
    if (said.n == 0)
        said = auth ? STR("Authentication required") : STR("The agent asks for more input");
    jobj_begin(&o, 6 * QUESTION_MAX + 4096);
    jw_key(&o.w, "questions");
    jw_array(&o.w);
    jw_object(&o.w);
    jw_kstrz(&o.w, "id", "a2a");
    jw_kstr(&o.w, "question", said);
    jw_end_object(&o.w);
    jw_end_array(&o.w);
    jw_kstrz(&o.w, "contextType", auth ? "a2a-auth" : "a2a");
    q.data = jobj_end(&o, t->call->a);
    if (!q.data.p) node_no_memory(t->out);
    if (!q.data.p || !node_interrupt(t->call, t->out, nth, &q, &r)) return false;
    *answer = json_get(json_get(r.value, "answers"), "a2a");
    return true;
}

/* Suspend, or hand the answer on.  false: *out is filled. */
static bool question_done(struct a2a *t, struct follow *f, struct a2a_task *task) {
    struct str answer = STR_NONE;
    if (f->asked >= QUESTIONS_MAX) {
        a2a_report_unavailable(t, "it asked more than 50 questions", false);
        return false;
    }
    if (!person_asked(t, task, f->asked++, &answer)) return false;
    return a2a_posted(t, message_send(t, f->ordinal++, answer), task);
}

/* --- looks at the task --- */

static int64_t gap_ms(const struct a2a *t, unsigned look) {
    int64_t most = t->wait_ms / LOOKS_MOST, ms = LOOK_MS;
    if (most < LOOK_MS_MAX) most = LOOK_MS_MAX;
    for (unsigned i = LOOKS_SOON; i < look && ms < most; i++) ms += ms / 4;
    return ms < most ? ms : most;
}

static const struct node_answer *a2a_answered(const struct node_call *call, unsigned ordinal) {
    for (size_t i = 0; i < call->answers_nr; i++)
        if (call->answers[i].ordinal == ordinal) return &call->answers[i];
    return NULL;
}

static void timed_out(struct a2a *t, struct follow *f, const struct a2a_task *task) {
    if (!a2a_ask(t, f->ordinal, a2a_task_url(t, ":cancel"), STR("{}"), false)) return;
    task_failed(t, task, "a2a_timeout", "the A2A agent did not finish the task within timeoutMs");
}

/* Wait, look, or read what a look saw.  false: *out is filled. */
static bool look_done(struct a2a *t, struct follow *f, struct a2a_task *task) {
    const struct node_answer *ans = a2a_answered(t->call, f->ordinal);
    struct a2a_task now = {0};
    bool again = false;
    if (f->waited_ms >= t->wait_ms) {
        timed_out(t, f, task);
        return false;
    }
    if (!ans && !t->call->waited) {
        t->out->outcome = NODE_OUT_WAIT;
        t->out->wait_ms = gap_ms(t, f->looks);
        return false;
    }
    ans = a2a_ask(t, f->ordinal, a2a_task_url(t, ""), STR_NONE, false);
    if (!ans) return false;
    f->waited_ms += gap_ms(t, f->looks++);
    f->ordinal++;
    f->bytes += ans->body.n;
    const char *why = a2a_answer_wrong(ans, &again);
    if (!why && !a2a_task_read(ans->body, t->call->a, &now))
        why = "its answer tells no task with an id and a known state";
    if (f->bytes > LOOKS_BYTES) why = "its answers about one task have more than 4 MiB";
    if (why && (!again || f->bytes > LOOKS_BYTES || ++f->lost >= LOOKS_LOST_MAX)) {
        a2a_report_unavailable(t, why, again && f->bytes <= LOOKS_BYTES);
        return false;
    }
    if (!why) f->lost = 0;
    if (!why) *task = now;
    return true;
}

/* --- ends --- */

static struct str outputs_of(struct a2a *t, const struct a2a_task *task) {
    struct buf marked;
    struct jobj o;
    buf_init(&marked, OUTPUTS_MAX);
    untrusted_render(&marked, "agent", t->agent->name, task->text);
    jobj_begin(&o, OUTPUTS_MAX);
    jw_kstr(&o.w, "taskId", t->task_id);
    jw_kstrz(&o.w, "state", "COMPLETED");
    jw_kstr(&o.w, "agent", t->agent->name);
    jw_kraw(&o.w, "messages", task->messages.n > 0 ? task->messages : STR("[]"));
    jw_kraw_opt(&o.w, "artifacts", task->artifacts);
    jw_kstr(&o.w, "text", task->text);
    jw_kstrz(&o.w, "trust", "untrusted");
    jw_kstr(&o.w, "rendered", buf_str(&marked));
    if (buf_failed(&marked)) jobj_fail(&o);
    buf_fini(&marked);
    return jobj_end(&o, t->call->a);
}

/* The answer that told the end may lack what was said: look once more, whatever comes of it. */
static void task_done(struct a2a *t, struct follow *f, struct a2a_task *task) {
    struct a2a_task whole = {0};
    bool again;
    if (task->messages.n == 0 && task->artifacts.n == 0) {
        const struct node_answer *ans =
            a2a_ask(t, f->ordinal, a2a_task_url(t, ""), STR_NONE, false);
        if (!ans) return;
        if (!a2a_answer_wrong(ans, &again) && a2a_task_read(ans->body, t->call->a, &whole))
            *task = whole;
    }
    t->out->outputs = outputs_of(t, task);
    if (t->out->outputs.n > 0) t->out->outcome = NODE_OUT_DONE;
    else if (arena_failed(t->call->a)) node_no_memory(t->out);
    else
        task_failed(t, &(struct a2a_task){0}, "a2a_task_failed",
                    "what the agent said is larger than an event may be");
}

/* A2A-6.  true: the task goes on. */
static bool task_open(struct a2a *t, struct follow *f, struct a2a_task *task) {
    switch (task->state) {
    case A2A_COMPLETED:
        task_done(t, f, task);
        return false;
    case A2A_FAILED:
        task_failed(t, task, "a2a_task_failed", "the A2A agent says that the task failed");
        return false;
    case A2A_CANCELED:
        task_failed(t, task, "a2a_task_cancelled", "the A2A agent cancelled the task");
        return false;
    case A2A_REJECTED:
        task_failed(t, task, "rejected_by_remote", "remote A2A agent rejected the task");
        return false;
    default:
        return true;
    }
}

static void task_follow(struct a2a *t) {
    struct follow f = {.ordinal = ORDINAL_NEXT};
    struct a2a_task task = {0};
    if (!a2a_posted(t, task_begin(t), &task)) return;
    t->task_id = task.id;
    for (;;) {
        bool asks = task.state == A2A_INPUT_REQUIRED || task.state == A2A_AUTH_REQUIRED;
        t->state = task.state;
        if (!task_open(t, &f, &task)) return;
        if (!(asks ? question_done(t, &f, &task) : look_done(t, &f, &task))) return;
    }
}

static bool card_open(struct a2a *t) {
    const struct node_answer *ans = a2a_ask(t, ORDINAL_CARD, t->agent->url, STR_NONE, false);
    bool again = false;
    if (!ans) return false;
    const char *why = a2a_answer_wrong(ans, &again);
    if (!why) why = a2a_card_read(t, ans->body);
    if (why) a2a_report_unavailable(t, why, again);
    return why == NULL;
}

/* --- entries --- */

static void no_agent(struct a2a *t) {
    node_fail(t->out, "capability_not_provided",
              "the host does not provide the capability a2a: its operator has named no A2A agent "
              "(--a2a-agents), or none of this name that this tenant may use",
              false);
    t->out->error_details = STR("{\"capability\":\"a2a\"}");
}

static bool config_read(struct a2a *t, struct str *asked) {
    struct str config = t->call->config, ms = json_get(config, "timeoutMs");
    const char *why = a2a_config_wrong(config);
    struct str name = json_get(config, "agent");
    if (why) {
        node_invalid(t->out, why);
        return false;
    }
    if (name.n == 0) name = json_get(config, "agentCardUrl");
    *asked = name.n > 0 ? json_string(name, t->call->a) : STR_NONE;
    t->skill = json_string(json_get(config, "skill"), t->call->a);
    if (ms.n > 0) (void)json_int(ms, &t->wait_ms);
    (void)json_bool(json_get(config, "repeatable"), &t->repeatable);
    (void)json_bool(json_get(config, "requireSignedCard"), &t->signed_card);
    if (!arena_failed(t->call->a)) return true;
    node_no_memory(t->out);
    return false;
}

static void a2a_run(struct a2a *t) {
    struct str asked = STR_NONE;
    if (!config_read(t, &asked)) return;
    t->agent = remote_find(t->call->remotes, REMOTE_A2A, asked, t->call->run->meta.tenant);
    if (!t->agent) {
        no_agent(t);
        return;
    }
    t->signed_card = t->signed_card || t->agent->needs_signature;
    if (card_open(t)) task_follow(t);
}

/* The run is over and the task is not: nobody waits for it any more. */
static void a2a_farewell(struct a2a *t, struct node_result *out) {
    struct node_result asks = {0};
    bool over = t->state >= A2A_COMPLETED || t->state == A2A_UNKNOWN;
    if (over || t->task_id.n == 0 || t->out->outcome == NODE_OUT_FAIL) return;
    t->out = &asks;
    (void)a2a_ask(t, NODE_INVOKES_MAX - 1, a2a_task_url(t, ":cancel"), STR("{}"), false);
    *out = asks;
}

void exec_a2a(const struct node_call *call, struct node_result *out) {
    struct node_result aside = {0};
    struct a2a t = {.call = call, .out = call->ended ? &aside : out, .wait_ms = A2A_WAIT_MS};
    a2a_run(&t);
    if (call->ended) a2a_farewell(&t, out);
}

/* --- before any run --- */

static bool text_wrong(struct str raw) {
    return raw.n > 0 && (raw.n <= 2 || json_type_of(raw) != JSON_STRING);
}

static const char *a2a_wrong(struct str config, struct arena *a) {
    static const char *const KEYS[] = {
        "skill", "input", "agent", "agentCardUrl", "timeoutMs", "repeatable", "requireSignedCard"};
    struct str ms = json_get(config, "timeoutMs"), r = json_get(config, "repeatable"),
               s = json_get(config, "requireSignedCard"), skill = json_get(config, "skill");
    struct json_members m;
    int64_t n = 1;
    bool b, known = true;
    if (json_members(config, a, &m, NULL) != 0) return "the config of an A2A task is no object";
    for (size_t i = 0; known && i < m.n; i++) {
        known = false;
        for (size_t k = 0; !known && k < sizeof KEYS / sizeof *KEYS; k++)
            known = str_eqc(m.v[i].key, KEYS[k]);
    }
    if (!known)
        return "an A2A task has skill, input, agent, agentCardUrl, timeoutMs, repeatable and "
               "requireSignedCard, and nothing else";
    if (skill.n == 0 || text_wrong(skill)) return "skill of an A2A task is not the id of a skill";
    if (text_wrong(json_get(config, "agent")) || text_wrong(json_get(config, "agentCardUrl")))
        return "agent and agentCardUrl of an A2A task are texts";
    if (ms.n > 0 && (!json_int(ms, &n) || n < 1 || n > A2A_WAIT_MS_MAX))
        return "timeoutMs of an A2A task is no whole number from 1 to 86400000";
    if ((r.n > 0 && !json_bool(r, &b)) || (s.n > 0 && !json_bool(s, &b)))
        return "repeatable and requireSignedCard of an A2A task are true or false";
    return NULL;
}

const char *a2a_config_wrong(struct str config) {
    struct arena *a = arena_new(4 * config.n + 65536);
    if (!a) return NULL; /* the run will tell */
    const char *why = a2a_wrong(config.n > 0 ? config : STR("{}"), a);
    arena_free(a);
    return why;
}
