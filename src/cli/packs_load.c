/*
 * packs_load.c: can a pack be loaded?  Asked where it is installed and where a definition is put,
 * so that it is not told by the first run alone (PACK-64, WASM-2).
 */
#include "cli/packs.h"
#include "nodes/pack_loader.h"

/* One worker, started by the first question. */
static int box_open(struct cli *c, struct sandbox **out, struct wopr_error *err) {
    const struct sandbox_config sc = {.program = "/proc/self/exe",
                                      .workers = 1,
                                      .memory_max = (uint64_t)c->cfg.host_wasm_memory_max,
                                      .time_ms_max = (int)c->cfg.host_wasm_time_ms};
    return sandbox_new(&sc, out, err);
}

void packs_load_warn(struct cli *c, const struct pack_judged *j) {
    struct wopr_error err = {0};
    struct sandbox *box = NULL;
    if (j->manifest.nodes.n == 0) return; /* agents: the host interprets them */
    int rc = box_open(c, &box, &err);
    if (rc == 0) rc = pack_loader_try(box, j, c->arena, &err);
    sandbox_free(box);
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
