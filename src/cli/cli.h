/*
 * cli.h: the commands of the wopr program.  Layer: cli.
 * A command gets the arguments after its name; it prints its own errors and returns the exit
 * status: 0 done, 1 failed, 2 wrong use.
 */
#ifndef WOPR_CLI_CLI_H
#define WOPR_CLI_CLI_H

#include "domain/types.h"
#include "host/host.h"
#include "store/runs.h"

#include <stdio.h>

enum {
    CLI_TIME_SIZE = 32,                  /* a time as text, with its NUL */
    CLI_AGE_SIZE = 24,                   /* a span of time, likewise */
    CLI_ROWS_MAX = 10000,                /* of --limit */
    CLI_OUT_BYTES_MAX = 64 * 1024 * 1024 /* of what is printed in one piece */
};
struct cli_command;
struct cli {
    int argc;
    char **argv;
    const struct cli_command *commands; /* all of them */
    size_t commands_nr;
    struct arena *arena;
    const char *name, *usage; /* the command, its usage text */
    bool asks_usage;          /* for completion: cli_help stores the text and ends the command */
    bool key_file_named;      /* cfg's file of keys counts before WOPR_API_KEY */
    struct config cfg;        /* valid after cli_config() */
};
/* If --help was given, print the usage text (rc 0).  Every command calls it first: it also stores
 * the text for the messages below. */
bool cli_help(struct cli *c, const char *usage);
/* The rows of options.def that the command has, after the word "options:". */
void cli_options_print(const char *command, FILE *to);
/* 2 when an option is left that neither the settings nor the command know, which is printed with
 * the closest known one; else 0. */
int cli_options(struct cli *c);
/* Remove "--name" (flag) or "--name VALUE" / "--name=VALUE" from the arguments.  For options of a
 * single command. */
bool cli_take_flag(struct cli *c, const char *name);
/* NULL when absent.  A value that begins with "--" takes the second form; an option without its
 * value stays, for cli_options() to tell of. */
const char *cli_take_value(struct cli *c, const char *name);
/* Load the settings; only positional arguments stay in argv. */
int cli_config(struct cli *c);
/* Open the configured database for a tool (no host lock). */
int cli_store(struct cli *c, bool read_only, struct store **out);
int cli_fail(const struct wopr_error *err); /* prints "wopr: message", returns 1 */
int cli_usage(const char *text);            /* prints to stderr, returns 2 */
/* To stdout, with text_escape; buf is emptied. */
void cli_print(struct buf *b);
/* A table to stdout: a line for each of n rows, after head (a line, NULL in JSON). */
void cli_rows(struct cli *c, const char *head, size_t n,
              void (*row)(struct cli *c, const void *rows, size_t i, struct buf *b),
              const void *rows);
/* Foreign text made safe for one field of one line: no control characters.  In c->arena. */
struct str cli_text(struct cli *c, struct str s);
/* Append s with control characters and direction marks as \uXXXX; lines: keep newlines. */
void text_escape(struct buf *out, struct str s, bool lines);
/* A run of the configured tenant, live or test (*test); an id is unique across both. */
int cli_run_head(struct cli *c, struct store *s, const char *run_id, struct run_head *head,
                 bool *test, struct wopr_error *err);
const char *cli_time(int64_t ms, char out[CLI_TIME_SIZE]); /* "-" when 0 */
void cli_age(int64_t ms, char out[CLI_AGE_SIZE]);          /* "3d", "4h", "12m", "30s" */

/* --- remote.c: commands that need a running host --- */
/* Address and key: "--url" (or WOPR_URL; absent: the listener of the settings) and the API key of
 * the settings. */
struct cli_remote {
    const char *base, *key;
};
const char *cli_take_url(struct cli *c); /* before cli_config() */
/* Where a listener is reached from here: loopback for one that is bound to every address. */
const char *cli_host_reachable(const char *host);
/* Prints what is missing and returns 2. */
int cli_remote(struct cli *c, const char *url, struct cli_remote *out);
/* One request. 0 and *body for a 2xx status; else prints the host's message and returns 1.  Escape
 * path segments with percent_encode. */
int cli_ask(struct cli *c, const struct cli_remote *r, const char *method, struct str path,
            struct str body, struct str *answer);
/* base, the escaped id and rest, in c->arena; p NULL: too long. */
struct str cli_path(struct cli *c, const char *base, struct str id, const char *rest);
/* cli_remote and cli_ask in one.  path.p NULL: reported as too long. */
int cli_ask_at(struct cli *c, const char *url, const char *method, struct str path, struct str body,
               struct str *answer);
/* The same as cli_ask with an Idempotency-Key, NULL = none. */
int cli_ask_keyed(struct cli *c, const struct cli_remote *r, const char *method, struct str path,
                  struct str body, const char *key, struct str *answer);
/* The member as text, "-" when absent; for one-line answers. */
struct str cli_member(struct cli *c, struct str object, const char *name);

/* --- definition.c: what definitions are checked against without a host --- */
struct lint_summary;
struct checker {
    struct schema_set *schemas;
    struct node_registry *registry;
    struct node_catalog *catalog;
    struct wf_env env;
    struct wf_types types, built_in;
    struct store *store; /* where workers have registered types (WRK-4); NULL: not asked */
    struct str tenant;
};
/* conformance: with the types of the fixtures.  Errors: NO_MEMORY, CONFIG. */
MUST_CHECK int checker_open(struct checker *k, bool conformance, struct wopr_error *err);
void checker_close(struct checker *k); /* also after a failed open */
/* workflow_check; findings go to stderr, one line each. */
MUST_CHECK int checker_look(struct cli *c, const struct checker *k, const char *path,
                            struct str text, struct lint_summary *sum, struct wopr_error *err);
/* value: raw JSON or empty */
void finding_print(struct cli *c, const char *path, bool error, struct str at, struct str value,
                   struct str text);

/* --- cmd_start.c: wopr runs start, wopr runs bulk-cancel --- */
enum { START_INPUTS_MAX = 256 };
struct start_args {
    const char *url, *tag, *inputs_file, *key; /* key: Idempotency-Key */
    const char *workflow, *status, *reason;    /* bulk-cancel */
    const char *inputs[START_INPUTS_MAX];      /* NAME=VALUE */
    size_t inputs_nr;
    struct str configurable; /* raw object, or empty */
    uint64_t timeout_s;      /* of waiting, 0 = none */
    bool follow, wait, json, all;
};
/* argv: the verb and its arguments.  Return the exit status of the command. */
int start_run(struct cli *c, const struct start_args *in);
int cancel_many(struct cli *c, const struct start_args *in);

/* A run of a host, as wopr tail shows one of the file; 0 when it has ended, however. */
int remote_tail(struct cli *c, const char *url, const char *run_id, int64_t from, bool json);

/* --- runs_remote.c: what commands show of a file, from a host --- */
enum { REMOTE_FILTERS = 3 };
struct remote_filter {
    struct {
        const char *name, *value; /* a query parameter; NULL or empty: none */
    } v[REMOTE_FILTERS];
    unsigned max; /* rows */
    bool json;
};
/* A list of a host, which gives it in pages. */
struct remote_list {
    const char *path, *rows; /* rows: the member with the elements */
    const char *next,
        *cursor;      /* the member that names the next page, the parameter that asks for it */
    const char *head; /* of the table */
    void (*line)(struct cli *c, struct str row);
};
/* Each prints what it got and returns the exit status; url NULL: the settings' listener. */
int remote_list(struct cli *c, const char *url, const struct remote_list *list,
                const struct remote_filter *f);
int remote_runs_list(struct cli *c, const char *url, const struct remote_filter *f);
int remote_interrupts_list(struct cli *c, const char *url, const struct remote_filter *f);
int remote_run_show(struct cli *c, const char *url, const char *run_id);
int remote_run_bundle(struct cli *c, const char *url, const char *run_id);
int remote_run_events(struct cli *c, const char *url, const char *run_id, int64_t from);

/* --- workflow_remote.c: the verbs of wopr workflow that a host carries out --- */
struct workflow_args {
    const char *url;
    bool shared, force;
    int64_t revision;    /* 0: the current one */
    int64_t if_revision; /* as in struct workflow_terms */
};
/* Each a cli_verb.on_host with struct workflow_args. */
int remote_workflow_check(struct cli *c, const void *args);
int remote_workflow_put(struct cli *c, const void *args);
int remote_workflow_list(struct cli *c, const void *args);
int remote_workflow_get(struct cli *c, const void *args);
int remote_workflow_versions(struct cli *c, const void *args);
int remote_workflow_delete(struct cli *c, const void *args);

/* --- cmd_init.c --- */
struct embed_file;
struct str template_name(const struct embed_file *f); /* empty for files that are no examples */

int cmd_serve(struct cli *c);
int cmd_init(struct cli *c);
int cmd_nodes(struct cli *c);
int cmd_seed(struct cli *c);
int cmd_health(struct cli *c);
int cmd_completion(struct cli *c);
int cmd_keys(struct cli *c);
int cmd_tokens(struct cli *c);
int cmd_seal(struct cli *c);
int cmd_secrets(struct cli *c);
int cmd_agents(struct cli *c);
int cmd_memory(struct cli *c);
int cmd_sessions(struct cli *c);
int cmd_tasks(struct cli *c);
int cmd_webhooks(struct cli *c);
int cmd_packs(struct cli *c);
int cmd_workflow(struct cli *c);
int cmd_workrail(struct cli *c);
int cmd_workspec(struct cli *c);
int cmd_interrupts(struct cli *c);
int cmd_runs(struct cli *c);
int cmd_tail(struct cli *c);
int cmd_bundle(struct cli *c);
int cmd_mcp(struct cli *c);
int cmd_audit(struct cli *c);
int cmd_verify(struct cli *c);
int cmd_version(struct cli *c);

#endif
