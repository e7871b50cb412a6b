/*
 * agent_set.c: the pins of a run are resolved once, when it is created, in one read; from then on
 * the run goes by what was found, as do its forks and replays (AGT-46).
 */
#include "engine/agent_set.h"

#include "codec/fields.h"
#include "codec/jobj.h"
#include "store/agents.h"

static int unknown_refuse(const struct workflow *wf, const struct agent_pin *pin,
                          struct wopr_error *err) {
    struct jobj o;
    int rc = wopr_error_set(
        err, WOPR_E_VALIDATION,
        "node " STR_FMT " of the workflow is pinned to the agent " STR_FMT
        ", which this workspace does not have; put it (wopr agents put), or "
        "change the pin",
        STR_ARG(str_n(wf->nodes[pin->node].id.p,
                      wf->nodes[pin->node].id.n < 128 ? wf->nodes[pin->node].id.n : 128)),
        STR_ARG(pin->id));
    jobj_begin(&o, WOPR_DETAILS_SIZE);
    fields_begin(&o.w);
    fields_add(&o.w, STR("workflowId"), "unknown_agent");
    fields_end(&o.w);
    jw_kstr(&o.w, "agentId", pin->id);
    jobj_details(&o, err);
    return rc;
}

/* *m.id stays empty when no installed pack has it. */
static int member_of_pack(struct step *st, struct str tenant, struct str id, struct str pins,
                          struct agent_member *m, struct wopr_error *err) {
    const struct engine_agents *packs = &st->engine->cfg.agents;
    struct str definition = STR_NONE;
    *m = (struct agent_member){.id = STR_NONE};
    if (!packs->of_pack) return 0;
    int rc = packs->of_pack(packs->ctx, tenant, id, pins, st->scratch, &definition, err);
    if (rc != 0 || definition.n == 0) return rc;
    m->id = id;
    m->definition = definition;
    return agent_digest(definition, &m->digest, err);
}

/* An agent of the workspace goes before one of a pack with the same id: it is nearer.  Pins and
 * rows are in the order of ids, and so are the members. */
static int members_join(struct step *st, const struct engine_cmd *cmd,
                        const struct agent_pins *pins, const struct agent_rows *rows,
                        struct agent_member *v, size_t *n, struct wopr_error *err) {
    const struct workflow *wf = cmd->create.wf;
    const struct str packs = rows->n < pins->n ? json_get(wf->text, "packs") : STR_NONE;
    size_t k = 0;
    for (size_t i = 0; i < pins->n; i++) {
        struct str id = pins->v[i].id;
        if (k < rows->n && str_eq(rows->v[k].agent_id, id)) {
            const struct agent_row *r = &rows->v[k++];
            v[(*n)++] = (struct agent_member){r->agent_id, r->definition, r->digest};
            continue;
        }
        if (agent_must_exist(id)) return unknown_refuse(wf, &pins->v[i], err);
        int rc = member_of_pack(st, cmd->tenant, id, packs, &v[*n], err);
        if (rc != 0) return rc;
        *n += v[*n].id.n > 0;
    }
    return 0;
}

/* A look: runs that are created at once may together pass it by what each of them adds. */
static int room_expect(int64_t held, const struct agent_set *set, struct wopr_error *err) {
    if (held + (int64_t)set->text.n <= AGENT_SETS_BYTES_MAX) return 0;
    int rc = wopr_error_set(err, WOPR_E_CONFLICT,
                            "the runs of this tenant hold %lld bytes of agents, and may hold %lld; "
                            "what retention removes makes room",
                            (long long)held, (long long)AGENT_SETS_BYTES_MAX);
    jobj_details_int(err, "bytesMax", AGENT_SETS_BYTES_MAX);
    return rc;
}

int agent_set_resolve(struct step *st, const struct engine_cmd *cmd, struct agent_set *out,
                      struct wopr_error *err) {
    struct agent_pins pins;
    struct agent_rows rows = {NULL, 0};
    int64_t held = 0;
    size_t n = 0;
    *out = (struct agent_set){.text = STR_NONE};
    int rc = agent_pins_of(cmd->create.wf, st->scratch, &pins, err);
    if (rc != 0 || pins.n == 0) return rc;
    struct str *ids = ARENA_ARRAY(st->scratch, struct str, pins.n);
    struct agent_member *v = ARENA_ARRAY(st->scratch, struct agent_member, pins.n);
    if (!ids || !v) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for agents");
    for (size_t i = 0; i < pins.n; i++) ids[i] = pins.v[i].id;
    rc = store_agents_of(st->engine->store, cmd->tenant, cmd->test_mode, ids, pins.n, st->scratch,
                         &rows, &held, err);
    if (rc == 0) rc = members_join(st, cmd, &pins, &rows, v, &n, err);
    if (rc == 0) rc = agent_set_make(v, n, st->scratch, out, err);
    return rc == 0 && n > 0 ? room_expect(held, out, err) : rc;
}

int agent_set_load(struct engine *e, int64_t agents_no, struct arena *a, struct run_meta *meta,
                   struct wopr_error *err) {
    struct agent_set_row row;
    if (agents_no == 0) return 0;
    int rc = store_agent_set(e->store, agents_no, a, &row, err);
    if (rc == WOPR_E_NOT_FOUND)
        return wopr_error_set(err, WOPR_E_CORRUPT, "the agents of the run are gone");
    if (rc != 0) return rc;
    meta->agents = row.definitions;
    meta->agents_digest = row.digest;
    return 0;
}
