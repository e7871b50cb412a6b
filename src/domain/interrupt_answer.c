/*
 * interrupt_answer.c: checks a resume value and normalises it for the log and the node (INT-20 to
 * INT-33).
 */
#include "codec/ident.h"
#include "codec/jobj.h"
#include "codec/schema.h"
#include "domain/conversation.h"
#include "domain/interrupt_int.h"

#include <stdio.h>

#define ANSWER_MAX           (4u * 1024 * 1024)
#define MISMATCH_DETAILS_MAX 533u /* 512 bytes of names, and {"mismatchedKeys":[]} */

struct ask { /* one call of intr_answer_check */
    const struct intr_question *q;
    struct str value, data; /* resume value; data of the payload */
    struct arena *a;
    struct intr_answer *out;
    struct wopr_error *err;
};

static int answer_refuse(struct ask *k, const char *member, const char *why) {
    char pointer[128];
    snprintf(pointer, sizeof pointer, "/resumeValue%s%s", *member ? "/" : "", member);
    return wopr_error_at(k->err, WOPR_E_VALIDATION, pointer, "%s", why);
}

static struct str text_member(const struct ask *k, const char *name) {
    struct str raw = json_get(k->value, name);
    return raw.n > 0 && json_type_of(raw) == JSON_STRING ? json_string(raw, k->a) : STR_NONE;
}

static int no_memory(struct ask *k) {
    return wopr_error_set(k->err, WOPR_E_NO_MEMORY, "no memory for an answer");
}

/* --- schemas of answers --- */

/* It was compiled when the question was asked; if it fails to compile now, nothing is accepted. */
static int schema_check(struct ask *k, struct str schema, struct str value, const char *member) {
    const struct schema *s = NULL;
    struct schema_issue issue = {.reason = ""};
    struct schema_set *set = NULL;
    int rc = intr_schema_open(schema, &set, &s, k->err);
    if (rc == 0) rc = schema_validate_text(s, value, &issue);
    if (rc == WOPR_E_VALIDATION || rc == WOPR_E_TOO_BIG) {
        char pointer[sizeof k->err->pointer];
        snprintf(pointer, sizeof pointer, "/resumeValue%s%s%.150s", *member ? "/" : "", member,
                 issue.instance);
        rc = wopr_error_at(k->err, WOPR_E_VALIDATION, pointer,
                           "the value does not fit the schema of the interrupt: %s",
                           issue.reason[0] ? issue.reason : "it is too complex to be checked");
    }
    schema_set_free(set);
    return rc;
}

/* --- approval --- */

static bool action_offered(const struct ask *k, struct str action) {
    struct json_elements l;
    if (json_elements(json_get(k->data, "actions"), k->a, &l, NULL) != 0) return false;
    for (size_t i = 0; i < l.n; i++)
        if (str_eq(json_string(l.v[i], k->a), action)) return true;
    return false;
}

/* INT-24: {"decision":"approved"|"rejected", "feedback"?}. */
static struct str legacy_action(struct ask *k, struct str *refine) {
    struct str decision = text_member(k, "decision"), feedback = text_member(k, "feedback");
    if (str_eqc(decision, "approved")) return STR("accept");
    if (!str_eqc(decision, "rejected")) return STR_NONE;
    if (json_get(k->value, "refineFeedback").n > 0) return STR("refine");
    if (feedback.n == 0) return STR("reject");
    struct jobj o;
    jobj_begin(&o, ANSWER_MAX);
    jw_kstrz(&o.w, "scope", "whole");
    jw_kstr(&o.w, "text", feedback);
    *refine = jobj_end(&o, k->a);
    return STR("refine");
}

static int refine_check(struct ask *k, struct str refine) {
    struct str scope = json_string(json_get(refine, "scope"), k->a);
    if (refine.n == 0 || json_type_of(refine) != JSON_OBJECT)
        return answer_refuse(k, "refineFeedback", "action refine needs an object refineFeedback");
    if (!str_eqc(scope, "whole") && !str_eqc(scope, "section") && !str_eqc(scope, "items"))
        return answer_refuse(k, "refineFeedback/scope",
                             "the scope of refineFeedback is none of whole, section and items");
    struct str text = json_get(refine, "text"), path = json_get(refine, "sectionPath");
    if ((text.n > 0 && json_type_of(text) != JSON_STRING) ||
        (path.n > 0 && json_type_of(path) != JSON_STRING))
        return answer_refuse(k, "refineFeedback",
                             "text and sectionPath of refineFeedback are strings");
    static const char *const lists[] = {"tags", "itemIds"};
    for (size_t i = 0; i < 2; i++) {
        struct str raw = json_get(refine, lists[i]);
        struct json_elements l = {0};
        if (raw.n == 0) continue;
        bool ok = json_type_of(raw) == JSON_ARRAY && json_elements(raw, k->a, &l, NULL) == 0;
        for (size_t n = 0; ok && n < l.n; n++) ok = json_type_of(l.v[n]) == JSON_STRING;
        if (!ok) return answer_refuse(k, "refineFeedback", "tags and itemIds are lists of strings");
    }
    return 0;
}

/* INT-27, D49. */
static int approver_check(struct ask *k, struct str actor) {
    struct json_elements l;
    struct str list = json_get(k->data, "approversList");
    if (list.n == 0) return 0;
    if (json_elements(list, k->a, &l, NULL) != 0) return no_memory(k); /* fail closed */
    if (l.n == 0) return 0;
    for (size_t i = 0; i < l.n; i++)
        if (str_eq(json_string(l.v[i], k->a), actor)) return 0;
    return wopr_error_set(k->err, WOPR_E_FORBIDDEN,
                          "this principal is not on the list of approvers");
}

static void approval_value(struct ask *k) {
    struct intr_answer *d = k->out;
    struct jobj o;
    jobj_begin(&o, ANSWER_MAX);
    jw_kstr(&o.w, "action", d->action);
    jw_kstr(&o.w, "decidedBy", d->decided_by);
    jw_kstr(&o.w, "decidedAt", d->decided_at);
    jw_kstr_opt(&o.w, "comment", d->comment);
    jw_kstr_opt(&o.w, "feedback", d->feedback);
    jw_kraw_opt(&o.w, "refineFeedback", d->refine);
    jw_kraw_opt(&o.w, "editedArtifactData", d->edited);
    d->value = jobj_end(&o, k->a);
}

/* An entry of the votes reducer: {userId, action, timestamp, reason?} (CHAN, INT-30). */
static struct str vote_value(struct ask *k) {
    const struct intr_answer *d = k->out;
    struct jobj o;
    jobj_begin(&o, ANSWER_MAX);
    jw_kstr(&o.w, "userId", d->voter);
    jw_kstr(&o.w, "action", d->action);
    jw_kstr(&o.w, "timestamp", d->decided_at);
    jw_kstr_opt(&o.w, "reason", d->comment);
    return jobj_end(&o, k->a);
}

static int approval_members(struct ask *k) {
    struct intr_answer *o = k->out;
    static const char *const texts[] = {"feedback", "comment", "decidedBy", "decidedAt", "voter"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct str raw = json_get(k->value, texts[i]);
        if (raw.n > 0 && json_type_of(raw) != JSON_STRING)
            return answer_refuse(k, texts[i], "a member of the decision is not a string");
    }
    struct str by = text_member(k, "decidedBy"), voter = text_member(k, "voter");
    o->comment = text_member(k, "comment");
    o->feedback = text_member(k, "feedback");
    o->decided_by = k->q->may_delegate && by.n > 0 ? by : k->q->principal; /* INT-23 */
    o->voter = k->q->may_delegate && voter.n > 0 ? voter : o->decided_by;  /* INT-30 */
    if (voter.n > 0 && k->q->may_delegate && by.n == 0) o->decided_by = voter;
    char now[TIME_LEN + 1];
    int64_t at_ms;
    struct str at = text_member(k, "decidedAt");
    time_format(k->q->now_ms, now);
    if (at.n > 0 && !time_parse(at, &at_ms))
        return answer_refuse(k, "decidedAt", "decidedAt is not a date and time of RFC 3339");
    o->decided_at = at.n > 0 ? at : arena_str(k->a, str_c(now));
    return 0;
}

static int approval_read(struct ask *k) {
    struct intr_answer *o = k->out;
    struct str refine = json_get(k->value, "refineFeedback");
    int64_t required = 1;
    if (json_type_of(k->value) != JSON_OBJECT)
        return answer_refuse(k, "", "a decision is an object with an action");
    o->action = text_member(k, "action");
    if (json_get(k->value, "action").n == 0) o->action = legacy_action(k, &refine);
    if (o->action.n == 0 || !action_offered(k, o->action))
        return answer_refuse(k, "action",
                             "the action is missing or is none that the interrupt offers");
    int rc = approval_members(k);
    if (rc != 0) return rc;
    bool is_refine = str_eqc(o->action, "refine"), is_edit = str_eqc(o->action, "edit-accept");
    if (is_refine) rc = refine_check(k, refine);
    if (rc != 0) return rc;
    if (is_refine) o->refine = refine;
    if (is_edit && (o->edited = json_get(k->value, "editedArtifactData")).n == 0)
        return answer_refuse(k, "editedArtifactData",
                             "action edit-accept needs editedArtifactData");
    rc = approver_check(k, o->voter);
    if (rc != 0) return rc;
    approval_value(k);
    (void)json_int(json_get(k->data, "requiredApprovals"), &required);
    if (str_eqc(o->action, "ask")) {
        o->verdict = INTR_ASKED;
        o->question = k->value;
    } else if (required > 1 && !is_refine) {
        o->verdict = INTR_VOTED;
        o->vote = vote_value(k);
        if (o->vote.n == 0) return no_memory(k);
    }
    return o->value.n > 0 ? 0 : no_memory(k);
}

/* --- clarification --- */

static struct str answer_to(struct ask *k, struct str answers, struct str id) {
    struct json_elements l;
    struct json_members m;
    if (json_type_of(answers) == JSON_OBJECT) {
        if (json_members(answers, k->a, &m, NULL) != 0) return STR_NONE;
        for (size_t i = 0; i < m.n; i++)
            if (str_eq(m.v[i].key, id)) return m.v[i].raw;
        return STR_NONE;
    }
    if (json_elements(answers, k->a, &l, NULL) != 0) return STR_NONE;
    for (size_t i = 0; i < l.n; i++)
        if (str_eq(json_string(json_get(l.v[i], "id"), k->a), id))
            return json_get(l.v[i], "answer");
    return STR_NONE;
}

static int answers_count(struct ask *k, struct str answers, size_t *n) {
    struct json_elements l;
    struct json_members m;
    if (json_type_of(answers) == JSON_OBJECT) {
        int rc = json_members(answers, k->a, &m, k->err);
        *n = m.n;
        return rc;
    }
    int rc = json_elements(answers, k->a, &l, k->err);
    *n = l.n;
    return rc;
}

/* INT-26: a map or a list of {id, answer}; kept as a map in the order of the questions. */
static int clarification_read(struct ask *k) {
    struct str answers = json_get(k->value, "answers");
    struct json_elements q;
    size_t given = 0;
    struct jobj o;
    if (json_type_of(k->value) != JSON_OBJECT || answers.n == 0 ||
        (json_type_of(answers) != JSON_OBJECT && json_type_of(answers) != JSON_ARRAY))
        return answer_refuse(k, "answers",
                             "a clarification is answered with answers, a map by question id");
    int rc = json_elements(json_get(k->data, "questions"), k->a, &q, k->err);
    if (rc == 0) rc = answers_count(k, answers, &given);
    if (rc != 0) return rc;
    jobj_begin(&o, ANSWER_MAX);
    jw_key(&o.w, "answers");
    jw_object(&o.w);
    for (size_t i = 0; rc == 0 && i < q.n; i++) {
        struct str id = json_string(json_get(q.v[i], "id"), k->a), raw = answer_to(k, answers, id),
                   schema = json_get(q.v[i], "schema");
        if (raw.n == 0) rc = answer_refuse(k, "answers", "a question has no answer");
        else if (schema.n > 0) rc = schema_check(k, schema, raw, "answers");
        if (rc != 0) break;
        jw_key_str(&o.w, id);
        jw_raw(&o.w, raw);
    }
    if (rc == 0 && given != q.n)
        rc = answer_refuse(k, "answers", "there is an answer to a question that was not asked");
    if (rc != 0) {
        jobj_drop(&o);
        return rc;
    }
    jw_end_object(&o.w);
    k->out->value = jobj_end(&o, k->a);
    return k->out->value.n == 0 ? no_memory(k) : 0;
}

/* --- external event --- */

/* INT-33: every expected member must be present and equal; correlationId names the wait
 * (INT-32). */
static int external_read(struct ask *k) {
    struct json_members want;
    struct str wrapped = json_get(k->value, "eventPayload"), found = k->value;
    struct jobj o;
    size_t differ = 0;
    if (wrapped.n > 0 && json_type_of(wrapped) == JSON_OBJECT) found = wrapped;
    int rc = json_members(json_get(k->data, "correlation"), k->a, &want, k->err);
    if (rc != 0) return rc;
    jobj_begin(&o, MISMATCH_DETAILS_MAX);
    jw_key(&o.w, "mismatchedKeys");
    jw_array(&o.w);
    for (size_t i = 0; i < want.n; i++) {
        struct str got = STR_NONE;
        struct json_members m = {0};
        if (str_eqc(want.v[i].key, "correlationId")) continue;
        bool object =
            json_type_of(found) == JSON_OBJECT && json_members(found, k->a, &m, NULL) == 0;
        for (size_t n = 0; object && n < m.n; n++)
            if (str_eq(m.v[n].key, want.v[i].key)) got = m.v[n].raw;
        if (got.n > 0 && json_equal(got, want.v[i].raw, k->a)) continue;
        jw_str(&o.w, want.v[i].key);
        differ++;
    }
    jw_end_array(&o.w);
    if (differ > 0) {
        rc = wopr_error_set(k->err, WOPR_E_CORRELATION_MISMATCH,
                            "the event does not match the correlation that is waited for");
        jobj_details(&o, k->err);
    } else {
        jobj_drop(&o);
    }
    k->out->value = k->value;
    return rc;
}

int intr_answer_check(const struct intr_question *q, struct str resume_value, struct arena *a,
                      struct intr_answer *out, struct wopr_error *err) {
    struct wopr_error own;
    struct ask k = {.q = q,
                    .value = resume_value,
                    .data = json_get(q->payload, "data"),
                    .a = a,
                    .out = out,
                    .err = err ? err : &own};
    struct str schema = json_get(q->payload, "resumeSchema");
    int rc = 0;
    *out = (struct intr_answer){
        .verdict = INTR_ANSWERED, .value = resume_value, .decided_by = q->principal};
    if (schema.n > 0) rc = schema_check(&k, schema, resume_value, "");
    if (rc != 0) return rc;
    switch (q->kind) {
    case INTR_APPROVAL:
        rc = approval_read(&k);
        break;
    case INTR_CLARIFICATION:
        rc = clarification_read(&k);
        break;
    case INTR_EXTERNAL:
        rc = external_read(&k);
        break;
    case INTR_CONVERSATION_EXCHANGE:
        rc = conversation_answer(q, resume_value, a, &out->value, k.err);
        break;
    default:
        break;
    }
    if (rc == 0 && arena_failed(a)) rc = no_memory(&k);
    return rc;
}
