/*
 * workflow_chan.c: channel declarations (CHAN-1..6).
 */
#include "domain/workflow_int.h"

#include "base/log.h"

#define ACCESS_ITEMS_MAX 256u

static const char *const REDUCERS[] = {"replace", "append",   "merge",   "counter",
                                       "votes",   "feedback", "message", NULL};

const char *reducer_name(enum reducer r) {
    return (unsigned)r < RED_VENDOR ? REDUCERS[r] : "vendor";
}

static bool char_lower(char ch) { return ch >= 'a' && ch <= 'z'; }

/* [a-z][a-z0-9_-]* */
static bool vendor_word(struct str s) {
    if (s.n == 0 || !char_lower(s.p[0])) return false;
    for (size_t i = 1; i < s.n; i++)
        if (!char_lower(s.p[i]) && !(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != '_' &&
            s.p[i] != '-')
            return false;
    return true;
}

static bool vendor_reducer(struct str name) {
    struct str head, rest, org, last;
    return str_cut(name, '.', &head, &rest) && str_eqc(head, "vendor") &&
           str_cut(rest, '.', &org, &last) && vendor_word(org) && vendor_word(last);
}

/* ^([a-z][a-zA-Z0-9._-]*\*?|\*)$, 1..256 */
static bool access_entry(struct str s) {
    if (str_eqc(s, "*")) return true;
    if (s.n == 0 || s.n > ACCESS_ITEMS_MAX || !char_lower(s.p[0])) return false;
    for (size_t i = 1; i < s.n; i++) {
        char ch = s.p[i];
        bool ok = char_lower(ch) || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
                  memchr("._-", ch, 3) != NULL || (ch == '*' && i + 1 == s.n);
        if (!ok) return false;
    }
    return true;
}

static int access_list(struct wfc *c, const struct wfc_obj *access, const char *name,
                       struct wf_access *side) {
    struct json_elements el;
    if (wfc_raw(access, name).p == NULL) return 0; /* an omitted side is open */
    int rc = wfc_list(c, access, name, ACCESS_ITEMS_MAX, &el);
    if (rc != 0) return rc;
    *side = (struct wf_access){.listed = true, .v = ARENA_ARRAY(c->w->arena, struct str, el.n + 1)};
    if (side->v == NULL) return wfc_memory(c);
    for (size_t i = 0; i < el.n; i++) {
        struct str s = json_string(el.v[i], c->tmp);
        if (s.p == NULL || !access_entry(s))
            return wfc_fail(c, access->pointer, name,
                            "entries are node ids, type ids, a type prefix with *, or *");
        side->v[side->n] = arena_str(c->w->arena, s);
        if (side->v[side->n++].p == NULL) return wfc_memory(c);
    }
    return 0;
}

bool channel_admits(const struct wf_access *side, const struct wf_node *n) {
    if (!side->listed) return true;
    for (size_t i = 0; i < side->n; i++) {
        struct str e = side->v[i];
        bool prefix = e.n > 0 && e.p[e.n - 1] == '*';
        if (str_eq(e, n->id) || str_eq(e, n->type_id)) return true;
        if (prefix && str_starts(n->type_id, str_n(e.p, e.n - 1))) return true;
    }
    return false;
}

static int channel_access(struct wfc *c, const struct wfc_obj *o,
                          struct wf_channel *ch) { /* CHAN-5 */
    struct str raw = wfc_raw(o, "access");
    if (raw.p == NULL || json_type_of(raw) == JSON_NULL) return 0;
    if (json_type_of(raw) == JSON_STRING) {
        struct str word = json_string(raw, c->tmp);
        ch->readers.listed = ch->writers.listed = str_eqc(word, "private"); /* no node is listed */
        if (ch->readers.listed || str_eqc(word, "public")) return 0;
        return wfc_fail(c, o->pointer, "access", "is public, private or an object");
    }
    struct wfc_obj access;
    char pointer[WF_POINTER_MAX];
    wfc_pointer(pointer, o->pointer, STR("access"));
    int rc = wfc_obj(c, raw, &access, "%s", pointer);
    if (rc == 0) rc = access_list(c, &access, "readers", &ch->readers);
    if (rc == 0) rc = access_list(c, &access, "writers", &ch->writers);
    return rc;
}

/* CHAN-18 */
static int channel_compatible(struct wfc *c, const struct wfc_obj *o, struct wf_channel *ch) {
    struct json_elements el;
    int rc = wfc_list(c, o, "compatibleWith", ACCESS_ITEMS_MAX, &el);
    if (rc != 0 || el.n == 0) return rc;
    ch->compatible = ARENA_ARRAY(c->w->arena, int64_t, el.n);
    if (ch->compatible == NULL) return wfc_memory(c);
    for (size_t i = 0; i < el.n; i++) {
        int64_t *v = &ch->compatible[ch->compatible_nr];
        if (!json_int(el.v[i], v) || *v < 1)
            return wfc_fail(c, o->pointer, "compatibleWith", "holds schema versions from 1 on");
        for (size_t k = 0; k < ch->compatible_nr; k++)
            if (ch->compatible[k] == *v)
                return wfc_fail(c, o->pointer, "compatibleWith", "names a version twice");
        ch->compatible_nr++;
    }
    return 0;
}

/* CHAN-4: a list channel whose schema says array validates the folded value, not the entry. */
static bool says_array(struct str schema, struct arena *a) {
    struct str type = json_get(schema, "type");
    return type.p != NULL && json_type_of(type) == JSON_STRING &&
           str_eqc(json_string(type, a), "array");
}

/* Nothing that looks at more than one element, or at how many there are: where all entries fit, a
 * list fits when its new entry does. */
static bool says_each(struct str schema, struct arena *a) {
    static const char *const WORDS[] = {"type",        "items",    "title",    "description",
                                        "$comment",    "$schema",  "default",  "$defs",
                                        "definitions", "examples", "readOnly", "writeOnly"};
    struct json_members m;
    if (json_members(schema, a, &m, NULL) != 0) return false;
    for (size_t i = 0; i < m.n; i++) {
        size_t k = 0;
        while (k < sizeof WORDS / sizeof *WORDS && !str_eqc(m.v[i].key, WORDS[k])) k++;
        if (k == sizeof WORDS / sizeof *WORDS) return false;
    }
    return true;
}

static int channel_schema(struct wfc *c, const struct wfc_obj *o, struct wf_channel *ch) {
    struct str schema = STR_NONE;
    int rc = wfc_typed(c, o, "schema", JSON_OBJECT, &schema);
    if (rc != 0 || schema.p == NULL) return rc;
    ch->schema_text = schema;
    ch->schema_is_array = says_array(schema, c->tmp);
    ch->schema_is_each = ch->schema_is_array && says_each(schema, c->tmp);
    return wfc_schema_add(c, schema, o->pointer, "schema", &ch->schema);
}

static int channel_read(struct wfc *c, struct str name, struct str raw, struct wf_channel *ch) {
    struct wfc_obj o;
    char pointer[WF_POINTER_MAX];
    wfc_pointer(pointer, "/channels", name);
    int rc = wfc_obj(c, raw, &o, "%s", pointer);
    if (rc != 0) return rc;
    if (utf8_count(name) > WF_NAME_MAX) /* CHAN-1 */
        return wfc_fail(c, pointer, NULL, "channel names have at most 256 characters");
    ch->name = arena_str(c->w->arena, name);
    if (ch->name.p == NULL) return wfc_memory(c);
    rc = wfc_need_str(c, &o, "reducer", &ch->reducer_name);
    if (rc != 0) return rc;
    int known = wfc_word(ch->reducer_name, REDUCERS);
    if (known < 0 && !vendor_reducer(ch->reducer_name))
        return wfc_fail(c, pointer, "reducer", "unknown reducer; use vendor.<org>.<name>");
    ch->reducer = known < 0 ? RED_VENDOR : (enum reducer)known;
    ch->schema_version = 1;
    rc = wfc_int(c, &o, "schemaVersion", 1, INT32_MAX, &ch->schema_version);
    if (rc == 0) rc = wfc_int(c, &o, "maxSize", 1, INT64_MAX, &ch->max_size);
    if (rc == 0) rc = wfc_int(c, &o, "ttlMs", 0, WF_TTL_MS_MAX, &ch->ttl_ms); /* CHAN-2 */
    if (rc == 0) rc = wfc_bool(c, &o, "sensitive", &ch->sensitive);
    if (rc == 0) rc = channel_access(c, &o, ch);
    if (rc == 0) rc = channel_compatible(c, &o, ch);
    if (rc == 0) rc = channel_schema(c, &o, ch);
    if (rc != 0) return rc;
    if (known < 0) /* CHAN-10 */
        log_warn("a channel declares a reducer of a vendor, which this host folds as replace",
                 "reducer", "vendor");
    bool ages =
        ch->reducer != RED_REPLACE && ch->reducer != RED_MERGE && ch->reducer != RED_COUNTER;
    if (ch->ttl_ms > 0 && !ages) { /* CHAN-3 */
        log_warn("a channel declares ttlMs, which its reducer ignores", "reducer",
                 reducer_name(ch->reducer));
        ch->ttl_ms = 0;
    }
    struct str def = wfc_raw(&o, "default");
    if (def.p != NULL) ch->default_value = def;
    return wfc_unique(c, c->w->chan_map, ch->name, ch, pointer, NULL);
}

int wfc_channels(struct wfc *c, const struct wfc_obj *top) {
    struct str raw = STR_NONE;
    struct json_members m;
    int rc = wfc_typed(c, top, "channels", JSON_OBJECT, &raw);
    if (rc != 0 || raw.p == NULL) return rc;
    c->w->channel_aware = true;
    rc = json_members(raw, c->tmp, &m, c->err);
    if (rc != 0) return rc;
    if (m.n > WF_CHANS_MAX) return wfc_too_many(c, "", "channels", m.n, WF_CHANS_MAX);
    c->w->channels = ARENA_ARRAY(c->w->arena, struct wf_channel, m.n);
    if (c->w->channels == NULL) return wfc_memory(c);
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        rc = channel_read(c, m.v[i].key, m.v[i].raw, &c->w->channels[i]);
        c->w->channels_nr++;
    }
    return rc;
}
