/* cmd_tail.c: wopr tail: follows a run by reading the database file, so it needs no key and works
 * beside the host; with an address, by asking that host (cmd_start.c). */
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/follow.h"
#include "codec/ident.h"
#include "store/events.h"
#include "wire/v1/v1.h"

#include <stdio.h>
#include <unistd.h>

#define TAIL_PAGE       256
#define TAIL_PAGE_BYTES (4u * 1024 * 1024)
#define TAIL_POLL_MS    100
#define TAIL_ARENA_MAX  (32u * 1024 * 1024)

static const char USAGE[] = "usage: wopr tail RUN_ID [--json] [--from SEQUENCE] [--tenant T]\n"
                            "Reads the database file; with --url URL (or WOPR_URL) it asks a "
                            "running host, with the key of\n"
                            "WOPR_API_KEY, --api-key-file FILE or data/dev-api-key.\n";

struct tail {
    struct str run_id;
    bool json;
    struct follow lines;
};

static int print_page(struct tail *t, const struct event_list *l, struct arena *a) {
    struct buf b;
    buf_init(&b, TAIL_ARENA_MAX);
    for (size_t i = 0; i < l->n; i++) {
        if (!t->json) {
            follow_print(&t->lines, &l->v[i], a);
            continue;
        }
        v1_event_render(t->run_id, &l->v[i], &b);
        buf_addc(&b, '\n');
    }
    cli_print(&b);
    buf_fini(&b);
    fflush(stdout);
    return ferror(stdout) ? 1 : 0; /* the pipe's reader went away */
}

static int run_follow(struct store *s, struct tail *t, const struct run_head *head, int64_t from,
                      struct wopr_error *err) {
    struct arena *a = arena_new(TAIL_ARENA_MAX);
    if (a == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    int rc = 0;
    for (bool ended = false; rc == 0 && !ended;) {
        struct event_list l = {NULL, 0};
        arena_reset(a);
        rc = store_events(s, head->run_no, from, TAIL_PAGE, TAIL_PAGE_BYTES, a, &l, err);
        if (rc != 0) break;
        if (l.n > 0) {
            if (print_page(t, &l, a) != 0) break;
            from = l.v[l.n - 1].seq + 1;
            ended = event_is_terminal(l.v[l.n - 1].kind);
            continue;
        }
        clock_sleep_ms(TAIL_POLL_MS);
    }
    arena_free(a);
    return rc;
}

int cmd_tail(struct cli *c) {
    struct wopr_error err = {0};
    struct store *s = NULL;
    struct run_head head;
    uint64_t from = 0;
    if (cli_help(c, USAGE)) return 0;
    struct tail t = {.json = cli_take_flag(c, "--json"), .lines.tint = isatty(STDOUT_FILENO) == 1};
    bool test = cli_take_flag(c, "--test"); /* not needed any more */
    const char *from_text = cli_take_value(c, "--from"), *url = cli_take_url(c);
    int rc = cli_config(c);
    if (rc != 0) return rc;
    if (c->argc != 1 || (from_text != NULL && !str_u64(str_c(from_text), &from)) ||
        from > INT64_MAX)
        return cli_usage(USAGE);
    if (url != NULL) return remote_tail(c, url, c->argv[0], (int64_t)from, t.json);
    rc = cli_store(c, true, &s);
    if (rc != 0) return rc;
    t.run_id = str_c(c->argv[0]);
    rc = cli_run_head(c, s, c->argv[0], &head, &test, &err);
    if (rc == 0) rc = run_follow(s, &t, &head, (int64_t)from, &err);
    store_close(s);
    return rc == 0 ? 0 : cli_fail(&err);
}
