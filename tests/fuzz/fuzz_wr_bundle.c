/*
 * fuzz_wr_bundle.c: bundles of sessions (WR-236 to WR-243), as they are and with entries of
 * integrity that fit what is in them, so that changed events get past their digests.
 *  - any bytes are refused with a fault of bundles that has a place, or read;
 *  - what is read can be imported, or is refused as it should be, and then nothing is there;
 *  - what was imported is exported with the same events and manifest, and that can be read again.
 */
#include "../support/folder.h"
#include "domain/event.h"
#include "rail/bundle.h"
#include "rail/rail_int.h"
#include "store/sqlite/sqlite.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

enum { FUZZ_BYTES_MAX = 1 << 16 };
#define ARENA_BYTES ((size_t)256 << 20)
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct world {
    char dir[200];
    struct store *store;
    struct payload_rules *rules;
    struct rail *rail;
} w;

static void world_gone(void) {
    rail_free(w.rail);
    payload_rules_free(w.rules);
    store_close(w.store);
    DIR *d = opendir(w.dir);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        char name[600];
        snprintf(name, sizeof name, "%s/%s", w.dir, e->d_name);
        if (e->d_name[0] != '.') unlink(name);
    }
    if (d) closedir(d);
    rmdir(w.dir);
}

static void world_make(void) {
    struct store_config cfg = {.sync = STORE_SYNC_OFF};
    char path[220];
    ASSERT(folder_make(w.dir, sizeof w.dir, "fuzz"));
    (void)atexit(world_gone);
    snprintf(path, sizeof path, "%s/w.db", w.dir);
    cfg.path = path;
    ASSERT(store_open(&cfg, &w.store, NULL) == 0);
    ASSERT(payload_rules_new(&w.rules, NULL) == 0);
    const struct rail_config rc = {.store = w.store, .rules = w.rules};
    ASSERT(rail_new(&rc, &w.rail, NULL) == 0);
}

static bool of_bundles(const struct wr_fault *f) {
    switch (f->code) {
    case WR_BUNDLE_INVALID_FORMAT:
    case WR_BUNDLE_UNSUPPORTED_VERSION:
    case WR_BUNDLE_INTEGRITY_FAILED:
    case WR_BUNDLE_EVENT_ORDER_INVALID:
    case WR_BUNDLE_MANIFEST_ORDER_INVALID:
    case WR_BUNDLE_MISSING_SNAPSHOT:
    case WR_BUNDLE_MISSING_PINNED_WORKFLOW:
        return f->e.message[0] != '\0' && (f->e.pointer[0] == '\0' || f->e.pointer[0] == '/');
    default:
        return f->code == WR_OUT_OF_MEMORY;
    }
}

/* --- integrity that fits --- */
static void entry_write(struct jw *o, struct arena *a, const char *folder, struct str name,
                        struct str value) {
    struct wr_fault f;
    struct str bytes;
    if (wr_canonical(value, &JSON_LIMITS_STORED, a, &bytes, &f) != 0) return;
    const struct wr_digest d = wr_digest_of(bytes);
    jw_object(o);
    jw_kstr(o, "path", arena_printf(a, "session/%s" STR_FMT, folder, STR_ARG(name)));
    jw_kstr(o, "sha256", wr_digest_str(&d));
    jw_kint(o, "bytes", (int64_t)bytes.n);
    jw_end_object(o);
}

static void entries_write(struct jw *o, struct arena *a, struct str session) {
    static const char *const FOLDERS[] = {"snapshots", "pinnedWorkflows", "artifacts"};
    struct json_members m;
    entry_write(o, a, "", STR("events"), json_get(session, "events"));
    entry_write(o, a, "", STR("manifest"), json_get(session, "manifest"));
    for (size_t i = 0; i < sizeof FOLDERS / sizeof *FOLDERS; i++) {
        struct str all = json_get(session, FOLDERS[i]);
        if (!all.p || json_type_of(all) != JSON_OBJECT || json_members(all, a, &m, NULL) != 0)
            continue;
        const char *folder = arena_cstr(a, arena_printf(a, "%s/", FOLDERS[i]));
        for (size_t k = 0; folder && k < m.n; k++)
            entry_write(o, a, folder, m.v[k].key, m.v[k].raw);
    }
}

/* Empty: there is nothing to mend. */
static struct str mended(struct str in, struct arena *a) {
    struct json_members top;
    struct buf b;
    struct jw o;
    if (json_check(in, &JSON_LIMITS_STORED, NULL) != 0 || json_type_of(in) != JSON_OBJECT)
        return STR_NONE;
    struct str session = json_get(in, "session");
    if (!session.p || json_type_of(session) != JSON_OBJECT) return STR_NONE;
    if (!json_get(session, "events").p || !json_get(session, "manifest").p) return STR_NONE;
    if (json_members(in, a, &top, NULL) != 0) return STR_NONE;
    buf_init(&b, 16 * (size_t)FUZZ_BYTES_MAX);
    jw_init(&o, &b);
    jw_object(&o);
    for (size_t i = 0; i < top.n; i++) {
        if (str_eqc(top.v[i].key, "integrity")) continue;
        jw_key_str(&o, top.v[i].key);
        jw_raw(&o, top.v[i].raw);
    }
    jw_key(&o, "integrity");
    jw_object(&o);
    jw_kstrz(&o, "kind", "sha256_manifest_v1");
    jw_key(&o, "entries");
    jw_array(&o);
    entries_write(&o, a, session);
    jw_end_array(&o);
    jw_end_object(&o);
    jw_end_object(&o);
    struct str out = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    return out;
}

/* --- in and out again --- */
static void check_equal(const struct rail_bundle *x, const struct rail_bundle *y) {
    ASSERT(x->events_nr == y->events_nr && x->records_nr == y->records_nr);
    for (size_t i = 0; i < x->events_nr; i++)
        ASSERT(str_eq(x->events[i].bytes, y->events[i].bytes));
    for (size_t i = 0; i < x->records_nr; i++)
        ASSERT(str_eq(x->records[i].bytes, y->records[i].bytes));
    ASSERT(y->blobs_nr <= x->blobs_nr); /* what nothing refers to stays behind */
}

static void check_import(struct str in, const struct rail_bundle *read, struct arena *a) {
    const struct rail_import x = {.who = {.tenant = STR("t"),
                                          .workspace = STR("w"),
                                          .subject = STR("{\"kind\":\"workload\"}")}};
    const struct rail_export out = {
        .tenant = STR("t"), .session_id = read->session_id, .artifacts = true, .version = "1"};
    struct rail_imported got;
    struct rail_bundle again;
    struct wr_fault f = {.code = WR_FINE};
    struct str json;
    if (rail_bundle_import(w.rail, &x, in, a, &got, &f) != 0) {
        ASSERT(of_bundles(&f) || f.code == WR_PRECONDITION_FAILED);
        ASSERT(rail_bundle_export(w.rail, &out, a, &json, &f) != 0 && f.code == WR_NOT_FOUND);
        return;
    }
    ASSERT(got.fresh && str_eq(got.session_id, read->session_id));
    ASSERT(rail_bundle_export(w.rail, &out, a, &json, &f) == 0);
    ASSERT(rail_bundle_read(json, a, &again, &f) == 0);
    check_equal(read, &again);
    for (bool more = true; more;) ASSERT(rail_remove(w.rail, read->session_id, &more, &f) == 0);
}

static void check(struct str in, struct arena *a) {
    struct rail_bundle read;
    struct wr_fault f = {.code = WR_FINE};
    if (rail_bundle_read(in, a, &read, &f) != 0) ASSERT(of_bundles(&f));
    else check_import(in, &read, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len > FUZZ_BYTES_MAX) return 0;
    if (!w.rail) world_make();
    struct arena *a = arena_new(ARENA_BYTES);
    struct str in = str_n((const char *)data, len);
    ASSERT(a != NULL);
    check(in, a);
    in = mended(in, a);
    if (in.p) check(in, a);
    arena_free(a);
    return 0;
}
