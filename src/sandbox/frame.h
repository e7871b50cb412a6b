/*
 * frame.h: what host and worker say to each other.  Layer: sandbox.
 *
 * A frame is a head, a JSON text and bytes.  The host believes nothing that comes from a worker:
 * frame_head_read() judges the head alone, before anything is allocated for what it announces.
 *
 *   host to worker   FRAME_LOAD    {"module":HEX64,...}       the module
 *                    FRAME_INVOKE  {"module","node",...}      the message (abi.h)
 *   worker to host   FRAME_REPORT  what came of it (abi.h)    nothing
 */
#ifndef WOPR_SANDBOX_FRAME_H
#define WOPR_SANDBOX_FRAME_H

#include "base/str.h"

enum frame_kind { FRAME_LOAD = 1, FRAME_INVOKE = 2, FRAME_REPORT = 3 };
#define FRAME_HEAD       16u
#define FRAME_TEXT_MAX   (2u * 1024 * 1024)
#define FRAME_BYTES_MAX  (32u * 1024 * 1024)
#define FRAME_REPORT_MAX (512u * 1024) /* of the text that a worker may send */

/* Where cores are short, an execution may last so many times as long by the clock as it may take of
 * a processor. */
#define FRAME_WALL_TIMES 10u

struct frame {
    enum frame_kind kind;
    uint32_t text_n, bytes_n;
};
void frame_head_write(const struct frame *f, unsigned char out[FRAME_HEAD]);
/* false: these are not the first bytes of a frame. */
bool frame_head_read(const unsigned char in[FRAME_HEAD], struct frame *out);

#endif
