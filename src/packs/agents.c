/* agents.c: see agents.h. */
#include "packs/agents.h"

#include "codec/jobj.h"
#include "domain/agent_manifest.h"
#include "packs/judge.h"

#define FILES_NAMED      3 /* a manifest names no more */
#define DEFINITION_BYTES (8u * 1024 * 1024)

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an agent of a pack");
}

/* One of the files that a manifest names, once. */
static int file_add(struct str tarball, struct str object, const char *key, struct jobj *o,
                    struct str done[FILES_NAMED], struct arena *a, struct wopr_error *err) {
    struct str name = json_string(json_get(object, key), a);
    size_t n = 0;
    struct buf b;
    if (name.n == 0) return 0;
    for (; n < FILES_NAMED && done[n].n > 0; n++)
        if (str_eq(done[n], name)) return 0;
    buf_init(&b, PACK_REF_BYTES_MAX);
    int rc = pack_file_read(tarball, name, &b, err);
    if (rc == 0 && !utf8_valid(buf_str(&b)))
        rc = wopr_error_set(err, WOPR_E_PACK_LOAD, "a file of the agent is no text");
    if (rc == 0) {
        jw_key_str(&o->w, name);
        jw_str(&o->w, buf_str(&b));
        if (n < FILES_NAMED) done[n] = name;
    }
    buf_fini(&b);
    return rc;
}

int pack_agent_definition(struct str tarball, struct str manifest, struct arena *a, struct str *out,
                          struct wopr_error *err) {
    struct str done[FILES_NAMED] = {STR_NONE}, handoff = json_get(manifest, "handoff"), files;
    struct jobj o;
    jobj_begin(&o, DEFINITION_BYTES);
    int rc = file_add(tarball, manifest, "systemPromptRef", &o, done, a, err);
    if (rc == 0) rc = file_add(tarball, handoff, "taskSchemaRef", &o, done, a, err);
    if (rc == 0) rc = file_add(tarball, handoff, "returnSchemaRef", &o, done, a, err);
    if (rc != 0) {
        jobj_drop(&o);
        return rc;
    }
    files = jobj_end(&o, a);
    *out = agent_definition(manifest, str_eqc(files, "{}") ? STR_NONE : files, a);
    return files.p && out->p ? 0 : no_memory(err);
}

int pack_agent_find(struct str agents, struct str id, struct arena *a, struct str *out,
                    struct wopr_error *err) {
    struct json_elements l = {0};
    *out = STR_NONE;
    if (agents.n > 0 && json_elements(agents, a, &l, err) != 0) return err->code;
    for (size_t i = 0; i < l.n && out->n == 0; i++)
        if (str_eq(json_string(json_get(l.v[i], "agentId"), a), id)) *out = l.v[i];
    return arena_failed(a) ? no_memory(err) : 0;
}
