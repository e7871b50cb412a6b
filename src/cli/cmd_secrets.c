/* cmd_secrets.c: wopr secrets set|list|delete: credentials that runs use by name (CAP-19, NODE-5).
 * On the database file; running hosts find a change at the next request.  A value comes from
 * standard input, is stored sealed, and is never shown. */
#include "base/clock.h"
#include "base/mem.h"
#include "cli/verbs.h"
#include "host/seal_file.h"
#include "store/credentials.h"

#include <stdio.h>
#include <unistd.h>

#define SUBJECT_ISSUER     "wopr:api-key"
#define CREDENTIAL_KEY_MIN 8

static const char USAGE[] =
    "usage: wopr secrets set NAME [--provider NAME|--kind KIND] [--subject ID] [--test]  < FILE\n"
    "                       the value is read from standard input, one line, and stored sealed\n"
    "       wopr secrets list\n"
    "       wopr secrets delete NAME [--subject ID] [--test]\n";

struct secret_args {
    const char *kind, *provider, *subject, *issuer;
    bool test;
};

static int id_of(struct cli *c, const struct secret_args *in, struct credential_id *id) {
    *id = (struct credential_id){
        .tenant = str_c(c->cfg.host_tenant), .test_mode = in->test, .name = str_c(c->argv[1])};
    if (!credential_name_ok(id->name))
        return cli_usage("wopr: the name of a secret is 1 to 256 visible ASCII characters\n");
    if (in->issuer && !in->subject)
        return cli_usage("wopr: --issuer says whose --subject is meant; give that, too\n");
    if (!in->subject) return 0;
    id->subject = str_c(in->subject);
    id->issuer = str_c(in->issuer ? in->issuer : SUBJECT_ISSUER);
    if (id->subject.n > 0 && id->issuer.n > 0) return 0;
    return cli_usage("wopr: --subject and --issuer must not be empty\n");
}

static int kind_of(const struct secret_args *in, struct credential *row) {
    row->kind = in->provider ? CREDENTIAL_AI_PROVIDER : CREDENTIAL_CUSTOM;
    if (in->kind && !credential_kind_parse(str_c(in->kind), &row->kind))
        return cli_usage("wopr: --kind must be ai-provider, api-key, oauth-token or custom\n");
    row->provider = str_c(in->provider ? in->provider : "");
    if ((row->kind == CREDENTIAL_AI_PROVIDER) != (row->provider.n > 0))
        return cli_usage("wopr: --provider names the AI provider that a secret of the kind "
                         "ai-provider is for\n");
    return 0;
}

/* One line of standard input, into text.  What was read does not stay in memory. */
static int value_read(char text[CREDENTIAL_VALUE_MAX + 2], struct str *value) {
    if (isatty(STDIN_FILENO)) fputs("the value, one line: ", stderr);
    size_t n = fread(text, 1, CREDENTIAL_VALUE_MAX + 2, stdin);
    if (ferror(stdin)) return cli_usage("wopr: standard input cannot be read\n");
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r')) n--;
    *value = str_n(text, n);
    bool ok = n > 0 && n <= CREDENTIAL_VALUE_MAX;
    for (size_t i = 0; ok && i < n; i++) ok = (unsigned char)text[i] >= ' ' && text[i] != 0x7f;
    return ok ? 0
              : cli_usage("wopr: the value must be one line of 1 to 16384 bytes without control "
                          "characters, on standard input\n");
}

static int value_store(struct cli *c, struct store *s, struct credential *row, struct str value) {
    struct vault *vault = NULL;
    struct wopr_error err = {0};
    row->updated_ms = clock_wall_ms();
    int rc = seal_vault(&c->cfg, s, &vault, &err);
    if (rc == 0) rc = credential_put(s, vault, row, value, &err);
    vault_free(vault);
    if (rc != 0) return cli_fail(&err);
    printf("stored " STR_FMT "\n", STR_ARG(row->id.name));
    return 0;
}

/* Of an AI provider: it goes into a header, and is masked wherever an answer repeats it. */
static int key_check(const struct credential *row, struct str value) {
    bool ok = value.n >= CREDENTIAL_KEY_MIN;
    if (row->kind != CREDENTIAL_AI_PROVIDER) return 0;
    for (size_t i = 0; ok && i < value.n; i++)
        ok = value.p[i] > ' ' && value.p[i] <= '~' && value.p[i] != '"' && value.p[i] != '\\';
    return ok ? 0
              : cli_usage("wopr: the key of an AI provider is at least 8 visible ASCII characters "
                          "without quotes and backslashes\n");
}

static int secret_set(struct cli *c, struct store *s, const void *args) {
    const struct secret_args *in = args;
    static char text[CREDENTIAL_VALUE_MAX + 2];
    struct credential row = {0};
    struct str value = STR_NONE;
    int rc = id_of(c, in, &row.id);
    if (rc == 0) rc = kind_of(in, &row);
    if (rc == 0) rc = value_read(text, &value);
    if (rc == 0) rc = key_check(&row, value);
    if (rc == 0) rc = value_store(c, s, &row, value);
    mem_wipe(text, sizeof text);
    return rc;
}

static int secrets_list(struct cli *c, struct store *s, const void *args) {
    (void)args;
    struct wopr_error err = {0};
    struct credential_list all;
    struct buf b;
    int rc = store_credentials(s, str_c(c->cfg.host_tenant), NULL, c->arena, &all, &err);
    if (rc != 0) return cli_fail(&err);
    buf_init(&b, CLI_OUT_BYTES_MAX);
    buf_addf(&b, "%-32s %-5s %-12s %-16s %-28s %s\n", "NAME", "MODE", "KIND", "PROVIDER", "SUBJECT",
             "SINCE");
    for (size_t i = 0; i < all.n; i++) {
        const struct credential *k = &all.v[i];
        struct str whose = k->id.subject.n > 0 ? k->id.subject : STR("(tenant)");
        char t[CLI_TIME_SIZE];
        buf_addf(&b, "%-32.*s %-5s %-12s %-16.*s %-28.*s %s\n", STR_ARG(cli_text(c, k->id.name)),
                 k->id.test_mode ? "test" : "live", credential_kind_name(k->kind),
                 STR_ARG(cli_text(c, k->provider.n > 0 ? k->provider : STR("-"))),
                 STR_ARG(cli_text(c, whose)), cli_time(k->updated_ms, t));
    }
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

static int secret_delete(struct cli *c, struct store *s, const void *args) {
    struct wopr_error err = {0};
    struct credential_id id;
    int rc = id_of(c, args, &id);
    if (rc != 0) return rc;
    if (store_credential_delete(s, &id, &err) != 0) return cli_fail(&err);
    printf("deleted " STR_FMT "\n", STR_ARG(id.name));
    return 0;
}

int cmd_secrets(struct cli *c) {
    if (cli_help(c, USAGE)) return 0;
    struct secret_args in = {.kind = cli_take_value(c, "--kind"),
                             .provider = cli_take_value(c, "--provider"),
                             .subject = cli_take_value(c, "--subject"),
                             .issuer = cli_take_value(c, "--issuer"),
                             .test = cli_take_flag(c, "--test")};
    static const struct cli_verb VERBS[] = {
        {"set", 1, 1, .on_file = secret_set, .file = VERB_WRITES},
        {"list", .on_file = secrets_list},
        {"delete", 1, 1, .on_file = secret_delete, .file = VERB_WRITES}};
    int rc = cli_config(c);
    return rc == 0 ? cli_verbs(c, VERBS, sizeof VERBS / sizeof *VERBS, NULL, &in) : rc;
}
