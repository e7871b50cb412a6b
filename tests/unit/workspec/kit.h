/* kit.h: small documents, and what is made of them. */
#ifndef WOPR_TESTS_UNIT_WORKSPEC_KIT_H
#define WOPR_TESTS_UNIT_WORKSPEC_KIT_H

#include "workspec/interpret.h"
#include "workspec/validate.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define KIT_ACTORS                                                                                 \
    "{\"id\":\"a\",\"type\":\"actor\",\"name\":\"Ada\",\"properties\":{\"state\":\"free\"}},"      \
    "{\"id\":\"b\",\"type\":\"actor\",\"name\":\"Bob\",\"properties\":{\"state\":\"free\"}},"      \
    "{\"id\":\"m\",\"type\":\"equipment\",\"name\":\"Mill\",\"properties\":{\"state\":\"ready\"}}" \
    ","                                                                                            \
    "{\"id\":\"w\",\"type\":\"service\",\"name\":\"W\",\"properties\":{\"state\":\"on\"}},"        \
    "{\"id\":\"p\",\"type\":\"product\",\"name\":\"Part\",\"properties\":{\"quantity\":0}}"

/* A document of these actors and tasks.  config: members after time_unit, each with a comma
 * before
 * it. */
static inline struct str kit_document(struct arena *a, const char *config, const char *tasks) {
    return arena_printf(a,
                        "{\"simulation\":{\"schema_version\":\"2.0\",\"meta\":{\"title\":\"T\","
                        "\"description\":\"D\",\"domain\":\"M\"},\"config\":{\"currency\":\"EUR\","
                        "\"locale\":\"en-IE\"%s},\"world\":{\"objects\":[" KIT_ACTORS "]},"
                        "\"process\":{\"tasks\":[%s]}}}",
                        config, tasks);
}
#define KIT_CONFIG ",\"time_unit\":\"minutes\",\"start_time\":\"07:00\",\"end_time\":\"19:00\""

static inline struct ws_doc kit_parse(struct arena *a, struct str text, enum ws_format format) {
    struct wopr_error err = {0};
    struct ws_doc doc;
    cr_assert_eq(ws_parse(text, format, &WS_LIMITS_DEFAULT, a, &doc, &err), 0, "%s", err.message);
    return doc;
}

static inline struct ws_report kit_validate(struct arena *a, const struct ws_doc *doc,
                                            const struct ws_zones *zones, enum ws_profile profile) {
    struct ws_options o = {.profile = profile, .zones = zones};
    struct wopr_error err = {0};
    struct ws_report r;
    ws_report_init(&r, a);
    cr_assert_eq(ws_validate(doc, &o, &r, &err), 0, "%s", err.message);
    ws_report_fini(&r);
    return r;
}

#endif
