/* fig_sessions.c: what a look for earlier work costs when there are many sessions, and a call of
 * one that has become long. */
#include "bench.h"

#include "rail/rail.h"
#include "store/sqlite/sqlite.h"
#include "store/vault.h"

#include <inttypes.h>

enum { PER_ROUND = 50, ARENA_BYTES = 64 << 20, LONG_CALLS = 1000, LONG_SLICE = 100 };
static const char SOURCE[] =
    "{\"id\":\"project.bench\",\"name\":\"Bench\",\"description\":\"Two steps\",\"version\":"
    "\"1.0.0\",\"steps\":[{\"id\":\"look\",\"title\":\"Look\",\"prompt\":\"Look at it.\"},{\"id\":"
    "\"report\",\"title\":\"Report\",\"prompt\":\"Report it.\"}]}";

static const struct seal_secret KEK = {{7}};

struct many {
    struct store *store;
    struct vault *vault;
    struct payload_rules *rules;
    struct rail *rail;
    struct arena *a;
    struct str reply;
    struct wr_fault f;
};

static bool asked(struct many *m, enum wr_tool tool, struct str args) {
    const struct rail_caller who = {.tenant = STR("default"),
                                    .workspace = STR("default"),
                                    .subject = STR("{\"kind\":\"workload\"}")};
    if (rail_call(m->rail, &who, tool, args, m->a, &m->reply, &m->f) == 0) return true;
    fprintf(stderr, "wopr-bench: %s: %s\n", wr_code_name(m->f.code), m->f.e.message);
    return false;
}

static struct str text_of(struct many *m, const char *name) {
    return json_string(json_path_get(m->reply, str_c(name), m->a), m->a);
}

/* One in a hundred shares a branch, each has a head of its own; two words of the note are rare. */
static bool session_made(struct many *m, int64_t i) {
    arena_reset(m->a);
    struct str args =
        arena_printf(m->a,
                     "{\"workflowId\":\"project.bench\",\"anchors\":{\"gitBranch\":\"topic/%" PRId64
                     "\",\"gitHeadSha\":\"%040" PRIx64 "\"}}",
                     i % 100, i);
    if (!asked(m, WR_TOOL_START, args)) return false;
    args = arena_printf(m->a,
                        "{\"stateToken\":\"" STR_FMT "\",\"ackToken\":\"" STR_FMT
                        "\",\"output\":{\"notesMarkdown\":\"Looked at part%" PRId64
                        " of area%" PRId64 " and the common change.\"}}",
                        STR_ARG(text_of(m, "stateToken")), STR_ARG(text_of(m, "ackToken")), i,
                        i % 1000);
    return asked(m, WR_TOOL_CONTINUE, args);
}

/* The step is looked at, and what was done is saved with it: two calls, and a node more. */
static bool long_call(struct many *m, struct str state, int i) {
    arena_reset(m->a);
    struct str args = arena_printf(m->a, "{\"stateToken\":\"" STR_FMT "\"}", STR_ARG(state));
    if (!asked(m, WR_TOOL_CONTINUE, args)) return false;
    args = arena_printf(m->a,
                        "{\"checkpointToken\":\"" STR_FMT
                        "\",\"output\":{\"notesMarkdown\":\"Note %d of the long step.\"}}",
                        STR_ARG(text_of(m, "checkpointToken")), i);
    return asked(m, WR_TOOL_CHECKPOINT, args);
}

static struct str look(struct many *m, int64_t i, int64_t sessions) {
    int64_t k = i * 7919 % sessions;
    switch (i % 6) {
    case 0:
        return STR("{}");
    case 1:
        return arena_printf(m->a, "{\"gitHeadSha\":\"%040" PRIx64 "\"}", k);
    case 2:
        return arena_printf(m->a, "{\"gitBranch\":\"topic/%" PRId64 "\"}", k % 100);
    case 3:
        return arena_printf(m->a, "{\"query\":\"part%" PRId64 "\"}", k);
    case 4:
        return arena_printf(m->a, "{\"query\":\"common change area%" PRId64 "\"}", k % 1000);
    default:
        return STR("{\"query\":\"nothing of the kind\"}");
    }
}

static bool rail_open(struct many *m, size_t held_bytes_max) {
    struct wopr_error err = {0};
    const struct rail_config cfg = {.store = m->store,
                                    .vault = m->vault,
                                    .rules = m->rules,
                                    .checkpoints = true,
                                    .resume = true,
                                    .held_bytes_max = held_bytes_max};
    bool good =
        rail_new(&cfg, &m->rail, &err) == 0 &&
        rail_workflow_add(m->rail, str_c(SOURCE), WR_PROJECT, STR("bench.json"), &m->f) == 0;
    if (!good) fprintf(stderr, "wopr-bench: %s%s\n", err.message, m->f.e.message);
    return good;
}

static bool many_open(struct many *m, const struct options *o) {
    const struct store_config cfg = {.path = o->db, .sync = STORE_SYNC_OFF};
    struct wopr_error err = {0};
    bool replaced;
    m->a = arena_new(ARENA_BYTES);
    bool good = m->a != NULL && store_open(&cfg, &m->store, &err) == 0 &&
                vault_new(m->store, &KEK, 1, &m->vault, &replaced, &err) == 0 &&
                payload_rules_new(&m->rules, &err) == 0;
    if (!good) fprintf(stderr, "wopr-bench: %s\n", err.message);
    return good && rail_open(m, 0);
}

static void many_close(struct many *m) {
    rail_free(m->rail);
    payload_rules_free(m->rules);
    vault_free(m->vault);
    if (m->store) store_close(m->store);
    arena_free(m->a);
}

/* LONG_SLICE calls, each in us; 0: one failed. */
static double long_slice(struct many *m, struct str state, int from) {
    uint64_t t0 = clock_mono_ns();
    for (int i = 0; i < LONG_SLICE; i++)
        if (!long_call(m, state, from + i)) return 0;
    return (double)(clock_mono_ns() - t0) / 1e3 / LONG_SLICE;
}

/* The first and the last hundred of a thousand; then a hundred more by a host that holds no session
 * from call to call. */
static bool long_measured(struct many *m, struct report *r) {
    char token[WR_TOKEN_MAX + 1];
    double first = 0, last = 1;
    arena_reset(m->a);
    if (!asked(m, WR_TOOL_START, STR("{\"workflowId\":\"project.bench\"}"))) return false;
    (void)snprintf(token, sizeof token, STR_FMT, STR_ARG(text_of(m, "stateToken")));
    for (int i = 0; last > 0 && i < LONG_CALLS; i += LONG_SLICE) {
        last = long_slice(m, str_c(token), i);
        if (i == 0) first = last;
    }
    struct rail *held = m->rail;
    double unheld = last > 0 && rail_open(m, 1) ? long_slice(m, str_c(token), LONG_CALLS) : 0;
    if (m->rail != held) rail_free(held);
    if (unheld <= 0) return false;
    report_value(r, "long_first_us", first, "us");
    report_value(r, "long_last_us", last, "us");
    report_value(r, "long_last_to_first", last / first, "");
    report_value(r, "long_unheld_us", unheld, "us");
    return true;
}

int cmd_sessions(const struct options *o) {
    struct many m = {.rail = NULL};
    struct hist *h = mem_zalloc(sizeof *h);
    struct report r;
    report_begin(&r, "sessions", o);
    bool good = o->db != NULL && h != NULL && many_open(&m, o);
    uint64_t t0 = clock_mono_ns();
    for (int64_t i = 0; good && i < o->runs; i++) good = session_made(&m, i);
    if (good)
        report_value(&r, "made_us", (double)(clock_mono_ns() - t0) / 1e3 / (double)o->runs, "us");
    for (int64_t i = 0; good && i < o->rounds * PER_ROUND; i++) {
        arena_reset(m.a);
        struct str args = look(&m, i, o->runs);
        t0 = clock_mono_ns();
        good = asked(&m, WR_TOOL_RESUME, args);
        hist_add(h, clock_mono_ns() - t0);
    }
    if (good) report_hist(&r, "resume", h);
    good = good && long_measured(&m, &r);
    many_close(&m);
    mem_free(h);
    int rc = report_end(&r);
    return good ? rc : 1;
}
