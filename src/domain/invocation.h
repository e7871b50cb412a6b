/*
 * invocation.h: identity of a run's outside effects (IDEM-16, D55).  Layer: domain (pure).
 */
#ifndef WOPR_DOMAIN_INVOCATION_H
#define WOPR_DOMAIN_INVOCATION_H

#include "codec/bytes.h"

#define INVOCATION_ID_LEN 64
#define EFFECT_ID_LEN     36
/* IDEM-16: sha256(runId ":" nodeId ":" attempt ":" providerKey), hex.  The formula names one effect
 * per node; further ones, and those of later loop rounds, have "#<ordinal>" after the
 * provider key. */
void invocation_id_of(struct str run_id, struct str node_id, int32_t attempt,
                      struct str provider_key, int64_t ordinal, char out[INVOCATION_ID_LEN + 1]);
/* D55: the effect's own identity, the same in every attempt: "eff_" and 32 hex digits. */
void effect_id_of(struct str run_id, struct str node_id, int64_t ordinal,
                  char out[EFFECT_ID_LEN + 1]);
/* Two requests are the same if method, URL and body are. */
struct sha256 request_digest(struct str method, struct str url, struct str body);

#endif
