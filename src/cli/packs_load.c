/*
 * packs_load.c: can a pack be loaded?  Asked where it is installed and where a definition is put, so
 * that it is not told by the first run alone (PACK-64, WASM-2).
 */
#include "cli/packs.h"
#include "nodes/pack_loader.h"
#include "nodes/pack_types.h"

/* One worker, started by the first question. */
static int box_open(struct cli *c, struct sandbox **out, struct wopr_error *err) {
    const struct sandbox_config sc = {.program = "/proc/self/exe",
                                      .workers = 1,
                                      .memory_max = (uint64_t)c->cfg.host_wasm_memory_max,
                                      .time_ms_max = (int)c->cfg.host_wasm_time_ms};
    return sandbox_new(&sc, out, err);
}

static int module_try(struct cli *c, struct sandbox *box, const struct pack_judged *j,
                      struct wopr_error *err) {
    char digest[SANDBOX_DIGEST + 1];
    struct pack_types_made types = {0};
    struct buf report;
    buf_init(&report, CLI_OUT_BYTES_MAX);
    int rc = sandbox_keep(box, j->entry, digest, err);
    const struct sandbox_request r = {.module = str_c(digest), .message = STR("{}")};
    if (rc == 0) rc = sandbox_ask(box, &r, &report, err);
    if (rc == 0)
        rc = pack_types_wasm(&j->manifest, buf_str(&report), digest, sandbox_limits(box), c->arena,
                             &types, err);
    buf_fini(&report);
    return rc;
}

void packs_load_warn(struct cli *c, const struct pack_judged *j) {
    struct wopr_error err = {0};
    struct pack_types_made types = {0};
    struct sandbox *box = NULL;
    int rc = 0;
    if (j->manifest.language == PACK_LANG_REMOTE && j->manifest.nodes.n > 0)
        rc = pack_types_remote(&j->manifest, c->arena, &types, &err);
    if (j->manifest.language == PACK_LANG_WASM && j->manifest.nodes.n > 0) {
        rc = box_open(c, &box, &err);
        if (rc == 0) rc = module_try(c, box, j, &err);
        sandbox_free(box);
    }
    if (rc != 0)
        fprintf(stderr, "wopr: warning: no run can use this pack: " STR_FMT "\n",
                STR_ARG(cli_text(c, str_c(err.message))));
}

int packs_load_check(struct cli *c, struct store *s, const struct checker *k, struct str tenant,
                     const struct workflow *wf, struct wopr_error *err) {
    struct pack_loader *loader = NULL;
    struct sandbox *box = NULL;
    int rc = box_open(c, &box, err);
    const struct pack_loader_config pc = {.store = s, .sandbox = box};
    if (rc == 0) rc = pack_loader_new(&pc, &loader, err);
    if (rc == 0) {
        const struct engine_modules m = pack_loader_modules(loader);
        rc = engine_modules_check(&m, k->registry, tenant, wf, c->arena, err);
    }
    pack_loader_free(loader);
    sandbox_free(box);
    return rc;
}
