/* test_config.c: every row of config.def is what its columns say. */
#include "host/config.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define ARENA_BYTES (4u << 20)

static struct arena *arena;

static void world_up(void) { arena = arena_new(ARENA_BYTES); }

static void world_down(void) { arena_free(arena); }

TestSuite(config, .init = world_up, .fini = world_down);

/* Load "--name=value" over the defaults and check; the code of whichever refuses. */
static int flag_check(const char *name, const char *value, struct config *c,
                      struct wopr_error *err) {
    struct str flag = arena_printf(arena, "--%s=%s", name, value);
    char *argv[] = {arena_cstr(arena, flag)};
    int argc = 1;
    *err = (struct wopr_error){0};
    int rc = config_load(c, &argc, argv, arena, err);
    return rc == 0 ? config_check(c, err) : rc;
}

static int number_check(const struct config_row *row, int64_t n, struct wopr_error *err) {
    struct config c;
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)n);
    return flag_check(row->name, text, &c, err);
}

static const char *said(const struct buf *b) { return arena_cstr(arena, buf_str(b)); }

Test(config, the_defaults_are_accepted) {
    struct config c;
    struct wopr_error err = {0};
    int argc = 0;
    cr_assert_eq(config_load(&c, &argc, NULL, arena, &err), 0, "%s", err.message);
    cr_expect_eq(config_check(&c, &err), 0, "%s", err.message);
}

/* Outside of min and max the setting itself is named, and what it must be. */
Test(config, no_number_leaves_its_range) {
    struct wopr_error err;
    for (size_t i = 0; i < CONFIG_ROWS_NR; i++) {
        const struct config_row *row = &CONFIG_ROWS[i];
        bool or_zero = (row->flags & CONFIG_OR_ZERO) != 0;
        if (row->type != CONFIG_TYPE_INT) continue;
        cr_expect_leq(row->min, row->max, "%s", row->name);
        cr_expect_eq(number_check(row, row->min - 1, &err), WOPR_E_CONFIG, "%s", row->name);
        cr_expect_str_eq(err.pointer, row->name);
        cr_expect_not_null(strstr(err.message, " must be "), "%s", err.message);
        cr_expect_eq(number_check(row, 0, &err) == 0, or_zero || (row->min <= 0 && row->max >= 0),
                     "%s", row->name);
        if (row->max == INT64_MAX) continue;
        cr_expect_eq(number_check(row, row->max + 1, &err), WOPR_E_CONFIG, "%s", row->name);
        cr_expect_str_eq(err.pointer, row->name);
        if (strcmp(row->name, "key-polls-max") == 0) continue; /* at most polls-max */
        cr_expect_eq(number_check(row, row->max, &err), 0, "%s: %s", row->name, err.message);
        if (strcmp(row->name, "claim-ttl-ms") == 0) continue; /* at least two heartbeats */
        cr_expect_eq(number_check(row, row->min, &err), 0, "%s: %s", row->name, err.message);
    }
}

Test(config, a_choice_is_one_of_its_words) {
    struct wopr_error err;
    struct config c;
    for (size_t i = 0; i < CONFIG_ROWS_NR; i++) {
        const struct config_row *row = &CONFIG_ROWS[i];
        if (row->type != CONFIG_TYPE_CHOICE) continue;
        struct str rest = str_c(row->must), word;
        cr_expect_eq(flag_check(row->name, row->must, &c, &err), WOPR_E_CONFIG, "%s", row->name);
        cr_expect_eq(flag_check(row->name, "", &c, &err), WOPR_E_CONFIG, "%s", row->name);
        for (bool more = true; more;) {
            more = str_cut(rest, '|', &word, &rest);
            if (!more) word = rest;
            cr_expect_eq(flag_check(row->name, arena_cstr(arena, word), &c, &err), 0, "%s: %s",
                         row->name, err.message);
        }
    }
    cr_expect_eq(flag_check("sync", "never", &c, &err), WOPR_E_CONFIG);
    cr_expect_str_eq(err.message, "setting \"sync\" must be full, normal or off");
}

Test(config, the_message_says_the_range) {
    static const struct {
        const char *name, *value, *message;
    } rows[] = {
        {"http-threads", "0", "setting \"http-threads\" must be 1..64"},
        {"memory-bytes", "1", "setting \"memory-bytes\" must be at least 16777216"},
        {"connection-bytes", "1", "setting \"connection-bytes\" must be 0 or 4096..1048576"},
        {"retention-days", "6",
         "setting \"retention-days\" must be 0 (never) or 7 to 36500, a century (PROF-24)"},
        {"retention-days", "36501",
         "setting \"retention-days\" must be 0 (never) or 7 to 36500, a century (PROF-24)"},
        {"claim-ttl-ms", "86400001", "setting \"claim-ttl-ms\" must be 500 to 86400000 (a day)"},
        {"key-polls-max", "4097", "setting \"key-polls-max\" must be 0..polls-max"},
        {"heartbeat-ms", "15001",
         "setting \"heartbeat-ms\" must be 100 up to half of claim-ttl-ms (STORE-32)"},
        {"key-burst", "-1", "setting \"key-burst\" must be 0..1000000000"},
        {"tls-cert", "c.pem", "setting \"tls-cert\" must be given together with tls-key"},
        {"tenant", "a b", "setting \"tenant\" must be 1..128 of A-Z a-z 0-9 . _ -"},
    };
    struct wopr_error err;
    struct config c;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_expect_eq(flag_check(rows[i].name, rows[i].value, &c, &err), WOPR_E_CONFIG);
        cr_expect_str_eq(err.message, rows[i].message);
    }
}

Test(config, names_and_variables_are_unique_and_documented) {
    for (size_t i = 0; i < CONFIG_ROWS_NR; i++) {
        cr_expect_neq(CONFIG_ROWS[i].help[0], '\0', "%s", CONFIG_ROWS[i].name);
        cr_expect(strncmp(CONFIG_ROWS[i].env, "WOPR_", 5) == 0 ||
                      strncmp(CONFIG_ROWS[i].env, "OPENWOP_", 8) == 0 ||
                      strncmp(CONFIG_ROWS[i].env, "OTEL_", 5) == 0, /* names of a standard */
                  "%s", CONFIG_ROWS[i].name);
        for (size_t k = 0; k < i; k++) {
            cr_expect_str_neq(CONFIG_ROWS[i].name, CONFIG_ROWS[k].name);
            cr_expect_str_neq(CONFIG_ROWS[i].env, CONFIG_ROWS[k].env);
        }
    }
}

Test(config, a_secret_is_neither_printed_nor_offered) {
    struct wopr_error err;
    struct config c;
    struct buf b;
    for (size_t i = 0; i < CONFIG_ROWS_NR; i++) {
        const struct config_row *row = &CONFIG_ROWS[i];
        bool secret = (row->flags & CONFIG_SECRET) != 0;
        bool hidden = (row->flags & CONFIG_HIDDEN) != 0;
        struct str option = arena_printf(arena, "  --%s ", row->name);
        buf_init(&b, 1u << 20);
        config_help(&b);
        cr_expect_eq(strstr(said(&b), option.p) != NULL, !secret && !hidden, "%s", row->name);
        buf_reset(&b);
        if (secret) {
            cr_expect_eq(flag_check(row->name, "hk_told_to_nobody", &c, &err), 0, "%s",
                         err.message);
            cr_expect(c.secret_in_arguments);
            config_print(&c, &b);
            cr_expect_null(strstr(said(&b), "hk_told_to_nobody"));
            cr_expect_not_null(strstr(said(&b), "[REDACTED]"));
        }
        buf_fini(&b);
    }
}
