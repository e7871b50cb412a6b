/*
 * test_bounds_edges.c: what a definition may have (bounds.def, REGISTER): as much as the bound is
 * accepted, one more is refused, with the place.
 */
#include "base/buf.h"
#include "domain/bounds.h"
#include "domain/workflow.h"

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

TestSuite(bounds_edges, .timeout = 300);

/* One definition: how many of each, or a number of the settings. */
struct shape {
    size_t nodes, triggers, ports, variables, channels, name_n, text_n;
    int64_t retries, retry_ms, ttl_ms, node_ms, run_ms;
};

static void list_put(struct buf *b, size_t i) {
    if (i > 0) buf_addz(b, ",");
}

/* Entries are as short as they may be: the text has a bound of its own. */
static void ports_put(struct buf *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        list_put(b, i);
        buf_addf(b, "\"p%zu\":{\"type\":\"static\",\"value\":1}", i);
    }
}

static void nodes_put(struct buf *b, const struct shape *s) {
    for (size_t i = 0; i < s->nodes; i++) {
        list_put(b, i);
        buf_addf(b,
                 "{\"id\":\"%zu\",\"typeId\":\"a\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},"
                 "\"config\":{},\"inputs\":{",
                 i);
        if (i == 0) ports_put(b, s->ports);
        buf_addz(b, "}");
        if (i == 0)
            buf_addf(b,
                     ",\"settings\":{\"maxRetries\":%lld,\"retryDelayMs\":%lld,\"timeoutMs\":"
                     "%lld}",
                     (long long)s->retries, (long long)s->retry_ms, (long long)s->node_ms);
        buf_addz(b, "}");
    }
}

static void channels_put(struct buf *b, const struct shape *s) {
    for (size_t i = 0; i < s->channels; i++) {
        list_put(b, i);
        buf_addz(b, "\"");
        for (size_t k = 0; i == 0 && k < s->name_n; k++) buf_addz(b, "n");
        if (i > 0) buf_addf(b, "c%zu", i);
        buf_addf(b, "\":{\"reducer\":\"append\",\"ttlMs\":%lld}", (long long)s->ttl_ms);
    }
}

static struct str definition(struct buf *b, const struct shape *s) {
    buf_init(b, 8 * WF_TEXT_MAX);
    buf_addz(b, "{\"id\":\"w\",\"name\":\"n\",\"version\":\"1\",\"nodes\":[");
    nodes_put(b, s);
    buf_addz(b, "],\"edges\":[],\"triggers\":[");
    for (size_t i = 0; i < s->triggers; i++) {
        list_put(b, i);
        buf_addf(b, "{\"id\":\"%zu\",\"type\":\"manual\"}", i);
    }
    buf_addz(b, "],\"variables\":[");
    for (size_t i = 0; i < s->variables; i++) {
        list_put(b, i);
        buf_addf(b, "{\"name\":\"v%zu\",\"type\":\"string\"}", i);
    }
    buf_addz(b, "],\"channels\":{");
    channels_put(b, s);
    buf_addf(b, "},\"metadata\":{},\"settings\":{\"timeout\":%lld}}", (long long)s->run_ms);
    while (b->len < s->text_n) buf_addz(b, " ");
    cr_assert(!buf_failed(b));
    return buf_str(b);
}

static int compiled(const struct shape *s, struct wopr_error *err) {
    const struct wf_env env = {.definition_schema = NULL};
    struct workflow *w = NULL;
    struct buf b;
    wopr_error_clear(err);
    int rc = workflow_compile(definition(&b, s), &env, &w, err);
    workflow_unref(w);
    buf_fini(&b);
    return rc;
}

static const struct shape SMALL = {.nodes = 1, .channels = 1, .name_n = 1, .ttl_ms = 1};

/* No text has more edges than WF_EDGES_MAX: the shortest takes 47 bytes of the text's 1 MiB. */
Test(bounds_edges, a_definition_has_so_much_and_no_more /* S7 */) {
#define ROW(member, bound, place)                                                                  \
    { #bound, offsetof(struct shape, member), (bound), sizeof SMALL.member, place }
    static const struct {
        const char *name;
        size_t at;
        int64_t most;
        size_t size;
        const char *place; /* in the pointer; NULL: none */
    } ROWS[] = {
        ROW(text_n, WF_TEXT_MAX, NULL),
        ROW(nodes, WF_NODES_MAX, "/nodes"),
        ROW(triggers, WF_LIST_MAX, "/triggers"),
        ROW(ports, WF_LIST_MAX, "/nodes/0/inputs"),
        ROW(variables, WF_VARS_MAX, "/variables"),
        ROW(channels, WF_CHANS_MAX, "/channels"),
        ROW(name_n, WF_NAME_MAX, "/channels"),
        ROW(retries, WF_RETRIES_MAX, "/nodes/0/settings/maxRetries"),
        ROW(retry_ms, WF_RETRY_MS_MAX, "/nodes/0/settings/retryDelayMs"),
        ROW(ttl_ms, WF_TTL_MS_MAX, "/ttlMs"),
        ROW(node_ms, WF_TIME_MS_MAX, "/nodes/0/settings/timeoutMs"),
        ROW(run_ms, WF_TIME_MS_MAX, "/settings/timeout"),
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        for (int more = 0; more < 2; more++) {
            struct shape s = SMALL;
            struct wopr_error err;
            int64_t n = ROWS[i].most + more;
            cr_assert_eq(ROWS[i].size, sizeof n);
            memcpy((char *)&s + ROWS[i].at, &n, sizeof n);
            int rc = compiled(&s, &err);
            cr_expect_eq(rc != 0, more == 1, "%s + %d: %s %s", ROWS[i].name, more,
                         wopr_err_name(rc), err.message);
            if (more == 1 && ROWS[i].place)
                cr_expect_not_null(strstr(err.pointer, ROWS[i].place), "%s: %s", ROWS[i].name,
                                   err.pointer);
        }
}
