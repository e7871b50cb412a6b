/*
 * fold.h: a run folded from its log, by the same fold as the engine's; for streams that show the
 * state of a run.  Layer: wire/common.  A fold belongs to one stream and one thread at a time.
 */
#ifndef WOPR_WIRE_COMMON_FOLD_H
#define WOPR_WIRE_COMMON_FOLD_H

#include "wire/common/wire.h"

struct wire_fold;
struct wire_children { /* of the run, when the frame is made */
    struct child_row_list list;
    bool more;
};
/* Appends one frame that shows the state; the caller cuts off the remains of a failed one. scratch
 * is reset before and after. */
typedef int wire_fold_frame(const struct run_state *s, const struct run_origin *o,
                            const struct wire_children *children, struct arena *scratch,
                            struct buf *out);
/* NO_MEMORY, or what reading the run's origin and workflow returns.  Blocks on the store.  Here: on
 * a thread that others wait for; WOPR_E_TOO_BIG when the definition would have to be compiled. */
MUST_CHECK int wire_fold_new(struct wire *w, int64_t run_no, wire_fold_frame *frame, bool here,
                             struct wire_fold **out, struct wopr_error *err);
void wire_fold_free(struct wire_fold *f);          /* takes NULL */
size_t wire_fold_bytes(const struct wire_fold *f); /* memory in use */
/* Begin at the last checkpoint up to seq, if there is one; the stream folds the rest.  Blocks on
 * the store. */
MUST_CHECK int wire_fold_begin(struct wire_fold *f, int64_t seq, struct wopr_error *err);
int64_t wire_fold_seq(const struct wire_fold *f); /* last applied, -1 = none */
bool wire_fold_ended(const struct wire_fold *f);  /* the terminal event was applied */
/* Of the events up to seq show one frame only: at seq, or at the end of a shorter log (SSE-27). */
void wire_fold_resume(struct wire_fold *f, int64_t seq);
/* http_stream.fold: state is a struct wire_fold; a frame for every V event (SSE-17).
 * HTTP_FOLD_AGAIN with here: conditions are to be evaluated, or the event or the state is large;
 * else: the conditions of the event need another turn. */
int wire_fold_event(void *state, const struct event *e, bool here, struct buf *out);

/* The definition a run was created with; the caller owns a reference.  Here: as above. */
MUST_CHECK int wire_workflow_of(struct wire *w, const struct run_origin *o, bool here,
                                struct arena *scratch, struct workflow **out,
                                struct wopr_error *err);

#endif
