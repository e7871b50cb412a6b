/*
 * credential.c: credentials of a run's subject or tenant for its nodes (NODE-5, CAP-36).  They are
 * read at each request, so that a change applies to the next one, and are clear only while an
 * executor and its request have them: no event, row or log line is made of one.
 */
#include "engine/credential.h"

#include "base/log.h"
#include "engine/emit.h"
#include "store/credentials.h"

void loans_begin(struct credential_loans *l, struct step *st) {
    *l = (struct credential_loans){.step = st};
}

void loans_end(struct credential_loans *l) {
    for (size_t i = 0; i < l->n; i++) credential_wipe(&l->v[i]);
    l->n = 0;
}

bool node_credential_copied(const struct node_call *call, struct str copy) {
    struct credential_loans *l = call->loans;
    if (copy.n == 0) return true;
    if (l && l->n < CREDENTIAL_LOANS_MAX) {
        l->v[l->n++] = copy;
        return true;
    }
    credential_wipe(&copy);
    return false;
}

/* An interrupted read may be tried again; a box that does not open stays shut. */
static enum node_found credential_lost(const struct node_call *call, int rc,
                                       const struct wopr_error *err, struct node_result *out) {
    log_error("a credential cannot be read", "run", call->loans->step->exec->run_id, "why",
              err->message);
    bool retry = rc != WOPR_E_CORRUPT && rc != WOPR_E_CONFIG;
    node_fail(out, "credential_unavailable",
              retry ? "the credential cannot be read at the moment"
                    : "the stored credential cannot be opened; its owner may set it again",
              retry);
    return NODE_LOST;
}

enum node_found node_credential(const struct node_call *call, struct str name,
                                struct node_credential *c, struct node_result *out) {
    struct engine *e = call->loans ? call->loans->step->engine : NULL;
    const struct run_meta *m = &call->run->meta;
    struct credential_id id = {.tenant = m->tenant, .test_mode = m->test_mode, .name = name};
    struct credential row;
    struct wopr_error err = {0};
    if (!e || !e->cfg.vault || !credential_name_ok(name)) return NODE_NONE;
    id.issuer = json_string(json_get(m->subject, "issuer"), call->a);
    id.subject = json_string(json_get(m->subject, "subjectId"), call->a);
    if (id.issuer.n == 0 || id.subject.n == 0) id.issuer = id.subject = STR("");
    int rc = credential_resolve(e->store, e->cfg.vault, &id, call->a, &row, &c->value, &err);
    if (rc == WOPR_E_NOT_FOUND) return NODE_NONE;
    if (rc != 0) return credential_lost(call, rc, &err, out);
    c->provider = row.provider;
    resolved_note(&call->loans->step->exec->resolved, name, c->value);
    if (node_credential_copied(call, c->value)) return NODE_FOUND;
    node_fail(out, "out_of_memory", "the node needs more credentials than a step has", false);
    return NODE_LOST;
}
