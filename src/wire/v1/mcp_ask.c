/*
 * mcp_ask.c: run_resolve_interrupt: an interrupt is answered with the value that the call gives, or
 * with what the client's user says when the client can ask (input_required, an elicitation form).
 *
 * The second round is a call like the first; nothing is remembered in between but by the client,
 * which brings the id of the question back as the state: a node may ask another one by then.  The
 * user's answers become the value, and the operation judges it like any other.
 */
#include "codec/jobj.h"
#include "store/interrupts.h"
#include "wire/v1/mcp.h"

enum { FORM_BYTES_MAX = 64 * 1024, MESSAGE_BYTES_MAX = 2048, QUESTIONS_MAX = 16 };
#define ASKED "answer" /* the key of our one question */

/* --- the form --- */

static struct str text_of(struct str object, const char *key, struct arena *a) {
    struct str raw = json_get(object, key);
    struct str text =
        raw.n > 0 && json_type_of(raw) == JSON_STRING ? json_string(raw, a) : STR_NONE;
    if (text.n > MESSAGE_BYTES_MAX) text.n = MESSAGE_BYTES_MAX;
    while (text.n > 0 && !utf8_valid(text)) text.n--;
    return text;
}

static void string_property(struct jw *w, const char *name, struct str key, struct str what) {
    if (name) jw_key(w, name);
    else jw_key_str(w, key);
    jw_object(w);
    jw_kstrz(w, "type", "string");
    if (what.n > 0) jw_kstr(w, "description", what);
    jw_end_object(w);
}

static void approval_write(struct jw *w, struct str data) {
    jw_key(w, "properties");
    jw_object(w);
    jw_key(w, "action");
    jw_object(w);
    jw_kstrz(w, "type", "string");
    jw_kraw(w, "enum", json_get(data, "actions"));
    jw_end_object(w);
    string_property(w, "comment", STR_NONE, STR("Why; may be left empty."));
    jw_end_object(w);
    jw_kraw(w, "required", STR("[\"action\"]"));
}

/* A question for more than a text has no form. */
static bool question_is_text(struct str question) {
    struct str schema = json_get(question, "schema");
    return schema.n == 0 || str_eqc(json_get(schema, "type"), "\"string\"");
}

static bool clarification_write(struct jw *w, struct str data, struct arena *a) {
    struct json_elements l;
    if (json_elements(json_get(data, "questions"), a, &l, NULL) != 0 || l.n == 0 ||
        l.n > QUESTIONS_MAX)
        return false;
    jw_key(w, "properties");
    jw_object(w);
    for (size_t i = 0; i < l.n; i++) {
        if (!question_is_text(l.v[i])) return false;
        string_property(w, NULL, text_of(l.v[i], "id", a), text_of(l.v[i], "question", a));
    }
    jw_end_object(w);
    jw_key(w, "required");
    jw_array(w);
    for (size_t i = 0; i < l.n; i++) jw_str(w, text_of(l.v[i], "id", a));
    jw_end_array(w);
    return true;
}

static struct str message_of(const struct interrupt_row *row, struct str data, struct arena *a) {
    struct str title = text_of(data, "title", a), more = text_of(data, "description", a);
    if (title.n == 0) title = STR("A run waits for your answer.");
    return arena_printf(a, STR_FMT "%s" STR_FMT " (run " STR_FMT ", node " STR_FMT ")",
                        STR_ARG(title), more.n > 0 ? ": " : "", STR_ARG(more), STR_ARG(row->run_id),
                        STR_ARG(row->node_id));
}

/* STR_NONE: it has no form. */
static struct str form_of(const struct interrupt_row *row, struct arena *a) {
    struct str data = json_get(row->payload, "data");
    bool approval = str_eqc(row->kind, "approval");
    struct jobj o;
    jobj_begin(&o, FORM_BYTES_MAX);
    jw_key(&o.w, ASKED);
    jw_object(&o.w);
    jw_kstrz(&o.w, "method", "elicitation/create");
    jw_key(&o.w, "params");
    jw_object(&o.w);
    jw_kstrz(&o.w, "mode", "form");
    jw_kstr(&o.w, "message", message_of(row, data, a));
    jw_key(&o.w, "requestedSchema");
    jw_object(&o.w);
    jw_kstrz(&o.w, "type", "object");
    if (approval) approval_write(&o.w, data);
    else if (!str_eqc(row->kind, "clarification") || !clarification_write(&o.w, data, a)) {
        jobj_drop(&o);
        return STR_NONE;
    }
    jw_end_object(&o.w);
    jw_end_object(&o.w);
    jw_end_object(&o.w);
    return jobj_end(&o, a);
}

/* --- the answer --- */

static void member_copy(struct jw *w, struct str from, const char *key) {
    struct str raw = json_get(from, key);
    if (raw.n > 0 && !str_eqc(raw, "\"\"")) jw_kraw(w, key, raw);
}

static struct str value_of(const struct interrupt_row *row, struct str content, struct arena *a) {
    struct jobj o;
    if (!str_eqc(row->kind, "approval")) return jobj_of(a, "answers", content);
    jobj_begin(&o, FORM_BYTES_MAX);
    member_copy(&o.w, content, "action");
    member_copy(&o.w, content, "comment");
    return jobj_end(&o, a);
}

static int answer_take(struct mcp_call *call, const struct interrupt_row *row, struct str said) {
    struct str content = json_get(said, "content");
    if (!str_eqc(json_get(said, "action"), "\"accept\"") || json_type_of(content) != JSON_OBJECT)
        return mcp_fail_with(call, "PRECONDITION_FAILED",
                             STR("The user did not answer; the question stays open."),
                             MCP_RETRY_NOT, 0, STR_NONE);
    struct str value = value_of(row, content, call->arena);
    struct jobj o;
    jobj_begin(&o, FORM_BYTES_MAX + call->arguments.n);
    jw_members(&o.w, call->arguments);
    if (json_get(call->arguments, "interruptId").n == 0)
        jw_kstr(&o.w, "interruptId", row->interrupt_id);
    jw_kraw(&o.w, "value", value.p ? value : STR("null"));
    struct str arguments = jobj_end(&o, call->arena);
    if (!arguments.p || !value.p) return mcp_fail(call, STR_NONE);
    call->arguments = arguments;
    return v1_mcp_route(call);
}

/* The one with this id, whatever has become of it; empty: the open one. */
static int question_find(struct mcp_call *call, struct str id, struct interrupt_row *out,
                         struct wopr_error *err) {
    struct mcp_visit *v = visit_of(call);
    struct run_head head;
    struct interrupt_list l;
    struct str node = json_string(json_get(call->arguments, "nodeId"), call->arena);
    int rc = v1_mcp_run_of(call, &head, err);
    if (rc == 0)
        rc = store_interrupts_of_run(v1_of(v->call)->shared.store, head.run_no, node, id.n == 0,
                                     call->arena, &l, err);
    for (size_t i = 0; rc == 0 && i < l.n; i++)
        if (id.n == 0 || str_eq(id, l.v[i].interrupt_id)) {
            *out = l.v[i];
            return 0;
        }
    return rc != 0
               ? rc
               : wopr_error_set(err, WOPR_E_INTERRUPT_NOT_FOUND, "the run has no such interrupt");
}

int v1_mcp_resolve(struct mcp_call *call) {
    struct wopr_error err = {0};
    struct interrupt_row row;
    if (json_get(call->arguments, "value").n > 0) return v1_mcp_route(call);
    struct str id = json_string(json_get(call->arguments, "interruptId"), call->arena);
    struct str said = json_get(call->input_responses, ASKED);
    if (id.n == 0) id = call->request_state;
    if (question_find(call, id, &row, &err) != 0) return v1_mcp_fail(call, &err);
    if (call->may_ask && said.n > 0 && id.n > 0) return answer_take(call, &row, said);
    if (wire_interrupt_open(&row, &err) != 0) return v1_mcp_fail(call, &err);
    struct str form = call->may_ask ? form_of(&row, call->arena) : STR_NONE;
    if (form.p) return mcp_ask_user(call, form, row.interrupt_id);
    return mcp_fail_with(call, "VALIDATION_ERROR",
                         STR("value is missing, and the client cannot ask for this one by a form. "
                             "Show the user the question of run_status and call again with value."),
                         MCP_RETRY_NOT, 0, STR_NONE);
}
