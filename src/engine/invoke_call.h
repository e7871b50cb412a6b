/*
 * invoke_call.h: one request of a node on its way: in a plan, then in flight, then answered.
 * Layer: engine, for invoke.c.
 */
#ifndef WOPR_ENGINE_INVOKE_CALL_H
#define WOPR_ENGINE_INVOKE_CALL_H

#include "codec/rpc.h"
#include "domain/invocation.h"
#include "engine/emit.h"

#define INVOKE_OUTCOME_MAX (2u * 1024 * 1024)

struct invoke_call {
    struct list link; /* in e->requests while under way */
    struct invoke_call *next;
    struct engine *e;
    struct arena *a; /* owns all texts */
    char run_id[RUN_ID_MAX + 1];
    int node;
    int64_t ordinal;
    struct str invocation_id;
    uint64_t egress_id; /* once it is submitted; of the sandbox, with a module */
    char *module;       /* digest of a module that is executed in place of a request, or NULL */
    struct str module_node;
    uint64_t module_memory;
    bool cancelled; /* the run has ended */
    struct egress_request request;
    struct str secret;      /* not to be recorded */
    uint64_t sent_ms;       /* monotonic */
    struct rpc_reader *rpc; /* reads its answer, or NULL; or so does */
    const struct node_stream_ops *stream;
    void *reader; /* of stream; on the egress thread */
    int read_rc;  /* what it said last */
    struct buf fresh;
    struct buf text; /* (mu) of the stream */
    struct str model;
    bool bounded;                /* a summary of the text is shown while it comes */
    enum invocation_state state; /* the outcome */
    struct text outcome;
};
/* A request that the plan of st claims; its texts are copied.  NULL: no memory. */
struct invoke_call *invoke_call_new(struct step *st, int node, int64_t ordinal,
                                    struct str invocation_id, const struct node_request *r);
void invoke_call_free(struct invoke_call *c);  /* takes NULL */
void invoke_calls_free(struct invoke_call *c); /* with those that follow */
/* Its claim is committed: send it.  It belongs to the engine (e->requests) until its outcome is
 * among the answers of its run, or is lost with the process. */
void invoke_call_send(struct invoke_call *c);

#endif
