/*
 * workflow_edge.c: edges and their conditions (10.3 of 20-runtime, WF-3, WF-9).
 */
#include "domain/expr_int.h"
#include "domain/workflow_int.h"

static int cond_compare(struct wfc *c, const struct wfc_obj *o, struct wf_cond *cond) {
    int rc = wfc_need_str(c, o, "left", &cond->left);
    if (rc != 0) return rc;
    struct str right = wfc_raw(o, "right");
    cond->right = right.p == NULL ? STR("null") : right;
    if (cond->kind != COND_REGEX) return 0;
    if (json_type_of(cond->right) != JSON_STRING)
        return wfc_fail(c, o->pointer, "right", "a regex condition needs a pattern string");
    struct str text = expr_pattern_schema(cond->right, c->tmp);
    if (text.p == NULL) return wfc_memory(c);
    return wfc_schema_add(c, text, o->pointer, "right", &cond->rx);
}

static int condition_read(struct wfc *c, const struct wfc_obj *edge, struct wf_cond *cond) {
    static const char *const KINDS[] = {"expression", "equals", "notEquals",
                                        "contains",   "regex",  NULL};
    struct str raw = wfc_raw(edge, "condition"), type = STR_NONE, text = STR_NONE;
    struct wfc_obj o;
    char pointer[WF_POINTER_MAX];
    cond->kind = COND_NONE;
    if (raw.p == NULL) return 0;
    wfc_pointer(pointer, edge->pointer, STR("condition"));
    int rc = wfc_obj(c, raw, &o, "%s", pointer);
    if (rc == 0) rc = wfc_str(c, &o, "type", &type);
    if (rc == 0) rc = wfc_str(c, &o, "expression", &text);
    if (rc != 0 || o.m.n == 0) return rc; /* {} means no condition */
    if (type.p == NULL) {                 /* WF-9 */
        cond->kind = text.p != NULL ? COND_EXPRESSION : COND_EQUALS;
    } else {
        int k = wfc_word(type, KINDS);
        if (k < 0) return wfc_fail(c, pointer, "type", "unknown type of condition");
        cond->kind = (enum wf_cond_kind)(COND_EXPRESSION + k);
    }
    if (cond->kind != COND_EXPRESSION) return cond_compare(c, &o, cond);
    if (text.n == 0) return wfc_fail(c, pointer, "expression", "is required");
    return wfc_expr(c, text, pointer, "expression", &cond->expr);
}

static int end_of(struct wfc *c, const struct wfc_obj *o, const char *key, int *out) {
    struct str id = STR_NONE;
    int rc = wfc_need_str(c, o, key, &id);
    if (rc != 0) return rc;
    *out = workflow_node_index(c->w, id);
    return *out >= 0 ? 0 : wfc_fail(c, o->pointer, key, "no node has this id");
}

static int one_edge(struct wfc *c, struct str raw, size_t i, struct map *seen, struct wf_edge *e) {
    static const char *const RULES[] = {"all_success", "any_success", "all_complete",
                                        "none_failed", "any_failed",  NULL};
    struct wfc_obj o;
    struct str rule = STR("all_success");
    e->source_output = STR("output");
    e->target_input = STR("input");
    int rc = wfc_obj(c, raw, &o, "/edges/%zu", i);
    if (rc == 0) rc = wfc_need_str(c, &o, "id", &e->id);
    if (rc == 0) rc = wfc_unique(c, seen, e->id, e, o.pointer, "id");
    if (rc == 0) rc = end_of(c, &o, "sourceNodeId", &e->src);
    if (rc == 0) rc = end_of(c, &o, "targetNodeId", &e->dst);
    if (rc == 0) rc = wfc_str(c, &o, "sourceOutput", &e->source_output);
    if (rc == 0) rc = wfc_str(c, &o, "targetInput", &e->target_input);
    if (rc == 0) rc = wfc_str(c, &o, "triggerRule", &rule);
    if (rc != 0) return rc;
    int r = wfc_word(rule, RULES);
    if (r < 0) return wfc_fail(c, o.pointer, "triggerRule", "unknown trigger rule");
    e->rule = (enum wf_rule)r;
    return condition_read(c, &o, &e->cond);
}

int wfc_edges(struct wfc *c, const struct wfc_obj *top) {
    struct json_elements el;
    int rc = wfc_list(c, top, "edges", WF_EDGES_MAX, &el);
    if (rc != 0 || el.n == 0) return rc;
    struct map *seen = map_new();
    if (seen == NULL) return wfc_memory(c);
    c->w->edges = ARENA_ARRAY(c->w->arena, struct wf_edge, el.n);
    if (c->w->edges == NULL) rc = wfc_memory(c);
    for (size_t i = 0; rc == 0 && i < el.n; i++) {
        rc = one_edge(c, el.v[i], i, seen, &c->w->edges[i]);
        c->w->edges_nr++;
    }
    map_free(seen);
    return rc;
}
