/*
 * reducer.c: which values the reducers accept, the identity of a write, merge; see reducer.h.
 */
#include "domain/reducer.h"

#include "codec/json.h"

#define MESSAGE_ID_MAX 256u /* characters */
#define MERGE_MAP_FROM 16u  /* fewer members are compared pairwise */

enum reducer reducer_of(struct str name) {
    for (int r = 0; r < RED_VENDOR; r++)
        if (str_eqc(name, reducer_name((enum reducer)r))) return (enum reducer)r;
    return RED_VENDOR;
}

/* 5.4, one row a reducer. */
static const struct {
    bool list, crosses;
    enum json_type takes; /* with any: what x must be */
    bool any;
    const char *identity[4]; /* the first of these members that exists */
    const char *refusal;
} ROWS[RED_NR] = {
    [RED_REPLACE] = {false, false, JSON_NULL, true, {NULL}, NULL},
    [RED_APPEND] = {true, true, JSON_NULL, true, {NULL}, NULL},
    [RED_MERGE] = {false, false, JSON_OBJECT, false, {NULL}, "a merge channel takes objects only"},
    [RED_COUNTER] =
        {false, true, JSON_NUMBER, false, {NULL}, "a counter channel takes numbers only"},
    [RED_VOTES] = {true,
                   true,
                   JSON_OBJECT,
                   false,
                   {"userId", "voter", "decidedBy", NULL}, /* CHAN-11 */
                   "a vote is an object with a userId"},
    [RED_FEEDBACK] = {true, true, JSON_OBJECT, false, {NULL}, "feedback is an object"},
    [RED_MESSAGE] = {true,
                     true,
                     JSON_OBJECT,
                     false,
                     {"messageId", NULL},
                     "a message is an object with a messageId"},
    [RED_VENDOR] = {false, false, JSON_NULL, true, {NULL}, NULL},
};

bool reducer_is_list(enum reducer r) { return ROWS[r].list; }
bool reducer_crosses(enum reducer r) { return ROWS[r].crosses; }

/* MSG-1: characters of a raw JSON string. */
static size_t text_length(struct str raw) {
    size_t n = 0;
    for (size_t i = 1; i + 1 < raw.n; i++) {
        if (raw.p[i] != '\\') {
            n += ((unsigned char)raw.p[i] & 0xC0u) != 0x80;
            continue;
        }
        bool code = raw.p[i + 1] == 'u' && i + 5 < raw.n;
        bool second = code && (raw.p[i + 2] | 0x20) == 'd' && strchr("cdefCDEF", raw.p[i + 3]);
        n += !second; /* of a pair */
        i += code ? 5 : 1;
    }
    return n;
}

const char *reducer_refuses(enum reducer r, struct str x) {
    if (!ROWS[r].any && json_type_of(x) != ROWS[r].takes) return ROWS[r].refusal;
    if (ROWS[r].identity[0] == NULL) return NULL;
    struct str who = reducer_identity(r, x);
    if (who.n == 0) return ROWS[r].refusal;
    if (r == RED_MESSAGE &&
        (json_type_of(who) != JSON_STRING || who.n <= 2 || text_length(who) > MESSAGE_ID_MAX))
        return ROWS[r].refusal;
    return NULL;
}

struct str reducer_identity(enum reducer r, struct str x) {
    for (const char *const *key = ROWS[r].identity; *key; key++) {
        struct str raw = json_get(x, *key);
        if (raw.n > 0 && json_type_of(raw) != JSON_NULL) return raw;
    }
    return STR_NONE;
}

struct str reducer_identity_text(struct str raw, struct arena *a) {
    if (raw.n < 2 || raw.p[0] != '"') return raw;
    if (!memchr(raw.p, '\\', raw.n)) return str_n(raw.p + 1, raw.n - 2);
    return json_string(raw, a);
}

/* Members of x by name; NULL: compare pairwise. */
static int index_members(const struct json_members *m, struct map **out) {
    *out = NULL;
    if (m->n < MERGE_MAP_FROM) return 0;
    struct map *index = map_new();
    int rc = index ? 0 : WOPR_E_NO_MEMORY;
    for (size_t i = 0; rc == 0 && i < m->n; i++) rc = map_put(index, m->v[i].key, &m->v[i], NULL);
    if (rc != 0) map_free(index);
    else *out = index;
    return rc;
}

static const struct json_member *member_find(const struct json_members *m, const struct map *index,
                                             struct str key) {
    if (index) return map_get(index, key);
    for (size_t i = 0; i < m->n; i++)
        if (str_eq(m->v[i].key, key)) return &m->v[i];
    return NULL;
}

int reducer_merge(struct str old, struct str x, struct arena *a, struct buf *b, size_t *keys) {
    struct json_members was = {0}, add;
    struct map *index = NULL;
    struct jw w;
    if (json_type_of(x) != JSON_OBJECT) return WOPR_E_VALIDATION;
    int rc = json_members(x, a, &add, NULL);
    if (rc == 0 && old.n > 0 && json_type_of(old) == JSON_OBJECT)
        rc = json_members(old, a, &was, NULL);
    bool *used = rc == 0 ? ARENA_ARRAY(a, bool, add.n + 1) : NULL;
    if (rc == 0 && !used) rc = WOPR_E_NO_MEMORY;
    if (rc == 0) rc = index_members(&add, &index);
    if (rc != 0) return rc;
    jw_init(&w, b);
    jw_object(&w);
    *keys = was.n;
    for (size_t i = 0; i < was.n; i++) {
        const struct json_member *m = member_find(&add, index, was.v[i].key);
        if (m) used[m - add.v] = true;
        jw_key_str(&w, was.v[i].key);
        jw_raw(&w, m ? m->raw : was.v[i].raw);
    }
    for (size_t k = 0; k < add.n; k++) {
        if (used[k]) continue;
        jw_key_str(&w, add.v[k].key);
        jw_raw(&w, add.v[k].raw);
        *keys += 1;
    }
    jw_end_object(&w);
    map_free(index);
    return buf_failed(b) ? WOPR_E_NO_MEMORY : 0;
}
