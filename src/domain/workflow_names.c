/*
 * workflow_names.c: checks the names of what nodes write.  Only the resolution layer writes facts
 * of callers (votes, questions, answers; INT-27), and one name has one value: a variable and an
 * undeclared channel would both be shown under it (CHAN-28).  Names that are computed are checked
 * when the node runs (engine/effects.c).
 */
#include "domain/framework.h"
#include "domain/workflow_int.h"

#include <stdio.h>

#define NAME_OF_CALLERS                                                                            \
    "is reserved for what callers say to interrupts (votes, questions, answers); use another name"
#define NAME_OF_VARIABLE                                                                           \
    "is the name of a variable too; one name has one value: declare the channel under channels, "  \
    "or use another name"

struct names {
    struct wfc *c;
    struct map *undeclared; /* channels that nodes write by a literal name */
};

/* The literal string of a node's config member or static port. */
static struct str literal_of(struct names *n, const struct wf_node *node, const char *key) {
    struct str raw = json_get(node->config, key);
    for (size_t i = 0; raw.p == NULL && i < node->ports_nr; i++)
        if (node->ports[i].kind == PORT_STATIC && str_eqc(node->ports[i].name, key))
            raw = node->ports[i].value;
    if (raw.n == 0 || json_type_of(raw) != JSON_STRING) return STR_NONE;
    return json_string(raw, n->c->tmp);
}

static int declared_check(struct names *n) {
    const struct workflow *w = n->c->w;
    char pointer[WF_POINTER_MAX];
    for (size_t i = 0; i < w->vars_nr; i++) {
        if (!name_of_callers(w->vars[i].name)) continue;
        snprintf(pointer, sizeof pointer, "/variables/%zu", i);
        return wfc_fail(n->c, pointer, "name", NAME_OF_CALLERS);
    }
    for (size_t i = 0; i < w->channels_nr; i++) {
        if (!name_of_callers(w->channels[i].name)) continue;
        wfc_pointer(pointer, "/channels", w->channels[i].name);
        return wfc_fail(n->c, pointer, NULL, NAME_OF_CALLERS);
    }
    return 0;
}

/* In workflows without channels a variable of the framework is a channel already (CHAN-23). */
static bool name_is_channel(const struct names *n, struct str name) {
    return !n->c->w->channel_aware && chan_legacy(name) != NULL;
}

static int channel_name(struct names *n, const struct wf_node *node, const char *pointer) {
    struct str name = literal_of(n, node, "channelName");
    if (name.n == 0) return 0;
    if (name_of_callers(name)) return wfc_fail(n->c, pointer, "channelName", NAME_OF_CALLERS);
    if (map_get(n->c->w->chan_map, name) != NULL || name_is_channel(n, name)) return 0;
    if (map_get(n->c->w->var_map, name) != NULL)
        return wfc_fail(n->c, pointer, "channelName", NAME_OF_VARIABLE);
    return map_put(n->undeclared, name, n, NULL) == 0 ? 0 : wfc_memory(n->c);
}

static int variable_name(struct names *n, struct str name, const char *pointer, const char *key) {
    if (name_of_callers(name)) return wfc_fail(n->c, pointer, key, NAME_OF_CALLERS);
    if (map_get(n->undeclared, name) == NULL) return 0;
    return wfc_fail(n->c, pointer, key,
                    "is the name of a channel that a node writes; one name has one value: use "
                    "another name");
}

static int mapping_check(struct names *n, const struct wf_node *node, const char *pointer) {
    struct str mapping = json_get(node->config, "outputMapping");
    struct json_members m;
    char at[WF_POINTER_MAX];
    if (mapping.n == 0 || json_type_of(mapping) != JSON_OBJECT) return 0;
    int rc = json_members(mapping, n->c->tmp, &m, n->c->err);
    snprintf(at, sizeof at, "%.100s/outputMapping", pointer);
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        char deeper[WF_POINTER_MAX];
        wfc_pointer(deeper, at, m.v[i].key);
        rc = variable_name(n, m.v[i].key, deeper, NULL);
    }
    return rc;
}

static int nodes_check(struct names *n) {
    const struct workflow *w = n->c->w;
    char pointer[WF_POINTER_MAX];
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < w->nodes_nr; i++) {
        snprintf(pointer, sizeof pointer, "/nodes/%zu/config", i);
        rc = channel_name(n, &w->nodes[i], pointer);
    }
    for (size_t i = 0; rc == 0 && i < w->nodes_nr; i++) {
        const struct wf_node *node = &w->nodes[i];
        snprintf(pointer, sizeof pointer, "/nodes/%zu/config", i);
        if (node->traits & NODE_IS_DECLARING)
            rc = variable_name(n, literal_of(n, node, "name"), pointer, "name");
        if (rc == 0 && node->traits & NODE_IS_PARENT) rc = mapping_check(n, node, pointer);
    }
    return rc;
}

int wfc_names(struct wfc *c) {
    struct names n = {.c = c};
    if (c->env != NULL && c->env->accepted) return 0;
    n.undeclared = map_new();
    if (n.undeclared == NULL) return wfc_memory(c);
    int rc = declared_check(&n);
    if (rc == 0) rc = nodes_check(&n);
    map_free(n.undeclared);
    return rc != 0 || !arena_failed(c->tmp) ? rc : wfc_memory(c);
}
