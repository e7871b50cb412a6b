/*
 * interrupt.c: kinds, ids and payloads of interrupts (INT-4 to INT-9).  Data is checked by the
 * branch its kind selects, from one table (INT-7).
 */
#include "domain/interrupt_int.h"

#include <stdio.h>

enum {
    T_STR = 1,
    T_STR1 = 2,
    T_OBJ = 4,
    T_INT1 = 8,
    T_INT0 = 16,
    T_UNIT = 32,
    T_ANY = 64,
    T_LIST = 128
};

#define SCHEMA_URI "wopr:interrupt"

struct member_rule {
    const char *name; /* NULL ends a table */
    unsigned type;
    bool required;
};
static const struct member_rule APPROVAL[] = {{"artifactId", T_STR1, true},
                                              {"artifactType", T_STR1, true},
                                              {"title", T_STR1, true},
                                              {"actions", T_LIST, true},
                                              {"description", T_STR, false},
                                              {"artifactData", T_ANY, false},
                                              {"requiredApprovals", T_INT1, false},
                                              {"approversList", T_LIST, false},
                                              {"rejectionPolicy", T_STR1, false},
                                              {NULL, 0, false}};
static const struct member_rule CLARIFICATION[] = {
    {"questions", T_LIST, true}, {"contextType", T_STR, false}, {NULL, 0, false}};
static const struct member_rule EXTERNAL[] = {
    {"eventType", T_STR, true}, {"correlation", T_OBJ, true}, {NULL, 0, false}};
static const struct member_rule CUSTOM[] = {
    {"customKind", T_STR1, true}, {"payload", T_ANY, false}, {NULL, 0, false}};
static const struct member_rule CONVERSATION_START[] = {{"conversationId", T_STR1, true},
                                                        {"title", T_STR, false},
                                                        {"initialPrompt", T_STR, false},
                                                        {NULL, 0, false}};
static const struct member_rule CONVERSATION_EXCHANGE[] = {{"conversationId", T_STR1, true},
                                                           {"prompt", T_STR1, true},
                                                           {"outcomeSchema", T_OBJ, false},
                                                           {"turnIndex", T_INT0, false},
                                                           {NULL, 0, false}};
static const struct member_rule CONVERSATION_CLOSE[] = {
    {"conversationId", T_STR1, true}, {"reason", T_STR, false}, {NULL, 0, false}};
static const struct member_rule LOW_CONFIDENCE[] = {{"agentId", T_STR1, true},
                                                    {"threshold", T_UNIT, true},
                                                    {"observed", T_UNIT, true},
                                                    {"decision", T_ANY, false},
                                                    {NULL, 0, false}};
static const struct {
    const char *name, *word;
    bool open; /* unknown members are allowed */
    const struct member_rule *rules;
} KINDS[INTR_KIND_NR] = {
    [INTR_APPROVAL] = {"approval", "approval", true, APPROVAL},
    [INTR_CLARIFICATION] = {"clarification", "clarification", false, CLARIFICATION},
    [INTR_EXTERNAL] = {"external-event", "external-event", false, EXTERNAL},
    [INTR_CUSTOM] = {"custom", "custom", false, CUSTOM},
    [INTR_CONVERSATION_START] = {"conversation.start", NULL, false, CONVERSATION_START},
    [INTR_CONVERSATION_EXCHANGE] = {"conversation.exchange", NULL, false, CONVERSATION_EXCHANGE},
    [INTR_CONVERSATION_CLOSE] = {"conversation.close", NULL, false, CONVERSATION_CLOSE},
    [INTR_LOW_CONFIDENCE] = {"low-confidence", NULL, false, LOW_CONFIDENCE},
};

const char *intr_kind_name(enum intr_kind k) { return KINDS[k].name; }
const char *intr_kind_word(enum intr_kind k) { return KINDS[k].word; }

bool intr_kind_of(struct str name, enum intr_kind *out) {
    for (int k = 0; k < INTR_KIND_NR; k++)
        if (str_eqc(name, KINDS[k].name)) {
            *out = (enum intr_kind)k;
            return true;
        }
    return false;
}

void intr_id_of(struct str run_id, struct str key, char out[INTR_ID_LEN + 1]) {
    char hex[65];
    struct sha256 head = sha256_of(run_id), tail = sha256_of(key), d;
    d = sha256_of2(str_n((const char *)head.b, sizeof head.b),
                   str_n((const char *)tail.b, sizeof tail.b));
    sha256_hex(&d, hex);
    snprintf(out, INTR_ID_LEN + 1, "int_%.32s", hex);
}

bool intr_auth_required(const struct wf_node *def) {
    return str_eqc(json_get(def->config, "profile"), "\"openwop-interrupt-auth-required\"");
}

/* --- payloads --- */

static int data_refuse(struct wopr_error *err, const char *name, const char *what) {
    char pointer[160];
    snprintf(pointer, sizeof pointer, "/data/%s", name);
    return wopr_error_at(err, WOPR_E_VALIDATION, pointer, "%s of an interrupt %s", name, what);
}

static int member_check(const struct member_rule *r, struct str raw, struct wopr_error *err) {
    enum json_type t = json_type_of(raw);
    int64_t i = -1;
    double d = -1;
    switch (r->type) {
    case T_STR:
        return t == JSON_STRING ? 0 : data_refuse(err, r->name, "is not a string");
    case T_STR1:
        return t == JSON_STRING && raw.n > 2 ? 0 : data_refuse(err, r->name, "is not a text");
    case T_OBJ:
        return t == JSON_OBJECT ? 0 : data_refuse(err, r->name, "is not an object");
    case T_LIST:
        return t == JSON_ARRAY ? 0 : data_refuse(err, r->name, "is not a list");
    case T_INT0:
    case T_INT1:
        if (json_int(raw, &i) && i >= (r->type == T_INT1)) return 0;
        return data_refuse(err, r->name, "is not a whole number in its range");
    case T_UNIT:
        if (json_double(raw, &d) && d >= 0 && d <= 1) return 0;
        return data_refuse(err, r->name, "is not a number from 0 to 1");
    default:
        return 0;
    }
}

static int members_check(enum intr_kind k, struct str data, struct arena *a,
                         struct wopr_error *err) {
    struct json_members m;
    int rc = json_members(data, a, &m, err);
    if (rc != 0) return rc;
    for (const struct member_rule *r = KINDS[k].rules; r->name; r++) {
        const struct json_member *x = json_member_find(&m, r->name);
        if (!x && r->required) return data_refuse(err, r->name, "is missing");
        if (x) rc = member_check(r, x->raw, err);
        if (rc != 0) return rc;
    }
    for (size_t i = 0; !KINDS[k].open && i < m.n; i++) {
        const struct member_rule *r = KINDS[k].rules;
        while (r->name && !str_eqc(m.v[i].key, r->name)) r++;
        if (!r->name)
            return wopr_error_at(err, WOPR_E_VALIDATION, "/data",
                                 "data of an interrupt of kind %s has an unknown member",
                                 KINDS[k].name);
    }
    return 0;
}

static bool one_of(struct str word, const char *const *words) {
    for (; *words; words++)
        if (str_eqc(word, *words)) return true;
    return false;
}

/* --- schemas (INT-4): a question with an invalid schema could never be answered --- */

int intr_schema_open(struct str schema, struct schema_set **set, const struct schema **out,
                     struct wopr_error *err) {
    *set = schema_set_new(false);
    if (!*set) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a schema");
    int rc = schema_set_add(*set, STR(SCHEMA_URI), schema, err);
    if (rc == 0) rc = schema_compile(*set, STR(SCHEMA_URI), out, err);
    return rc == 0 || rc == WOPR_E_NO_MEMORY ? rc : WOPR_E_VALIDATION;
}

static int schema_sound(struct str schema, const char *pointer, struct wopr_error *err) {
    struct schema_set *set = NULL;
    const struct schema *s;
    struct wopr_error why = {0};
    if (schema.n == 0) return 0;
    int rc = intr_schema_open(schema, &set, &s, &why);
    schema_set_free(set);
    if (rc != WOPR_E_VALIDATION) return rc;
    return wopr_error_at(err, rc, pointer, "the schema of an interrupt is not valid: %.300s",
                         why.message);
}

static const char *const ACTIONS[] = {"accept", "reject", "refine", "edit-accept", "ask", NULL};
const char *intr_action_name(unsigned no) {
    return no < sizeof ACTIONS / sizeof *ACTIONS ? ACTIONS[no] : NULL;
}

static int approval_check(struct str data, struct arena *a, struct wopr_error *err) {
    static const char *const POLICIES[] = {"single-veto", "majority", NULL};
    struct json_elements l;
    int64_t required = 1;
    struct str policy = json_get(data, "rejectionPolicy"), list = json_get(data, "approversList");
    int rc = json_elements(json_get(data, "actions"), a, &l, err);
    if (rc != 0) return rc;
    if (l.n == 0) return data_refuse(err, "actions", "is empty");
    if (json_int(json_get(data, "requiredApprovals"), &required) && required > INTR_VOTERS_MAX)
        return data_refuse(err, "requiredApprovals", "asks for more voters than there may be");
    for (size_t i = 0; i < l.n; i++) {
        if (!one_of(json_string(l.v[i], a), ACTIONS))
            return data_refuse(
                err, "actions",
                "has a word that is none of accept, reject, refine, edit-accept and ask");
        for (size_t k = 0; k < i; k++)
            if (str_eq(l.v[i], l.v[k])) return data_refuse(err, "actions", "has a word twice");
    }
    if (policy.n > 0 && !one_of(json_string(policy, a), POLICIES))
        return data_refuse(err, "rejectionPolicy", "is neither single-veto nor majority");
    if (list.n == 0) return 0;
    rc = json_elements(list, a, &l, err);
    for (size_t i = 0; rc == 0 && i < l.n; i++)
        if (json_type_of(l.v[i]) != JSON_STRING)
            return data_refuse(err, "approversList", "has no texts");
    return rc;
}

static int questions_check(struct str data, struct arena *a, struct wopr_error *err) {
    struct json_elements l;
    struct json_members m;
    int rc = json_elements(json_get(data, "questions"), a, &l, err);
    if (rc == 0 && l.n == 0) rc = data_refuse(err, "questions", "is empty");
    for (size_t i = 0; rc == 0 && i < l.n; i++) {
        struct str id = json_get(l.v[i], "id"), text = json_get(l.v[i], "question"),
                   schema = json_get(l.v[i], "schema");
        if (json_type_of(l.v[i]) != JSON_OBJECT || id.n <= 2 || json_type_of(id) != JSON_STRING ||
            text.n <= 2 || json_type_of(text) != JSON_STRING ||
            (schema.n > 0 && json_type_of(schema) != JSON_OBJECT))
            return data_refuse(err, "questions", "has an entry without id and question");
        rc = json_members(l.v[i], a, &m, err);
        if (rc == 0 && m.n != 2u + (schema.n > 0))
            return data_refuse(err, "questions", "has an entry with an unknown member");
        for (size_t k = 0; rc == 0 && k < i; k++)
            if (json_equal(id, json_get(l.v[k], "id"), a))
                return data_refuse(err, "questions", "has the same id twice");
        if (rc == 0) rc = schema_sound(schema, "/data/questions", err);
    }
    return rc;
}

static int conversation_id_check(struct str data, const char *name, size_t min,
                                 struct wopr_error *err) {
    size_t n = utf8_count(json_get(data, name));
    return n >= min + 2 && n <= 256 + 2 ? 0 : data_refuse(err, name, "is too short or too long");
}

static int data_check(enum intr_kind k, struct str data, struct arena *a, struct wopr_error *err) {
    int rc = members_check(k, data, a, err);
    if (rc != 0) return rc;
    switch (k) {
    case INTR_APPROVAL:
        return approval_check(data, a, err);
    case INTR_CLARIFICATION:
        return questions_check(data, a, err);
    case INTR_CONVERSATION_START:
    case INTR_CONVERSATION_CLOSE:
        return conversation_id_check(data, "conversationId", 1, err);
    case INTR_CONVERSATION_EXCHANGE:
        rc = conversation_id_check(data, "conversationId", 1, err);
        if (rc != 0) return rc;
        return schema_sound(json_get(data, "outcomeSchema"), "/data/outcomeSchema", err);
    case INTR_LOW_CONFIDENCE:
        return conversation_id_check(data, "agentId", 3, err);
    default:
        return 0;
    }
}

int intr_payload_check(struct str payload, struct arena *a, enum intr_kind *kind,
                       struct wopr_error *err) {
    struct str key = json_get(payload, "key"), data = json_get(payload, "data"),
               schema = json_get(payload, "resumeSchema"), raw = json_get(payload, "timeoutMs");
    enum intr_kind k;
    int64_t ms = 0;
    if (!intr_kind_of(json_string(json_get(payload, "kind"), a), &k))
        return wopr_error_at(err, WOPR_E_VALIDATION, "/kind",
                             "the kind of an interrupt is unknown");
    size_t n = json_string(key, a).n;
    if (n < 1 || n > INTR_KEY_MAX)
        return wopr_error_at(err, WOPR_E_VALIDATION, "/key",
                             "the key of an interrupt is not a text of 1 to %u bytes",
                             INTR_KEY_MAX);
    if (raw.n > 0 && (!json_int(raw, &ms) || ms < 0 || ms > INTR_TIMEOUT_MAX))
        return wopr_error_at(err, WOPR_E_VALIDATION, "/timeoutMs",
                             "timeoutMs of an interrupt is not a whole number from 0 to ten years");
    if (schema.n > 0 && json_type_of(schema) != JSON_OBJECT)
        return wopr_error_at(err, WOPR_E_VALIDATION, "/resumeSchema",
                             "resumeSchema of an interrupt is not an object");
    if (data.n == 0 || json_type_of(data) != JSON_OBJECT)
        return wopr_error_at(err, WOPR_E_VALIDATION, "/data",
                             "data of an interrupt is not an object");
    int rc = data_check(k, data, a, err);
    if (rc == 0) rc = schema_sound(schema, "/resumeSchema", err);
    if (rc == 0) *kind = k;
    return rc;
}
