/* parse_yaml.c: the events of libyaml to a tree, as the JSON that they spell; see parse.h. */
#include "workspec/build_int.h"

#include <stdio.h>
#include <yaml.h>

struct yaml_reader {
    yaml_parser_t parser;
    struct ws_builder *b;
    bool begun, done; /* the one document; the stream */
};

static struct ws_place place_of(const yaml_mark_t *m) {
    return (struct ws_place){(uint32_t)m->line + 1, (uint32_t)m->column + 1};
}

static int yaml_refuse(struct yaml_reader *r, const yaml_event_t *e, const char *what) {
    return build_refuse(r->b->err, place_of(&e->start_mark), what);
}

static int parser_refuse(struct yaml_reader *r) {
    const yaml_parser_t *p = &r->parser;
    char what[256];
    if (p->error == YAML_MEMORY_ERROR)
        return wopr_error_set(r->b->err, WOPR_E_NO_MEMORY, "out of memory");
    snprintf(what, sizeof what, "not YAML: %s%s%s", p->problem ? p->problem : "cannot be read",
             p->context ? ", " : "", p->context ? p->context : "");
    return build_refuse(r->b->err, place_of(&p->problem_mark), what);
}

static bool is_null(struct str s) {
    return s.n == 0 || str_eq(s, STR("null")) || str_eq(s, STR("~"));
}

/* A plain scalar by the JSON schema of YAML 1.2; anything else of it is text. */
static struct ws_value *plain_value(struct arena *a, struct str s) {
    double n;
    bool truth = str_eq(s, STR("true"));
    if (is_null(s)) return ws_new(a, WS_NULL);
    if (truth || str_eq(s, STR("false"))) {
        struct ws_value *v = ws_new(a, WS_BOOL);
        if (v != NULL) v->truth = truth;
        return v;
    }
    if (ws_number_of(s, &n) != WS_NUMERAL) return NULL;
    struct ws_value *v = ws_new(a, WS_NUMBER);
    if (v != NULL) v->number = n == 0 ? 0 : n;
    return v;
}

static int on_scalar(struct yaml_reader *r, const yaml_event_t *e) {
    struct ws_builder *b = r->b;
    bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    struct str s = str_n((const char *)e->data.scalar.value, e->data.scalar.length);
    if (e->data.scalar.anchor != NULL) return yaml_refuse(r, e, "anchors (&) are not supported");
    if (e->data.scalar.tag != NULL) return yaml_refuse(r, e, "tags (!) are not supported");
    double unused;
    struct str text = build_wants_name(b) ? build_same(b, s) : arena_str(b->a, s);
    if (build_wants_name(b)) {
        if (plain && str_eq(s, STR("<<")))
            return yaml_refuse(r, e, "merge keys (<<) are not supported: write the members out");
        if (text.p == NULL) return build_scalar(b, NULL, place_of(&e->start_mark));
        build_name(b, text);
        return 0;
    }
    if (plain && ws_number_of(s, &unused) == WS_NUMERAL_TOO_LARGE)
        return yaml_refuse(r, e, "a number that is too large");
    struct ws_value *v = plain ? plain_value(b->a, s) : NULL;
    if (v == NULL && text.p != NULL) {
        v = ws_new(b->a, WS_STRING);
        if (v != NULL) {
            v->text = text.p;
            v->nr = (uint32_t)text.n;
        }
    }
    struct ws_place at = place_of(&e->start_mark);
    if (v != NULL) {
        v->line = at.line;
        v->column = at.column;
    }
    return build_scalar(b, v, at);
}

static int on_open(struct yaml_reader *r, const yaml_event_t *e, enum ws_kind kind, bool anchored,
                   bool tagged) {
    if (anchored) return yaml_refuse(r, e, "anchors (&) are not supported");
    if (tagged) return yaml_refuse(r, e, "tags (!) are not supported");
    if (build_wants_name(r->b)) return yaml_refuse(r, e, "a key must be a scalar");
    return build_open(r->b, kind, place_of(&e->start_mark));
}

static int on_document(struct yaml_reader *r, const yaml_event_t *e) {
    if (r->begun) return yaml_refuse(r, e, "a second document; a file holds one");
    if (e->data.document_start.tag_directives.start != e->data.document_start.tag_directives.end)
        return yaml_refuse(r, e, "%TAG directives are not supported");
    r->begun = true;
    return 0;
}

static int on_event(struct yaml_reader *r, const yaml_event_t *e) {
    switch (e->type) {
    case YAML_STREAM_END_EVENT:
        r->done = true;
        return r->begun ? 0 : yaml_refuse(r, e, "there is no document");
    case YAML_DOCUMENT_START_EVENT:
        return on_document(r, e);
    case YAML_ALIAS_EVENT:
        return yaml_refuse(r, e, "aliases (*) are not supported: write the value out");
    case YAML_SCALAR_EVENT:
        return on_scalar(r, e);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(r, e, WS_ARRAY, e->data.sequence_start.anchor != NULL,
                       e->data.sequence_start.tag != NULL);
    case YAML_MAPPING_START_EVENT:
        return on_open(r, e, WS_OBJECT, e->data.mapping_start.anchor != NULL,
                       e->data.mapping_start.tag != NULL);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return build_close(r->b);
    default:
        return 0;
    }
}

int parse_yaml(struct str text, struct ws_builder *b) {
    struct yaml_reader r = {.b = b};
    int rc = 0;
    if (!yaml_parser_initialize(&r.parser))
        return wopr_error_set(b->err, WOPR_E_NO_MEMORY, "out of memory");
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text.p, text.n);
    while (rc == 0 && !r.done) {
        yaml_event_t e;
        if (!yaml_parser_parse(&r.parser, &e)) {
            rc = parser_refuse(&r);
        } else {
            rc = on_event(&r, &e);
            yaml_event_delete(&e);
        }
    }
    yaml_parser_delete(&r.parser);
    return rc;
}
