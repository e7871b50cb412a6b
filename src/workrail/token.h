/*
 * token.h: signed tokens and their keyring (section 5).  Layer: workrail.  Pure: keys are passed
 * in, the file is the store's.
 */
#ifndef WOPR_WORKRAIL_TOKEN_H
#define WOPR_WORKRAIL_TOKEN_H

#include "workrail/text.h"

enum { WR_KEY_BYTES = 32, WR_TOKEN_MAX = 4096 };

struct wr_keyring {
    uint8_t current[WR_KEY_BYTES], previous[WR_KEY_BYTES];
    bool has_previous;
};
/* {"current":{...},"previous":null,"v":1}, canonical; appended. */
void wr_keyring_write(const struct wr_keyring *k, struct buf *b);
/* KEYRING_CORRUPTION_DETECTED; the message never holds bytes of the text. */
MUST_CHECK int wr_keyring_read(struct str text, struct wr_keyring *out, struct wr_fault *f);
/* current becomes previous; key: 32 fresh random bytes. */
void wr_keyring_rotate(struct wr_keyring *k, const uint8_t key[WR_KEY_BYTES]);

enum wr_token_kind { WR_TOKEN_STATE, WR_TOKEN_ACK, WR_TOKEN_CHECKPOINT };
struct wr_token {
    int kind; /* enum wr_token_kind */
    struct str session_id, run_id, node_id;
    struct str attempt_id;    /* ack, checkpoint */
    struct str workflow_hash; /* state */
};
/* The token's text, in a.  STR_NONE: no memory. */
struct str wr_token_mint(const struct wr_keyring *k, const struct wr_token *t, struct arena *a);
/* Numbers 1 to 12 of WR-114; the first failure decides.  parameter: the member of the tool's input
 * that the message names ("stateToken").  The ids are checked as WR-110 says: whether there is such
 * a node is the caller's to find. */
MUST_CHECK int wr_token_read(const struct wr_keyring *k, struct str text, enum wr_token_kind want,
                             const char *parameter, struct arena *a, struct wr_token *out,
                             struct wr_fault *f);
/* Number 13: an ack or checkpoint token of the same session, run and node as the state token. */
MUST_CHECK int wr_token_scope(const struct wr_token *state, const struct wr_token *other,
                              const char *parameter, struct wr_fault *f);

#endif
