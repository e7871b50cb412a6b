/*
 * reasoning.h: what is public of what an agent thinks (AGT-15, AGT-16).  Layer: domain (pure).
 */
#ifndef WOPR_DOMAIN_REASONING_H
#define WOPR_DOMAIN_REASONING_H

#include "domain/options.h"

/* Words may be long, and so may what is between them: a token is worth so many bytes at most. */
#define REASONING_BYTES_MAX ((size_t)AGENT_TOKENS_MAX * 64)

/* The first words of a text, and how many there are: a word counts as a token. */
struct str reasoning_words(struct str text, int64_t max, int64_t *words);
/* AGENT_TOKENS_MAX words of it, and REASONING_BYTES_MAX bytes of whole characters. */
struct str reasoning_summary(struct str text, int64_t *words);

#endif
