/* test_migrate.c: documents of version 1.0 to version 2.0 (WS-121 to WS-131). */
#include "kit.h"
#include "workspec/migrate.h"

static struct arena *a;
static void up(void) { a = arena_new(WS_ARENA_BYTES_MAX); }
static void down(void) { arena_free(a); }
TestSuite(workspec_migrate, .init = up, .fini = down);

static const struct ws_value *migrated(const char *text) {
    const struct ws_value *v = NULL;
    struct wopr_error err = {0};
    struct ws_doc doc = kit_parse(a, str_c(text), WS_JSON);
    cr_assert_eq(ws_migrate(&doc, a, &v, &err), 0, "%s", err.message);
    return ws_get(v, "simulation");
}

static const char *json_of(const struct ws_value *v) {
    struct buf b;
    buf_init(&b, 1 << 20);
    ws_write(&b, v, 0);
    const char *text = arena_cstr(a, buf_str(&b));
    buf_fini(&b);
    return text;
}

/* A value at a path of members and indexes. */
static const char *at(const struct ws_value *v, const char *path) {
    struct str rest = str_c(path), head;
    uint64_t index;
    for (bool more = true; more;) {
        struct str tail = STR("");
        more = str_cut(rest, '/', &head, &tail);
        if (!more) head = rest;
        rest = tail;
        v = ws_is(v, WS_ARRAY) && str_u64(head, &index) && index < v->nr ? v->elements[index]
                                                                         : ws_get_str(v, head);
    }
    return v == NULL ? "absent" : json_of(v);
}

static const char BAKERY[] =
    "{\"simulation\":{\"name\":\"Bread\",\"description\":\"A "
    "loaf\",\"domain\":\"Bakery\",\"time_unit\":\"min\","
    "\"start_time\":\"6:00\",\"meta\":{\"article_title\":\"Old title\"},"
    "\"actors\":[{\"id\":\"Head "
    "Baker\",\"role\":\"Baker\",\"cost_per_hour\":20},{\"role\":\"nobody\"}],"
    "\"equipment\":[{\"id\":\"oven\",\"name\":\"Oven\",\"initial_state\":\"off\",\"emoji\":"
    "\"\xF0\x9F\x94\xA5\"}],"
    "\"resources\":[{\"id\":\"flour\",\"name\":\"Flour\",\"starting_stock\":5}],"
    "\"products\":[{\"id\":\"Br\xC3\xB6t'chen\",\"name\":\"Roll\"}],"
    "\"layout\":{\"areas\":{\"Main Hall\":{\"name\":\"Hall\"}}},"
    "\"tasks\":[{\"id\":\"Mix \xF0\x9F\xA5\xA3\",\"actor_id\":\"Head Baker\",\"location\":\"Main "
    "Hall\","
    "\"start\":\"6:00\",\"duration\":30,"
    "\"consumes\":{\"flour\":2,\"ghost\":0},\"produces\":{\"Br\xC3\xB6t'chen\":\"3\"},"
    "\"equipment_interactions\":[{\"id\":\"oven\",\"from_state\":\"off\",\"to_state\":\"on\","
    "\"revert_after\":true}]},"
    "{\"id\":\"Sell\",\"assigned_to\":\"Head "
    "Baker\",\"start\":\"06:30\",\"duration\":\"1h\",\"depends_on\":\"Mix \xF0\x9F\xA5\xA3\","
    "\"interactions\":[{\"object_id\":\"Br\xC3\xB6t'chen\",\"property_changes\":{\"quantity\":{"
    "\"delta\":-1}}},"
    "{\"add_objects\":[{\"id\":\"Bag 1\",\"type\":\"item\",\"properties\":{\"name\":\"Bag\"}}],"
    "\"remove_objects\":[\"Bag 1\"]}]},"
    "{\"id\":\"Walk\",\"type\":\"movement\",\"assigned_to\":\"Head "
    "Baker\",\"start\":\"8:00\",\"duration\":5,"
    "\"to_location\":\"Main Hall\"}],"
    "\"production_recipes\":{\"Br\xC3\xB6t'chen\":{\"ingredients\":{\"flour\":1},\"equipment_"
    "required\":[\"oven\"],"
    "\"yield\":3,\"production_time\":30}},\"digital_space\":{\"kept\":1}}}";

Test(workspec_migrate, an_old_document_becomes_a_good_new_one_ws_121_to_ws_130) {
    static const char *const WANT[][2] = {
        {"schema_version", "\"2.0\""},
        {"meta", "{\"title\":\"Old title\",\"description\":\"A loaf\",\"domain\":\"Bakery\"}"},
        {"config/time_unit", "\"minutes\""},
        {"config/start_time", "\"06:00\""},
        {"config/end_time", "\"23:59\""},
        {"config/currency", "\"USD\""},
        {"world/objects/0/id", "\"head_baker\""},
        {"world/objects/0/name", "\"Baker\""},
        {"world/objects/0/properties/state", "\"available\""},
        {"world/objects/0/properties/id", "\"Head Baker\""},
        {"world/objects/1/properties/state", "\"off\""},
        {"world/objects/1/emoji", "\"\xF0\x9F\x94\xA5\""},
        {"world/objects/2/properties/quantity", "5"},
        {"world/objects/3/id", "\"brotchen\""},
        {"world/objects/3/properties/quantity", "0"},
        {"world/objects/4", "absent"},
        {"world/layout/locations", "[{\"name\":\"Hall\",\"id\":\"main_hall\"}]"},
        {"process/tasks/0/id", "\"mix\""},
        {"process/tasks/0/emoji", "\"\xF0\x9F\xA5\xA3\""},
        {"process/tasks/0/start", "\"06:00\""},
        {"process/tasks/0/location", "\"main_hall\""},
        {"process/tasks/0/consumes", "absent"},
        {"process/tasks/0/interactions",
         "[{\"target_id\":\"flour\",\"property_changes\":{\"quantity\":{\"delta\":-2}}},"
         "{\"target_id\":\"brotchen\",\"property_changes\":{\"quantity\":{\"delta\":3}}},"
         "{\"target_id\":\"oven\",\"property_changes\":{\"state\":{\"from\":\"off\",\"to\":\"on\"}}"
         ",\"temporary\":true}]"},
        {"process/tasks/1/actor_id", "\"head_baker\""},
        {"process/tasks/1/depends_on", "[\"mix\"]"},
        {"process/tasks/1/interactions/0/target_id", "\"brotchen\""},
        {"process/tasks/1/interactions/1/action", "\"create\""},
        {"process/tasks/1/interactions/1/object",
         "{\"id\":\"bag_1\",\"type\":\"product\",\"properties\":{\"name\":\"Bag\",\"quantity\":0},"
         "\"name\":\"Bag\"}"},
        {"process/tasks/1/interactions/2", "{\"action\":\"delete\",\"target_id\":\"bag_1\"}"},
        {"process/tasks/1/interactions/3", "absent"},
        {"process/tasks/2/interactions/0/property_changes",
         "{\"location\":{\"set\":\"main_hall\"}}"},
        {"process/recipes/brotchen", "{\"inputs\":{\"flour\":1},\"equipment\":[\"oven\"],\"output_"
                                     "quantity\":3,\"process_time\":30}"},
        {"tasks", "absent"},
        {"production_recipes", "absent"},
        {"digital_space", "{\"kept\":1}"}};
    const struct ws_value *sim = migrated(BAKERY);
    for (size_t i = 0; i < sizeof WANT / sizeof *WANT; i++)
        cr_expect_str_eq(at(sim, WANT[i][0]), WANT[i][1], "%s: %s", WANT[i][0],
                         at(sim, WANT[i][0]));
    struct ws_member root = {STR("simulation"), sim};
    struct str text = str_c(json_of(ws_object_new(a, &root, 1)));
    struct ws_doc doc = kit_parse(a, text, WS_JSON);
    struct ws_report r = kit_validate(a, &doc, NULL, WS_HOST);
    for (size_t i = 0; i < r.nr; i++)
        cr_expect_neq(r.v[i].severity, WS_ERROR, STR_FMT " " STR_FMT, STR_ARG(r.v[i].instance),
                      STR_ARG(r.v[i].context));
}

Test(workspec_migrate, ids_that_fold_to_one_are_told_apart_ws_127) {
    const struct ws_value *sim =
        migrated("{\"objects\":[{\"id\":\"A "
                 "b\",\"type\":\"person\",\"name\":\"1\"},{\"id\":\"a-B\",\"type\":\"person\","
                 "\"name\":\"2\"},"
                 "{\"id\":\"a_b_2\",\"type\":\"person\",\"name\":\"3\"},{\"id\":\"7\",\"type\":"
                 "\"person\",\"name\":\"4\"},"
                 "{\"id\":\"\xE2\x98\x95\",\"type\":\"person\",\"name\":\"5\"},{\"id\":\"Service:"
                 "My Timer\",\"type\":\"service\",\"name\":\"6\"}],"
                 "\"tasks\":[{\"id\":\"t\",\"actor_id\":\"a-B\"}]}");
    cr_expect_str_eq(at(sim, "world/objects/0/id"), "\"a_b\"");
    cr_expect_str_eq(at(sim, "world/objects/1/id"), "\"a_b_2\"");
    cr_expect_str_eq(at(sim, "world/objects/2/id"), "\"a_b_2_2\"");
    cr_expect_str_eq(at(sim, "world/objects/3/id"), "\"actor_7\"");
    cr_expect_str_eq(at(sim, "world/objects/4/id"), "\"actor_5\"", "%s",
                     at(sim, "world/objects/4/id"));
    cr_expect_str_eq(at(sim, "world/objects/5/id"), "\"service:my_timer\"");
    cr_expect_str_eq(at(sim, "process/tasks/0/actor_id"), "\"a_b_2\"");
    cr_expect_str_eq(at(sim, "meta/title"), "\"Untitled process\"");
}

Test(workspec_migrate, a_document_of_version_2_keeps_what_it_has) {
    struct str text = kit_document(a, KIT_CONFIG,
                                   "{\"id\":\"a__b\",\"actor_id\":\"a\",\"start\":\"09:00\","
                                   "\"duration\":30,\"x\":[1,{\"y\":null}]}");
    const struct ws_value *sim = migrated(text.p);
    cr_expect_str_eq(at(sim, "process/tasks/0"),
                     "{\"id\":\"a__b\",\"actor_id\":\"a\",\"start\":\"09:00\",\"duration\":30,"
                     "\"x\":[1,{\"y\":null}]}");
    cr_expect_str_eq(at(sim, "meta/title"), "\"T\"");
}
