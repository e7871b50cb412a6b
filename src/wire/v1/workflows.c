/*
 * workflows.c: GET /v1/workflows/{workflowId} (E3, RUN-42): the definition as it was stored, byte
 * for byte.
 */
#include "store/workflows.h"
#include "wire/v1/wire_int.h"

int v1_get_workflow(struct http_call *c) {
    struct wopr_error err = {0};
    struct workflow_row row;
    struct str id = http_param(c, "workflowId");
    int rc = WOPR_E_NOT_FOUND;
    if (id.n > 0 && id.n <= WIRE_ID_CHARS)
        rc = store_workflow_get(wire_of(c)->store, c->who.tenant, c->who.test_mode, id, c->arena,
                                &row, &err);
    if (rc == WOPR_E_NOT_FOUND) wopr_error_set(&err, rc, "no such workflow");
    if (rc != 0) return wire_fail(c, &err);
    http_reply(c, 200, row.text);
    return HTTP_DONE;
}
