/*
 * client_rules.c: which certificates of clients stand for which tenants, out of the operator's JSON
 * (AUTH-22); see client_cert.h.
 */
#include "http/client_cert.h"

#include "base/fs.h"
#include "base/mem.h"
#include "codec/json.h"

#include <stdio.h>

enum {
    RULES_BYTES_MAX = 256 * 1024,
    RULES_ARENA_BYTES = 4 * 1024 * 1024,
    PEM_BYTES_MAX = 1024 * 1024,
    TENANTS_MAX = 1024,
    PATH_BYTES_MAX = 4096
};
#define FLAG "tls-clients"

struct reader {
    struct client_rules *out;
    const char *path;
    struct wopr_error *err;
};

static int rules_wrong(const struct reader *x, const char *why) {
    return wopr_error_at(x->err, WOPR_E_CONFIG, FLAG, "%s: %s", x->path, why);
}

static int rule_wrong(const struct reader *x, const char *member, const char *why) {
    return wopr_error_at(x->err, WOPR_E_CONFIG, FLAG, "%s: clients[%zu].%s %s", x->path, x->out->n,
                         member, why);
}

static int no_memory(const struct reader *x) {
    return wopr_error_set(x->err, WOPR_E_NO_MEMORY, "no memory for the certificates of clients");
}

static bool members_known(const struct reader *x, struct str o, const char *const *known) {
    struct json_members m;
    if (json_type_of(o) != JSON_OBJECT || json_members(o, x->out->arena, &m, NULL) != 0)
        return false;
    for (size_t i = 0; i < m.n; i++) {
        bool found = false;
        for (const char *const *k = known; *k; k++) found = found || str_eqc(m.v[i].key, *k);
        if (!found) return false;
    }
    return true;
}

static struct str text_of(const struct reader *x, struct str o, const char *member) {
    struct str raw = json_get(o, member);
    if (!raw.p || json_type_of(raw) != JSON_STRING) return STR_NONE;
    struct str text = json_string(raw, x->out->arena);
    return text.n > 0 && memchr(text.p, '\0', text.n) == NULL ? text : STR_NONE;
}

/* "DNS:api.example" and the like; a fingerprint may have colons and capitals. */
static int match_read(const struct reader *x, struct str text, struct client_rule *r) {
    static const char *const KINDS[MATCH_NR] = {"DNS", "URI", "EMAIL", "CN", "SHA256"};
    static const char WHY[] = "must be DNS:, URI:, EMAIL:, CN: or SHA256: and a value";
    struct str kind, value;
    struct buf hex;
    size_t by = 0;
    if (!text.p || !str_cut(text, ':', &kind, &value)) return rule_wrong(x, "match", WHY);
    while (by < MATCH_NR && !str_eqc(kind, KINDS[by])) by++;
    if (by == MATCH_NR || value.n == 0) return rule_wrong(x, "match", WHY);
    r->by = (enum client_match)by;
    r->value = value;
    if (by != MATCH_SHA256) return 0;
    buf_init(&hex, 128);
    for (size_t i = 0; i < value.n; i++) {
        char ch = value.p[i] >= 'A' && value.p[i] <= 'F' ? (char)(value.p[i] + 32) : value.p[i];
        if (ch != ':') buf_addc(&hex, ch);
    }
    bool ok = !buf_failed(&hex) && hex.len == CLIENT_PRINT_SIZE - 1 &&
              strspn(hex.p, "0123456789abcdef") == hex.len;
    r->value = ok ? arena_str(x->out->arena, buf_str(&hex)) : STR_NONE;
    buf_fini(&hex);
    return ok ? 0 : rule_wrong(x, "match", "is no SHA-256: 64 hexadecimal digits");
}

static int tenants_read(const struct reader *x, struct str raw, struct client_rule *r) {
    static const char WHY[] = "must be a list of 1 to 1024 tenants, or [\"*\"]";
    struct json_elements e = {0};
    if (!raw.p || json_type_of(raw) != JSON_ARRAY ||
        json_elements(raw, x->out->arena, &e, NULL) != 0 || e.n == 0 || e.n > TENANTS_MAX)
        return rule_wrong(x, "tenants", WHY);
    r->tenants = ARENA_ARRAY(x->out->arena, struct str, e.n);
    for (size_t i = 0; r->tenants && i < e.n; i++) {
        struct str one =
            json_type_of(e.v[i]) == JSON_STRING ? json_string(e.v[i], x->out->arena) : STR_NONE;
        if (one.n == 0) return rule_wrong(x, "tenants", WHY);
        r->any = r->any || str_eqc(one, "*");
        r->tenants[r->tenants_nr++] = one;
    }
    if (!r->tenants) return no_memory(x);
    return r->any && r->tenants_nr > 1 ? rule_wrong(x, "tenants", WHY) : 0;
}

static int rule_read(const struct reader *x, struct str o) {
    static const char *const KNOWN[] = {"match", "tenants", NULL};
    struct client_rule *r = &x->out->v[x->out->n];
    if (!members_known(x, o, KNOWN))
        return rule_wrong(x, "match", "and tenants are all that a client has");
    int rc = match_read(x, text_of(x, o, "match"), r);
    if (rc == 0) rc = tenants_read(x, json_get(o, "tenants"), r);
    if (rc == 0) x->out->n++;
    return rc;
}

/* A relative name lies beside the file that names it. */
static int authorities_read(const struct reader *x, struct str name) {
    char path[PATH_BYTES_MAX];
    const char *slash = strrchr(x->path, '/');
    int beside = name.n > 0 && name.p[0] != '/' && slash ? (int)(slash - x->path) + 1 : 0;
    struct buf b;
    size_t n;
    if (name.n == 0) return rules_wrong(x, "caFile must name a file of certificates in PEM");
    int len = snprintf(path, sizeof path, "%.*s" STR_FMT, beside, x->path, STR_ARG(name));
    if (len < 0 || (size_t)len >= sizeof path) return rules_wrong(x, "caFile is too long");
    enum fs_read got = fs_read(path, PEM_BYTES_MAX, &b);
    if (got == FS_READ_OK && b.len == 0) buf_fini(&b);
    if (got != FS_READ_OK || b.len == 0)
        return rules_wrong(x, "the file that caFile names cannot be read");
    x->out->authorities = buf_take(&b, &n);
    return x->out->authorities ? 0 : no_memory(x);
}

static int rules_read(const struct reader *x, struct str text) {
    static const char *const KNOWN[] = {"caFile", "clients", NULL};
    struct json_elements e = {0};
    struct str list = STR_NONE;
    if (json_check(text, &JSON_LIMITS_DEFAULT, NULL) != 0 || !members_known(x, text, KNOWN))
        return rules_wrong(x, "must be a JSON object with caFile and clients");
    list = json_get(text, "clients");
    if (!list.p || json_type_of(list) != JSON_ARRAY ||
        json_elements(list, x->out->arena, &e, NULL) != 0 || e.n == 0 || e.n > CLIENT_RULES_MAX)
        return rules_wrong(x, "clients must be a list of 1 to 64");
    int rc = authorities_read(x, text_of(x, text, "caFile"));
    for (size_t i = 0; rc == 0 && i < e.n; i++) rc = rule_read(x, e.v[i]);
    return rc == 0 && arena_failed(x->out->arena) ? no_memory(x) : rc;
}

int client_rules_load(const char *path, struct client_rules **out, struct wopr_error *err) {
    struct client_rules *r = MEM_NEW(struct client_rules);
    const struct reader x = {.out = r, .path = path, .err = err};
    struct buf b;
    if (!r || !(r->arena = arena_new(RULES_ARENA_BYTES))) {
        mem_free(r);
        return no_memory(&x);
    }
    int rc = 0;
    if (fs_read(path, RULES_BYTES_MAX, &b) != FS_READ_OK) {
        rc = wopr_error_at(err, WOPR_E_CONFIG, FLAG, "%s cannot be read", path);
    } else {
        struct str text = arena_str(r->arena, buf_str(&b));
        buf_fini(&b);
        rc = text.p ? rules_read(&x, text) : no_memory(&x);
    }
    if (rc == 0) *out = r;
    else client_rules_free(r);
    return rc;
}

void client_rules_free(struct client_rules *r) {
    if (!r) return;
    mem_free(r->authorities);
    arena_free(r->arena);
    mem_free(r);
}

bool client_rule_admits(const struct client_rule *r, struct str tenant) {
    for (size_t i = 0; !r->any && i < r->tenants_nr; i++)
        if (str_eq(r->tenants[i], tenant)) return true;
    return r->any;
}
