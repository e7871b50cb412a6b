/*
 * pack_edit.c: changing the registry (PACK-37 to PACK-43): publish, unpublish, deprecate, yank,
 * rotate a key.
 *
 *   handler        offload thread             handler again        committer's thread
 *   phase 0 -----> judge: 10.6, 2 to 23 ----> phase 1: queue ----> write, reply, resume
 */
#include "base/clock.h"
#include "codec/ident.h"
#include "packs/registry.h"
#include "wire/v1/wire_int.h"

enum { MARK_BYTES = 16 * 1024, SUPERSEDED_MAX = 512, URL_MAX = 2048 };

struct pack_edit { /* in the call's arena */
    struct http_call *call;
    struct pack_actor who;
    struct str name, version, namespace;
    struct pack_publish publish;
    enum pack_mark mark;
    struct str text; /* of the mark; empty: take it away */
    struct pack_key key;
    int (*write)(struct pack_edit *e, struct store *s, struct wopr_error *err);
    int (*answer)(struct pack_edit *e);
    bool fresh;
};

static void edit_write(void *ctx, struct store *s) {
    struct pack_edit *e = ctx;
    struct wopr_error err = {0};
    int rc = e->write(e, s, &err);
    if (rc != 0) http_fail(e->call, &err);
    else (void)e->answer(e);
    http_resume(e->call);
}

static int edit_queue(struct pack_edit *e) {
    struct wopr_error err = {0};
    struct http_call *c = e->call;
    c->user = NULL; /* what replies keeps its own there, maybe before journal_side returns */
    int rc = journal_side(v1_of(c)->journal, edit_write, e);
    if (rc == 0) return HTTP_PENDING;
    (void)wopr_error_set(&err, rc, "the host cannot take the change now");
    return wire_fail(c, &err);
}

static struct pack_edit *edit_new(struct http_call *c, struct wopr_error *err) {
    struct pack_edit *e = ARENA_NEW(c->arena, struct pack_edit);
    if (!e) {
        (void)wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the change");
        return NULL;
    }
    *e = (struct pack_edit){.call = c, .who = {c->who.tenant, c->who.key_id, clock_wall_ms()}};
    return e;
}

/* The name of the path is one that may exist; what belongs to it. */
static int edit_name(struct pack_edit *e, struct wopr_error *err) {
    int rc = v1_pack_name(e->call, &e->name, err);
    if (rc == 0) e->namespace = pack_namespace(e->name);
    return rc;
}

static int edit_version(struct pack_edit *e, struct wopr_error *err) {
    int rc = edit_name(e, err);
    e->version = http_param(e->call, "file");
    return rc == 0 ? registry_id_check(e->name, e->version, err) : rc;
}

/* --- publish --- */

static int publish_write(struct pack_edit *e, struct store *s, struct wopr_error *err) {
    int rc = store_pack_publish(s, &e->publish, &e->who, &e->fresh, err);
    if (rc != WOPR_E_QUOTA) return rc;
    err->code = WOPR_E_CONFLICT; /* only the tenant can make room: 409, not "try later" */
    jobj_details_int(err, "bytesMax", e->publish.bytes_max);
    return err->code;
}

static int publish_answer(struct pack_edit *e) {
    return v1_pack_version_reply(e->call, e->fresh ? 201 : 200, &e->publish.release);
}

static int known_answer(struct pack_edit *e, struct wopr_error *err) {
    struct http_call *c = e->call;
    struct pack_release r;
    int rc = store_pack_get(wire_of(c)->store, e->name, e->version, c->arena, &r, err);
    return rc == 0 ? v1_pack_version_reply(c, 200, &r) : rc;
}

static int publish_judge(struct pack_edit *e, struct wopr_error *err) {
    struct http_call *c = e->call;
    bool known = false;
    e->name = http_param(c, "name");
    int rc = pack_name_check(e->name, NULL, err);
    if (rc == 0) rc = v1_pack_tarball_of(c, &e->version, err);
    if (rc != 0) return rc;
    const struct registry_upload u = {.name = e->name,
                                      .version = e->version,
                                      .content_type = http_header(c, "Content-Type"),
                                      .tarball = c->body,
                                      .sri = http_header(c, "X-Pack-Sha256"),
                                      .method = http_header(c, "X-Pack-Signing-Method"),
                                      .signature = http_header(c, "X-Pack-Signature"),
                                      .key = http_header(c, "X-Pack-Public-Key")};
    rc = registry_admit(v1_of(c)->registry, wire_of(c)->store, &u, &e->who, c->arena, &e->publish,
                        &known, err);
    return rc == 0 && known ? known_answer(e, err) : rc;
}

static void publish_judge_offloaded(struct http_call *c) {
    struct wopr_error err = {0};
    struct pack_edit *e = edit_new(c, &err);
    int rc = e ? publish_judge(e, &err) : err.code;
    if (rc != 0) {
        http_fail(c, &err);
        return;
    }
    if (c->status != 0) return; /* the same bytes were there */
    e->publish.bytes_max = v1_of(c)->cfg.pack_bytes_max;
    e->write = publish_write;
    e->answer = publish_answer;
    c->user = e;
}

int v1_publish_pack(struct http_call *c) {
    if (c->phase == 0) {
        int rc = http_offload(c, publish_judge_offloaded);
        if (rc == HTTP_PENDING || c->status != 0) return rc;
    }
    return edit_queue(c->user);
}

/* --- marks --- */

static int mark_write(struct pack_edit *e, struct store *s, struct wopr_error *err) {
    return store_pack_mark(s, e->name, e->version, e->namespace, e->mark, &e->text, &e->who,
                           e->call->arena, err);
}

static int mark_answer(struct pack_edit *e) {
    struct jobj o;
    jobj_begin(&o, WIRE_BODY_SMALL);
    jw_kstr(&o.w, "name", e->name);
    jw_kstr(&o.w, "version", e->version);
    if (e->text.n > 0) jw_kraw(&o.w, e->mark == PACK_MARK_YANK ? "yanked" : "deprecation", e->text);
    return wire_reply_object(e->call, 200, &o);
}

static int mark_begin(struct http_call *c, enum pack_mark mark,
                      int (*fill)(struct pack_edit *e, struct wopr_error *err)) {
    struct wopr_error err = {0};
    struct pack_edit *e = edit_new(c, &err);
    int rc = e ? edit_version(e, &err) : err.code;
    if (rc == 0 && fill) rc = fill(e, &err);
    if (rc != 0) return wire_fail(c, &err);
    e->mark = mark;
    e->write = mark_write;
    e->answer = mark_answer;
    return edit_queue(e);
}

static int reason_check(struct str reason, struct wopr_error *err) {
    if (reason.n > 0 && reason.n <= V1_REASON_BYTES) return 0;
    return wire_field_error(err, "reason", "required", "reason must be a text of 1 to 4096 bytes");
}

static int mark_end(struct pack_edit *e, struct jobj *o, struct wopr_error *err) {
    e->text = jobj_end(o, e->call->arena);
    return e->text.n > 0 ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the mark");
}

static int deprecation_fill(struct pack_edit *e, struct wopr_error *err) {
    struct http_call *c = e->call;
    struct v1_pack_deprecation b = {0};
    int rc = wire_body_parse(c->body, &V1_PACK_DEPRECATION, c->arena, &b, err);
    if (rc == 0) rc = reason_check(b.reason, err);
    if (rc == 0 && b.superseded_by.n > SUPERSEDED_MAX)
        rc = wire_field_error(err, "supersededBy", "length", "supersededBy is too long");
    if (rc != 0) return rc;
    struct jobj o;
    jobj_begin(&o, MARK_BYTES);
    jw_kbool(&o.w, "deprecated", true);
    jw_kstr(&o.w, "reason", b.reason);
    if (b.superseded_by.n > 0) jw_kstr(&o.w, "supersededBy", b.superseded_by);
    v1_pack_time(&o.w, "deprecatedAt", e->who.now_ms);
    jw_kstr(&o.w, "deprecatedBy", e->who.key_id);
    return mark_end(e, &o, err);
}

static int yank_fill(struct pack_edit *e, struct wopr_error *err) {
    struct http_call *c = e->call;
    struct v1_pack_yank b = {0};
    int rc = wire_body_parse(c->body, &V1_PACK_YANK, c->arena, &b, err);
    if (rc == 0) rc = reason_check(b.reason, err);
    if (rc == 0 && b.advisory_url.n > URL_MAX)
        rc = wire_field_error(err, "advisoryUrl", "length", "advisoryUrl is too long");
    if (rc != 0) return rc;
    struct jobj o;
    jobj_begin(&o, MARK_BYTES);
    jw_kstr(&o.w, "reason", b.reason);
    if (b.advisory_url.n > 0) jw_kstr(&o.w, "advisoryUrl", b.advisory_url);
    v1_pack_time(&o.w, "yankedAt", e->who.now_ms);
    jw_kstr(&o.w, "yankedBy", e->who.key_id);
    return mark_end(e, &o, err);
}

int v1_deprecate_pack(struct http_call *c) {
    return mark_begin(c, PACK_MARK_DEPRECATION, deprecation_fill);
}
int v1_undeprecate_pack(struct http_call *c) { return mark_begin(c, PACK_MARK_DEPRECATION, NULL); }
int v1_yank_pack(struct http_call *c) { return mark_begin(c, PACK_MARK_YANK, yank_fill); }
int v1_unyank_pack(struct http_call *c) { return mark_begin(c, PACK_MARK_YANK, NULL); }

/* --- unpublish --- */

static int unpublish_write(struct pack_edit *e, struct store *s, struct wopr_error *err) {
    struct pack_face left;
    bool any = false;
    int rc = registry_left(s, e->name, e->version, e->call->arena, &any, &left, err);
    return rc == 0 ? store_pack_unpublish(s, e->name, e->version, e->namespace,
                                          e->who.now_ms - PACK_UNPUBLISH_WINDOW_MS,
                                          any ? &left : NULL, &e->who, err)
                   : rc;
}

static int unpublish_answer(struct pack_edit *e) {
    struct jobj o;
    jobj_begin(&o, WIRE_BODY_SMALL);
    jw_kstr(&o.w, "name", e->name);
    jw_kstr(&o.w, "version", e->version);
    jw_kbool(&o.w, "unpublished", true);
    return wire_reply_object(e->call, 200, &o);
}

int v1_unpublish_pack(struct http_call *c) {
    struct wopr_error err = {0};
    struct pack_edit *e = edit_new(c, &err);
    int rc = e ? edit_version(e, &err) : err.code;
    if (rc != 0) return wire_fail(c, &err);
    e->write = unpublish_write;
    e->answer = unpublish_answer;
    return edit_queue(e);
}

/* --- keys --- */

static int rotate_write(struct pack_edit *e, struct store *s, struct wopr_error *err) {
    int rc = store_pack_key_rotate(s, &e->key, e->name, &e->who, err);
    return rc == WOPR_E_NOT_FOUND
               ? wopr_error_set(err, WOPR_E_CONFLICT, "another rotation or a revocation was first")
               : rc;
}

static int rotate_answer(struct pack_edit *e) { return v1_pack_keychain_reply(e->call, e->name); }

static int rotate_judge(struct pack_edit *e, struct wopr_error *err) {
    struct http_call *c = e->call;
    struct v1_pack_key_rotation b = {0};
    struct str owner;
    int rc = edit_name(e, err);
    if (rc == 0) rc = wire_body_parse(c->body, &V1_PACK_KEY_ROTATION, c->arena, &b, err);
    if (rc == 0) rc = store_pack_owner(wire_of(c)->store, e->namespace, c->arena, &owner, err);
    if (rc == WOPR_E_NOT_FOUND)
        return wopr_error_set(err, WOPR_E_PACK_NOT_FOUND, "there is no pack of this name");
    if (rc == 0 && !str_eq(owner, e->who.tenant))
        rc = wopr_error_set(err, WOPR_E_FORBIDDEN, "the name belongs to another tenant");
    const struct registry_rotation r = {b.kid, b.public_key, b.valid_from, b.rotation_proof};
    if (rc == 0)
        rc = registry_rotation_check(wire_of(c)->store, e->namespace, &r, e->who.now_ms, c->arena,
                                     &e->key, err);
    return rc;
}

int v1_rotate_pack_key(struct http_call *c) {
    struct wopr_error err = {0};
    struct pack_edit *e = edit_new(c, &err);
    int rc = e ? rotate_judge(e, &err) : err.code;
    if (rc != 0) return wire_fail(c, &err);
    e->write = rotate_write;
    e->answer = rotate_answer;
    return edit_queue(e);
}
