/*
 * test_keys.c: where keys come from and how long they hold: configured ones as long as a host
 * configures them (AUTH-16, STORE-37), created ones until they end (AUTH-2).
 */
#include "harness.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_A "hk_test_first-configured-key"
#define KEY_B "hk_test_second-configured-key"

static struct server sv;
static struct str out, err;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(keys, .init = up, .fini = down, .timeout = 300);

#define RUN(...)  program(&sv, (const char *const[]){__VA_ARGS__, NULL}, &out, &err)
#define BARE(...) program(NULL, (const char *const[]){__VA_ARGS__, NULL}, &out, &err)

static long status_at(const struct server *s, const char *key) {
    const char *const h[] = {fmt("Authorization: Bearer %s", key), NULL};
    return ask(s, "GET", "/v1/runs", NULL, h).status;
}
static long status_of(const char *key) { return status_at(&sv, key); }

static void restart_with(const char *key) {
    if (sv.pid > 0) cr_assert_eq(server_stop(&sv), 0);
    sv.key = key;
    server_again(&sv);
}

static const char *write_file(const char *name, const char *text) {
    const char *path = fmt("%s/%s", sv.dir, name);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

Test(keys, a_configured_key_holds_as_long_as_it_is_configured /* AUTH-16 */) {
    restart_with(KEY_A);
    cr_expect_eq(status_of(KEY_A), 200);
    restart_with(KEY_B);
    cr_expect_eq(status_of(KEY_B), 200);
    cr_expect_eq(status_of(KEY_A), 401, "it was replaced");
    restart_with(NULL);
    cr_expect_eq(status_of(KEY_A), 401);
    cr_expect_eq(status_of(KEY_B), 401, "nobody configures it any more");
    restart_with(KEY_A);
    cr_expect_eq(status_of(KEY_A), 200, "and it can come back");
    cr_expect_eq(status_of(KEY_B), 401);
}

Test(keys, a_retired_key_leaves_a_line_in_the_log) {
    restart_with(KEY_A);
    restart_with(KEY_B);
    struct str log = server_log(&sv);
    cr_expect_not_null(strstr(log.p, "retired"), STR_FMT, STR_ARG(log));
    cr_assert_eq(RUN("keys", "list"), 0);
    const char *row = strstr(out.p, "cfg");
    cr_assert_not_null(row, STR_FMT, STR_ARG(out));
    cr_expect_not_null(strstr(row, "configured"), "where it is from");
    cr_expect_null(strstr(row + 1, "cfg"), "only the one that is configured: %s", out.p);
}

Test(keys, two_hosts_accept_their_own_keys_in_one_tenant /* AUTH-16, STORE-37 */) {
    struct server other;
    const char *run = create_run(&sv, "conformance-noop", NULL);
    struct server second = sv;
    second.key = KEY_B;
    server_beside(&other, &second, NULL);
    const char *const h[] = {"Authorization: Bearer " KEY_B, NULL};
    cr_expect_eq(ask(&other, "GET", fmt("/v1/runs/%s", run), NULL, h).status, 200);
    cr_expect_eq(status_at(&other, KEY_B), 200);
    cr_expect_eq(status_of(sv.key), 200, "the second start took nothing from the first host");
    cr_expect_eq(status_of(KEY_B), 401, "a key holds where it is configured");
    cr_expect_eq(server_stop(&other), 0);
    cr_expect_eq(status_of(sv.key), 200);
}

Test(keys, a_host_without_a_key_beside_others_makes_none) {
    struct server other, second = sv;
    second.key = NULL;
    server_beside(&other, &second, NULL);
    cr_expect_eq(status_at(&other, sv.key), 401);
    cr_assert_eq(RUN("keys", "list"), 0);
    cr_expect_null(strstr(out.p, "first start"), STR_FMT, STR_ARG(out));
    struct str log = server_log(&other);
    cr_expect_not_null(strstr(log.p, "every request is refused"), STR_FMT, STR_ARG(log));
}

Test(keys, the_tenant_of_a_configured_key_follows_the_settings) {
    static const char *const elsewhere[] = {"--tenant", "elsewhere", NULL};
    const char *run = create_run(&sv, "conformance-noop", NULL);
    cr_expect_eq(ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL).status, 200);
    sv.args = elsewhere;
    restart_with(sv.key);
    cr_expect_eq(ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL).status, 404);
    cr_assert_eq(RUN("keys", "list"), 0);
    cr_expect_not_null(strstr(out.p, "elsewhere"), STR_FMT, STR_ARG(out));
}

Test(keys, a_revoked_configured_key_is_refused_at_once_and_named_at_the_next_start) {
    cr_assert_eq(RUN("keys", "list"), 0);
    const char *row = strstr(out.p, "cfg");
    cr_assert_not_null(row);
    const char *id = fmt("%.*s", (int)strcspn(row, " "), row);
    cr_expect_eq(status_of(sv.key), 200);
    cr_assert_eq(RUN("keys", "revoke", id), 0, STR_FMT, STR_ARG(err));
    cr_expect_eq(status_of(sv.key), 401, "AUTH-2: from the next request on");
    restart_with(sv.key);
    cr_expect_eq(status_of(sv.key), 401);
    struct str log = server_log(&sv);
    cr_expect_not_null(strstr(log.p, "is revoked"), STR_FMT, STR_ARG(log));
    cr_expect_not_null(strstr(log.p, id), STR_FMT, STR_ARG(log));
}

Test(keys, a_file_may_hold_several_keys_for_a_rotation) {
    const char *path = write_file("keys", KEY_A "\n\n  " KEY_B " \r\n");
    const char *const args[] = {"--api-key-file", path, NULL};
    sv.args = args;
    restart_with(NULL);
    cr_expect_eq(status_of(KEY_A), 200);
    cr_expect_eq(status_of(KEY_B), 200);
    write_file("keys", KEY_B "\n");
    restart_with(NULL);
    cr_expect_eq(status_of(KEY_A), 401);
    cr_expect_eq(status_of(KEY_B), 200);
}

Test(keys, a_weak_or_missing_key_is_refused_at_start_with_the_remedy) {
    static const struct {
        const char *text, *names;
    } FILES[] = {{"hk_short\n", "20"},
                 {"hk_with blanks_in_the_middle\n", "visible"},
                 {"\n", "has no key"},
                 {NULL, "no-such-file"}};
    cr_assert_eq(server_stop(&sv), 0);
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        const char *path = FILES[i].text != NULL ? write_file("keys", FILES[i].text)
                                                 : fmt("%s/no-such-file", sv.dir);
        cr_expect_eq(RUN("serve", "--port", "0", "--ops-port", "-1", "--api-key-file", path), 1);
        cr_expect_not_null(strstr(err.p, FILES[i].names), STR_FMT, STR_ARG(err));
    }
    sv.client_key = "12345";
    cr_expect_eq(RUN("serve", "--port", "0", "--ops-port", "-1"), 1);
    cr_expect_not_null(strstr(err.p, "wopr keys generate"), STR_FMT, STR_ARG(err));
    cr_expect_null(strstr(err.p, "12345"), "the key is never printed");
}

Test(keys, a_generated_key_is_good_enough_and_stored_nowhere) {
    cr_assert_eq(BARE("keys", "generate"), 0);
    struct str key = str_trim(str_n(out.p, out.n - 1));
    cr_expect(str_starts(key, STR("hk_")) && key.n >= 40, STR_FMT, STR_ARG(out));
    const char *text = fmt(STR_FMT, STR_ARG(key));
    cr_assert_eq(BARE("keys", "generate"), 0);
    cr_expect_null(strstr(out.p, text));
    restart_with(text);
    cr_expect_eq(status_of(text), 200);
}

Test(keys, no_key_stands_in_the_arguments_of_a_process) {
    char line[4096];
    FILE *f = fopen(fmt("/proc/%ld/cmdline", (long)sv.pid), "r");
    cr_assert_not_null(f);
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    for (size_t i = 0; i < n; i++)
        if (line[i] == '\0') line[i] = ' ';
    line[n] = '\0';
    cr_expect_null(strstr(line, sv.key), "%s", line);
    cr_assert_eq(RUN("runs", "list", "--api-key", KEY_A), 0, "still understood");
    cr_expect_not_null(strstr(err.p, "--api-key-file"), "with a warning: " STR_FMT, STR_ARG(err));
    cr_assert_eq(BARE("serve", "--help"), 0);
    cr_expect_null(strstr(out.p, "--api-key "), "not advertised");
    cr_expect_not_null(strstr(out.p, "--api-key-file "));
}

Test(keys, a_created_key_can_little_and_its_end_is_asked_for) {
    cr_expect_eq(RUN("keys", "create"), 2);
    cr_expect_not_null(strstr(err.p, "--expires-days"), STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(err.p, "--no-expiry"), STR_FMT, STR_ARG(err));
    cr_expect_eq(RUN("keys", "create", "--no-expiry", "--expires-days", "3"), 2);
    cr_assert_eq(RUN("keys", "create", "--no-expiry"), 0, STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(err.p, "runs:create,runs:read"), STR_FMT, STR_ARG(err));
    const char *key = fmt("%.*s", (int)strcspn(out.p, "\n"), out.p);
    const char *const h[] = {fmt("Authorization: Bearer %s", key), NULL};
    const char *noop = "{\"workflowId\":\"conformance-noop\"}";
    struct reply r = ask(&sv, "POST", "/v1/runs", noop, h);
    cr_assert_eq(r.status, 201);
    const char *run = fmt(STR_FMT, STR_ARG(text_at(r.body, "runId")));
    cr_expect_eq(ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, h).status, 200);
    cr_expect_eq(ask(&sv, "POST", fmt("/v1/runs/%s/cancel", run), "{}", h).status, 403);
}

Test(keys, no_command_takes_an_empty_tenant /* it would mean every tenant */) {
    static const char *const COMMANDS[][3] = {
        {"keys", "create", "--no-expiry"}, {"keys", "list", NULL},     {"runs", "list", NULL},
        {"interrupts", "list", NULL},      {"workflow", "list", NULL}, {"tail", "x", NULL},
        {"serve", "--port", "0"},          {"tokens", "list", NULL},   {"verify", NULL, NULL}};
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++) {
        const char *args[5] = {NULL};
        size_t n = 0;
        while (n < 3 && COMMANDS[i][n] != NULL) {
            args[n] = COMMANDS[i][n];
            n++;
        }
        args[n] = "--tenant=";
        cr_expect_eq(program(&sv, args, &out, &err), 2, "%s: " STR_FMT, args[0], STR_ARG(err));
        cr_expect_not_null(strstr(err.p, "tenant"), STR_FMT, STR_ARG(err));
    }
    cr_expect_eq(RUN("keys", "create", "--no-expiry", "--tenant", "a/b"), 2);
}

Test(keys, clients_find_the_key_beside_the_database) {
    const char *run = create_run(&sv, "conformance-cancellable", "\"inputs\":{\"delayMs\":20000}");
    cr_expect_eq(RUN("runs", "cancel", run, "--url", sv.base), 2, "there is none");
    write_file("dev-api-key", fmt("%s\n", sv.key));
    cr_expect_eq(RUN("runs", "cancel", run, "--url", sv.base), 0, STR_FMT, STR_ARG(err));
}

/* ------------------------------------------------------------------------- rotation, AUTH-20 */
#define HOURS_MS (3600 * (int64_t)1000)

static const char *first_line(struct str text) {
    return fmt("%.*s", (int)strcspn(text.p, "\n"), text.p);
}
static const char *id_of(const char *key) { return fmt("%.26s", key + strlen("hk_")); }

static const char *key_made(void) {
    cr_assert_eq(RUN("keys", "create", "--no-expiry", "--label", "app"), 0, STR_FMT, STR_ARG(err));
    return first_line(out);
}

static const char *key_rotated(const char *id) {
    cr_assert_eq(RUN("keys", "rotate", id, "--no-expiry", "--grace-hours", "48"), 0, STR_FMT,
                 STR_ARG(err));
    return first_line(out);
}

static void key_refused(const char *key, const char *code) {
    const char *const h[] = {fmt("Authorization: Bearer %s", key), NULL};
    struct reply r = ask(&sv, "GET", "/v1/runs", NULL, h);
    expect_error(&r, 401, code);
}

static void restart_at(struct test_clock *clock) {
    static const char *args[5] = {"--audit-log", "all", "--clock-file", NULL, NULL};
    clock_make(clock, sv.dir);
    args[3] = clock->path;
    sv.args = args;
    restart_with(sv.key);
}

/* The line of a key in the list, or of an entry about one. */
static const char *line_with(struct str text, const char *a, const char *b) {
    struct str line, rest = text;
    while (str_cut(rest, '\n', &line, &rest)) {
        const char *l = fmt(STR_FMT, STR_ARG(line));
        if (strstr(l, a) != NULL && strstr(l, b) != NULL) return l;
    }
    return NULL;
}

static const char *entry_with(const char *a, const char *b) {
    const char *found = NULL;
    for (int64_t end = now_ms() + WAIT_MS; found == NULL && now_ms() < end; nap_ms(20)) {
        cr_assert_eq(RUN("audit"), 0, STR_FMT, STR_ARG(err));
        found = line_with(out, a, b);
    }
    cr_assert_not_null(found, "%s, %s: " STR_FMT, a, b, STR_ARG(out));
    return found;
}

Test(keys, a_key_and_its_successor_are_one_principal_until_the_grace_ends /* AUTH-20 */) {
    struct test_clock clock;
    restart_at(&clock);
    const char *old = key_made(), *id = id_of(old), *next = key_rotated(id);
    cr_expect_eq(status_of(old), 200);
    cr_expect_eq(status_of(next), 200, "without a restart of the host");
    cr_assert_eq(RUN("keys", "list"), 0);
    cr_expect_not_null(line_with(out, id, "retiring"), STR_FMT, STR_ARG(out));
    cr_expect_not_null(line_with(out, id_of(next), "active"), STR_FMT, STR_ARG(out));
    cr_expect_not_null(line_with(out, id_of(next), "app"), "the label goes on");
    *clock.offset_ms = 47 * HOURS_MS;
    cr_expect_eq(status_of(old), 200);
    *clock.offset_ms = 49 * HOURS_MS;
    key_refused(old, "key_revoked");
    cr_expect_eq(status_of(next), 200);
    const char *said = entry_with("http.request", fmt("\"keyId\":\"%s\"", id_of(next)));
    cr_expect_not_null(strstr(said, fmt("\"principal\":\"%s\"", id)), "%s", said);
    said = entry_with("\"key.revoked\"", id);
    cr_expect_not_null(strstr(said, "\"effectiveAt\":\""), "%s", said);
    cr_expect_not_null(strstr(said, fmt("\"replacedBy\":\"%s\"", id_of(next))), "%s", said);
    cr_assert_eq(RUN("audit"), 0);
    cr_expect_null(strstr(out.p, next + strlen("hk_") + 26), "no secret is an entry");
}

Test(keys, a_key_that_leaked_during_its_grace_is_refused_at_once /* AUTH-20, AUTH-2 */) {
    const char *old = key_made(), *next = key_rotated(id_of(old));
    cr_expect_eq(status_of(old), 200);
    cr_assert_eq(RUN("keys", "revoke", id_of(old)), 0, STR_FMT, STR_ARG(err));
    key_refused(old, "key_revoked");
    cr_expect_eq(status_of(next), 200);
}

Test(keys, all_is_what_a_tenant_may /* AUTH-6 */) {
    cr_assert_eq(RUN("keys", "create", "--no-expiry", "--scopes", "all"), 0);
    cr_expect_not_null(strstr(err.p, "workers:claim"), STR_FMT, STR_ARG(err));
    cr_expect_null(strstr(err.p, "host:read"), STR_FMT, STR_ARG(err));
    cr_assert_eq(RUN("keys", "create", "--no-expiry", "--scopes", "all,host:read"), 0);
    cr_expect_not_null(strstr(err.p, "host:read"), STR_FMT, STR_ARG(err));
}

Test(keys, what_cannot_be_rotated_is_refused_with_the_remedy /* AUTH-20 */) {
    const char *old = key_made(), *id = id_of(old);
    static const struct {
        const char *args[3], *says;
    } WRONG[] = {{{NULL}, "--expires-days"},
                 {{"--no-expiry", "--grace-hours", "23"}, "wopr keys revoke"},
                 {{"--no-expiry", "--grace-hours", "8761"}, "24..8760"},
                 {{"--no-expiry", "--grace-hours", "x"}, "24..8760"},
                 {{"--no-expiry", "--scopes", "all"}, "wopr keys create"},
                 {{"--no-expiry", "--test", NULL}, "wopr keys create"}};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        const char *const *a = WRONG[i].args;
        cr_expect_eq(RUN("keys", "rotate", id, a[0], a[1], a[2]), 2, "%zu", i);
        cr_expect_not_null(strstr(err.p, WRONG[i].says), "%zu: " STR_FMT, i, STR_ARG(err));
    }
    cr_expect_eq(RUN("keys", "create", "--no-expiry", "--grace-hours", "24"), 2);
    cr_expect_eq(RUN("keys", "rotate", "nobody", "--no-expiry"), 1);
    cr_expect_eq(status_of(old), 200, "nothing of it did anything");
    const char *next = key_rotated(id);
    cr_expect_eq(RUN("keys", "rotate", id, "--no-expiry"), 1, "it has a successor");
    cr_expect_not_null(strstr(err.p, "successor"), STR_FMT, STR_ARG(err));
    const char *third = key_rotated(id_of(next));
    cr_expect_eq(status_of(third), 200);
    cr_assert_eq(RUN("keys", "revoke", id_of(third)), 0);
    cr_expect_eq(RUN("keys", "rotate", id_of(third), "--no-expiry"), 1, "it is revoked");
}

Test(keys, a_configured_key_is_rotated_into_a_created_one_without_a_restart /* AUTH-20 */) {
    struct test_clock clock;
    restart_at(&clock);
    cr_assert_eq(RUN("keys", "list"), 0);
    const char *row = strstr(out.p, "cfg");
    cr_assert_not_null(row);
    const char *id = fmt("%.*s", (int)strcspn(row, " "), row), *next = key_rotated(id);
    cr_expect_eq(status_of(sv.key), 200);
    cr_expect_eq(status_of(next), 200);
    restart_with(sv.key);
    cr_expect_eq(status_of(sv.key), 200, "the end is not yet");
    *clock.offset_ms = 49 * HOURS_MS;
    key_refused(sv.key, "key_revoked");
    cr_expect_eq(status_of(next), 200);
    struct str log = server_log(&sv); /* ends the host */
    cr_expect_not_null(strstr(log.p, "was rotated"), STR_FMT, STR_ARG(log));
}
