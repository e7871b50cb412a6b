/*
 * body.c: request bodies as tables, and errors that name a member.
 */
#include "wire/common/body.h"
#include "codec/fields.h"
#include "codec/jobj.h"

enum { FIELDS_MAX = 8, FIELD_NAME_MAX = 64, FIELDS_BYTES = 900 };

struct refusal { /* {"fields":[{path, reason} ... and still open */
    struct jobj o;
    unsigned n;
};

static void refusal_begin(struct refusal *f) {
    f->n = 0;
    jobj_begin(&f->o, WOPR_DETAILS_SIZE);
    fields_begin(&f->o.w);
}

/* A caller's names appear here only, bounded and escaped (RUN-1). */
static void refusal_add(struct refusal *f, struct str name, const char *reason) {
    if (f->n >= FIELDS_MAX || f->o.b.len > FIELDS_BYTES - 6 * FIELD_NAME_MAX - 64) return;
    if (name.n > FIELD_NAME_MAX || !utf8_valid(name)) name = STR("(long name)");
    fields_add(&f->o.w, name, reason);
    f->n++;
}

static void refusal_details(struct refusal *f, struct wopr_error *err) {
    fields_end(&f->o.w);
    jobj_details(&f->o, err);
}

int wire_field_error(struct wopr_error *err, const char *path, const char *reason,
                     const char *message) {
    int rc = wopr_error_set(err, WOPR_E_VALIDATION, "%s", message);
    struct refusal refusal;
    refusal_begin(&refusal);
    refusal_add(&refusal, str_c(path), reason);
    refusal_details(&refusal, err);
    return rc;
}

static int member_read(const struct json_member *m, const struct wire_member *row, struct arena *a,
                       void *out) {
    struct str *to = (struct str *)(void *)((char *)out + row->offset);
    if (row->type != WIRE_ANY && json_type_of(m->raw) != row->type) return WOPR_E_VALIDATION;
    struct str value = row->type == JSON_STRING ? json_string(m->raw, a) : m->raw;
    if (!value.p) return WOPR_E_NO_MEMORY;
    *to = value;
    return 0;
}

static const struct wire_member *member_row(const struct wire_body *shape, struct str name) {
    for (size_t i = 0; i < shape->members_nr; i++)
        if (str_eqc(name, shape->members[i].name)) return &shape->members[i];
    return NULL;
}

int wire_body_parse(struct str body, const struct wire_body *shape, struct arena *a, void *out,
                    struct wopr_error *err) {
    struct json_members members;
    struct refusal bad;
    int rc = json_members(body, a, &members, err);
    if (rc != 0) return rc;
    refusal_begin(&bad);
    for (size_t i = 0; i < members.n && rc == 0; i++) {
        const struct wire_member *row = member_row(shape, members.v[i].key);
        if (!row) {
            if (shape->closed) refusal_add(&bad, members.v[i].key, "unknown");
            continue;
        }
        int read = member_read(&members.v[i], row, a, out);
        if (read == WOPR_E_VALIDATION) refusal_add(&bad, str_c(row->name), "type");
        else if (read != 0) rc = wopr_error_set(err, read, "no memory for the request body");
    }
    if (rc == 0 && bad.n > 0) {
        rc = wopr_error_set(err, WOPR_E_VALIDATION,
                            "the body has members that are unknown here or of the wrong type");
        refusal_details(&bad, err);
    } else {
        jobj_drop(&bad.o);
    }
    return rc;
}
