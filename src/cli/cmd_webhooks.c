/* cmd_webhooks.c: wopr webhooks add|list|show|dead-letters|retry|remove: what a running host posts
 * to other servers (HOOK-1..16). */
#include "cli/verbs.h"
#include "codec/jobj.h"
#include "codec/json.h"

#include <stdio.h>

#define BODY_MAX_BYTES (64u * 1024)
#define BASE           "/v1/host/wopr/webhooks"

enum { LIST_ROWS = 50, TAGS_MAX = 64 };

static const char USAGE[] =
    "usage: wopr webhooks add URL EVENT... [--tag T]...   prints the secret, once\n"
    "       wopr webhooks list [--limit N] [--json]\n"
    "       wopr webhooks show WEBHOOK_ID\n"
    "       wopr webhooks dead-letters WEBHOOK_ID [--limit N] [--json]   what was given up\n"
    "       wopr webhooks retry WEBHOOK_ID    deliver that again, and what waits, now\n"
    "       wopr webhooks remove WEBHOOK_ID\n"
    "EVENT is the name of an event type, such as run.completed.  They ask a running host: --url\n"
    "URL (or WOPR_URL), with the key of WOPR_API_KEY, --api-key-file FILE or data/dev-api-key,\n"
    "which needs the scope webhooks:manage.\n";

struct hook_args {
    const char *url;
    const char *tags[TAGS_MAX];
    size_t tags_nr;
    unsigned limit;
    bool json;
};

static void texts_put(struct jw *w, const char *name, size_t n, const char *const *texts) {
    jw_key(w, name);
    jw_array(w);
    for (size_t i = 0; i < n; i++) jw_str(w, str_c(texts[i]));
    jw_end_array(w);
}

static int hook_add(struct cli *c, const void *args) {
    const struct hook_args *in = args;
    struct buf b;
    struct jw w;
    struct str answer;
    buf_init(&b, BODY_MAX_BYTES);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstr(&w, "url", str_c(c->argv[1]));
    texts_put(&w, "events", (size_t)c->argc - 2, (const char *const *)&c->argv[2]);
    if (in->tags_nr > 0) texts_put(&w, "tags", in->tags_nr, in->tags);
    jw_end_object(&w);
    int rc = buf_failed(&b)
                 ? cli_usage("wopr: the arguments are too long\n")
                 : cli_ask_at(c, in->url, "POST", STR("/v1/webhooks"), buf_str(&b), &answer);
    buf_fini(&b);
    if (rc != 0) return rc;
    printf("webhook: " STR_FMT "\n", STR_ARG(cli_member(c, answer, "webhookId")));
    printf("secret:  " STR_FMT "\n", STR_ARG(cli_member(c, answer, "secret")));
    fputs("the secret is not shown again; it verifies the signature of each delivery\n", stderr);
    return 0;
}

static void hook_line(struct cli *c, struct str row) {
    printf("%-30.*s %-8.*s ", STR_ARG(cli_member(c, row, "webhookId")),
           STR_ARG(cli_member(c, row, "state")));
    printf("%9.*s %7.*s ", STR_ARG(cli_member(c, row, "delivered")),
           STR_ARG(cli_member(c, row, "pending")));
    printf("%5.*s " STR_FMT "\n", STR_ARG(cli_member(c, row, "deadLetters")),
           STR_ARG(cli_member(c, row, "url")));
}

static int hook_list(struct cli *c, const void *args) {
    const struct hook_args *in = args;
    const struct remote_list list = {
        .path = BASE,
        .rows = "webhooks",
        .next = "nextAfter",
        .cursor = "after",
        .head = "WEBHOOK                        STATE    DELIVERED PENDING  DEAD URL",
        .line = hook_line};
    const struct remote_filter all = {.max = in->limit, .json = in->json};
    return remote_list(c, in->url, &list, &all);
}

static void letter_line(struct cli *c, struct str row) {
    printf("%-32.*s %-8.*s ", STR_ARG(cli_member(c, row, "runId")),
           STR_ARG(cli_member(c, row, "sequence")));
    printf("%-24.*s %-6.*s ", STR_ARG(cli_member(c, row, "eventType")),
           STR_ARG(cli_member(c, row, "lastStatus")));
    printf(STR_FMT "\n", STR_ARG(cli_member(c, row, "reason")));
}

static int hook_letters(struct cli *c, const void *args) {
    const struct hook_args *in = args;
    const struct str path = cli_path(c, BASE "/", str_c(c->argv[1]), "/dead-letters");
    const struct remote_list list = {
        .path = path.p,
        .rows = "deliveries",
        .next = "nextBelow",
        .cursor = "below",
        .head = "RUN                              SEQUENCE EVENT                    STATUS REASON",
        .line = letter_line};
    const struct remote_filter all = {.max = in->limit, .json = in->json};
    if (list.path == NULL) return cli_usage("wopr: the id is too long\n");
    return remote_list(c, in->url, &list, &all);
}

static int hook_show(struct cli *c, const void *args) {
    const struct hook_args *in = args;
    struct str answer;
    int rc = cli_ask_at(c, in->url, "GET", cli_path(c, BASE "/", str_c(c->argv[1]), ""), STR_NONE,
                        &answer);
    if (rc == 0) printf(STR_FMT "\n", STR_ARG(answer));
    return rc;
}

static int hook_retry(struct cli *c, const void *args) {
    const struct hook_args *in = args;
    struct str answer;
    int rc = cli_ask_at(c, in->url, "POST", cli_path(c, BASE "/", str_c(c->argv[1]), ":retry"),
                        STR("{}"), &answer);
    if (rc == 0)
        printf("%s: " STR_FMT " to deliver again\n", c->argv[1],
               STR_ARG(cli_member(c, answer, "queued")));
    return rc;
}

static int hook_remove(struct cli *c, const void *args) {
    const struct hook_args *in = args;
    struct str answer;
    int rc = cli_ask_at(c, in->url, "DELETE", cli_path(c, "/v1/webhooks/", str_c(c->argv[1]), ""),
                        STR_NONE, &answer);
    if (rc == 0) printf("removed %s\n", c->argv[1]);
    return rc;
}

static int args_take(struct cli *c, struct hook_args *in) {
    const char *tag, *limit = cli_take_value(c, "--limit");
    *in = (struct hook_args){.url = cli_take_url(c)};
    in->json = cli_take_flag(c, "--json");
    while ((tag = cli_take_value(c, "--tag")) != NULL) {
        if (in->tags_nr == TAGS_MAX) return cli_usage("wopr: too many tags\n");
        in->tags[in->tags_nr++] = tag;
    }
    return cli_limit(limit, LIST_ROWS, &in->limit) ? 0 : 2;
}

int cmd_webhooks(struct cli *c) {
    static const struct cli_verb VERBS[] = {{"add", 2, VERB_ANY_ARGS, .on_host = hook_add},
                                            {"list", .on_host = hook_list},
                                            {"show", 1, 1, .on_host = hook_show},
                                            {"dead-letters", 1, 1, .on_host = hook_letters},
                                            {"retry", 1, 1, .on_host = hook_retry},
                                            {"remove", 1, 1, .on_host = hook_remove}};
    struct hook_args in;
    if (cli_help(c, USAGE)) return 0;
    int rc = args_take(c, &in);
    if (rc == 0) rc = cli_config(c);
    return rc == 0 ? cli_verbs(c, VERBS, sizeof VERBS / sizeof *VERBS, in.url, &in) : rc;
}
