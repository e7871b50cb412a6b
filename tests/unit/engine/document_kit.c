/* document_kit.c: see document_kit.h. */
#include "document_kit.h"

#include "codec/json.h"
#include "domain/compare.h"
#include "workspec/language.h"

#include <criterion/criterion.h>

#define HEAD                                                                                       \
    "{'simulation':{'schema_version':'2.0','meta':{'title':'%s','description':'Of a test',"        \
    "'domain':'Demo'},'config':{'time_unit':'minutes','start_time':'07:00','end_time':'19:00',"    \
    "'currency':'EUR','locale':'en-IE'},'world':{'objects':["

const char DOC_TEA[] =
    "{'simulation':{'schema_version':'2.0','meta':{'title':'Tea','description':'A pot',"
    "'domain':'Demo'},'config':{'time_unit':'minutes','start_time':'08:00','end_time':'09:00',"
    "'currency':'EUR','locale':'en-IE'},'world':{'objects':["
    "{'id':'ann','type':'actor','name':'Ann','properties':{'state':'free'}},"
    "{'id':'kettle','type':'equipment','name':'Kettle','properties':{'state':'cold'}},"
    "{'id':'water','type':'resource','name':'Water','properties':{'quantity':2}},"
    "{'id':'cup','type':'product','name':'Cup','properties':{'quantity':0}}]},"
    "'process':{'tasks':["
    "{'id':'boil','actor_id':'kettle','start':'08:00','duration':5,'interactions':["
    "{'target_id':'water','property_changes':{'quantity':{'delta':-0.25}}},"
    "{'target_id':'kettle','temporary':true,"
    "'property_changes':{'state':{'from':'cold','to':'boiling'}}}]},"
    "{'id':'brew','actor_id':'ann','start':'08:05','duration':'PT4M','depends_on':['boil'],"
    "'interactions':[{'action':'create','object':{'id':'pot','type':'product','name':'Pot',"
    "'properties':{'quantity':0.25}}}]},"
    "{'id':'pour','actor_id':'ann','start':'08:09','duration':'60s','depends_on':{'all':['brew']},"
    "'interactions':[{'target_id':'cup','property_changes':{'quantity':{'increment':true}}},"
    "{'action':'delete','target_id':'pot'}]}]}}}";

struct str doc_text(const char *text) {
    char *out = arena_cstr(W.a, str_c(text));
    for (char *p = out; *p; p++)
        if (*p == '\'') *p = '"';
    return str_c(out);
}

struct str doc_base(const char *objects, const char *tasks) {
    struct str json = arena_printf(
        W.a,
        HEAD "{'id':'a','type':'actor','name':'Ada','properties':{'state':'free'}},"
             "{'id':'b','type':'actor','name':'Bob','properties':{'state':'free'}},"
             "{'id':'m','type':'equipment','name':'Mill','properties':{'state':'ready'}},"
             "{'id':'p','type':'product','name':'Part','properties':{'quantity':0}}%s%s]},"
             "'process':{'tasks':[%s]}}}",
        "Base", objects[0] ? "," : "", objects, tasks);
    return doc_text(json.p);
}

struct workflow *doc_put(struct str json) {
    struct wopr_error err = {0};
    struct ws_doc doc;
    struct ws_stored stored;
    cr_assert_eq(ws_parse(json, WS_JSON, &WS_LIMITS_DEFAULT, W.a, &doc, &err), 0, "%s",
                 err.message);
    cr_assert_eq(ws_stored_make(&doc, json, WS_JSON, STR("doc"), NULL, W.a, &stored, &err), 0,
                 "%s at %s", err.message, err.pointer);
    return world_put(stored.text);
}

struct str doc_start(struct str json, const char *configurable) {
    struct workflow *wf = doc_put(json);
    struct str run = world_create(wf, NULL, configurable);
    workflow_unref(wf);
    return run;
}

static void value_add(struct buf *b, struct str payload, const char *key) {
    struct str raw = json_get(payload, key);
    if (raw.n == 0) buf_addz(b, "absent");
    else buf_adds(b, raw);
}

static void event_add(struct buf *b, const struct event *e) {
    struct str more = json_get(e->payload, "workspec"), vt = json_get(more, "vt");
    buf_addf(b, "%s", event_name(e->kind));
    if (e->node_id.n > 0) buf_addf(b, " " STR_FMT, STR_ARG(e->node_id));
    if (e->kind == EV_VARIABLE_CHANGED) {
        struct str name = json_string(json_get(e->payload, "name"), W.a);
        buf_addf(b, " " STR_FMT " ", STR_ARG(name));
        value_add(b, e->payload, "previous");
        buf_addz(b, " -> ");
        value_add(b, e->payload, "next");
        struct str cause = json_string(json_get(more, "cause"), W.a);
        buf_addf(b, " " STR_FMT, STR_ARG(cause));
    }
    if (e->kind == EV_NODE_COMPLETED) vt = json_get(json_get(e->payload, "outputs"), "end");
    if (vt.n > 0) buf_addf(b, " @" STR_FMT, STR_ARG(vt));
    struct str code = json_get(json_get(e->payload, "error"), "code");
    if (code.n > 0) buf_addf(b, " " STR_FMT, STR_ARG(code));
    struct str reason = json_get(e->payload, "reason");
    if (reason.n > 0) buf_addf(b, " " STR_FMT, STR_ARG(reason));
}

static const char *story(struct str run, bool numbers) {
    struct event_list l = world_events(run);
    struct buf b;
    buf_init(&b, 64u << 20);
    for (size_t i = 0; i < l.n; i++) {
        if (!numbers && compare_ignores(&l.v[i])) continue;
        if (numbers) buf_addf(&b, "%lld ", (long long)l.v[i].seq);
        event_add(&b, &l.v[i]);
        buf_addc(&b, '\n');
    }
    cr_assert(!buf_failed(&b));
    char *out = arena_cstr(W.a, buf_str(&b));
    buf_fini(&b);
    return out;
}

const char *doc_story(struct str run) { return story(run, true); }
const char *doc_facts(struct str run) { return story(run, false); }

struct str doc_world(struct str run) {
    struct plan_artifact art;
    struct wopr_error err = {0};
    int rc = store_artifact_get(W.store, STR("t1"), true, run, STR("world-final"), W.a, &art, &err);
    cr_assert_eq(rc, 0, "%s", err.message);
    return json_get(art.body, "world");
}
