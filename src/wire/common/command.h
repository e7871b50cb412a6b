/*
 * command.h: the life of an engine command that belongs to a suspended call.  Layer: wire/common.
 *
 *   handler          engine thread, before commit     engine thread, after commit
 *   wire_cmd_new --> respond(): the major renders --> done(): reply, resume the call
 *   wire_cmd_submit  the answer; it may be stored     (a failed commit replaces the answer)
 *                    with the effect (IDEM-8)
 */
#ifndef WOPR_WIRE_COMMON_COMMAND_H
#define WOPR_WIRE_COMMON_COMMAND_H

#include "wire/common/wire.h"

struct wire_cmd;
/* How a major spells the outcome of a command. */
struct wire_spelling {
    /* The body of a success appended to out; returns its status. */
    int (*success)(const struct wire_cmd *wc, const struct engine_result *r, struct buf *out);
    /* The error of a result that failed, with the details that only the result knows. */
    void (*explain)(const struct wire_cmd *wc, const struct engine_result *r,
                    struct wopr_error *err);
    /* Status, body (in the call's arena, or static) and retry_after_s of that error. */
    void (*failure)(const struct wire_cmd *wc, const struct wopr_error *err,
                    struct idem_response *out);
};
struct wire_cmd { /* lives in the call's arena */
    struct engine_cmd cmd;
    struct http_call *call;
    const struct wire_spelling *spelling;
    struct str base_url; /* of absolute URLs in the answer */
    bool resume_bare;    /* the body is the resume value itself (INT-16) */
};
/* Zeroed command of the call's principal with respond and done set; NO_MEMORY when the arena is
 * exhausted. */
MUST_CHECK int wire_cmd_new(struct http_call *c, enum engine_op op,
                            const struct wire_spelling *spelling, struct wire_cmd **out,
                            struct wopr_error *err);
/* From here on the handler touches nothing of the call: it returns the result. */
int wire_cmd_submit(struct wire_cmd *wc);
/* engine_cmd.respond: render the answer; true when it may be stored under the idempotency key. */
bool wire_cmd_respond(struct engine_cmd *cmd, const struct engine_result *r,
                      struct idem_response *out);

/* Who calls, as runs record it (D18), in the call's arena; STR_NONE: no memory. */
struct str wire_subject(const struct http_call *c);

#endif
