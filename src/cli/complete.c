/* complete.c: see complete.h. */
#include "cli/complete.h"

#include "base/embed.h"
#include "domain/interrupt.h"
#include "domain/scope.h"
#include "domain/state.h"

#define USAGE_INDENT 7 /* of the second "wopr" of a usage text: "usage: wopr" */
#define ARGS_MAX     64

struct completion {
    struct cli *c;
    struct buf *out;
    struct str head; /* of the word, kept: "--sync=", or the scopes before the last comma */
    struct str want; /* the candidate begins with it */
};

/* Verbs stand in several forms of a usage text. */
static bool is_offered(const struct completion *k, struct str word) {
    struct str rest = buf_str(k->out), line;
    while (str_cut(rest, '\n', &line, &rest))
        if (str_starts(line, k->head) &&
            str_eq(str_n(line.p + k->head.n, line.n - k->head.n), word))
            return true;
    return false;
}

static void word_offer(struct completion *k, struct str word, const char *help) {
    if (word.n == 0 || !str_starts(word, k->want) || is_offered(k, word)) return;
    buf_adds(k->out, k->head);
    buf_adds(k->out, word);
    if (help[0] != '\0') buf_addf(k->out, "\t%s", help);
    buf_addc(k->out, '\n');
}

/* --- values: what the words of usage texts and of options.def stand for --- */

static void offer_statuses(struct completion *k) {
    for (int i = 0; i < RUN_STATUS_NR; i++)
        word_offer(k, str_c(run_status_name((enum run_status)i)), "");
}
static void offer_kinds(struct completion *k) {
    for (int i = 0; i < INTR_KIND_NR; i++)
        word_offer(k, str_c(intr_kind_name((enum intr_kind)i)), "");
}
static void offer_actions(struct completion *k) {
    for (unsigned i = 0; intr_action_name(i) != NULL; i++)
        word_offer(k, str_c(intr_action_name(i)), "");
}
static void offer_scopes(struct completion *k) {
    struct str before;
    if (str_cut_last(k->want, ',', &before, &k->want))
        k->head = str_n(before.p, before.n + 1); /* with its comma */
    else word_offer(k, STR("all"), "");
    for (unsigned i = 0; i < SCOPE_NR; i++) word_offer(k, str_c(scope_name(i)), "");
}
static void offer_shells(struct completion *k) {
    static const char *const SHELLS[] = {"bash", "zsh", "fish"};
    for (size_t i = 0; i < sizeof SHELLS / sizeof *SHELLS; i++) word_offer(k, str_c(SHELLS[i]), "");
}
static void offer_commands(struct completion *k) {
    for (size_t i = 0; i < k->c->commands_nr; i++)
        word_offer(k, str_c(k->c->commands[i].name), k->c->commands[i].help);
}
static void offer_templates(struct completion *k) {
    for (const struct embed_file *f = EMBED_FILES; f->name != NULL; f++)
        word_offer(k, template_name(f), "");
}
static void offer_types(struct completion *k) {
    struct wopr_error err = {0};
    struct checker types;
    struct str id;
    if (checker_open(&types, false, &err) == 0)
        for (size_t i = 0; types.types.name(types.types.ctx, i, k->c->arena, &id); i++)
            word_offer(k, id, "");
    checker_close(&types);
}
static void offer_files(struct completion *k) { buf_addz(k->out, ":files\n"); }
static void offer_folders(struct completion *k) { buf_addz(k->out, ":folders\n"); }

static const struct {
    const char *name;
    void (*offer)(struct completion *k);
} VALUES[] = {{"STATUS", offer_statuses},    {"KIND", offer_kinds},   {"ACTION", offer_actions},
              {"SCOPES", offer_scopes},      {"SHELL", offer_shells}, {"COMMAND", offer_commands},
              {"TEMPLATE", offer_templates}, {"TYPE", offer_types},   {"FILE", offer_files},
              {"FOLDER", offer_folders}};

static void offer_value(struct completion *k, struct str name) {
    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++)
        if (str_eqc(name, VALUES[i].name)) VALUES[i].offer(k);
}

static void offer_choices(struct completion *k, const char *choices) {
    struct str rest = str_c(choices), one;
    while (str_cut(rest, '|', &one, &rest)) word_offer(k, one, "");
    word_offer(k, rest, "");
}

static void offer_setting(struct completion *k, struct str name) {
    if (str_eqc(name, "config")) offer_files(k);
    for (size_t i = 0; i < CONFIG_ROWS_NR; i++) {
        const struct config_row *o = &CONFIG_ROWS[i];
        if (!str_eqc(name, o->name)) continue;
        if (o->type == CONFIG_TYPE_CHOICE) offer_choices(k, o->must);
        else if (o->type == CONFIG_TYPE_BOOL) offer_choices(k, "true|false");
        else if (o->type == CONFIG_TYPE_STR || o->type == CONFIG_TYPE_OPTSTR) offer_files(k);
    }
}

/* --- options --- */

static const struct cli_option *option_find(const char *command, struct str name) {
    for (size_t i = 0; i < CLI_OPTIONS_NR; i++)
        if (strcmp(CLI_OPTIONS[i].command, command) == 0 && str_eqc(name, CLI_OPTIONS[i].name))
            return &CLI_OPTIONS[i];
    return NULL;
}

static bool option_takes_value(const char *command, struct str name) {
    const struct cli_option *o = option_find(command, name);
    if (o != NULL) return o->value[0] != '\0';
    return config_knows(name) && config_takes_value(name);
}

static void offer_option_value(struct completion *k, const char *command, struct str name) {
    const struct cli_option *o = option_find(command, name);
    if (o != NULL) offer_value(k, str_c(o->value));
    else offer_setting(k, name);
}

/* A setting is offered to serve, and elsewhere to who has begun to write it: most commands need
 * only --db. */
static void offer_options(struct completion *k, const char *command, struct str verb) {
    bool all = strcmp(command, "serve") == 0 || k->want.n > 0;
    k->head = STR("--");
    for (size_t i = 0; i < CLI_OPTIONS_NR; i++)
        if (cli_option_fits(&CLI_OPTIONS[i], command, verb))
            word_offer(k, str_c(CLI_OPTIONS[i].name), CLI_OPTIONS[i].help);
    word_offer(k, STR("help"), "what there is");
    word_offer(k, STR("config"), "JSON file of settings");
    for (size_t i = 0; i < CONFIG_ROWS_NR; i++) {
        const struct config_row *o = &CONFIG_ROWS[i];
        if ((o->flags & (CONFIG_SECRET | CONFIG_HIDDEN)) != 0) continue;
        if (all || strcmp(o->name, "db") == 0) word_offer(k, str_c(o->name), o->help);
    }
}

/* --- arguments: as the usage text says --- */

static const char *usage_of(const struct cli *c, const struct cli_command *command) {
    struct cli asked = {
        .arena = c->arena, .name = command->name, .argv = c->argv, .asks_usage = true};
    (void)command->run(&asked);
    return asked.usage != NULL ? asked.usage : "";
}

static bool is_lower(char ch) { return ch >= 'a' && ch <= 'z'; }

/* The next word of a usage text without brackets, dots and bars; n 0 at its end. */
static struct str token_next(struct str *text) {
    static const char BETWEEN[] = " []|.\n";
    while (text->n > 0 && strchr(BETWEEN, text->p[0]) != NULL) text->p++, text->n--;
    struct str t = {text->p, 0};
    while (t.n < text->n && strchr(BETWEEN, t.p[t.n]) == NULL) t.n++;
    text->p += t.n, text->n -= t.n;
    return t;
}

/* One form of a usage text, after "wopr COMMAND": offers what the word at place number at is. */
static void form_offer(struct completion *k, const char *command, struct str form, int at,
                       char **args) {
    struct str t, last = STR_NONE;
    bool value = false;
    int place = 0;
    while ((t = token_next(&form)).n > 0) {
        if (str_starts(t, STR("--"))) {
            value = option_takes_value(command, str_n(t.p + 2, t.n - 2));
            continue;
        }
        if (value) {
            value = false;
            continue;
        }
        last = t;
        if (place == at) break;
        if (is_lower(t.p[0]) && !str_eqc(t, args[place])) return; /* another verb */
        place++;
    }
    if (last.n == 0 || place > at + 1) return;
    if (place < at && !(form.n == 0 && at > 0)) return;
    if (place < at && is_lower(last.p[0])) return;
    if (is_lower(last.p[0])) word_offer(k, last, "");
    else offer_value(k, last);
}

/* The forms of a usage text: a line with "wopr COMMAND" at its place begins one, deeper lines go
 * on, and a gap of three blanks begins what is said about it. */
static void offer_arguments(struct completion *k, const struct cli_command *command, int at,
                            char **args) {
    struct str rest = str_c(usage_of(k->c, command)), line;
    char head[64];
    struct buf form;
    (void)snprintf(head, sizeof head, "wopr %s", command->name);
    buf_init(&form, CLI_OUT_BYTES_MAX);
    while (str_cut(rest, '\n', &line, &rest)) {
        bool begins = line.n > USAGE_INDENT &&
                      str_starts(str_n(line.p + USAGE_INDENT, line.n - USAGE_INDENT), str_c(head));
        if (begins || line.n == 0 || line.p[0] != ' ') {
            if (form.len > 0) form_offer(k, command->name, buf_str(&form), at, args);
            buf_reset(&form);
        }
        if (!begins && form.len == 0) continue;
        size_t skip = begins ? USAGE_INDENT + strlen(head) : strspn(line.p, " ");
        const char *text = line.p + skip, *gap = strstr(text, "   ");
        size_t n = line.n - skip;
        if (gap != NULL && gap < line.p + line.n) n = (size_t)(gap - text);
        buf_add(&form, text, n);
        buf_addc(&form, ' ');
    }
    if (form.len > 0) form_offer(k, command->name, buf_str(&form), at, args);
    buf_fini(&form);
}

/* The arguments among the words before the current one, in args. */
static int args_find(const char *command, int n, char **words, char **args) {
    int nr = 0;
    for (int i = 1; i < n - 1 && nr < ARGS_MAX; i++) {
        struct str w = str_c(words[i]);
        if (!str_starts(w, STR("--"))) args[nr++] = words[i];
        else if (memchr(w.p, '=', w.n) == NULL &&
                 option_takes_value(command, str_n(w.p + 2, w.n - 2)))
            i++;
    }
    return nr;
}

static void command_complete(struct completion *k, const struct cli_command *command, int n,
                             char **words) {
    char *args[ARGS_MAX];
    struct str word = str_c(words[n - 1]), name, value, prev = str_c(words[n - 2]);
    int nr = args_find(command->name, n, words, args);
    if (n > 2 && str_starts(prev, STR("--")) && memchr(prev.p, '=', prev.n) == NULL &&
        option_takes_value(command->name, str_n(prev.p + 2, prev.n - 2))) {
        offer_option_value(k, command->name, str_n(prev.p + 2, prev.n - 2));
    } else if (str_starts(word, STR("--")) && str_cut(word, '=', &name, &value)) {
        k->head = str_n(word.p, name.n + 1);
        k->want = value;
        offer_option_value(k, command->name, str_n(name.p + 2, name.n - 2));
    } else if (str_starts(word, STR("-"))) {
        size_t dashes = str_starts(word, STR("--")) ? 2 : 1;
        k->want = str_n(word.p + dashes, word.n - dashes);
        offer_options(k, command->name, nr > 0 ? str_c(args[0]) : STR_NONE);
    } else {
        offer_arguments(k, command, nr, args);
    }
}

void complete_words(struct cli *c, int n, char **words, struct buf *out) {
    if (n < 1) return;
    struct completion k = {.c = c, .out = out, .head = STR(""), .want = str_c(words[n - 1])};
    if (n == 1) {
        offer_commands(&k);
        word_offer(&k, STR("help"), "help about a command");
    } else if (strcmp(words[0], "help") == 0) {
        if (n == 2) offer_commands(&k);
    }
    for (size_t i = 0; n > 1 && i < c->commands_nr; i++)
        if (strcmp(words[0], c->commands[i].name) == 0)
            command_complete(&k, &c->commands[i], n, words);
}
