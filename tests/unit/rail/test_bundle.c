/* Bundles: the vectors V-BU, by their ids (WR-236 to WR-240). */
#include "rail/bundle.h"
#include "unit/rail/log.h"

#define WF_REF "sha256:038d308fe13f5999a2c048389327c3381eb209fcfced8b95c82ddefb1310741b"
#define SN_6   "sha256:570c28c840e2821f07b7a33915548c9397f4347085cedfa7f6f290b317691457"
#define SN_5   "sha256:5e8ba9ff8386ce9b16780cd3de045f39c5743dad0493667edf76509bc78f695c"

/* What a bundle is made of; a test changes one thing. */
struct parts {
    struct str events[8], manifest[5];
    size_t events_nr, manifest_nr;
    const char *version;
    bool no_events, no_snapshot, no_workflow, extra_entry, longer;
    struct str entry_events; /* what the entry of the events is of; empty: themselves */
};

static struct parts parts_new(void) {
    struct json_elements e = log_lines("events"), m = log_lines("manifest");
    struct parts p = {.events_nr = 7, .manifest_nr = 4, .version = "1"};
    for (size_t i = 0; i < 7; i++) p.events[i] = json_string(e.v[i], kit_a);
    for (size_t i = 0; i < 4; i++) p.manifest[i] = json_string(m.v[i], kit_a);
    return p;
}

static struct str list_of(const struct str *v, size_t n) {
    struct str out = STR("[");
    for (size_t i = 0; i < n; i++)
        out = arena_printf(kit_a, STR_FMT "%s" STR_FMT, STR_ARG(out), i > 0 ? "," : "",
                           STR_ARG(v[i]));
    return arena_printf(kit_a, STR_FMT "]", STR_ARG(out));
}

static void entry_add(struct str *out, const char *path, struct str bytes, int more) {
    const struct wr_digest d = wr_digest_of(bytes);
    *out = arena_printf(kit_a, STR_FMT "%s{\"path\":\"%s\",\"sha256\":\"%s\",\"bytes\":%zu}",
                        STR_ARG(*out), out->n > 1 ? "," : "", path, d.s, bytes.n + (size_t)more);
}

static struct str bundle_of(const struct parts *p) {
    struct str events = list_of(p->events, p->events_nr),
               manifest = list_of(p->manifest, p->manifest_nr), entries = STR("[");
    entry_add(&entries, "session/events", p->entry_events.n > 0 ? p->entry_events : events,
              p->longer);
    entry_add(&entries, "session/manifest", manifest, 0);
    if (!p->no_workflow)
        entry_add(&entries, "session/pinnedWorkflows/" WF_REF, kit_line("V-WF-2"), 0);
    if (!p->no_snapshot) entry_add(&entries, "session/snapshots/" SN_6, kit_line("V-SN-6"), 0);
    entry_add(&entries, "session/snapshots/" SN_5, kit_line("V-SN-5"), 0);
    if (p->extra_entry) entry_add(&entries, "session/snapshots/sha256:0", STR("{}"), 0);
    struct str snapshots =
        arena_printf(kit_a, "{\"" SN_5 "\":" STR_FMT "%s", STR_ARG(kit_line("V-SN-5")),
                     p->no_snapshot ? "" : ",\"" SN_6 "\":");
    if (!p->no_snapshot)
        snapshots =
            arena_printf(kit_a, STR_FMT STR_FMT, STR_ARG(snapshots), STR_ARG(kit_line("V-SN-6")));
    struct str workflows = p->no_workflow ? STR("{}")
                                          : arena_printf(kit_a, "{\"" WF_REF "\":" STR_FMT "}",
                                                         STR_ARG(kit_line("V-WF-2")));
    return arena_printf(
        kit_a,
        "{\"bundleSchemaVersion\":%s,\"bundleId\":\"bundle_x\",\"exportedAt\":\"x\",\"producer\":{"
        "\"appVersion\":\"1\"},\"integrity\":{\"kind\":\"sha256_manifest_v1\",\"entries\":" STR_FMT
        "]},\"session\":{\"sessionId\":\"%s\",%s" STR_FMT "%s\"manifest\":" STR_FMT
        ",\"snapshots\":" STR_FMT "},\"pinnedWorkflows\":" STR_FMT "}}",
        p->version, STR_ARG(entries), KIT_S,
        p->no_events ? "" : "\"events\":", STR_ARG(p->no_events ? STR("") : events),
        p->no_events ? "" : ",", STR_ARG(manifest), STR_ARG(snapshots), STR_ARG(workflows));
}

static void expect_code(const char *id, const struct parts *p, enum wr_code code) {
    struct rail_bundle b;
    struct wr_fault f = {.code = WR_FINE};
    int rc = rail_bundle_read(bundle_of(p), kit_a, &b, &f);
    cr_expect_eq(rc == 0 ? WR_FINE : f.code, code, "%s: %s (%s)", id, wr_code_name(f.code),
                 rc ? f.e.message : "");
}

#define BUNDLE(name) Test(rail_bundle, name, .init = kit_up, .fini = kit_down)

BUNDLE(v_bu_1_to_5_what_is_whole_is_read) {
    struct parts p = parts_new();
    struct str events = list_of(p.events, 7), manifest = list_of(p.manifest, 4);
    cr_expect_eq((int64_t)events.n, kit_number("V-BU-1", 1));
    kit_hash("V-BU-1", events, kit_code("V-BU-1", 2, 0));
    cr_expect_eq((int64_t)manifest.n, kit_number("V-BU-2", 1));
    kit_hash("V-BU-2", manifest, kit_code("V-BU-2", 2, 0));
    kit_hash("V-BU-3", kit_line("V-WF-2"), kit_code("V-BU-3", 2, 0));
    kit_hash("V-BU-4", kit_line("V-SN-6"), kit_code("V-BU-4", 2, 0));
    kit_hash("V-BU-5", kit_line("V-SN-5"), kit_code("V-BU-5", 2, 0));
    expect_code("V-BU-1", &p, WR_FINE);
    p.events_nr = 3;
    p.manifest_nr = 2;
    kit_hash("V-BU-6", list_of(p.events, 3), kit_code("V-BU-6", 2, 0));
    kit_hash("V-BU-6", list_of(p.manifest, 2), kit_code("V-BU-6", 2, 1));
    expect_code("V-BU-6", &p, WR_FINE);
}

BUNDLE(v_bu_n1_another_version) {
    struct parts p = parts_new();
    p.version = "2";
    expect_code("V-BU-N1", &p, WR_BUNDLE_UNSUPPORTED_VERSION);
    p.version = "\"1\"";
    expect_code("version", &p, WR_BUNDLE_INVALID_FORMAT);
}

BUNDLE(v_bu_n2_no_events) {
    struct parts p = parts_new();
    p.no_events = true;
    expect_code("V-BU-N2", &p, WR_BUNDLE_INVALID_FORMAT);
}

BUNDLE(v_bu_n3_to_n5_integrity) {
    struct parts p = parts_new();
    p.entry_events = list_of(p.events, 7);
    p.events[6] = log_replaced(p.events[6], "Triage done.", "Triage d0ne.");
    expect_code("V-BU-N3", &p, WR_BUNDLE_INTEGRITY_FAILED);
    p = parts_new();
    p.longer = true;
    expect_code("V-BU-N4", &p, WR_BUNDLE_INTEGRITY_FAILED);
    p = parts_new();
    p.extra_entry = true;
    expect_code("V-BU-N5", &p, WR_BUNDLE_INTEGRITY_FAILED);
}

BUNDLE(v_bu_n6_n7_order) {
    struct parts p = parts_new();
    struct str third = p.events[3];
    p.events[3] = p.events[4];
    p.events[4] = third;
    expect_code("V-BU-N6", &p, WR_BUNDLE_EVENT_ORDER_INVALID);
    p = parts_new();
    struct str second = p.manifest[2];
    p.manifest[2] = p.manifest[3];
    p.manifest[3] = second;
    expect_code("V-BU-N7", &p, WR_BUNDLE_MANIFEST_ORDER_INVALID);
}

BUNDLE(v_bu_n8_n9_what_is_referred_to_is_missing) {
    struct parts p = parts_new();
    p.no_snapshot = true;
    expect_code("V-BU-N8", &p, WR_BUNDLE_MISSING_SNAPSHOT);
    p = parts_new();
    p.no_workflow = true;
    expect_code("V-BU-N9", &p, WR_BUNDLE_MISSING_PINNED_WORKFLOW);
}

BUNDLE(what_is_no_bundle_gets_a_clear_error) {
    static const char *const BAD[] = {"", "[]", "{", "{\"bundleSchemaVersion\":1}", "null"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct rail_bundle b;
        struct wr_fault f = {.code = WR_FINE};
        cr_expect_neq(rail_bundle_read(str_c(BAD[i]), kit_a, &b, &f), 0);
        cr_expect_eq(f.code, WR_BUNDLE_INVALID_FORMAT, "%s", BAD[i]);
    }
}
