/*
 * remotes.c: the table of systems that nodes may speak to by name.
 */
#include "host/remotes.h"

#include "host/host.h"

#include <stdio.h>

#define REMOTES_FILE_MAX (256u * 1024)
#define CREDENTIAL_MAX   4096u
#define CREDENTIAL_MIN   8u /* it is looked for in answers */
#define LIST_NAMES_MAX   256u

struct loader {
    const struct egress_allow *allow;
    struct arena *a;
    struct remotes *out;
    struct wopr_error *err;
    const char *setting;
    char at[96]; /* place in the file, for messages */
};

static int remotes_wrong(struct loader *l, const char *why) {
    return wopr_error_at(l->err, WOPR_E_CONFIG, l->setting, "setting \"%s\"%s%s: %s", l->setting,
                         l->at[0] ? ", " : "", l->at, why);
}

static int no_memory(struct loader *l) {
    return wopr_error_set(l->err, WOPR_E_NO_MEMORY, "out of memory");
}

/* --- one row --- */

static bool name_ok(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  strchr("._-", c);
        if (!ok || c == '\0') return false;
    }
    return s.n > 0 && s.n <= REMOTE_NAME_MAX;
}

static int url_take(struct loader *l, struct remote *r, struct str url) {
    struct wopr_error why = {0};
    struct str head, tail;
    if (!l->allow) return remotes_wrong(l, "the host sends no requests; start it with --egress");
    int rc = egress_url_check(url, l->allow, &why);
    if (rc == WOPR_E_NO_MEMORY) return no_memory(l);
    if (rc != 0) {
        char text[sizeof why.message + 96];
        (void)snprintf(text, sizeof text,
                       "the URL is not one that may be asked (%s); --egress-allow and "
                       "--egress-loopback admit more",
                       why.message);
        return remotes_wrong(l, text);
    }
    if (memchr(url.p, '#', url.n)) return remotes_wrong(l, "the URL has a fragment");
    r->url = r->shown = url;
    if (str_cut(url, '?', &head, &tail)) r->shown = head;
    return 0;
}

static int row_add(struct loader *l, const struct remote *r) {
    for (size_t i = 0; i < l->out->n; i++)
        if (l->out->v[i].kind == r->kind && str_eq(l->out->v[i].name, r->name))
            return remotes_wrong(l, "its name is there twice");
    if (l->out->n == REMOTES_MAX)
        return remotes_wrong(l, "there are more than 64 servers and agents");
    l->out->v[l->out->n++] = *r;
    return 0;
}

/* --- mcp-servers, a2a-agents: "URL, NAME=URL" --- */

static bool remotes_named(struct str item, struct remote *r, struct str *url) {
    struct str name, rest;
    if (!str_cut(item, '=', &name, &rest) || !name_ok(name)) return false;
    r->name = name;
    *url = rest;
    return true;
}

static int list_load(struct loader *l, const char *setting, const char *text, enum remote_kind kind,
                     const char *prefix) {
    const char *const *v = config_list(text, l->a);
    int rc = 0;
    l->setting = setting;
    l->at[0] = '\0';
    for (size_t i = 0; rc == 0 && v && v[i]; i++) {
        struct remote r = {.kind = kind};
        struct str url = str_c(v[i]);
        if (!remotes_named(url, &r, &url)) r.name = arena_printf(l->a, "%s-%zu", prefix, i + 1);
        (void)snprintf(l->at, sizeof l->at, "entry %zu", i + 1);
        rc = url_take(l, &r, url);
        if (rc == 0) rc = row_add(l, &r);
    }
    return rc;
}

/* --- remotes-file --- */

static int list_take(struct loader *l, struct str raw, struct remote_names *out) {
    struct json_elements e = {0};
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, l->a, &e, NULL) != 0 || e.n == 0 ||
        e.n > LIST_NAMES_MAX)
        return remotes_wrong(l, "it is no list of 1 to 256 names");
    out->v = ARENA_ARRAY(l->a, struct str, e.n);
    for (size_t i = 0; out->v && i < e.n; i++) {
        if (json_type_of(e.v[i]) != JSON_STRING)
            return remotes_wrong(l, "a name in it is no string");
        out->v[out->n++] = json_string(e.v[i], l->a);
    }
    return out->v ? 0 : no_memory(l);
}

static bool header_safe(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x21 || (unsigned char)s.p[i] > 0x7e) return false;
    return s.n > 0;
}

static int credential_take(struct loader *l, struct remote *r, struct str path) {
    struct wopr_error why = {0};
    struct buf b;
    const char *file = arena_cstr(l->a, path);
    if (!file) return no_memory(l);
    int rc = file_read(file, CREDENTIAL_MAX, &b, &why);
    if (rc != 0) return remotes_wrong(l, why.message);
    struct str text = str_trim(buf_str(&b));
    while (text.n > 0 && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r')) text.n--;
    bool ok = header_safe(text) && text.n >= CREDENTIAL_MIN;
    if (ok) r->secret = arena_str(l->a, text);
    if (ok)
        r->credential =
            arena_printf(l->a, "%s" STR_FMT, str_eqc(r->header, "Authorization") ? "Bearer " : "",
                         STR_ARG(text));
    buf_fini(&b);
    if (!ok)
        return remotes_wrong(
            l, "the file holds no credential: one line of 8 or more visible characters");
    return r->credential.p ? 0 : no_memory(l);
}

static int member_take(struct loader *l, struct remote *r, const struct json_member *m,
                       struct str *file) {
    struct str text = json_type_of(m->raw) == JSON_STRING ? json_string(m->raw, l->a) : STR_NONE;
    if (str_eqc(m->key, "tenants")) return list_take(l, m->raw, &r->tenants);
    if (str_eqc(m->key, "tools") && r->kind == REMOTE_MCP) return list_take(l, m->raw, &r->tools);
    if (str_eqc(m->key, "requireSignedCard") && r->kind == REMOTE_A2A)
        return json_bool(m->raw, &r->needs_signature) ? 0
                                                      : remotes_wrong(l, "it is not true or false");
    if (text.n == 0) return remotes_wrong(l, "it is no member of a row, or not a text");
    if (str_eqc(m->key, "name")) r->name = text;
    else if (str_eqc(m->key, "url")) return url_take(l, r, text);
    else if (str_eqc(m->key, "credentialFile")) *file = text;
    else if (str_eqc(m->key, "credentialHeader")) r->header = text;
    else return remotes_wrong(l, "it is no member of a row");
    return 0;
}

static int row_load(struct loader *l, struct str raw, enum remote_kind kind, const char *list,
                    size_t i) {
    struct remote r = {.kind = kind, .header = STR("Authorization")};
    struct json_members m = {0};
    struct str file = STR_NONE;
    int rc = 0;
    (void)snprintf(l->at, sizeof l->at, "%s[%zu]", list, i);
    if (json_type_of(raw) != JSON_OBJECT || json_members(raw, l->a, &m, NULL) != 0)
        return remotes_wrong(l, "it is no object");
    for (size_t k = 0; rc == 0 && k < m.n; k++) {
        (void)snprintf(l->at, sizeof l->at, "%s[%zu].%.*s", list, i,
                       (int)(m.v[k].key.n < 40 ? m.v[k].key.n : 40), m.v[k].key.p);
        rc = member_take(l, &r, &m.v[k], &file);
    }
    (void)snprintf(l->at, sizeof l->at, "%s[%zu]", list, i);
    if (rc == 0 && !name_ok(r.name))
        rc = remotes_wrong(
            l, "a name of letters, digits, \".\", \"_\" and \"-\" (64 at most) is missing");
    if (rc == 0 && r.url.n == 0) rc = remotes_wrong(l, "a url is missing");
    if (rc == 0 && !header_safe(r.header))
        rc = remotes_wrong(l, "credentialHeader is no name of a header");
    if (rc == 0 && file.n > 0) rc = credential_take(l, &r, file);
    return rc == 0 ? row_add(l, &r) : rc;
}

static int rows_load(struct loader *l, struct str raw, enum remote_kind kind, const char *list) {
    struct json_elements e = {0};
    int rc = 0;
    (void)snprintf(l->at, sizeof l->at, "%s", list);
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, l->a, &e, NULL) != 0)
        return remotes_wrong(l, "it is no list");
    for (size_t i = 0; rc == 0 && i < e.n; i++) rc = row_load(l, e.v[i], kind, list, i);
    return rc;
}

static int text_load(struct loader *l, struct str text) {
    struct json_members m = {0};
    struct wopr_error why = {0};
    int rc = json_check(text, &JSON_LIMITS_DEFAULT, &why);
    if (rc != 0) return remotes_wrong(l, why.message);
    if (json_type_of(text) != JSON_OBJECT || json_members(text, l->a, &m, NULL) != 0)
        return remotes_wrong(l, "the file is no JSON object");
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        if (str_eqc(m.v[i].key, "mcp")) rc = rows_load(l, m.v[i].raw, REMOTE_MCP, "mcp");
        else if (str_eqc(m.v[i].key, "a2a")) rc = rows_load(l, m.v[i].raw, REMOTE_A2A, "a2a");
        else rc = remotes_wrong(l, "the file has the lists mcp and a2a, and nothing else");
    }
    return rc;
}

static int file_load(struct loader *l, const char *path) {
    struct wopr_error why = {0};
    struct buf b;
    l->setting = "remotes-file";
    l->at[0] = '\0';
    if (path[0] == '\0') return 0;
    int rc = file_read(path, REMOTES_FILE_MAX, &b, &why);
    if (rc != 0) return remotes_wrong(l, why.message);
    struct str text = arena_str(l->a, buf_str(&b));
    buf_fini(&b);
    return text.p ? text_load(l, text) : no_memory(l);
}

int host_remotes_load(const struct config *cfg, const struct egress_allow *allow, struct arena *a,
                      struct remotes *out, struct wopr_error *err) {
    struct loader l = {.allow = allow, .a = a, .out = out, .err = err};
    *out = (struct remotes){.v = ARENA_ARRAY(a, struct remote, REMOTES_MAX)};
    if (!out->v) return no_memory(&l);
    int rc = list_load(&l, "mcp-servers", cfg->egress_mcp_servers, REMOTE_MCP, "mcp");
    if (rc == 0) rc = list_load(&l, "a2a-agents", cfg->egress_a2a_agents, REMOTE_A2A, "a2a");
    if (rc == 0) rc = file_load(&l, cfg->egress_remotes_file);
    if (rc == 0 && arena_failed(a)) rc = no_memory(&l);
    return rc;
}

const char *const *host_remotes_shown(const struct remotes *r, enum remote_kind kind,
                                      struct arena *a) {
    const char **v = ARENA_ARRAY(a, const char *, r->n + 1);
    size_t n = 0;
    for (size_t i = 0; v && i < r->n; i++)
        if (r->v[i].kind == kind && r->v[i].tenants.n == 0) v[n++] = arena_cstr(a, r->v[i].shown);
    return n > 0 ? v : NULL;
}
