/*
 * artifacts.c: GET /v1/runs/{runId}/artifacts/{artifactId} (E15, RUN-43); the shape is this host's.
 */
#include "wire/v1/wire_int.h"

int v1_get_artifact(struct http_call *c) {
    struct wopr_error err = {0};
    struct run_head head;
    struct plan_artifact art;
    struct str id = http_param(c, "artifactId");
    int rc = wire_run_of(c, &head, &err);
    if (rc == 0)
        rc = store_artifact_get(wire_of(c)->store, c->who.tenant, c->who.test_mode, head.run_id, id,
                                c->arena, &art, &err);
    if (rc != 0) return wire_fail(c, &err);
    struct jobj o;
    jobj_begin(&o, WIRE_SNAPSHOT_MAX);
    jw_kstr(&o.w, "artifactId", art.artifact_id);
    jw_kstr(&o.w, "artifactType", art.artifact_type);
    jw_kstr(&o.w, "runId", head.run_id);
    if (art.node_id.n) jw_kstr(&o.w, "nodeId", art.node_id);
    if (art.version.n) jw_kstr(&o.w, "version", art.version);
    if (art.summary.n) jw_kstr(&o.w, "summary", art.summary);
    if (art.body.n) jw_kraw(&o.w, "body", art.body);
    return wire_reply_object(c, 200, &o);
}
