/*
 * secret.h: copies of sensitive values (OBS-71).  Layer: engine, not for others.
 *
 * Nodes read clear values, so they can copy them into places that nobody declared sensitive.  The
 * rule: what a node gives on in which a sensitive value of its run can be recognised is sensitive
 * too.  An output, a variable, a channel, an input of a child is masked and sealed; in all
 * else (log lines, chunks, artifacts, errors, prompts) the value itself is replaced.
 * Recognisable, in any spelling of JSON, also of JSON text within a string (three deep), is a
 * value of at least SECRET_CHARS_MIN characters that is given on as it is, also as a string within
 * an object or array, and one of SECRET_PART_CHARS_MIN as a part of a text; of an object or array
 * also the strings and numbers in it from the latter length on. In texts that are scrubbed the
 * shorter ones are recognised where they stand as words. Still shorter ones, true, false and null
 * are words of every log. So are those that the definition says (workflow_says): node ids, words
 * of enumerations, configuration. What is computed from a value is not recognised: there the
 * author declares outputSensitivity; false lets a port show its values. All values are looked for
 * in one pass. What one call of a node, or one command, gives on is one look: texts that would
 * take it beyond SCAN_WORK_MAX comparisons count as ones that hold them, however many members they
 * are parts of.
 */
#ifndef WOPR_ENGINE_SECRET_H
#define WOPR_ENGINE_SECRET_H

#include "engine/emit.h"

#define SECRET_CHARS_MIN      4u
#define SECRET_PART_CHARS_MIN 8u

/* A look begins: a node's result, a command. */
void secret_look(struct step *st);
/* Does the JSON text hold a sensitive value of the run?  The plan fails without memory. */
bool secret_in(struct step *st, struct str json);
/* Search from now on for the members of clear that this turn shows differently. */
void secret_note(struct step *st, struct str clear, struct str shown);
/* The payload, or JSON text, with sensitive values in its strings replaced by [REDACTED]; unchanged
 * when there is none. */
struct str secret_scrub(struct step *st, struct str json);

#endif
