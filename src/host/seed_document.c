/* seed_document.c: WorkSpec documents among the files of a seed folder. */
#include "host/seed_document.h"

#include "workspec/language.h"
#include "workspec/validate.h"

#include <stdio.h>

static const struct {
    const char *ending;
    enum ws_format format;
} ENDINGS[] = {
    {".workspec.json", WS_JSON}, {".workspec.yaml", WS_YAML}, {".workspec.yml", WS_YAML}};

static bool ending_of(struct str name, enum ws_format *format, struct str *id) {
    for (size_t i = 0; i < sizeof ENDINGS / sizeof *ENDINGS; i++) {
        struct str ending = str_c(ENDINGS[i].ending);
        if (!str_ends(name, ending)) continue;
        *format = ENDINGS[i].format;
        *id = str_n(name.p, name.n - ending.n);
        return true;
    }
    return false;
}

bool seed_is_document(struct str name) {
    enum ws_format format;
    struct str id;
    return ending_of(name, &format, &id);
}

/* The first error in its words; there is one. */
static int document_refuse(const struct ws_report *r, struct wopr_error *err) {
    struct buf text;
    size_t i = 0;
    while (i + 1 < r->nr && r->v[i].severity != WS_ERROR) i++;
    buf_init(&text, sizeof err->message);
    ws_detail(&text, &r->v[i], true);
    int rc = wopr_error_set(err, WOPR_E_VALIDATION, STR_FMT, STR_ARG(buf_str(&text)));
    snprintf(err->pointer, sizeof err->pointer, "%.*s",
             (int)(r->v[i].instance.n < sizeof err->pointer ? r->v[i].instance.n : 0),
             r->v[i].instance.p);
    buf_fini(&text);
    return rc;
}

/* The workflow is called as the file: the same file edited is the same workflow, which a name made
 * of the title and the bytes (WS-94) would not be. */
static int document_store(struct str name, struct str bytes, const struct ws_zones *zones,
                          struct arena *a, struct str *stored, struct wopr_error *err) {
    const struct ws_options o = {.profile = WS_HOST, .zones = zones};
    enum ws_format format = WS_JSON;
    struct ws_stored made;
    struct ws_report r;
    struct ws_doc doc;
    struct str id = STR_NONE;
    (void)ending_of(name, &format, &id);
    int rc = ws_parse(bytes, format, &WS_LIMITS_DEFAULT, a, &doc, err);
    if (rc != 0) return rc;
    ws_report_init(&r, a);
    rc = ws_validate(&doc, &o, &r, err);
    if (rc == 0 && !ws_report_ok(&r)) rc = document_refuse(&r, err);
    ws_report_fini(&r);
    if (rc == 0) rc = ws_stored_make(&doc, bytes, format, id, zones, a, &made, err);
    if (rc == 0) *stored = made.text;
    return rc;
}

int seed_document(struct str name, struct str bytes, struct arena *a, struct str *stored,
                  struct wopr_error *err) {
    struct ws_system_zones *system = ws_system_zones_new();
    if (system == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    const struct ws_zones zones = ws_system_zones(system);
    int rc = document_store(name, bytes, &zones, a, stored, err);
    ws_system_zones_free(system);
    return rc;
}
