/* cmd_keys.c: wopr keys create|rotate|list|revoke|generate. */
#include "base/clock.h"
#include "cli/verbs.h"
#include "codec/bytes.h"
#include "http/http.h"

#include <stdio.h>

#define SCOPES_DEFAULT   "runs:create,runs:read"
#define GENERATED_RANDOM 32 /* bytes */
#define EXPIRES_DAYS_MAX 36500
#define DAY_MS           86400000
#define HOUR_MS          3600000
#define GRACE_HOURS_MAX  8760
#define GENERATED_TEXT   64

static const char USAGE[] =
    "usage: wopr keys create --expires-days N|--no-expiry [--scopes LIST|all] [--label TEXT]\n"
    "                        [--test] [--tenant T]    scopes: " SCOPES_DEFAULT " unless given\n"
    "       wopr keys rotate KEY_ID --expires-days N|--no-expiry [--grace-hours N] [--label TEXT]\n"
    "                        a successor of the same tenant, owner and scopes; the old key works "
    "for\n"
    "                        24 hours more, or N (24..8760)\n"
    "       wopr keys list\n"
    "       wopr keys revoke KEY_ID\n"
    "       wopr keys generate    prints a text for --api-key-file and stores nothing\n";

struct create_args {
    const char *scopes, *label, *days, *grace;
    bool test, no_expiry;
};

static int expiry_of(const struct create_args *in, int64_t *expires_ms) {
    uint64_t days = 0;
    if ((in->days != NULL) == in->no_expiry)
        return cli_usage("wopr: say how long the key lives: --expires-days N, or --no-expiry\n");
    if (in->days != NULL &&
        (!str_u64(str_c(in->days), &days) || days == 0 || days > EXPIRES_DAYS_MAX))
        return cli_usage("wopr: --expires-days must be 1..36500\n");
    *expires_ms = days == 0 ? 0 : clock_wall_ms() + (int64_t)days * DAY_MS;
    return 0;
}

static int create_args_check(const struct create_args *in, unsigned *scopes, int64_t *expires_ms) {
    struct str bad = STR_NONE;
    if (in->grace != NULL)
        return cli_usage("wopr: --grace-hours belongs to \"wopr keys rotate\"\n");
    if (!scopes_parse(str_c(in->scopes != NULL ? in->scopes : SCOPES_DEFAULT), scopes, &bad) ||
        *scopes == 0) {
        fprintf(stderr, "wopr: unknown scope in --scopes; the scopes are:");
        for (unsigned i = 0; i < SCOPE_NR; i++) fprintf(stderr, " %s", scope_name(i));
        fputc('\n', stderr);
        return 2;
    }
    return expiry_of(in, expires_ms);
}

static int rotate_args_check(const struct create_args *in, int64_t *grace_ms, int64_t *expires_ms) {
    uint64_t hours = KEY_GRACE_HOURS_MIN;
    if (in->scopes != NULL || in->test)
        return cli_usage("wopr: the successor of a key has its scopes and its mode; for others use "
                         "\"wopr keys create\"\n");
    if (in->grace != NULL && (!str_u64(str_c(in->grace), &hours) || hours < KEY_GRACE_HOURS_MIN ||
                              hours > GRACE_HOURS_MAX))
        return cli_usage("wopr: --grace-hours must be 24..8760; a key that leaked is refused at "
                         "once by \"wopr keys revoke\"\n");
    *grace_ms = (int64_t)hours * HOUR_MS;
    return expiry_of(in, expires_ms);
}

static int key_create(struct cli *c, struct store *s, const void *args) {
    const struct create_args *in = args;
    struct wopr_error err = {0};
    struct api_key row;
    struct str text;
    unsigned scopes = 0;
    int64_t expires_ms = 0;
    int rc = create_args_check(in, &scopes, &expires_ms);
    if (rc != 0) return rc;
    rc = key_mint(s, str_c(c->cfg.host_tenant), STR("default"),
                  str_c(in->label != NULL ? in->label : ""), scopes, in->test, expires_ms, c->arena,
                  &text, &row, &err);
    if (rc == 0) rc = store_key_put(s, &row, &err);
    if (rc != 0) return cli_fail(&err);
    printf(STR_FMT "\n", STR_ARG(text));
    fprintf(stderr,
            "key id " STR_FMT ", tenant %s, %s; the key itself is not stored and cannot be shown "
            "again\n",
            STR_ARG(row.key_id), c->cfg.host_tenant,
            in->scopes != NULL ? in->scopes : SCOPES_DEFAULT);
    return 0;
}

static const char *source_of(const struct api_key *k) {
    if (k->configured) return "configured";
    return str_eqc(k->label, "first key") ? "first start" : "created";
}

/* Labels that the program gives say where a key is from, and the successor is created. */
static struct str successor_label(const struct create_args *in, const struct api_key *old) {
    if (in->label != NULL) return str_c(in->label);
    return str_eqc(str_c(source_of(old)), "created") ? old->label : STR_NONE;
}

/* The successor is the same principal (AUTH-20): the owner of runs stays who it was. */
static int key_rotate(struct cli *c, struct store *s, const void *args) {
    const struct create_args *in = args;
    struct wopr_error err = {0};
    struct api_rotation r = {.old_id = str_c(c->argv[1]), .now_ms = clock_wall_ms()};
    struct api_key old;
    struct str text;
    char t[CLI_TIME_SIZE];
    int64_t grace_ms = 0, expires_ms = 0;
    int rc = rotate_args_check(in, &grace_ms, &expires_ms);
    if (rc != 0) return rc;
    r.old_ends_ms = r.now_ms + grace_ms;
    rc = store_key_find(s, r.old_id, c->arena, &old, &err);
    if (rc == 0)
        rc = key_mint(s, old.tenant, old.workspace, successor_label(in, &old), old.scopes,
                      old.test_mode, expires_ms, c->arena, &text, &r.key, &err);
    if (rc == 0) {
        r.key.subject_issuer = old.subject_issuer;
        r.key.subject_id = old.subject_id;
        rc = store_key_rotate(s, &r, &err);
    }
    if (rc != 0) return cli_fail(&err);
    int64_t ends_ms =
        old.expires_ms > 0 && old.expires_ms < r.old_ends_ms ? old.expires_ms : r.old_ends_ms;
    printf(STR_FMT "\n", STR_ARG(text));
    fprintf(stderr,
            "key id " STR_FMT " replaces " STR_FMT ", which works until %s; the key itself is not "
            "stored and cannot be shown again\n",
            STR_ARG(r.key.key_id), STR_ARG(cli_text(c, r.old_id)), cli_time(ends_ms, t));
    return 0;
}

static const char *state_of(const struct api_key *k, int64_t now_ms) {
    if (k->revoked_ms > 0 && k->revoked_ms <= now_ms) return "revoked";
    if (k->expires_ms > 0 && k->expires_ms <= now_ms) return "expired";
    return k->revoked_ms > 0 ? "retiring" : "active";
}

static int64_t end_of(const struct api_key *k) {
    bool rotated = k->revoked_ms > 0 && (k->expires_ms == 0 || k->revoked_ms < k->expires_ms);
    return rotated ? k->revoked_ms : k->expires_ms;
}

static int keys_list(struct cli *c, struct store *s, const void *args) {
    (void)args;
    struct wopr_error err = {0};
    struct api_key_list all;
    struct buf b;
    int rc = store_key_list(s, c->arena, &all, &err);
    if (rc != 0) return cli_fail(&err);
    buf_init(&b, CLI_OUT_BYTES_MAX);
    buf_addf(&b, "%-28s %-8s %-5s %-12s %-25s %-11s %-12s %s\n", "KEY ID", "STATE", "MODE",
             "TENANT", "EXPIRES", "FROM", "LABEL", "SCOPES");
    for (size_t i = 0; i < all.n; i++) {
        const struct api_key *k = &all.v[i];
        char t[CLI_TIME_SIZE];
        buf_addf(&b, "%-28.*s %-8s %-5s %-12.*s %-25s %-11s %-12.*s ",
                 STR_ARG(cli_text(c, k->key_id)), state_of(k, clock_wall_ms()),
                 k->test_mode ? "test" : "live", STR_ARG(cli_text(c, k->tenant)),
                 cli_time(end_of(k), t), source_of(k),
                 STR_ARG(cli_text(c, k->label.n > 0 ? k->label : STR("-"))));
        scopes_format(k->scopes, &b);
        buf_addc(&b, '\n');
    }
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

static int key_revoke(struct cli *c, struct store *s, const void *args) {
    const char *key_id = c->argv[1];
    (void)args;
    struct wopr_error err = {0};
    int rc = store_key_revoke(s, str_c(key_id), clock_wall_ms(), &err);
    if (rc != 0) return cli_fail(&err);
    printf("revoked %s\n", key_id);
    return 0;
}

static int key_generate(struct cli *c, struct store *s, const void *args) {
    (void)c, (void)s, (void)args;
    uint8_t secret[GENERATED_RANDOM];
    struct buf b;
    buf_init(&b, GENERATED_TEXT);
    rng_bytes(secret, sizeof secret);
    buf_addz(&b, KEY_PREFIX_LIVE);
    base64url_encode(&b, str_n((const char *)secret, sizeof secret));
    buf_addc(&b, '\n');
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

int cmd_keys(struct cli *c) {
    if (cli_help(c, USAGE)) return 0;
    struct create_args in = {.scopes = cli_take_value(c, "--scopes"),
                             .label = cli_take_value(c, "--label"),
                             .days = cli_take_value(c, "--expires-days"),
                             .grace = cli_take_value(c, "--grace-hours"),
                             .no_expiry = cli_take_flag(c, "--no-expiry"),
                             .test = cli_take_flag(c, "--test")};
    static const struct cli_verb VERBS[] = {
        {"create", .on_file = key_create, .file = VERB_WRITES},
        {"rotate", 1, 1, .on_file = key_rotate, .file = VERB_WRITES},
        {"list", .on_file = keys_list},
        {"revoke", 1, 1, .on_file = key_revoke, .file = VERB_WRITES},
        {"generate", .on_file = key_generate, .file = VERB_NO_FILE}};
    int rc = cli_config(c);
    return rc == 0 ? cli_verbs(c, VERBS, sizeof VERBS / sizeof *VERBS, NULL, &in) : rc;
}
