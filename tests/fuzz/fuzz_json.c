/*
 * fuzz_json.c: properties of the JSON seam on any bytes.
 *  - unchecked bytes do no harm to the span functions;
 *  - what json_check accepts, json_tree parses, and every span cut out of it is accepted again;
 *  - the canonical form is accepted, equal to the text, and its own canonical form.
 */
#include "base/mem.h"
#include "codec/json.h"

/* json-c's own header and codec/json.h share names: only this one function is needed. */
int json_object_put(struct json_object *obj);

enum { FUZZ_BYTES_MAX = 1 << 16, ARENA_BYTES = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_spans(struct str text, struct arena *a) {
    struct json_members m;
    struct json_elements v;
    if (json_type_of(text) == JSON_OBJECT) {
        ASSERT(json_members(text, a, &m, NULL) == 0);
        for (size_t i = 0; i < m.n; i++) {
            ASSERT(utf8_valid(m.v[i].key));
            ASSERT(json_check(m.v[i].raw, &JSON_LIMITS_DEFAULT, NULL) == 0);
        }
    } else if (json_type_of(text) == JSON_ARRAY) {
        ASSERT(json_elements(text, a, &v, NULL) == 0);
        for (size_t i = 0; i < v.n; i++)
            ASSERT(json_check(v.v[i], &JSON_LIMITS_DEFAULT, NULL) == 0);
    }
}

static void check_canonical(struct str text, struct arena *a) {
    struct buf once, twice;
    struct wopr_error err;
    buf_init(&once, FUZZ_BYTES_MAX * 8);
    buf_init(&twice, FUZZ_BYTES_MAX * 8);
    int rc = json_canonical(text, &once, &err);
    ASSERT(rc == 0 || rc == WOPR_E_SYNTAX); /* a number beyond double */
    if (rc == 0) {
        ASSERT(json_check(buf_str(&once), &JSON_LIMITS_STORED, &err) == 0);
        ASSERT(json_canonical(buf_str(&once), &twice, &err) == 0);
        ASSERT(str_eq(buf_str(&once), buf_str(&twice)));
        ASSERT(json_depth(text) == json_depth(buf_str(&once)));
    }
    ASSERT(json_equal(text, text, a));
    buf_fini(&twice);
    buf_fini(&once);
}

static void use_unchecked(struct str text, struct arena *a) {
    struct json_members m;
    struct json_elements v;
    int64_t i;
    double d;
    int rc = json_members(text, a, &m, NULL);
    ASSERT(rc == 0 || json_check(text, &JSON_LIMITS_STORED, NULL) != 0 ||
           json_type_of(text) != JSON_OBJECT);
    rc = json_elements(text, a, &v, NULL);
    ASSERT(rc == 0 || json_check(text, &JSON_LIMITS_STORED, NULL) != 0 ||
           json_type_of(text) != JSON_ARRAY);
    (void)json_string(text, a);
    (void)json_int(text, &i);
    (void)json_double(text, &d);
    (void)json_get(text, "a");
    (void)json_depth(text);
    (void)json_equal(text, STR("[{\"a\":1}]"), a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct str text = {(const char *)data, len};
    struct json_object *tree;
    struct wopr_error err;
    if (len > FUZZ_BYTES_MAX) return 0;
    struct arena *a = arena_new(ARENA_BYTES);
    ASSERT(a != NULL);
    use_unchecked(text, a);
    if (json_check(text, &JSON_LIMITS_DEFAULT, &err) == 0) {
        ASSERT(utf8_valid(text));
        ASSERT(json_tree(text, &tree, &err) == 0);
        json_object_put(tree);
        check_spans(text, a);
        check_canonical(text, a);
    } else {
        ASSERT(utf8_valid(str_c(err.pointer)));
        if (json_tree(text, &tree, &err) == 0) json_object_put(tree);
    }
    arena_free(a);
    return 0;
}
