/*
 * cond_view.c: see cond_view.h.
 *
 * A text that is looked into for the third time is indexed (codec/json_index.h); a name that is
 * looked for among many is found by a map from the eighth time on.
 */
#include "domain/cond_view.h"

#include "base/map.h"
#include "base/mem.h"
#include "codec/jobj.h"
#include "codec/json_index.h"
#include "domain/sched_int.h"
#include "domain/state_internal.h"

enum {
    CONDITION_READ = 256, /* what one costs that reads nothing */
    ASKED_TEXT = 2,       /* look-ups in a text before it is indexed */
    ASKED_NAMES = 8,      /* look-ups of names before they are mapped */
    NAME_READ = 8,        /* bytes that a name stands for that is passed over */
    ENTRY_READ = 16       /* and an entry of a channel, or a variable, whose size is asked */
};
#define VIEW_BYTES_MAX (6u * SCOPE_BYTES_MAX) /* each root as a text, channels one by one, tables */

struct view_text { /* one that is looked into */
    struct json_index *index;
    unsigned asked;
};
struct view_names {
    struct map *map; /* to the element, or NULL while few were asked for */
    unsigned asked;
};
struct view_chan {
    struct str shown; /* text made of it */
    bool made, aged;
    size_t old; /* entries whose time is over */
};
struct view_root {
    bool sized, made;
    int size_rc, text_rc;
    size_t bytes;    /* of its text; 0 when it has none */
    struct str text; /* made when it is read as a whole */
};
struct cond_view {
    struct run_state *run;
    struct arena *a;
    const struct wf_node *node;
    int64_t now_ms;
    struct str status, outputs, output_key;
    struct view_root roots[ROOT_NR]; /* VARIABLES, CHANNELS, INPUTS */
    struct view_chan *chans;
    struct view_names var_names, chan_names;
    struct map *texts; /* address to struct view_text */
    /* of the condition at hand */
    uint64_t work;    /* bytes looked at to find what it reads */
    uint64_t charged; /* steps that it was charged for the roots of what it reads */
    bool failed;
};

struct cond_view *cond_view_new(struct run_state *s, int node, int64_t now_ms) {
    const struct node_state *n = &s->nodes[node];
    struct cond_view *v = MEM_NEW(struct cond_view);
    if (!v) return NULL;
    *v = (struct cond_view){.run = s, .node = &s->wf->nodes[node], .now_ms = now_ms};
    v->a = arena_new(VIEW_BYTES_MAX);
    /* WF-5: a disabled node counts as completed, with empty outputs */
    const char *status = node_status_name(n->disabled_skip ? NODE_COMPLETED : n->status);
    if (v->a) v->status = arena_printf(v->a, "\"%s\"", status);
    v->outputs = n->outputs.n > 0 ? text_str(&n->outputs) : STR("{}");
    if (v->status.p) return v;
    cond_view_free(v);
    return NULL;
}

static void texts_free(struct map *texts) {
    size_t it = 0;
    struct str key;
    void *t;
    while (texts && map_next(texts, &it, &key, &t)) json_index_free(((struct view_text *)t)->index);
    map_free(texts);
}

void cond_view_free(struct cond_view *v) {
    if (!v) return;
    texts_free(v->texts);
    map_free(v->var_names.map);
    map_free(v->chan_names.map);
    arena_free(v->a);
    mem_free(v);
}

bool cond_view_failed(const struct cond_view *v) { return v->failed; }

uint64_t cond_view_spent(const struct cond_view *v, uint64_t steps) {
    uint64_t took = steps > v->charged ? steps - v->charged : 0;
    return CONDITION_READ + v->work + took * EXPR_STEP_BYTES;
}

/* --- names --- */

static void *var_at(struct run_state *s, size_t i, struct str *name) {
    if (i >= s->variables.n) return NULL;
    *name = text_str(&s->variables.v[i].name);
    return &s->variables.v[i];
}

static void *chan_at(struct run_state *s, size_t i, struct str *name) {
    if (i >= s->channels.n) return NULL;
    *name = text_str(&s->channels.v[i].name);
    return &s->channels.v[i];
}

typedef void *names_at(struct run_state *s, size_t i, struct str *name);

static void *name_scan(struct cond_view *v, names_at *at, struct str name) {
    struct str one;
    void *x;
    size_t i = 0;
    while ((x = at(v->run, i++, &one)) != NULL && !str_eq(one, name)) v->work += NAME_READ;
    return x;
}

/* NULL when memory is short: then names are looked for one by one. */
static struct map *names_map(struct cond_view *v, names_at *at) {
    struct map *m = map_new();
    struct str one;
    void *x, *old;
    for (size_t i = 0; m && (x = at(v->run, i, &one)) != NULL; i++) {
        v->work += NAME_READ + one.n;
        if (map_put(m, one, x, &old) == 0) continue;
        map_free(m);
        m = NULL;
    }
    return m;
}

static void *name_find(struct cond_view *v, struct view_names *n, names_at *at, struct str name) {
    if (n->asked++ == ASKED_NAMES) n->map = names_map(v, at);
    v->work += NAME_READ + name.n;
    return n->map ? map_get(n->map, name) : name_scan(v, at, name);
}

/* --- texts --- */

static struct view_text *text_known(struct cond_view *v, struct str text) {
    struct str key = str_n((const char *)&text.p, sizeof text.p);
    if (!v->texts && !(v->texts = map_new())) return NULL;
    struct view_text *t = map_get(v->texts, key);
    void *old;
    if (t) return t;
    t = ARENA_NEW(v->a, struct view_text);
    return t && map_put(v->texts, key, t, &old) == 0 ? t : NULL;
}

/* Of a text of the state that is looked into, when that pays; without one it is read. */
static const struct json_index *text_index(struct cond_view *v, struct str text) {
    if (text.n < JSON_INDEX_FROM) return NULL;
    struct view_text *t = text_known(v, text);
    if (!t) return NULL;
    if (t->asked++ == ASKED_TEXT) {
        t->index = json_index_new(text);
        v->work += 2 * text.n;
    }
    return t->index;
}

struct place { /* below a text */
    struct str path;
    bool dotted;
    struct arena *a; /* of the condition */
};

/* owner: the text of the state that at is a part of, or is. */
static struct str text_below(struct cond_view *v, struct str owner, struct str at,
                             const struct place *p) {
    if (at.n == 0 || p->path.n == 0) return at;
    const struct json_index *x = text_index(v, owner);
    return p->dotted ? json_path_find(x, at, p->path, &v->work)
                     : json_pointer_find(x, at, p->path, p->a, &v->work);
}

/* Takes the first name off the path.  false: it is no path that leads to anything. */
static bool place_enter(struct place *p, struct str *name) {
    if (p->dotted) {
        struct str tail = STR("");
        if (!str_cut(p->path, '.', name, &tail)) *name = p->path;
        else if (tail.n == 0) return false; /* "a.": the member "" of a */
        p->path = tail;
        return true;
    }
    return p->path.p[0] == '/' && json_pointer_cut(&p->path, name, p->a) && name->p != NULL;
}

/* --- channels --- */

static struct view_chan *chan_known(struct cond_view *v, const struct chan_state *c) {
    if (!v->chans) v->chans = ARENA_ARRAY(v->a, struct view_chan, v->run->channels.n);
    return v->chans ? &v->chans[c - v->run->channels.v] : NULL;
}

/* Its text, made if it is not one of the state. */
static struct str chan_text(struct cond_view *v, const struct chan_state *c) {
    if (!c->sensitive && !c->is_list && c->n > 0) return text_str(&c->v[0].value);
    struct view_chan *k = chan_known(v, c);
    if (k && !k->made) {
        struct buf b;
        buf_init(&b, SCOPE_BYTES_MAX);
        bool ok = chan_shown(c, v->run->wf->masking_mode, v->now_ms, &b) == 0 && !buf_failed(&b);
        v->work += b.len;
        if (ok) k->shown = arena_str(v->a, buf_str(&b));
        k->made = ok && k->shown.p;
        buf_fini(&b);
    }
    if (k && k->made) return k->shown;
    v->failed = true;
    return STR_NONE;
}

/* The entry that the first name of the path is the index of. */
static struct str entry_below(struct cond_view *v, const struct chan_state *c, struct place *p) {
    struct view_chan *k = chan_known(v, c);
    struct str name;
    uint64_t want;
    if (!k) {
        v->failed = true;
        return STR_NONE;
    }
    if (!k->aged && v->now_ms > 0) {
        k->old = chan_expired(c, v->now_ms);
        v->work += k->old * ENTRY_READ;
    }
    k->aged = true;
    if (!place_enter(p, &name) || !str_u64(name, &want)) return STR_NONE;
    if ((name.n > 1 && name.p[0] == '0') || want >= c->n - k->old) return STR_NONE;
    struct str entry = text_str(&c->v[k->old + want].value);
    return text_below(v, entry, entry, p);
}

static struct str chan_below(struct cond_view *v, const struct chan_state *c, struct place *p) {
    if (!c->sensitive && c->is_list && p->path.n > 0) return entry_below(v, c, p);
    struct str text = chan_text(v, c);
    return text_below(v, text, text, p);
}

/* --- roots --- */

/* What a root of variables or channels costs to read, and whether it may be read at all. */
static const struct view_root *root_sized(struct cond_view *v, enum run_root which) {
    struct view_root *r = &v->roots[which];
    if (!r->sized) {
        r->size_rc = root_object_bytes(v->run, which, v->now_ms, &r->bytes);
        v->work += (v->run->variables.n + v->run->channels.n) * ENTRY_READ;
        for (size_t i = 0; i < v->run->channels.n; i++)
            if (v->run->channels.v[i].is_list && root_channel(&v->run->channels.v[i], which, true))
                v->work += v->run->channels.v[i].n * ENTRY_READ;
    }
    r->sized = true;
    if (r->size_rc != 0) v->failed = true;
    return r;
}

/* As a whole. */
static struct str root_text(struct cond_view *v, enum run_root which) {
    struct view_root *r = &v->roots[which];
    if (!r->made) {
        r->text_rc = which == ROOT_INPUTS
                         ? root_inputs(v->run, true, v->a, &r->text)
                         : root_object(v->run, which, true, v->now_ms, v->a, &r->text);
        v->work += 2 * r->text.n;
    }
    r->made = true;
    if (r->text_rc != 0) v->failed = true;
    return r->text.n > 0 ? r->text : STR_NONE;
}

static struct str object_below(struct cond_view *v, enum run_root which, struct place *p,
                               size_t *bytes) {
    struct str name;
    *bytes = root_sized(v, which)->bytes;
    if (*bytes == 0) return STR_NONE;
    if (p->path.n == 0) return root_text(v, which);
    struct place whole = *p;
    if (!place_enter(p, &name)) { /* rare: read as it is written */
        struct str text = root_text(v, which);
        return text_below(v, text, text, &whole);
    }
    const struct var_state *var =
        which == ROOT_VARIABLES ? name_find(v, &v->var_names, var_at, name) : NULL;
    struct str text = var ? root_var(v->run, var, true) : STR("");
    if (text.n > 0) return text_below(v, text, text, p);
    const struct chan_state *c = name_find(v, &v->chan_names, chan_at, name);
    if (!c || !root_channel(c, which, true)) return STR_NONE;
    if (v->roots[which].size_rc != 0 && /* one of them is left out for its size: this one? */
        chan_shown_bytes(c, v->run->wf->masking_mode, v->now_ms) > SCOPE_BYTES_MAX)
        return STR_NONE;
    return chan_below(v, c, p);
}

static struct str inputs_below(struct cond_view *v, struct place *p, size_t *bytes) {
    struct str inputs = v->run->meta.inputs, name;
    size_t *known = &v->run->inputs_seen;
    if (inputs.n == 0) return STR_NONE;
    if (*known == 0 || p->path.n == 0) *known = root_text(v, ROOT_INPUTS).n;
    *bytes = *known;
    struct place whole = *p;
    if (p->path.n == 0) return root_text(v, ROOT_INPUTS);
    if (place_enter(p, &name) && root_hides(v->run, name)) return STR_NONE;
    return text_below(v, inputs, inputs, &whole);
}

static struct str value_below(struct cond_view *v, const struct place *p, size_t *bytes) {
    if (v->output_key.n == 0) return STR_NONE;
    const struct json_index *x = text_index(v, v->outputs);
    struct str value = json_member_in(x, v->outputs, v->output_key, &v->work);
    *bytes = value.n;
    return text_below(v, v->outputs, value, p);
}

static struct str root_below(struct cond_view *v, enum run_root which, struct place *p,
                             size_t *bytes) {
    struct str text = STR_NONE;
    switch (which) {
    case ROOT_VARIABLES:
    case ROOT_CHANNELS:
        return object_below(v, which, p, bytes);
    case ROOT_INPUTS:
        return inputs_below(v, p, bytes);
    case ROOT_VALUE:
        return value_below(v, p, bytes);
    case ROOT_STATUS:
        text = v->status;
        break;
    case ROOT_OUTPUT:
        text = v->outputs;
        break;
    case ROOT_CONFIG:
        text = v->node->config;
        break;
    case ROOT_NR:
        break;
    }
    *bytes = text.n;
    return text_below(v, text, text, p);
}

static struct str view_find(void *ctx, const struct expr_place *at, struct arena *a,
                            size_t *bytes) {
    struct cond_view *v = ctx;
    struct place p = {.path = at->path, .dotted = at->dotted, .a = a};
    *bytes = 0;
    struct str value = root_below(v, run_root_of(at->root), &p, bytes);
    if (!at->dotted) v->charged += 1 + *bytes / EXPR_STEP_BYTES;
    return value;
}

struct expr_scope cond_view_edge(struct cond_view *v, struct str output_key, uint64_t *steps) {
    v->output_key = output_key;
    v->work = v->charged = 0;
    v->failed = false;
    return (struct expr_scope){.find = view_find, .ctx = v, .steps = steps};
}
