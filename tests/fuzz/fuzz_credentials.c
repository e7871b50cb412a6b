/*
 * fuzz_credentials.c: API keys, stream tickets and trace headers (AUTH-2, AUTH-3).
 *  - only the very text of a key is taken, also when it differs in a few bytes only;
 *  - the same for a ticket: no other spelling, no other run;
 *  - a traceparent is taken exactly in the one form of version 00.
 */
#include "../support/folder.h"
#include "base/clock.h"
#include "bend.h"
#include "http/auth.h"
#include "http/exchange.h"
#include "http/server.h"
#include "store/sqlite/sqlite.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FUZZ_BYTES_MAX = 2048, ARENA_BYTES = 8 << 20, LIFETIME_MS = 3600 * 1000 };
#define RUN_ID STR("run_01ARZ3NDEKTSV4RRFFQ69G5FAV")

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct world {
    char dir[200];
    struct http_server server;
    struct arena *arena;
    struct str key, ticket;
} w;

static void world_gone(void) {
    store_close(w.server.store);
    arena_free(w.arena);
    DIR *d = opendir(w.dir);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        char name[600];
        snprintf(name, sizeof name, "%s/%s", w.dir, e->d_name);
        if (e->d_name[0] != '.') unlink(name);
    }
    if (d) closedir(d);
    rmdir(w.dir);
}

static void world_make(void) {
    struct store_config cfg = {.sync = STORE_SYNC_OFF};
    struct api_key row;
    struct exchange x = {.pub = {.server = &w.server}};
    int64_t expires;
    char path[220];
    ASSERT(folder_make(w.dir, sizeof w.dir, "fuzz"));
    (void)atexit(world_gone);
    snprintf(path, sizeof path, "%s/w.db", w.dir);
    cfg.path = path;
    ASSERT(store_open(&cfg, &w.server.store, NULL) == 0);
    w.arena = arena_new(ARENA_BYTES);
    rng_bytes(w.server.ticket_secret, sizeof w.server.ticket_secret);
    ASSERT(key_mint(w.server.store, STR("t"), STR("w"), STR("l"), 1, true, 0, w.arena, &w.key, &row,
                    NULL) == 0);
    ASSERT(store_key_put(w.server.store, &row, NULL) == 0);
    x.pub.arena = w.arena;
    principal_of(&row, &x.pub.who);
    ASSERT(http_ticket_mint(&x.pub, RUN_ID, 7, LIFETIME_MS, &w.ticket, &expires, NULL) == 0);
}

static void check_key(struct arena *a, struct str text) {
    struct api_key k;
    struct wopr_error err = {0};
    int rc = key_check(w.server.store, text, clock_wall_ms(), a, &k, &err);
    ASSERT(rc == 0 || rc == WOPR_E_UNAUTHENTICATED);
    ASSERT((rc == 0) == str_eq(text, w.key));
}

static void check_ticket(struct arena *a, struct str text, struct str run_id) {
    struct exchange x = {.pub = {.server = &w.server, .arena = a}};
    struct wopr_error err = {0};
    x.pub.params[0] = (struct http_param){STR("runId"), run_id};
    x.pub.params_nr = 1;
    int rc = ticket_check(&x, text, &err);
    ASSERT(rc == 0 || rc == WOPR_E_UNAUTHENTICATED);
    ASSERT((rc == 0) == (str_eq(text, w.ticket) && str_eq(run_id, RUN_ID)));
    if (rc == 0) ASSERT(x.pub.who.ticket_run_no == 7);
}

static bool hex(struct str s, size_t from, size_t n) {
    bool zero = true;
    for (size_t i = from; i < from + n; i++) {
        char c = s.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
        zero = zero && c == '0';
    }
    return !zero;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len < 1 || len > FUZZ_BYTES_MAX) return 0;
    if (!w.arena) world_make();
    struct arena *a = arena_new(ARENA_BYTES);
    struct str text = str_n((const char *)data + 1, len - 1);
    ASSERT(a != NULL);
    bool bend = (data[0] & 1) != 0;
    check_key(a, bend ? bent(a, w.key, text, 1) : text);
    check_ticket(a, bend ? bent(a, w.ticket, text, 1) : text, RUN_ID);
    check_ticket(a, w.ticket, bend ? bent(a, RUN_ID, text, 1) : text);
    struct str trace = traceparent_read(a, text);
    if (trace.n > 0) {
        ASSERT(trace.n == 55 && memcmp(trace.p, "00-", 3) == 0);
        ASSERT(trace.p[35] == '-' && trace.p[52] == '-');
        ASSERT(hex(trace, 3, 32) && hex(trace, 36, 16));
        ASSERT(memcmp(trace.p + 3, text.p + 3, 49) == 0);
    }
    arena_free(a);
    return 0;
}
