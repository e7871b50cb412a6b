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
    struct buf b;
    struct jw w;
    buf_init(&b, WIRE_SNAPSHOT_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstr(&w, "artifactId", art.artifact_id);
    jw_kstr(&w, "artifactType", art.artifact_type);
    jw_kstr(&w, "runId", head.run_id);
    if (art.node_id.n) jw_kstr(&w, "nodeId", art.node_id);
    if (art.version.n) jw_kstr(&w, "version", art.version);
    if (art.summary.n) jw_kstr(&w, "summary", art.summary);
    if (art.body.n) jw_kraw(&w, "body", art.body);
    jw_end_object(&w);
    return wire_reply_buf(c, 200, &b);
}
