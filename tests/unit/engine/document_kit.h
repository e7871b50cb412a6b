/* document_kit.h: documents as runs of the tests of engine.  In texts ' stands for ". */
#ifndef WOPR_TESTS_DOCUMENT_KIT_H
#define WOPR_TESTS_DOCUMENT_KIT_H

#include "fork_kit.h"

/* The worked example of the contract (5.4): boil, brew, pour. */
extern const char DOC_TEA[];
/* The base of its vectors (7.1) with more objects and these tasks. */
struct str doc_base(const char *objects, const char *tasks);
/* Stored and compiled, not validated. */
struct workflow *doc_put(struct str json);
struct str doc_start(struct str json, const char *configurable);
struct str doc_text(const char *text); /* with " for ' */
/* "0 run.started; 1 node.started boil; 2 variable.changed boil water.quantity 2 -> 1.75 apply" */
const char *doc_story(struct str run);
/* The same without sequences, and without what hosts insert. */
const char *doc_facts(struct str run);
/* The world that a completed run left: raw, of its artifact. */
struct str doc_world(struct str run);

#endif
