/*
 * cmd_nodes.c: wopr nodes: lists the node types, from the same rows that check definitions
 * (domain/types.h), or those of a running host; as text, as JSON, or as the page docs/nodes.md.
 */
#include "base/near.h"
#include "cli/cli.h"
#include "codec/ident.h"
#include "codec/json.h"
#include "nodes/nodes.h"

#include <stdio.h>

#define PAGE_BYTES_MAX (4u * 1024 * 1024)
#define NODES_PATH     "/v1/host/wopr/nodes"
#define TYPE_ID_SIZE   (ID_TYPE_MAX + 1)

static const char USAGE[] =
    "usage: wopr nodes [--json]           the node types of this program\n"
    "       wopr nodes TYPE [--json]      configuration, outputs and an example of one\n"
    "       wopr nodes --markdown         all of it as a page (docs/nodes.md)\n"
    "With --url URL (or WOPR_URL) the first two ask a running host, which knows the types of its\n"
    "workers too; the key is that of WOPR_API_KEY, --api-key-file or data/dev-api-key.\n";

/* --- one member of a configuration --- */

static struct str words_of(struct json_elements l, struct arena *a) {
    struct str all = STR_NONE;
    for (size_t i = 0; i < l.n; i++) {
        struct str word = json_string(l.v[i], a);
        if (word.p == NULL) word = l.v[i];
        all = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(all), i > 0 ? ", " : "", STR_ARG(word));
    }
    return all;
}

static struct json_elements list_of(struct str schema, const char *key, struct arena *a) {
    struct json_elements l = {0};
    struct str raw = json_get(schema, key);
    if (raw.p != NULL && json_type_of(raw) == JSON_ARRAY && json_elements(raw, a, &l, NULL) != 0)
        l.n = 0;
    return l;
}

/* "integer 0..600000", "one of a, b", "any" */
static struct str kind_of(struct str schema, struct arena *a) {
    struct json_elements words = list_of(schema, "enum", a);
    struct str type = json_string(json_get(schema, "type"), a);
    struct str min = json_get(schema, "minimum"), max = json_get(schema, "maximum");
    if (words.n > 0) return words_of(words, a);
    if (type.p == NULL) type = words_of(list_of(schema, "type", a), a);
    if (type.n == 0) return STR("any");
    if (max.n > 0)
        return arena_printf(a, STR_FMT " " STR_FMT ".." STR_FMT, STR_ARG(type), STR_ARG(min),
                            STR_ARG(max));
    if (min.n > 0) return arena_printf(a, STR_FMT " >= " STR_FMT, STR_ARG(type), STR_ARG(min));
    if (str_eqc(type, "array")) {
        struct str items = json_get(schema, "items");
        if (items.n > 0) return arena_printf(a, "list of " STR_FMT, STR_ARG(kind_of(items, a)));
    }
    return type;
}

static bool is_needed(struct str config, struct str name, struct arena *a) {
    struct json_elements needs = list_of(config, "required", a);
    for (size_t i = 0; i < needs.n; i++)
        if (str_eq(json_string(needs.v[i], a), name)) return true;
    return false;
}

struct field {
    struct str name, kind, absent, says; /* absent: "needed", its default, or empty */
};

static struct field field_of(const struct wf_type *t, const struct json_member *m,
                             struct arena *a) {
    struct str def = json_get(m->raw, "default");
    return (struct field){.name = m->key,
                          .kind = kind_of(m->raw, a),
                          .absent = is_needed(t->config, m->key, a) ? STR("needed") : def,
                          .says = json_string(json_get(m->raw, "description"), a)};
}

static struct json_members members_of(struct str object, struct arena *a) {
    struct json_members m = {0};
    if (object.p == NULL || json_members(object, a, &m, NULL) != 0) m.n = 0;
    return m;
}

/* A node as a definition writes it. */
static void example_add(struct buf *b, const struct wf_type *t) {
    struct str config = json_get(t->example, "config"), inputs = json_get(t->example, "inputs");
    if (t->example.n == 0) return;
    buf_addf(b,
             "{\"id\": \"n\", \"typeId\": \"" STR_FMT "\", \"name\": \"N\", \"position\": "
             "{\"x\": 0, \"y\": 0},\n \"config\": ",
             STR_ARG(t->type_id));
    buf_adds(b, config);
    buf_addz(b, ",\n \"inputs\": ");
    buf_adds(b, inputs);
    buf_addz(b, "}\n");
}

/* --- text --- */

static void type_text(struct buf *b, const struct wf_type *t, struct arena *a) {
    struct json_members m = members_of(json_get(t->config, "properties"), a);
    struct json_members outputs = members_of(t->outputs, a);
    buf_addf(b, STR_FMT "\n  " STR_FMT "\n", STR_ARG(t->type_id), STR_ARG(t->summary));
    buf_addz(b, m.n > 0 ? "\nconfiguration (config, or inputs of the same names)\n" : "");
    for (size_t i = 0; i < m.n; i++) {
        struct field f = field_of(t, &m.v[i], a);
        buf_addf(b, "  %-22.*s " STR_FMT, STR_ARG(f.name), STR_ARG(f.kind));
        if (f.absent.n > 0)
            buf_addf(b, "%s" STR_FMT, str_eqc(f.absent, "needed") ? "; " : "; default ",
                     STR_ARG(f.absent));
        if (f.says.n > 0) buf_addf(b, "\n%-25s" STR_FMT, "", STR_ARG(f.says));
        buf_addc(b, '\n');
    }
    buf_addz(b, outputs.n > 0 ? "\noutputs\n" : "");
    for (size_t i = 0; i < outputs.n; i++)
        buf_addf(b, "  %-22.*s " STR_FMT "\n", STR_ARG(outputs.v[i].key),
                 STR_ARG(json_string(outputs.v[i].raw, a)));
    buf_addz(b, t->example.n > 0 ? "\nexample\n" : "");
    example_add(b, t);
}

/* The first sentence. */
static struct str short_of(struct str summary) {
    for (size_t i = 0; i + 1 < summary.n; i++)
        if (summary.p[i] == '.' && summary.p[i + 1] == ' ') return str_n(summary.p, i);
    return summary.n > 0 ? str_n(summary.p, summary.n - 1) : summary;
}

static void line_text(struct buf *b, const struct wf_type *t, struct arena *a) {
    (void)a;
    buf_addf(b, "%-28.*s " STR_FMT "\n", STR_ARG(t->type_id), STR_ARG(short_of(t->summary)));
}

static void type_json(struct buf *b, const struct wf_type *t, struct arena *a) {
    struct jw w;
    size_t from = b->len;
    (void)a;
    jw_init(&w, b);
    wf_type_render(t, &w);
    for (size_t i = from; i < b->len; i++) /* one line each */
        if (b->p[i] == '\n') b->p[i] = ' ';
    buf_addc(b, '\n');
}

/* --- the page --- */

static void cell_add(struct buf *b, struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '|') buf_addc(b, '\\');
        buf_addc(b, s.p[i]);
    }
}

static void type_markdown(struct buf *b, const struct wf_type *t, struct arena *a) {
    struct json_members m = members_of(json_get(t->config, "properties"), a);
    struct json_members outputs = members_of(t->outputs, a);
    buf_addf(b, "\n## `" STR_FMT "`\n\n" STR_FMT "\n", STR_ARG(t->type_id), STR_ARG(t->summary));
    if (m.n > 0) buf_addz(b, "\n| configuration | value | default | |\n|---|---|---|---|\n");
    for (size_t i = 0; i < m.n; i++) {
        struct field f = field_of(t, &m.v[i], a);
        bool is_default = f.absent.n > 0 && !str_eqc(f.absent, "needed");
        buf_addf(b, "| `" STR_FMT "` | ", STR_ARG(f.name));
        cell_add(b, f.kind);
        buf_addf(b, " | %s" STR_FMT "%s | ", is_default ? "`" : "", STR_ARG(f.absent),
                 is_default ? "`" : "");
        cell_add(b, f.says);
        buf_addz(b, " |\n");
    }
    buf_addz(b, outputs.n > 0 ? "\n| output | |\n|---|---|\n" : "");
    for (size_t i = 0; i < outputs.n; i++) {
        buf_addf(b, "| `" STR_FMT "` | ", STR_ARG(outputs.v[i].key));
        cell_add(b, json_string(outputs.v[i].raw, a));
        buf_addz(b, " |\n");
    }
    if (t->example.n == 0) return;
    buf_addz(b, "\n```json\n");
    example_add(b, t);
    buf_addz(b, "```\n");
}

static const char PAGE_HEAD[] =
    "# Node types\n\n"
    "<!-- made by: wopr nodes --markdown -->\n\n"
    "What `wopr nodes` prints, and what `wopr workflow check` judges by. A value of the\n"
    "configuration may also come from an input port of the same name; the port wins. A node of "
    "any\n"
    "type has `settings`: `maxRetries`, `retryDelayMs`, `timeoutMs`.\n";

/* --- the command --- */

static int all_print(struct cli *c, const struct wf_types *types,
                     void (*one)(struct buf *b, const struct wf_type *t, struct arena *a),
                     const char *head) {
    struct wf_type t;
    struct str id;
    struct buf b;
    buf_init(&b, PAGE_BYTES_MAX);
    buf_addz(&b, head);
    for (size_t i = 0; types->name(types->ctx, i, c->arena, &id); i++)
        if (types->find(types->ctx, id, c->arena, &t)) one(&b, &t, c->arena);
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

static int one_print(struct cli *c, const struct wf_types *types, struct str id, bool json) {
    char hint[NEAR_HINT];
    struct near n;
    struct wf_type t;
    struct str name;
    struct buf b;
    if (!types->find(types->ctx, id, c->arena, &t)) {
        near_init(&n, id);
        for (size_t i = 0; types->name(types->ctx, i, c->arena, &name); i++) near_try(&n, name);
        fprintf(stderr, "wopr: there is no node type \"" STR_FMT "\"%s\n", STR_ARG(cli_text(c, id)),
                near_hint(&n, hint));
        return 1;
    }
    buf_init(&b, PAGE_BYTES_MAX);
    (json ? type_json : type_text)(&b, &t, c->arena);
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

/* --- of a running host --- */

static struct wf_type type_read(struct str doc, struct arena *a) {
    return (struct wf_type){.type_id = json_string(json_get(doc, "typeId"), a),
                            .summary = json_string(json_get(doc, "summary"), a),
                            .config = json_get(doc, "config"),
                            .outputs = json_get(doc, "outputs"),
                            .example = json_get(doc, "example")};
}

static void schema_text(struct buf *b, const char *head, struct str schema) {
    if (schema.n > 0) buf_addf(b, "\n%s\n  " STR_FMT "\n", head, STR_ARG(schema));
}

static void remote_text(struct cli *c, struct buf *b, struct str doc, bool whole) {
    struct wf_type t = type_read(doc, c->arena);
    bool worker = str_eqc(json_get(doc, "worker"), "true");
    if (t.summary.n == 0 && worker) t.summary = STR("Executed by workers.");
    if (!whole) {
        line_text(b, &t, c->arena);
        return;
    }
    type_text(b, &t, c->arena);
    schema_text(b, "input (JSON Schema)", json_get(doc, "inputSchema"));
    schema_text(b, "output (JSON Schema)", json_get(doc, "outputSchema"));
}

static void remote_print(struct cli *c, struct str doc, bool json, bool whole) {
    struct buf b;
    buf_init(&b, PAGE_BYTES_MAX);
    if (json) {
        buf_adds(&b, doc);
        buf_addc(&b, '\n');
    } else {
        remote_text(c, &b, doc, whole);
    }
    cli_print(&b);
    buf_fini(&b);
}

/* What is asked for: one type, or all. */
struct remote_want {
    struct str id; /* empty: all */
    bool json, found;
    struct near near;
    char after[TYPE_ID_SIZE];
};

static int remote_page(struct cli *c, const struct cli_remote *r, struct remote_want *w) {
    struct json_elements l;
    struct str answer, path = STR(NODES_PATH "?limit=200");
    if (w->after[0] != '\0') /* a type id needs no escape */
        path = arena_printf(c->arena, NODES_PATH "?limit=200&after=%s", w->after);
    int rc = cli_ask(c, r, "GET", path, STR_NONE, &answer);
    if (rc != 0) return rc;
    l = list_of(answer, "nodes", c->arena);
    for (size_t i = 0; i < l.n; i++) {
        struct str id = json_string(json_get(l.v[i], "typeId"), c->arena);
        if (w->id.n > 0 && !str_eq(id, w->id)) {
            near_try(&w->near, id);
            continue;
        }
        remote_print(c, l.v[i], w->json, w->id.n > 0);
        w->found = true;
    }
    struct str next = json_string(json_get(answer, "nextAfter"), c->arena);
    (void)snprintf(w->after, sizeof w->after, STR_FMT, STR_ARG(next));
    return 0;
}

static int remote_all(struct cli *c, const struct cli_remote *r, struct remote_want *w) {
    char hint[NEAR_HINT];
    int rc;
    near_init(&w->near, w->id);
    do {
        rc = remote_page(c, r, w);
    } while (rc == 0 && w->after[0] != '\0' && (w->id.n == 0 || !w->found) && !ferror(stdout));
    if (rc != 0 || w->id.n == 0 || w->found) return rc;
    fprintf(stderr, "wopr: neither the host nor its workers have a node type \"" STR_FMT "\"%s\n",
            STR_ARG(cli_text(c, w->id)), near_hint(&w->near, hint));
    return 1;
}

static int over_host(struct cli *c, const char *url, bool json) {
    struct remote_want w = {.id = c->argc == 1 ? str_c(c->argv[0]) : STR_NONE, .json = json};
    struct cli_remote r;
    int rc = cli_remote(c, url, &r);
    return rc == 0 ? remote_all(c, &r, &w) : rc;
}

int cmd_nodes(struct cli *c) {
    struct wopr_error err = {0};
    struct checker k;
    if (cli_help(c, USAGE)) return 0;
    const char *url = cli_take_url(c);
    bool json = cli_take_flag(c, "--json"), page = cli_take_flag(c, "--markdown");
    int rc = cli_config(c);
    if (rc != 0) return rc;
    if (c->argc > 1 || (page && (json || c->argc > 0))) return cli_usage(USAGE);
    if (url != NULL && !page) return over_host(c, url, json);
    rc = checker_open(&k, c->cfg.host_conformance || c->cfg.host_conformance_types, &err);
    if (rc != 0) rc = cli_fail(&err);
    else if (c->argc == 1) rc = one_print(c, &k.types, str_c(c->argv[0]), json);
    else if (page) rc = all_print(c, &k.types, type_markdown, PAGE_HEAD);
    else rc = all_print(c, &k.types, json ? type_json : line_text, "");
    checker_close(&k);
    return rc;
}
