/* test_options.c: usage texts, options.def and completion say the same. */
#include "base/mem.h"
#include "cli/complete.h"

#include <criterion/criterion.h>

static bool name_char(char ch) { return ch == '-' || (ch >= 'a' && ch <= 'z'); }

static const char *usage_of(struct arena *a, const struct cli_command *command) {
    struct cli c = {.arena = a, .name = command->name, .asks_usage = true};
    cr_expect_eq(command->run(&c), 0, "%s", command->name);
    cr_assert_not_null(c.usage, "%s", command->name);
    return c.usage;
}

/* Does the line of p show how the command is used?  Other lines may speak of other commands. */
static bool in_form(const char *text, const char *p) {
    const char *line = p;
    while (line > text && line[-1] != '\n') line--;
    return line == text || *line == ' ';
}

/* command NULL: of any */
static bool row_exists(const char *command, struct str name) {
    for (size_t i = 0; i < CLI_OPTIONS_NR; i++)
        if ((command == NULL || strcmp(CLI_OPTIONS[i].command, command) == 0) &&
            str_eqc(name, CLI_OPTIONS[i].name))
            return true;
    return false;
}

Test(cli_options, every_option_of_a_usage_text_is_a_row_or_a_setting) {
    struct arena *a = arena_new(1 << 20);
    for (size_t i = 0; i < CLI_COMMANDS_NR; i++) {
        const char *usage = usage_of(a, &CLI_COMMANDS[i]);
        for (const char *p = usage; (p = strstr(p, "--")) != NULL;) {
            size_t n = 0;
            p += 2;
            while (name_char(p[n])) n++;
            struct str name = str_n(p, n);
            const char *of = in_form(usage, p) ? CLI_COMMANDS[i].name : NULL;
            cr_expect(n == 0 || config_knows(name) || row_exists(of, name) || str_eqc(name, "help"),
                      "wopr %s: --%.*s has no row in options.def", CLI_COMMANDS[i].name, (int)n, p);
        }
    }
    arena_free(a);
}

Test(cli_options, every_row_has_a_command_verbs_of_it_and_a_text) {
    struct arena *a = arena_new(1 << 20);
    for (size_t i = 0; i < CLI_OPTIONS_NR; i++) {
        const struct cli_option *o = &CLI_OPTIONS[i];
        const char *usage = NULL;
        for (size_t k = 0; k < CLI_COMMANDS_NR; k++)
            if (strcmp(CLI_COMMANDS[k].name, o->command) == 0)
                usage = usage_of(a, &CLI_COMMANDS[k]);
        cr_assert_not_null(usage, "there is no command %s", o->command);
        cr_expect(o->help[0] != '\0', "--%s", o->name);
        cr_expect(!config_knows(str_c(o->name)), "--%s is a setting", o->name);
        struct str rest = str_c(o->verbs), verb;
        while (rest.n > 0) {
            if (!str_cut(rest, ' ', &verb, &rest)) verb = rest, rest = STR_NONE;
            struct str form = arena_printf(a, "wopr %s " STR_FMT, o->command, STR_ARG(verb));
            cr_expect(strstr(usage, form.p) != NULL, "--%s: the usage text lacks \"%s\"", o->name,
                      form.p);
        }
    }
    arena_free(a);
}

static void expect_words(const char *const *words, int n, const char *want) {
    struct cli c = {
        .arena = arena_new(1 << 24), .commands = CLI_COMMANDS, .commands_nr = CLI_COMMANDS_NR};
    struct buf b;
    buf_init(&b, 1 << 20);
    complete_words(&c, n, (char **)(uintptr_t)words, &b);
    cr_expect_str_eq(b.len > 0 ? buf_str(&b).p : "", want);
    buf_fini(&b);
    arena_free(c.arena);
}
#define EXPECT(want, ...)                                                                          \
    expect_words((const char *const[]){__VA_ARGS__},                                               \
                 (int)(sizeof(const char *[]){__VA_ARGS__} / sizeof(char *)), want)

Test(cli_options, candidates_come_from_the_tables) {
    EXPECT("keys\tcreate, rotate, list and revoke API keys\n", "ke");
    EXPECT("bulk-cancel\n", "runs", "b");
    EXPECT("reject\n", "interrupts", "resolve", "R", "N", "--action", "rej");
    EXPECT("--branch\texecute nodes again instead of replaying them\n", "runs", "fork", "--br");
    EXPECT("", "runs", "show", "--br");
    EXPECT("--log-level=warn\n", "serve", "--log-level=w");
    EXPECT(":files\n", "workflow", "check", "one.json", "");
    EXPECT(":folders\n", "seed", "");
    EXPECT("zsh\n", "completion", "z");
    EXPECT("approval\n", "interrupts", "list", "--limit", "3", "--kind", "app");
}

Test(cli_options, words_that_no_command_line_has_give_nothing) {
    EXPECT("", "nonsense", "");
    EXPECT("", "runs", "nonsense", "");
    EXPECT("", "runs", "list", "more", "and", "more", "");
    EXPECT("", "--", "--", "--");
    EXPECT("", "runs", "--=", "--=");
    EXPECT("", "help", "runs", "");
}
