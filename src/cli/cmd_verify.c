/* cmd_verify.c: wopr verify. */
#include "audit/check.h"
#include "cli/cli.h"
#include "host/seal_file.h"

#include <stdio.h>

static const char USAGE[] =
    "usage: wopr verify [--db FILE]    reads the whole file; a host may run\n"
    "       wopr verify --audit [--audit-public-key KEY]    the audit log alone: chain, "
    "checkpoints\n"
    "KEY is checkpointPublicKey of the discovery document, noted when it was fresh: a file that\n"
    "somebody wrote anew brings keys of its own.\n";

static void print_line(void *ctx, const char *line) {
    struct cli *c = ctx;
    printf(STR_FMT "\n", STR_ARG(cli_text(c, str_c(line))));
}

/* The last 32 bytes of a DER key (RFC 8410); false when text is none. */
static bool public_key_read(const char *text, uint8_t pub[32]) {
    enum { DER_BYTES = 44, KEY_AT = 12 };
    struct buf der;
    buf_init(&der, DER_BYTES);
    bool ok = base64_decode(str_c(text), &der, NULL) == 0 && der.len == DER_BYTES;
    if (ok) memcpy(pub, der.p + KEY_AT, DER_BYTES - KEY_AT);
    buf_fini(&der);
    return ok;
}

static void audit_print(struct cli *c, const struct audit_report *r, int64_t last) {
    for (size_t i = 0; i < r->anomalies_nr; i++)
        printf("entry %lld: %s\n", (long long)r->anomalies[i].at_seq, r->anomalies[i].what);
    printf("%lld entries checked, %lld checkpoints, %s\n", (long long)last + 1,
           (long long)r->checkpoints_seen, r->valid ? "the chain is whole" : "the chain is broken");
    (void)c;
}

/* key: NULL = those of the file. */
static int audit_verify(struct cli *c, struct store *s, const char *key) {
    struct wopr_error err = {0};
    struct audit_question q = {.to = -1};
    struct audit_report report;
    struct audit_row last;
    uint8_t pub[32];
    if (key != NULL && !public_key_read(key, pub))
        return cli_usage("wopr: --audit-public-key is no Ed25519 key in DER and base64\n");
    if (key != NULL) q.pub = pub;
    int rc = store_audit_last(s, c->arena, &last, &err);
    if (rc == 0) rc = audit_check(s, &q, c->arena, &report, &err);
    if (rc != 0) return cli_fail(&err);
    audit_print(c, &report, last.seq);
    return report.valid ? 0 : 1;
}

/* The keys of what is sealed, when this machine has them: *v, NULL when not. */
static int sealed_reader(struct cli *c, struct store *s, struct vault **v, int64_t *findings,
                         struct wopr_error *err) {
    bool any = false;
    int rc = store_seals_any(s, &any, err);
    if (rc != 0 || !any) return rc;
    rc = seal_vault_reader(&c->cfg, s, v, err);
    if (rc == WOPR_E_NO_MEMORY) return rc;
    if (rc == WOPR_E_CORRUPT) ++*findings;
    if (rc == WOPR_E_CORRUPT) printf("sealed values: %s\n", err->message);
    else if (rc != 0)
        printf("note: sealed values are not opened: %s\n",
               rc == WOPR_E_NOT_FOUND ? "there is no key file beside the database; name it as"
                                        " --seal-key-file"
                                      : err->message);
    return 0;
}

int cmd_verify(struct cli *c) {
    struct wopr_error err = {0};
    struct store *s = NULL;
    int64_t runs = 0, findings = 0;
    if (cli_help(c, USAGE)) return 0;
    bool audit = cli_take_flag(c, "--audit");
    const char *key = cli_take_value(c, "--audit-public-key");
    int rc = cli_config(c);
    if (rc != 0) return rc;
    if (c->argc > 0 || (key != NULL && !audit)) return cli_usage(USAGE);
    rc = cli_store(c, true, &s);
    if (rc != 0) return rc;
    if (audit) {
        rc = audit_verify(c, s, key);
        store_close(s);
        return rc;
    }
    struct vault *v = NULL;
    rc = sealed_reader(c, s, &v, &findings, &err);
    int64_t before = findings;
    if (rc == 0) rc = host_verify(s, v, print_line, c, &runs, &findings, &err);
    if (rc == 0) findings += before;
    vault_free(v);
    store_close(s);
    if (rc != 0) return cli_fail(&err);
    printf("%lld runs checked, %lld findings\n", (long long)runs, (long long)findings);
    return findings == 0 ? 0 : 1;
}
