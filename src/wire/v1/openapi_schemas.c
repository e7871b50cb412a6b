/*
 * openapi_schemas.c: components.schemas of the OpenAPI document.
 *
 * A published schema is a document of its own, with an $id and relative references.  That is legal
 * inside OpenAPI 3.1, but most generators resolve references against the whole document only.  So
 * each is taken apart: its root and every entry of its $defs become components, and references are
 * rewritten to #/components/schemas/NAME.  Names that occur twice fail the test of the document.
 */
#include "base/embed.h"
#include "wire/v1/openapi_int.h"

#define DEFINITIONS "#/$defs/"
#define COMPONENTS  "#/components/schemas/"

static struct str text_of(struct doc *d, struct str object, const char *member) {
    return json_string(json_get(object, member), d->a);
}

/* The component that a published file became, by the name other files use for it. */
static struct str component_of(struct doc *d, struct str file) {
    struct json_elements rows;
    if (json_elements(json_get(d->source, "published"), d->a, &rows, d->err) != 0) return STR_NONE;
    for (size_t i = 0; i < rows.n; i++)
        if (str_ends(text_of(d, rows.v[i], "file"), file)) return text_of(d, rows.v[i], "name");
    return STR_NONE;
}

static int ref_copy(struct doc *d, struct str ref) {
    struct str name;
    if (str_starts(ref, STR(COMPONENTS))) {
        jw_str(&d->w, ref);
        return 0;
    }
    if (str_starts(ref, STR(DEFINITIONS)))
        name = str_n(ref.p + sizeof DEFINITIONS - 1, ref.n - (sizeof DEFINITIONS - 1));
    else name = component_of(d, ref);
    if (!name.p) return doc_missing(d, "component for the reference", ref);
    jw_str(&d->w, arena_printf(d->a, COMPONENTS STR_FMT, STR_ARG(name)));
    return 0;
}

static int member_copy(struct doc *d, const struct json_member *m) {
    jw_key_str(&d->w, m->key);
    if (str_eqc(m->key, "$ref") && json_type_of(m->raw) == JSON_STRING)
        return ref_copy(d, json_string(m->raw, d->a));
    return doc_copy(d, m->raw);
}

static int array_copy(struct doc *d, struct str raw) {
    struct json_elements el;
    int rc = json_elements(raw, d->a, &el, d->err);
    jw_array(&d->w);
    for (size_t i = 0; rc == 0 && i < el.n; i++) rc = doc_copy(d, el.v[i]);
    jw_end_array(&d->w);
    return rc;
}

/* Depth: files of ours, bounded by json_check. */
int doc_copy(struct doc *d, struct str raw) {
    struct json_members m = {0};
    int rc = 0;
    if (json_type_of(raw) == JSON_ARRAY) return array_copy(d, raw);
    if (json_type_of(raw) != JSON_OBJECT) {
        jw_raw(&d->w, raw);
        return 0;
    }
    rc = json_members(raw, d->a, &m, d->err);
    jw_object(&d->w);
    for (size_t i = 0; rc == 0 && i < m.n; i++) rc = member_copy(d, &m.v[i]);
    jw_end_object(&d->w);
    return rc;
}

/* Members of what is published and not ours; then ours, which replace those of the same name. */
static int properties_render(struct doc *d, struct str published, struct str ours) {
    struct json_members theirs = {0}, own = {0};
    int rc = json_members(published, d->a, &theirs, d->err);
    if (rc == 0 && ours.p) rc = json_members(ours, d->a, &own, d->err);
    jw_key(&d->w, "properties");
    jw_object(&d->w);
    for (size_t i = 0; rc == 0 && i < theirs.n; i++) {
        size_t k = 0;
        while (k < own.n && !str_eq(own.v[k].key, theirs.v[i].key)) k++;
        if (k == own.n) rc = member_copy(d, &theirs.v[i]);
    }
    for (size_t i = 0; rc == 0 && i < own.n; i++) rc = member_copy(d, &own.v[i]);
    jw_end_object(&d->w);
    return rc;
}

static bool of_the_file(struct str key) {
    return str_eqc(key, "$schema") || str_eqc(key, "$id") || str_eqc(key, "$defs");
}

static int root_render(struct doc *d, struct str row, const struct json_members *root) {
    int rc = 0;
    struct str name = text_of(d, row, "name");
    if (!name.p) return 0; /* only its definitions are of use */
    jw_key_str(&d->w, name);
    jw_object(&d->w);
    for (size_t i = 0; i < root->n && rc == 0; i++) {
        const struct json_member *m = &root->v[i];
        if (of_the_file(m->key)) continue;
        if (str_eqc(m->key, "properties"))
            rc = properties_render(d, m->raw, json_get(row, "properties"));
        else rc = member_copy(d, m);
    }
    jw_end_object(&d->w);
    return rc;
}

static int published_render(struct doc *d, struct str row) {
    struct str file = text_of(d, row, "file"), defs;
    const char *name = file.p ? arena_cstr(d->a, file) : NULL;
    const struct embed_file *f = name ? embed_find(name) : NULL;
    struct json_members root, m = {0};
    if (!f) return doc_missing(d, "embedded file", file);
    int rc = json_members(embed_text(f), d->a, &root, d->err);
    if (rc == 0) rc = root_render(d, row, &root);
    defs = json_get(embed_text(f), "$defs");
    if (rc == 0 && defs.p) rc = json_members(defs, d->a, &m, d->err);
    for (size_t i = 0; rc == 0 && i < m.n; i++) rc = member_copy(d, &m.v[i]);
    return rc;
}

int doc_schemas(struct doc *d) {
    struct json_elements rows;
    struct json_members own;
    int rc = json_elements(json_get(d->source, "published"), d->a, &rows, d->err);
    if (rc == 0) rc = json_members(json_get(d->source, "schemas"), d->a, &own, d->err);
    if (rc != 0) return rc;
    jw_key(&d->w, "schemas");
    jw_object(&d->w);
    for (size_t i = 0; rc == 0 && i < rows.n; i++) rc = published_render(d, rows.v[i]);
    for (size_t i = 0; rc == 0 && i < own.n; i++) rc = member_copy(d, &own.v[i]);
    jw_end_object(&d->w);
    return rc;
}
