/*
 * credentials.c: sealing of credentials; see credentials.h.  Above the backends: it uses the port
 * only.
 */
#include "store/credentials.h"

#include "base/mem.h"
#include "codec/jobj.h"

static const char *const KINDS[] = {"ai-provider", "api-key", "oauth-token", "custom"};

const char *credential_kind_name(enum credential_kind k) {
    return k < CREDENTIAL_KIND_NR ? KINDS[k] : "unknown";
}

bool credential_kind_parse(struct str name, enum credential_kind *out) {
    for (int i = 0; i < CREDENTIAL_KIND_NR; i++) {
        if (!str_eqc(name, KINDS[i])) continue;
        *out = (enum credential_kind)i;
        return true;
    }
    return false;
}

bool credential_name_ok(struct str name) {
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] <= ' ' || name.p[i] > '~') return false;
    return name.n > 0 && name.n <= CREDENTIAL_NAME_MAX;
}

/* The scope makes the key of the box; as JSON no two ids have the same text. */
static int place_of(const struct credential *c, struct arena *a, struct seal_place *out,
                    struct wopr_error *err) {
    const struct credential_id *id = &c->id;
    struct jobj o;
    jobj_begin(&o, JSON_LIMITS_DEFAULT.bytes_max);
    jw_kstrz(&o.w, "what", "credential");
    jw_kstr(&o.w, "tenant", id->tenant);
    jw_kbool(&o.w, "test", id->test_mode);
    jw_kstr(&o.w, "issuer", id->issuer);
    jw_kstr(&o.w, "subject", id->subject);
    jw_kstr(&o.w, "name", id->name);
    jw_kstrz(&o.w, "kind", credential_kind_name(c->kind));
    jw_kstr(&o.w, "provider", c->provider);
    *out = (struct seal_place){jobj_end(&o, a), c->updated_ms};
    return out->scope.p ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a credential");
}

static int put_once(struct store *s, struct vault *v, struct credential *c, struct str value,
                    struct arena *a, struct wopr_error *err) {
    struct seal_place place;
    int rc = place_of(c, a, &place, err);
    if (rc == 0) rc = vault_seal(v, &place, value, a, &c->sealed, err);
    return rc == 0 ? store_credential_put(s, c, err) : rc;
}

int credential_put(struct store *s, struct vault *v, const struct credential *c, struct str value,
                   struct wopr_error *err) {
    ASSERT(credential_name_ok(c->id.name) && c->id.tenant.n > 0);
    ASSERT(value.n > 0 && value.n <= CREDENTIAL_VALUE_MAX);
    struct arena *a = arena_new(8 * CREDENTIAL_VALUE_MAX);
    struct credential row = *c;
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a credential");
    int rc = put_once(s, v, &row, value, a, err);
    if (rc == WOPR_E_UNAVAILABLE) rc = put_once(s, v, &row, value, a, err); /* vault.h, V2 */
    arena_free(a);
    return rc;
}

int credential_open(struct vault *v, const struct credential *c, struct arena *a, struct str *value,
                    struct wopr_error *err) {
    struct seal_place place;
    int rc = place_of(c, a, &place, err);
    return rc == 0 ? vault_open(v, &place, &c->sealed, a, value, err) : rc;
}

int credential_resolve(struct store *s, struct vault *v, const struct credential_id *id,
                       struct arena *a, struct credential *out, struct str *value,
                       struct wopr_error *err) {
    int rc = store_credential_find(s, id, a, out, err);
    return rc == 0 ? credential_open(v, out, a, value, err) : rc;
}

void credential_wipe(struct str *value) {
    if (value->n > 0) mem_wipe((void *)(uintptr_t)value->p, value->n);
    *value = STR_NONE;
}

int credential_check(struct vault *v, const struct credential *c, struct arena *a,
                     struct wopr_error *err) {
    struct str value = STR_NONE;
    int rc = credential_open(v, c, a, &value, err);
    credential_wipe(&value);
    return rc;
}
