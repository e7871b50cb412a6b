/*
 * ids.h: identifiers and digests (section 1.1, WR-9).  Layer: workrail.  Pure: random bytes are
 * passed in.
 *
 * A minted id is its prefix, '_' and 26 characters: 16 bytes in base32, lower case, unpadded.  Ids
 * of foreign data are looser after the prefix; both forms are safe in dedupe keys, tokens and
 * pointers (WR-2).  An id of one kind is never accepted where another kind is due (WR-3).
 */
#ifndef WOPR_WORKRAIL_IDS_H
#define WOPR_WORKRAIL_IDS_H

#include "base/str.h"
#include "codec/bytes.h"

enum wr_id_kind {
    WR_ID_SESSION,    /* sess */
    WR_ID_RUN,        /* run */
    WR_ID_NODE,       /* node */
    WR_ID_ATTEMPT,    /* attempt */
    WR_ID_EVENT,      /* evt */
    WR_ID_CHANGE,     /* prefchg */
    WR_ID_CAPABILITY, /* capobs */
    WR_ID_DIVERGENCE, /* div */
    WR_ID_TRACE,      /* trace */
    WR_ID_GAP,        /* gap, and rec_warn for warnings of WR-152 */
    WR_ID_OUTPUT,     /* out */
    WR_ID_CONTEXT,    /* ctx */
    WR_ID_BUNDLE,     /* bundle */
    WR_ID_INTERRUPT,  /* int */
    WR_ID_VALIDATION, /* validation */
    WR_ID_KINDS
};
enum { WR_ID_BYTES = 16, WR_ID_SIZE = 104, WR_ID_TAIL_MAX = 64 };
struct wr_id {
    char s[WR_ID_SIZE]; /* NUL-terminated */
};
static inline struct str wr_id_str(const struct wr_id *id) { return str_c(id->s); }

/* Where random bytes come from: rng_ids in the program, a counter in a test. */
struct wr_minter {
    void (*bytes)(void *ctx, uint8_t out[WR_ID_BYTES]);
    void *ctx;
};
struct wr_id wr_id_mint(const struct wr_minter *m, enum wr_id_kind kind);
struct wr_id wr_id_of(enum wr_id_kind kind, const uint8_t bytes[WR_ID_BYTES]);
/* false: another prefix, upper case, another length, or rest bits that are not zero (WR-1). */
bool wr_id_decode(enum wr_id_kind kind, struct str id, uint8_t bytes[WR_ID_BYTES]);
/* The form that readers accept (WR-2): the prefix and 1 to 64 of [a-z0-9_-]. */
bool wr_id_good(enum wr_id_kind kind, struct str id);
const char *wr_id_prefix(enum wr_id_kind kind);
/* Ids of authors: [a-z0-9_-]+, at most 128; dotted: also '.' inside. */
bool wr_word_good(struct str s);
bool wr_step_id_good(struct str s);

/* --- derived ids (WR-4, WR-5): the same facts give the same id --- */
struct wr_id wr_attempt_child(struct str attempt_id);
struct wr_id wr_checkpoint_node(struct str session_id, struct str run_id, struct str node_id,
                                struct str attempt_id);
struct wr_id wr_context_id(struct str attempt_id);
struct wr_id wr_branch_run(struct str run_id, struct str from_node_id, struct str attempt_id);
struct wr_id wr_interrupt_id(struct str node_id);
struct wr_id wr_interrupt_attempt(struct str interrupt_id);
/* Ids that carry what they belong to: "gap_<of>_<i>", "out_recap_<of>"; i < 0: without it. */
struct wr_id wr_id_joined(const char *prefix, struct str of, int i);

/* --- digests: "sha256:" and 64 digits --- */
enum { WR_DIGEST_LEN = 71 };
struct wr_digest {
    char s[WR_DIGEST_LEN + 1];
};
struct wr_digest wr_digest_of(struct str bytes);
static inline struct str wr_digest_str(const struct wr_digest *d) { return str_c(d->s); }
bool wr_digest_good(struct str s);

#endif
