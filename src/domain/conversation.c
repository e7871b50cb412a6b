/*
 * conversation.c: turns, and answers as turns; see the header.
 */
#include "domain/conversation.h"

#include "codec/jobj.h"
#include "domain/interrupt_int.h"
#include "domain/traits.h"

#include <stdio.h>

#define TURN_MAX (8u * 1024 * 1024) /* more than any request has */

struct str turn_text(const struct conv_turn *t, struct arena *a) {
    struct jobj o;
    jobj_begin(&o, TURN_MAX);
    struct str id = t->message_id;
    if (id.n == 0)
        id = arena_printf(a, STR_FMT ":%lld:%s", STR_ARG(t->conversation_id), (long long)t->index,
                          t->role);
    if (!id.p) jobj_fail(&o);
    jw_kstr(&o.w, "messageId", id);
    jw_kstr(&o.w, "from", t->from);
    jw_kstr_opt(&o.w, "to", t->to);
    jw_kstr_opt(&o.w, "groupId", t->group_id);
    jw_kraw(&o.w, "content", t->content.n > 0 ? t->content : STR("null"));
    jw_kint(&o.w, "ts", t->ts_ms);
    jw_kstrz(&o.w, "role", t->role);
    jw_kraw_opt(&o.w, "agent", t->agent);
    jw_kint(&o.w, "turnIndex", t->index);
    return jobj_end(&o, a);
}

const struct wf_channel *conversation_channel(const struct workflow *wf,
                                              const struct wf_node *def) {
    struct str raw = def->config.n > 0 ? json_get(def->config, "channel") : STR_NONE;
    const struct wf_channel *found = NULL;
    if (raw.n > 2) return workflow_channel(wf, str_n(raw.p + 1, raw.n - 2));
    if ((found = workflow_channel(wf, STR("conversation"))) != NULL) return found;
    for (size_t i = 0; i < wf->channels_nr; i++) {
        if (wf->channels[i].reducer != RED_MESSAGE) continue;
        if (found) return NULL;
        found = &wf->channels[i];
    }
    return found;
}

bool conversation_held_by(const struct wf_node *def) {
    return (def->traits & (NODE_IS_CONVERSATION | NODE_IS_DISPATCHER)) != 0;
}

/* --- answers --- */

struct reading { /* one call of conversation_answer */
    const struct intr_question *q;
    struct str data, turn; /* of the question; what the caller says, or empty */
    bool closes;
    struct arena *a;
    struct wopr_error *err;
};

static int conversation_refuse_turn(struct reading *r, const char *member, const char *why) {
    char pointer[128];
    snprintf(pointer, sizeof pointer, "/resumeValue%s", member);
    return wopr_error_at(r->err, WOPR_E_VALIDATION, pointer, "%s", why);
}

static int no_memory(struct reading *r) {
    return wopr_error_set(r->err, WOPR_E_NO_MEMORY, "no memory for a turn");
}

/* Every member of an object is one of names, a list that NULL ends. */
static int members_known(struct reading *r, struct str object, const char *const *names,
                         const char *at, const char *why) {
    struct json_members m;
    int rc = json_members(object, r->a, &m, r->err);
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        const char *const *n = names;
        while (*n && !str_eqc(m.v[i].key, *n)) n++;
        if (!*n) rc = conversation_refuse_turn(r, at, why);
    }
    return rc;
}

static int text_read(struct reading *r, const char *name, size_t min, struct str *out) {
    char at[64];
    struct str raw = json_get(r->turn, name);
    if (raw.n == 0) return 0;
    size_t n = utf8_count(raw) - 2; /* the quotes; an escape counts as what it takes */
    snprintf(at, sizeof at, "/turn/%s", name);
    if (json_type_of(raw) != JSON_STRING || raw.n < 2 + min || n > CONVERSATION_TEXT_MAX)
        return conversation_refuse_turn(r, at,
                                        "it is not a text of at most 256 characters, or empty");
    *out = json_string(raw, r->a);
    return out->p ? 0 : no_memory(r);
}

static int role_read(struct reading *r, struct conv_turn *t) {
    static const char *const ROLES[] = {"user", "agent", "system"};
    struct str raw = json_get(r->turn, "role");
    t->role = ROLES[0];
    if (raw.n == 0) return 0;
    struct str role = json_type_of(raw) == JSON_STRING ? json_string(raw, r->a) : STR_NONE;
    for (size_t i = 0; i < 2u + r->q->host; i++)
        if (str_eqc(role, ROLES[i])) {
            t->role = ROLES[i];
            return 0;
        }
    return conversation_refuse_turn(r, "/turn/role", "the role of a turn is user or agent");
}

/* AGT-10, as the published schema of a turn has it. */
static int agent_read(struct reading *r, struct conv_turn *t) {
    static const char *const NAMES[] = {"agentId", "agentSharing", "memoryRef", NULL};
    struct str raw = json_get(r->turn, "agent"), sharing = json_get(raw, "agentSharing");
    if (raw.n == 0) return 0;
    if (json_type_of(raw) != JSON_OBJECT)
        return conversation_refuse_turn(r, "/turn/agent", "the agent of a turn is no object");
    int rc = members_known(r, raw, NAMES, "/turn/agent",
                           "an agent has agentId, agentSharing and memoryRef, and nothing else");
    for (const char *const *n = NAMES; rc == 0 && *n; n++) {
        struct str member = json_get(raw, *n);
        if (member.n > 0 && (json_type_of(member) != JSON_STRING || member.n < 3))
            rc = conversation_refuse_turn(r, "/turn/agent",
                                          "a member of the agent is no text, or empty");
    }
    if (rc == 0 && sharing.n > 0 && !str_eqc(sharing, "\"isolated\"") &&
        !str_eqc(sharing, "\"shared\""))
        rc = conversation_refuse_turn(r, "/turn/agent", "agentSharing is isolated or shared");
    t->agent = raw;
    return rc;
}

static int from_read(struct reading *r, struct conv_turn *t) {
    int rc = text_read(r, "from", 1, &t->from);
    if (rc != 0 || t->from.n > 0) return rc;
    t->from = str_c(t->role);
    if (*t->role != 'a') return 0;
    struct str id = json_get(t->agent, "agentId");
    if (id.n == 0)
        return conversation_refuse_turn(r, "/turn/from",
                                        "a turn of an agent says in from which agent speaks");
    t->from = json_string(id, r->a);
    return t->from.p ? 0 : no_memory(r);
}

static int index_check(struct reading *r, const struct conv_turn *t) {
    struct str raw = json_get(r->turn, "turnIndex");
    int64_t index;
    if (raw.n == 0 || (json_int(raw, &index) && index == t->index)) return 0;
    return wopr_error_at(r->err, WOPR_E_VALIDATION, "/resumeValue/turn/turnIndex",
                         "the next turn of the conversation is %lld; leave turnIndex out, or read "
                         "the conversation again",
                         (long long)t->index);
}

static int schema_fits(struct reading *r, struct str value, const char *at) {
    const struct schema *s = NULL;
    struct schema_issue issue = {.reason = ""};
    struct schema_set *set = NULL;
    struct str schema = json_get(r->data, "outcomeSchema");
    if (schema.n == 0) return 0;
    int rc = intr_schema_open(schema, &set, &s, r->err);
    if (rc == 0) rc = schema_validate_text(s, value, &issue);
    if (rc == WOPR_E_VALIDATION || rc == WOPR_E_TOO_BIG) {
        char pointer[sizeof r->err->pointer];
        snprintf(pointer, sizeof pointer, "/resumeValue%s%.150s", at, issue.instance);
        rc = wopr_error_at(r->err, WOPR_E_VALIDATION, pointer,
                           "the value does not fit the schema of the conversation: %s",
                           issue.reason[0] ? issue.reason : "it is too complex to be checked");
    }
    schema_set_free(set);
    return rc;
}

static int content_read(struct reading *r, struct conv_turn *t) {
    t->content = json_get(r->turn, "content");
    if (t->content.n > 0) return r->closes ? 0 : schema_fits(r, t->content, "/turn/content");
    if (!r->closes) return conversation_refuse_turn(r, "/turn/content", "a turn has content");
    t->content = STR("null");
    return 0;
}

/* What is missing is filled in (CONV-11). */
static int turn_read(struct reading *r, struct conv_turn *t) {
    static const char *const NAMES[] = {"messageId", "from", "to",    "groupId",   "content",
                                        "ts",        "role", "agent", "turnIndex", NULL};
    struct str raw = json_get(r->turn, "ts");
    if (json_type_of(r->turn) != JSON_OBJECT)
        return conversation_refuse_turn(r, "/turn", "a turn is an object");
    int rc = members_known(r, r->turn, NAMES, "/turn", "the turn has an unknown member");
    if (rc == 0) rc = role_read(r, t);
    if (rc == 0) rc = agent_read(r, t);
    if (rc == 0) rc = from_read(r, t);
    if (rc == 0) rc = text_read(r, "to", 0, &t->to);
    if (rc == 0) rc = text_read(r, "groupId", 0, &t->group_id);
    if (rc == 0) rc = text_read(r, "messageId", 1, &t->message_id);
    if (rc == 0) rc = index_check(r, t);
    if (rc == 0 && raw.n > 0 && (!json_int(raw, &t->ts_ms) || t->ts_ms < 0))
        rc = conversation_refuse_turn(r, "/turn/ts", "ts is not a whole number of milliseconds");
    return rc == 0 ? content_read(r, t) : rc;
}

/* A person closes without a word: the host says that they did. */
static void turn_of_close(struct conv_turn *t) {
    t->role = "system";
    t->from = STR("system");
    t->content = STR("{\"reason\":\"closed\"}");
}

static int operation_read(struct reading *r, struct str value, struct str *outcome) {
    static const char *const EXCHANGE[] = {"operation", "turn", NULL};
    static const char *const CLOSE[] = {"operation", "turn", "outcome", NULL};
    struct str op = json_get(value, "operation");
    r->closes = str_eqc(op, "\"close\"");
    if (!r->closes && !str_eqc(op, "\"exchange\""))
        return conversation_refuse_turn(r, "/operation", "operation is exchange or close");
    r->turn = json_get(value, "turn");
    *outcome = json_get(value, "outcome");
    if (!r->closes && r->turn.n == 0)
        return conversation_refuse_turn(r, "/turn", "an exchange has a turn");
    return members_known(r, value, r->closes ? CLOSE : EXCHANGE, "",
                         r->closes ? "a close has operation, turn and outcome, and nothing else"
                                   : "an exchange has operation and turn, and nothing else");
}

static struct str answer_text(const struct reading *r, struct str turn, struct str outcome) {
    struct jobj o;
    jobj_begin(&o, TURN_MAX);
    jw_kstrz(&o.w, "operation", r->closes ? "close" : "exchange");
    if (turn.n == 0) jobj_fail(&o);
    else jw_kraw(&o.w, "turn", turn);
    jw_kraw_opt(&o.w, "outcome", outcome);
    return jobj_end(&o, r->a);
}

int conversation_answer(const struct intr_question *q, struct str value, struct arena *a,
                        struct str *out, struct wopr_error *err) {
    struct reading r = {.q = q, .data = json_get(q->payload, "data"), .a = a, .err = err};
    struct str outcome = STR_NONE;
    struct conv_turn t = {.role = "user", .from = STR("user"), .ts_ms = q->now_ms};
    int rc = 0;
    t.conversation_id = json_string(json_get(r.data, "conversationId"), a);
    (void)json_int(json_get(r.data, "turnIndex"), &t.index);
    if (json_type_of(value) == JSON_OBJECT && json_get(value, "operation").n > 0) {
        rc = operation_read(&r, value, &outcome);
        t.from = STR_NONE;
        if (rc == 0 && r.turn.n > 0) rc = turn_read(&r, &t);
        else if (rc == 0) turn_of_close(&t);
    } else { /* CONV-10: the content of a turn of the user */
        t.content = value;
        rc = schema_fits(&r, value, "");
    }
    if (rc == 0 && outcome.n > 0 && !q->host) rc = schema_fits(&r, outcome, "/outcome");
    if (rc != 0) return rc;
    struct str text = answer_text(&r, turn_text(&t, a), outcome);
    if (!text.p) return no_memory(&r);
    if (text.n > CONVERSATION_ANSWER_MAX)
        return conversation_refuse_turn(
            &r, "",
            "a turn with its outcome has at most 500 KiB, as the log has it; say it in "
            "several turns, or where it can be read");
    *out = text;
    return 0;
}

struct str conversation_answer_begin(struct str value, struct arena *a) {
    struct str op = json_get(value, "operation"),
               id = json_string(json_get(json_get(value, "turn"), "messageId"), a);
    struct buf b;
    struct jw w;
    if (id.n == 0 || (!str_eqc(op, "\"exchange\"") && !str_eqc(op, "\"close\""))) return STR_NONE;
    buf_init(&b, 8 * CONVERSATION_TEXT_MAX * 4);
    jw_init(&w, &b);
    jw_object(&w); /* as answer_text and turn_text write it */
    jw_kraw(&w, "operation", op);
    jw_key(&w, "turn");
    jw_object(&w);
    jw_kstr(&w, "messageId", id);
    struct str out = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    return out;
}

bool conversation_answer_closes(struct str answer) {
    return str_eqc(json_get(answer, "operation"), "\"close\"");
}
