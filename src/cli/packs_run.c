/*
 * packs_run.c: wopr packs run: a node type of a folder, executed once as a host would, for whoever
 * writes it.
 */
#include "base/clock.h"
#include "cli/packs.h"
#include "codec/jobj.h"
#include "sandbox/sandbox.h"

#define MESSAGE_MAX (1024u * 1024)
#define REPORT_MAX  (1024u * 1024)
#define LOCAL_SEED  "0000000000000000000000000000000000000000000000000000000000000000"
#define LOCAL_PLACE "\"runId\":\"local\",\"nodeId\":\"local\",\"tenantId\":\"local\""

static bool message_write(struct str inputs, struct buf *b) {
    buf_addz(b, "{\"request\":{\"abiVersion\":1,\"nodeContext\":{" LOCAL_PLACE
                ",\"attempt\":0,\"configurable\":{},\"agent\":null},\"inputs\":");
    buf_adds(b, inputs);
    buf_addz(b, ",\"config\":{}},\"variables\":");
    buf_adds(b, inputs);
    buf_addf(b,
             ",\"channels\":{},\"closed\":[],\"seed\":\"" LOCAL_SEED "\",\"nowMs\":%lld,"
             "\"keep\":false,\"calls\":[]}",
             (long long)clock_wall_ms());
    return !buf_failed(b);
}

static bool inputs_read(const struct packs_args *in, struct str *inputs) {
    *inputs = in->inputs ? str_c(in->inputs) : STR("{}");
    return json_check(*inputs, &JSON_LIMITS_DEFAULT, NULL) == 0 &&
           json_type_of(*inputs) == JSON_OBJECT;
}

/* What the node would do to its run, then what it answers. */
static int report_print(struct cli *c, struct str report) {
    struct json_elements effects = {0};
    struct str outcome = json_get(report, "outcome"), response = json_get(report, "response"),
               raw = json_get(report, "effects");
    if (raw.n > 0 && json_elements(raw, c->arena, &effects, NULL) == 0)
        for (size_t i = 0; i < effects.n; i++) printf(STR_FMT "\n", STR_ARG(effects.v[i]));
    if (str_eqc(outcome, "\"response\"")) {
        printf(STR_FMT "\n", STR_ARG(response));
        return str_eqc(json_get(response, "outcome"), "\"completed\"") ? 0 : 1;
    }
    if (str_eqc(outcome, "\"interrupt\"")) {
        struct str asks = json_get(report, "interrupt");
        printf("asks: " STR_FMT "\n", STR_ARG(asks));
        fputs("wopr: in a run the node waits for an answer here, and goes on with it\n", stderr);
        return 1;
    }
    struct str code = json_string(json_get(report, "code"), c->arena),
               why = json_string(json_get(report, "message"), c->arena);
    fprintf(stderr, "wopr: " STR_FMT ": " STR_FMT "\n", STR_ARG(cli_text(c, code)),
            STR_ARG(cli_text(c, why)));
    return 1;
}

static int module_run(struct cli *c, struct str module, struct str inputs) {
    const struct sandbox_config sc = {.program = "/proc/self/exe",
                                      .workers = 1,
                                      .memory_max = (uint64_t)c->cfg.host_wasm_memory_max,
                                      .time_ms_max = (int)c->cfg.host_wasm_time_ms};
    char digest[SANDBOX_DIGEST + 1];
    struct wopr_error err = {0};
    struct sandbox *box = NULL;
    struct buf message, report;
    buf_init(&message, MESSAGE_MAX);
    buf_init(&report, REPORT_MAX);
    int rc = message_write(inputs, &message)
                 ? 0
                 : wopr_error_set(&err, WOPR_E_TOO_BIG, "the inputs are longer than 500 KB");
    if (rc == 0) rc = sandbox_new(&sc, &box, &err);
    if (rc == 0) rc = sandbox_keep(box, module, digest, &err);
    const struct sandbox_request r = {.tenant = STR("local"),
                                      .module = str_c(digest),
                                      .node = str_c(c->argv[2]),
                                      .message = buf_str(&message)};
    if (rc == 0) rc = sandbox_ask(box, &r, &report, NULL, &err);
    rc = rc == 0 ? report_print(c, buf_str(&report)) : cli_fail(&err);
    sandbox_free(box);
    buf_fini(&message);
    buf_fini(&report);
    return rc;
}

int packs_run(struct cli *c, struct store *s, const void *args) {
    struct pack_judged j;
    struct str inputs;
    struct buf gz;
    (void)s;
    if (!inputs_read(args, &inputs)) return cli_usage("wopr: --inputs is a JSON object\n");
    buf_init(&gz, PACK_TARBALL_BYTES_MAX);
    int rc = packs_folder(c, c->argv[1], &gz);
    if (rc == 0) rc = packs_judge(c, buf_str(&gz), true, &j);
    buf_fini(&gz);
    if (rc != 0) return rc;
    if (j.manifest.language != PACK_LANG_WASM)
        return cli_usage("wopr: only packs of the language wasm are executed here\n");
    return module_run(c, j.entry, inputs);
}
