/*
 * secret.h: copies of sensitive values (OBS-71).  Layer: engine, not for others.
 *
 * Nodes read clear values, so they can copy them into places that nobody declared sensitive.  The
 * rule: whatever a node returns in which a sensitive value of its run can be recognised is
 * sensitive, too.  An output, a variable, a channel, an input of a child is masked and sealed; in
 * all else (log lines, chunks, artifacts, errors, prompts) the value itself is replaced.
 * Recognisable is a value of at least SECRET_CHARS_MIN characters that is returned verbatim, and
 * one of SECRET_PART_CHARS_MIN as part of a text; of an object or array also the strings in it,
 * from the latter length on.  Shorter ones, true, false and null are words of every log.  What is
 * computed from a value is not recognised: there the author declares outputSensitivity; false lets
 * a port show its values.
 */
#ifndef WOPR_ENGINE_SECRET_H
#define WOPR_ENGINE_SECRET_H

#include "engine/emit.h"

#define SECRET_CHARS_MIN      4u
#define SECRET_PART_CHARS_MIN 8u

/* Does the JSON text hold a sensitive value of the run?  The plan fails without memory. */
bool secret_in(struct step *st, struct str json);
/* Search from now on for the members of clear that this turn shows differently. */
void secret_note(struct step *st, struct str clear, struct str shown);
/* The payload, or JSON text, with sensitive values in its strings replaced by [REDACTED]; unchanged
 * when there is none. */
struct str secret_scrub(struct step *st, struct str json);

#endif
