/*
 * schema_eval_apply.c: applicators, references and unevaluated* at run time.  Layer: codec.
 * Annotations: a subschema of the same instance gets the caller's `seen` when its failure ends the
 * caller too, else a fresh one that is merged on success.
 */
#include "base/mem.h"
#include "codec/schema_pattern.h"
#include "codec/schema_rules.h"

static const char *key_of(const struct schema_kw *kw) { return kw->rule->names[0]; }

/* Evaluate without a report; annotations count only on success. */
static int branch_attempt(struct schema_run *r, const struct schema_node *n,
                          const struct schema_spot *s) {
    struct schema_seen own;
    bool tracks = s->seen != NULL;
    if (tracks) {
        int rc = schema_seen_init(&own, s->v, s->type);
        if (rc != 0) return rc;
    }
    r->quiet++;
    int rc = schema_eval(r, n, s->v, s->at, tracks ? &own : NULL);
    if (r->quiet > 0) r->quiet--;
    if (tracks && rc == 0) schema_seen_merge(s->seen, &own);
    if (tracks) schema_seen_fini(&own);
    return rc;
}

static bool is_hard(int rc) { return rc != 0 && rc != WOPR_E_VALIDATION; }

/* ---- same instance ---- */

SCHEMA_EVAL(ref) { return schema_eval(r, kw->u.node, s->v, s->at, s->seen); }

SCHEMA_EVAL(dynref) {
    const struct schema_node *n = kw->u.dynref.node;
    if (kw->u.dynref.name != NULL) {
        /* The outermost resource of the dynamic scope that has the anchor wins. */
        for (const struct schema_scope *sc = r->scope; sc != NULL; sc = sc->up)
            for (const struct schema_dynamic *d = sc->res->dynamics; d != NULL; d = d->next)
                if (d->name == kw->u.dynref.name && d->node != NULL) n = d->node;
    }
    return schema_eval(r, n, s->v, s->at, s->seen);
}

SCHEMA_EVAL(all) {
    for (size_t i = 0; i < kw->u.nodes.n; i++) {
        int rc = schema_eval(r, kw->u.nodes.v[i], s->v, s->at, s->seen);
        if (rc != 0) return rc;
    }
    return 0;
}

SCHEMA_EVAL(any) {
    bool found = false;
    for (size_t i = 0; i < kw->u.nodes.n && !(found && s->seen == NULL); i++) {
        int rc = branch_attempt(r, kw->u.nodes.v[i], s);
        if (is_hard(rc)) return rc;
        found |= rc == 0;
    }
    return found ? 0 : schema_fail(r, s, key_of(kw), "matches none of the alternatives");
}

SCHEMA_EVAL(one) {
    size_t found = 0;
    for (size_t i = 0; i < kw->u.nodes.n && found < 2; i++) {
        int rc = branch_attempt(r, kw->u.nodes.v[i], s);
        if (is_hard(rc)) return rc;
        found += rc == 0;
    }
    if (found == 1) return 0;
    return schema_fail(r, s, key_of(kw),
                       found == 0 ? "matches none of the alternatives"
                                  : "matches more than one of the alternatives");
}

SCHEMA_EVAL(not ) {
    struct schema_spot silent = *s;
    silent.seen = NULL;
    int rc = branch_attempt(r, kw->u.node, &silent);
    if (rc == 0) return schema_fail(r, s, key_of(kw), "matches what the schema excludes");
    return is_hard(rc) ? rc : 0;
}

SCHEMA_EVAL(if) {
    const struct schema_if *c = kw->u.cond;
    int rc = branch_attempt(r, c->test, s);
    if (is_hard(rc)) return rc;
    const struct schema_node *n = rc == 0 ? c->yes : c->no;
    return n == NULL ? 0 : schema_eval(r, n, s->v, s->at, s->seen);
}

SCHEMA_EVAL(dep_schemas) {
    for (size_t i = 0; i < kw->u.named.n; i++) {
        const struct schema_name *d = &kw->u.named.v[i];
        int rc = schema_spend(r, s, 1);
        if (rc == 0 && json_object_object_get_ex(s->v, d->name.p, NULL))
            rc = schema_eval(r, d->node, s->v, s->at, s->seen);
        if (rc != 0) return rc;
    }
    return 0;
}

/* ---- arrays ---- */

SCHEMA_EVAL(items) {
    const struct schema_items *it = kw->u.items;
    size_t n = json_object_array_length(s->v);
    for (size_t i = 0; i < n; i++) {
        const struct schema_node *node = i < it->prefix.n ? it->prefix.v[i] : it->rest;
        if (node == NULL) break;
        struct schema_at at = {.up = s->at, .index = i};
        int rc = schema_eval(r, node, json_object_array_get_idx(s->v, i), &at, NULL);
        if (rc != 0) return rc;
        schema_seen_add(s->seen, i);
    }
    return 0;
}

SCHEMA_EVAL(contains) {
    const struct schema_contains *c = kw->u.contains;
    size_t n = json_object_array_length(s->v);
    uint64_t found = 0;
    for (size_t i = 0; i < n; i++) {
        struct schema_at at = {.up = s->at, .index = i};
        if (s->seen == NULL && !c->has_max && found >= c->min) break;
        r->quiet++;
        int rc = schema_eval(r, c->node, json_object_array_get_idx(s->v, i), &at, NULL);
        if (r->quiet > 0) r->quiet--;
        if (is_hard(rc)) return rc;
        if (rc != 0) continue;
        found++;
        schema_seen_add(s->seen, i);
    }
    if (found < c->min)
        return schema_fail(r, s, c->has_min ? "minContains" : "contains",
                           "the array has too few elements that match");
    if (c->has_max && found > c->max)
        return schema_fail(r, s, "maxContains", "the array has too many elements that match");
    return 0;
}

/* Elements or members that nothing has evaluated, against the schema for them. */
SCHEMA_EVAL(rest_items) {
    size_t n = json_object_array_length(s->v);
    for (size_t i = 0; i < n && !s->seen->all; i++) {
        if (schema_seen_has(s->seen, i)) continue;
        struct schema_at at = {.up = s->at, .index = i};
        if (kw->u.node->never)
            return schema_fail_at(r, s, &at, key_of(kw), "this element is not allowed");
        int rc = schema_eval(r, kw->u.node, json_object_array_get_idx(s->v, i), &at, NULL);
        if (rc != 0) return rc;
    }
    s->seen->all = true;
    return 0;
}

/* ---- objects ---- */

SCHEMA_EVAL(names) {
    for (struct lh_entry *e = json_object_get_object(s->v)->head; e != NULL; e = e->next) {
        struct schema_at at = {.up = s->at, .key = lh_entry_k(e)};
        if (kw->u.node->never)
            return schema_fail_at(r, s, &at, key_of(kw), "this member is not allowed");
        struct str text;
        char *owned;
        int rc = schema_key_text(at.key, &text, &owned);
        if (rc != 0) return rc;
        struct json_object *name = json_object_new_string_len(text.p, (int)text.n);
        mem_free(owned);
        if (name == NULL) return WOPR_E_NO_MEMORY;
        rc = schema_eval(r, kw->u.node, name, &at, NULL);
        json_object_put(name);
        if (rc != 0) return rc;
    }
    return 0;
}

static int eval_rx(struct schema_run *r, const struct schema_members *m,
                   const struct schema_spot *s, struct json_object *v, const struct schema_at *at,
                   bool *matched) {
    struct str key;
    char *owned;
    int rc = schema_key_text(at->key, &key, &owned);
    for (size_t i = 0; rc == 0 && i < m->rx_nr; i++) {
        bool matches = false;
        rc = schema_pattern_match(m->rx[i].pattern, key, &r->steps, &matches);
        if (rc == WOPR_E_TOO_BIG) rc = schema_over(r, s);
        if (rc != 0 || !matches) continue;
        *matched = true;
        rc = schema_eval(r, m->rx[i].node, v, at, NULL);
    }
    mem_free(owned);
    return rc;
}

SCHEMA_EVAL(members) {
    const struct schema_members *m = kw->u.members;
    size_t i = 0;
    for (struct lh_entry *e = json_object_get_object(s->v)->head; e != NULL; e = e->next, i++) {
        struct schema_at at = {.up = s->at, .key = lh_entry_k(e)};
        struct json_object *v = lh_entry_v(e);
        int rc = schema_spend(r, s, 1);
        if (rc != 0) return rc;
        uint32_t slot = schema_name_find(&m->named, str_c(at.key));
        bool matched = slot != 0;
        if (matched) rc = schema_eval(r, m->named.v[slot - 1].node, v, &at, NULL);
        if (rc == 0 && m->rx_nr > 0) rc = eval_rx(r, m, s, v, &at, &matched);
        if (rc == 0 && !matched && m->rest != NULL) {
            if (m->rest->never)
                return schema_fail_at(r, s, &at, "additionalProperties",
                                      "this member is not allowed");
            rc = schema_eval(r, m->rest, v, &at, NULL);
            matched = true;
        }
        if (rc != 0) return rc;
        if (matched) schema_seen_add(s->seen, i);
    }
    return 0;
}

SCHEMA_EVAL(rest_members) {
    size_t i = 0;
    for (struct lh_entry *e = json_object_get_object(s->v)->head; e != NULL; e = e->next, i++) {
        if (schema_seen_has(s->seen, i)) continue;
        struct schema_at at = {.up = s->at, .key = lh_entry_k(e)};
        if (kw->u.node->never)
            return schema_fail_at(r, s, &at, key_of(kw), "this member is not allowed");
        int rc = schema_eval(r, kw->u.node, lh_entry_v(e), &at, NULL);
        if (rc != 0) return rc;
    }
    s->seen->all = true;
    return 0;
}
