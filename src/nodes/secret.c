/*
 * secret.c: conformance.secret.echo (NODE-63): that a credential is resolved shows in its hash and
 * its length, which tell nothing of one with enough chance in it.
 */
#include "codec/bytes.h"
#include "codec/jobj.h"
#include "nodes/nodes.h"

void node_credential_missing(const struct node_call *call, struct str id, struct node_result *out) {
    struct jobj o;
    node_fail(out, "credential_required", "there is no credential of the name in secretId", false);
    jobj_begin(&o, JSON_LIMITS_DEFAULT.bytes_max);
    jw_key(&o.w, "requirement");
    jw_object(&o.w);
    jw_kstr(&o.w, "id", id);
    jw_kstrz(&o.w, "kind", "custom");
    jw_end_object(&o.w);
    out->error_details = jobj_end(&o, call->a);
}

void exec_secret_echo(const struct node_call *call, struct node_result *out) {
    struct str id;
    struct node_credential c = {0};
    struct jobj o;
    char hex[65];
    if (!node_arg_string(call, "secretId", &id)) {
        node_invalid(out, "secretId must be the name of a credential");
        return;
    }
    enum node_found found = node_credential(call, id, &c, out);
    if (found == NODE_NONE) node_credential_missing(call, id, out);
    if (found != NODE_FOUND) return;
    struct sha256 d = sha256_of(c.value);
    sha256_hex(&d, hex);
    jobj_begin(&o, JSON_LIMITS_DEFAULT.bytes_max);
    jw_kstrz(&o.w, "secretSha256", hex);
    jw_kint(&o.w, "secretLength", (int64_t)c.value.n);
    out->outputs = jobj_end(&o, call->a);
    struct node_effect *x = node_effect_add(call, out, EFFECT_VARIABLE);
    if (x) x->name = call->def->id;
    if (x) x->value = out->outputs;
    out->outcome = NODE_OUT_DONE;
    if (!x || !out->outputs.p) node_no_memory(out);
}
