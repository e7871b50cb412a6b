/* frame.c: heads of frames, in the byte order of the machine that both ends run on. */
#include "sandbox/frame.h"

static const uint32_t MAGIC = 0x31425357u; /* "WSB1" */

void frame_head_write(const struct frame *f, unsigned char out[FRAME_HEAD]) {
    const uint32_t words[4] = {MAGIC, (uint32_t)f->kind, f->text_n, f->bytes_n};
    memcpy(out, words, FRAME_HEAD);
}

bool frame_head_read(const unsigned char in[FRAME_HEAD], struct frame *out) {
    uint32_t words[4];
    memcpy(words, in, FRAME_HEAD);
    if (words[0] != MAGIC || words[1] < FRAME_LOAD || words[1] > FRAME_REPORT) return false;
    if (words[2] > FRAME_TEXT_MAX || words[3] > FRAME_BYTES_MAX) return false;
    *out = (struct frame){(enum frame_kind)words[1], words[2], words[3]};
    return true;
}
