/*
 * conversation.c: core.conversationGate (CONV-1 to CONV-20): a conversation in one node, or one
 * step of it.  What was said is in the answers of the log, and how far the conversation has come is
 * in the fold, so that each entry goes on from there.
 */
#include "domain/conversation.h"

#include "codec/bytes.h"
#include "codec/jobj.h"
#include "nodes/nodes.h"

#define CONVERSATION_ID_MAX 200u /* so that ids of its messages fit, too */
#define TURNS_MAX           10000
#define TALK_TEXT_MAX       (1024u * 1024)

enum lifecycle { LIFE_WHOLE, LIFE_OPEN, LIFE_EXCHANGE, LIFE_CLOSE, LIFE_NR };
static const char *const LIFECYCLES[LIFE_NR] = {"open-exchange-close", "open", "exchange", "close"};

struct talk { /* one entry */
    const struct node_call *call;
    struct node_result *out;
    enum lifecycle life;
    bool mocks;
    int64_t turns_max; /* 0: as many as there are */
    int64_t timeout_ms;
    struct str id;
    struct str agent; /* id of who speaks for the workflow, or empty */
    struct str group, schema, channel;
    struct str prompt, title, initial; /* texts; empty = absent */
};

/* --- config --- */

static bool text_in(struct str config, const char *name, size_t min, size_t max) {
    struct str raw = json_get(config, name);
    return raw.n == 0 ||
           (json_type_of(raw) == JSON_STRING && raw.n >= min + 2 && utf8_count(raw) <= max + 2);
}

static bool lifecycle_of(struct str raw, enum lifecycle *out) {
    *out = LIFE_WHOLE;
    if (raw.n == 0) return true;
    for (int i = 0; i < LIFE_NR && raw.n > 2; i++)
        if (str_eqc(str_n(raw.p + 1, raw.n - 2), LIFECYCLES[i])) {
            *out = (enum lifecycle)i;
            return true;
        }
    return false;
}

const char *conversation_config_wrong(struct str config) {
    static const char *const TEXTS[] = {"prompt", "title", "initialPrompt", "channel",
                                        "conversationId"};
    enum lifecycle life;
    int64_t n = 1;
    bool yes;
    struct str count = json_get(config, "turnCount"), schema = json_get(config, "outcomeSchema"),
               mocks = json_get(config, "mockAutoResume");
    if (!lifecycle_of(json_get(config, "lifecycle"), &life))
        return "lifecycle is open-exchange-close, open, exchange or close";
    if (count.n > 0 && (!json_int(count, &n) || n < 1 || n > TURNS_MAX))
        return "turnCount is a whole number from 1 to 10000";
    if (mocks.n > 0 && !json_bool(mocks, &yes)) return "mockAutoResume is true or false";
    if (schema.n > 0 && json_type_of(schema) != JSON_OBJECT) return "outcomeSchema is an object";
    if (!text_in(config, "agentId", 3, CONVERSATION_TEXT_MAX))
        return "agentId is a string of 3 to 256 characters";
    if (!text_in(config, "groupId", 0, CONVERSATION_TEXT_MAX))
        return "groupId is a string of at most 256 characters";
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
        if (!text_in(config, TEXTS[i], 1, TALK_TEXT_MAX))
            return "prompt, title, initialPrompt, channel and conversationId are strings that are "
                   "not empty";
    return NULL;
}

/* --- what the node has --- */

static bool conversation_invalid(struct talk *t, const char *why) {
    node_invalid(t->out, why);
    return false;
}

static bool text_read(struct talk *t, const char *name, struct str *out) {
    if (node_arg(t->call, name).n == 0) return true;
    if (node_arg_string(t->call, name, out) && out->n > 0) return true;
    struct str why =
        arena_printf(t->call->a, "%s of a conversation is not a string, or empty", name);
    node_invalid(t->out, why.p ? why.p : "a member of a conversation is not a string");
    return false;
}

static struct str agent_of(const struct talk *t) {
    struct str raw = json_get(t->call->config, "agentId");
    if (raw.n == 0) raw = json_get(t->call->def->agent, "agentId");
    return raw.n > 0 ? json_string(raw, t->call->a) : STR_NONE;
}

static bool talk_read(struct talk *t) {
    struct str config = t->call->config, timeout = node_arg(t->call, "timeoutMs");
    const char *why = conversation_config_wrong(config);
    if (why) return conversation_invalid(t, why);
    (void)lifecycle_of(json_get(config, "lifecycle"), &t->life);
    (void)json_bool(json_get(config, "mockAutoResume"), &t->mocks);
    (void)json_int(json_get(config, "turnCount"), &t->turns_max);
    if (t->mocks && t->turns_max == 0) t->turns_max = 1;
    if (timeout.n > 0 && (!json_int(timeout, &t->timeout_ms) || t->timeout_ms < 0))
        return conversation_invalid(
            t, "timeoutMs of a conversation is not a whole number of milliseconds");
    t->schema = json_get(config, "outcomeSchema");
    t->group = json_string(json_get(config, "groupId"), t->call->a);
    t->agent = agent_of(t);
    const struct wf_channel *ch = conversation_channel(t->call->run->wf, t->call->def);
    if (ch) t->channel = ch->name;
    t->prompt = STR("Your turn.");
    return text_read(t, "channel", &t->channel) && text_read(t, "prompt", &t->prompt) &&
           text_read(t, "title", &t->title) && text_read(t, "initialPrompt", &t->initial);
}

/* CONV-4.  A run id is of this host, a node may be entered again in a loop. */
static struct str id_mint(const struct talk *t) {
    const struct node_call *c = t->call;
    const struct node_state *n = &c->run->nodes[c->node];
    struct str run = c->ids_run_id.n > 0 ? c->ids_run_id : c->run->meta.run_id;
    struct str id = arena_printf(c->a, STR_FMT ":" STR_FMT ":%d", STR_ARG(run), STR_ARG(c->def->id),
                                 c->attempt);
    if (n->activation > 0)
        id = arena_printf(c->a, STR_FMT ":" STR_FMT ":%d.%d", STR_ARG(run), STR_ARG(c->def->id),
                          n->activation, c->attempt);
    if (id.n <= CONVERSATION_ID_MAX) return id;
    struct sha256 d = sha256_of(id); /* a node id may be long */
    char hex[65];
    sha256_hex(&d, hex);
    return arena_printf(c->a, STR_FMT ":%s", STR_ARG(run), hex);
}

/* --- effects --- */

static void effect_put(struct talk *t, enum node_effect_kind kind, struct str name,
                       struct str value) {
    struct node_effect *x = node_effect_add(t->call, t->out, kind);
    if (!x) return;
    x->name = name;
    x->value = value;
    x->reducer = RED_MESSAGE;
}

static void channel_put(struct talk *t, struct str turn) { /* CONV-15 */
    if (t->channel.n > 0) effect_put(t, EFFECT_CHANNEL, t->channel, turn);
}

static struct str conversation_quoted(const struct talk *t, struct str text) {
    struct buf b;
    buf_init(&b, 6 * TALK_TEXT_MAX);
    json_quote(&b, text);
    struct str out = buf_failed(&b) ? STR_NONE : arena_str(t->call->a, buf_str(&b));
    buf_fini(&b);
    return out;
}

static struct str turn_initial(struct talk *t) {
    struct str text = t->initial.n > 0 ? t->initial
                      : t->title.n > 0 ? t->title
                                       : STR("Hello \xE2\x80\x94 how can I help?");
    struct conv_turn turn = {.conversation_id = t->id,
                             .ts_ms = t->call->run->nodes[t->call->node].started_ms,
                             .role = "agent",
                             .from = t->agent.n > 0 ? t->agent : STR("host"),
                             .group_id = t->group,
                             .content = conversation_quoted(t, text)};
    if (t->agent.n > 0)
        turn.agent = jobj_of(t->call->a, "agentId", conversation_quoted(t, t->agent));
    return turn_text(&turn, t->call->a);
}

static struct str turn_last(struct talk *t, int64_t index, int64_t ts_ms, struct str content) {
    const struct conv_turn turn = {.conversation_id = t->id,
                                   .index = index,
                                   .ts_ms = ts_ms,
                                   .role = "system",
                                   .from = STR("system"),
                                   .group_id = t->group,
                                   .content = content};
    return turn_text(&turn, t->call->a);
}

static void opened_put(struct talk *t, struct str turn) {
    struct jobj o;
    jobj_begin(&o, 2 * TALK_TEXT_MAX);
    jw_kstr(&o.w, "conversationId", t->id);
    jw_kstr_opt(&o.w, "agentId", t->agent);
    if (turn.n == 0) jobj_fail(&o);
    else jw_kraw(&o.w, "initialTurn", turn);
    jw_kraw_opt(&o.w, "schema", t->schema);
    jw_kraw(&o.w, "capabilities", STR("[\"multi-turn\"]"));
    effect_put(t, EFFECT_CONVERSATION_OPENED, STR_NONE, jobj_end(&o, t->call->a));
}

static void turn_put(struct talk *t, enum node_effect_kind kind, int64_t index, struct str turn,
                     struct str outcome) {
    bool closes = kind == EFFECT_CONVERSATION_CLOSED;
    struct jobj o;
    jobj_begin(&o, 4 * TALK_TEXT_MAX);
    jw_kstr(&o.w, "conversationId", t->id);
    jw_kint(&o.w, "turnIndex", index);
    jw_kraw(&o.w, closes ? "finalTurn" : "turn", turn.n > 0 ? turn : STR("null"));
    if (closes) jw_kraw(&o.w, "outcome", outcome.n > 0 ? outcome : STR("null"));
    effect_put(t, kind, STR_NONE, jobj_end(&o, t->call->a));
}

/* --- ends --- */

static void conversation_done(struct talk *t, int64_t exchanges, struct str turn, bool closed,
                              struct str outcome) {
    struct jobj o;
    jobj_begin(&o, 4 * TALK_TEXT_MAX);
    jw_kstr(&o.w, "conversationId", t->id);
    jw_kint(&o.w, "turnCount", exchanges);
    if (turn.n > 0) {
        jw_kraw(&o.w, "turn", turn);
        jw_kraw(&o.w, "content", json_get(turn, "content"));
    }
    jw_kbool(&o.w, "closed", closed);
    if (closed) jw_kraw(&o.w, "outcome", outcome.n > 0 ? outcome : STR("null"));
    t->out->outcome = NODE_OUT_DONE;
    t->out->outputs = jobj_end(&o, t->call->a);
}

/* --- the question for a turn --- */

static bool conversation_ask(struct talk *t, unsigned ordinal, int64_t index,
                             struct node_reply *r) {
    struct node_prompt q = {.kind = "conversation.exchange",
                            .reason = "conversation-input",
                            .timeout_ms = t->timeout_ms};
    struct jobj o;
    jobj_begin(&o, 2 * TALK_TEXT_MAX);
    jw_kstr(&o.w, "conversationId", t->id);
    jw_kstr(&o.w, "prompt", t->prompt);
    jw_kraw_opt(&o.w, "outcomeSchema", t->schema);
    jw_kint(&o.w, "turnIndex", index);
    q.data = jobj_end(&o, t->call->a);
    if (q.data.n > 0) return node_interrupt(t->call, t->out, ordinal, &q, r);
    node_no_memory(t->out);
    return false;
}

/* The conversation ends with an answer: of a person, or of the host when its time is over. */
static void close_by_answer(struct talk *t, int64_t index, struct str answer, bool told,
                            bool written) {
    struct str turn = json_get(answer, "turn"), outcome = json_get(answer, "outcome");
    bool late = str_eqc(json_get(turn, "role"), "\"system\"") &&
                str_eqc(json_get(json_get(turn, "content"), "reason"), "\"timeout\"");
    if (!told) turn_put(t, EFFECT_CONVERSATION_CLOSED, index, turn, outcome);
    if (!written) channel_put(t, turn);
    if (late)
        node_fail(t->out, "conversation_timeout",
                  "the conversation had no end within its time (timeoutMs)", false);
    else conversation_done(t, index - 1, STR_NONE, true, outcome);
}

/* --- a conversation in one node --- */

struct course {   /* how far it has come */
    int64_t next; /* index of the next turn */
    bool opened, closed;
    bool unwritten; /* the channel lacks the last turn */
};

static struct str answer_nth(struct talk *t, int64_t index) {
    struct node_reply r = {0};
    if (index < 1 || !conversation_ask(t, (unsigned)index - 1, index, &r)) return STR_NONE;
    return r.value;
}

/* The host closes after turnCount exchanges (7.5); what was said last is what came out. */
static void close_by_count(struct talk *t, struct course *c) {
    struct str last = json_get(answer_nth(t, t->turns_max), "turn");
    struct str outcome = json_get(last, "content"), content = STR("{\"reason\":\"turn-count\"}");
    int64_t ts_ms = 0;
    (void)json_int(json_get(last, "ts"), &ts_ms);
    if (t->mocks) { /* CONV-19 */
        outcome = STR("{\"status\":\"goal-reached\"}");
        content = STR("\"closed\"");
    }
    struct str turn = turn_last(t, t->turns_max + 1, ts_ms, content);
    if (!c->closed) turn_put(t, EFFECT_CONVERSATION_CLOSED, t->turns_max + 1, turn, outcome);
    if (!c->closed || c->unwritten) channel_put(t, turn);
    conversation_done(t, t->turns_max, STR_NONE, true, outcome);
}

static void ended_again(struct talk *t, struct course *c) { /* entered once more after its end */
    int64_t index = c->next - 1;
    if (t->turns_max > 0 && index > t->turns_max) close_by_count(t, c);
    else close_by_answer(t, index, answer_nth(t, index), true, !c->unwritten);
}

static void conversation_whole(struct talk *t, struct course *c) {
    struct node_reply r;
    if (c->unwritten && !c->closed && c->next > 1)
        channel_put(t, json_get(answer_nth(t, c->next - 1), "turn"));
    if (c->closed) {
        ended_again(t, c);
        return;
    }
    for (;; c->next++) {
        if (t->turns_max > 0 && c->next > t->turns_max) {
            close_by_count(t, c);
            return;
        }
        if (c->next > TURNS_MAX) {
            node_fail(t->out, "conversation_too_long",
                      "a conversation has at most 10000 turns; close it, and open another", false);
            return;
        }
        if (!conversation_ask(t, (unsigned)c->next - 1, c->next, &r)) return;
        if (conversation_answer_closes(r.value)) {
            close_by_answer(t, c->next, r.value, false, false);
            return;
        }
        struct str turn = json_get(r.value, "turn");
        turn_put(t, EFFECT_CONVERSATION_EXCHANGED, c->next, turn, STR_NONE);
        channel_put(t, turn);
    }
}

/* The first question, which the event that opens the conversation follows (CONV-14).  The first
 * turn is in its channel before: a question is the last thing that an entry does. */
static void whole_begin(struct talk *t) {
    struct str turn = turn_initial(t);
    struct node_reply r;
    struct course c = {.next = 1, .opened = true};
    if (t->call->effects_done == 0) channel_put(t, turn);
    if (conversation_ask(t, 0, 1, &r)) { /* cut between the question and that event */
        opened_put(t, turn);
        conversation_whole(t, &c);
    } else if (t->out->outcome == NODE_OUT_SUSPEND) {
        opened_put(t, turn);
        t->out->effects_after = 1;
    }
}

static void exec_whole(struct talk *t) {
    const struct conversation *k = run_conversation_of(t->call->run, t->call->node);
    struct course c;
    if (!k) {
        t->id = id_mint(t);
        whole_begin(t);
        return;
    }
    t->id = text_str(&k->id);
    c = (struct course){.next = k->turns, .opened = true, .closed = k->closed};
    /* The channel has the first turn before the conversation opens. */
    c.unwritten = t->channel.n > 0 && k->turns > 1 && t->call->effects_done == k->effects;
    conversation_whole(t, &c);
}

/* --- one step --- */

static void exec_open(struct talk *t) {
    t->id = id_mint(t);
    struct str turn = turn_initial(t);
    if (t->call->effects_done == 0) opened_put(t, turn);
    if (t->call->effects_done <= 1) channel_put(t, turn);
    conversation_done(t, 0, STR_NONE, false, STR_NONE);
}

/* Entered again: the one that this execution closed, so that it is no longer the open one. */
static const struct conversation *conversation_touched(const struct node_call *call) {
    const struct run_state *s = call->run;
    for (size_t i = 0; i < s->wf->nodes_nr; i++) {
        const struct conversation *k = run_conversation_of(s, (int)i);
        if (k && k->closed && k->seq > s->nodes[call->node].started_seq) return k;
    }
    return NULL;
}

static const struct conversation *conversation_found(struct talk *t) {
    struct str id = STR_NONE;
    if (!text_read(t, "conversationId", &id)) return NULL;
    const struct conversation *k = run_conversation(t->call->run, id);
    if (!k && id.n == 0 && t->call->effects_done > 0) k = conversation_touched(t->call);
    if (!k)
        node_invalid(t->out, id.n > 0 ? "the run has no conversation with this conversationId"
                                      : "no conversation is open in this run, or several are: name "
                                        "one with conversationId");
    else t->id = text_str(&k->id);
    return k;
}

static void exec_exchange(struct talk *t) {
    const struct conversation *k = conversation_found(t);
    struct node_reply r;
    int64_t index = 0;
    if (!k) return;
    if (k->closed && t->call->effects_done == 0) {
        node_invalid(t->out, "the conversation is closed");
        return;
    }
    if (!conversation_ask(t, 0, k->turns, &r)) return;
    struct str turn = json_get(r.value, "turn");
    (void)json_int(json_get(turn, "turnIndex"), &index);
    bool told = t->call->effects_done > 0, written = t->call->effects_done > 1;
    if (conversation_answer_closes(r.value)) {
        if (json_get(turn, "turnIndex").n == 0) index = k->turns;
        close_by_answer(t, index, r.value, told, written);
        return;
    }
    if (!told) turn_put(t, EFFECT_CONVERSATION_EXCHANGED, index, turn, STR_NONE);
    if (!written) channel_put(t, turn);
    conversation_done(t, index, turn, false, STR_NONE);
}

static void exec_close(struct talk *t) {
    const struct conversation *k = conversation_found(t);
    const struct node_state *n = &t->call->run->nodes[t->call->node];
    struct str outcome = node_arg(t->call, "outcome");
    if (!k) return;
    bool told = t->call->effects_done > 0;
    if (k->closed && !told) {
        node_invalid(t->out, "the conversation is closed");
        return;
    }
    int64_t index = told ? k->turns - 1 : k->turns;
    struct str turn = turn_last(t, index, n->started_ms, STR("{\"reason\":\"closed\"}"));
    if (!told) turn_put(t, EFFECT_CONVERSATION_CLOSED, index, turn, outcome);
    if (t->call->effects_done <= 1) channel_put(t, turn);
    conversation_done(t, index - 1, STR_NONE, true, outcome);
}

bool conversation_once(const struct node_call *call, struct node_result *out, struct str prompt,
                       struct str agent, struct str *said) {
    struct talk t = {.call = call,
                     .out = out,
                     .life = LIFE_WHOLE,
                     .turns_max = 1,
                     .agent = agent,
                     .prompt = prompt,
                     .initial = prompt};
    const struct wf_channel *ch = conversation_channel(call->run->wf, call->def);
    if (ch) t.channel = ch->name;
    out->continues = true;
    exec_whole(&t);
    if (out->outcome != NODE_OUT_DONE) return false;
    *said = json_get(out->outputs, "outcome");
    return true;
}

void exec_conversation(const struct node_call *call, struct node_result *out) {
    static void (*const LIVES[LIFE_NR])(struct talk * t) = {
        [LIFE_WHOLE] = exec_whole,
        [LIFE_OPEN] = exec_open,
        [LIFE_EXCHANGE] = exec_exchange,
        [LIFE_CLOSE] = exec_close,
    };
    struct talk t = {.call = call, .out = out};
    out->continues = true;
    if (talk_read(&t)) LIVES[t.life](&t);
}
