/*
 * complete.h: what may stand where the cursor is.  Layer: cli.
 * Answers come from the tables that the commands work by: commands, options.def, config.def, the
 * usage texts, and the names of statuses, kinds, scopes, templates and node types.
 */
#ifndef WOPR_CLI_COMPLETE_H
#define WOPR_CLI_COMPLETE_H

#include "cli/commands.h"

/* words: those after "wopr", the last one as far as it is typed (possibly empty).  Appends a line
 * for each candidate: the word, and a tab with what it is for where that is known.  A line ":files"
 * or ":folders" leaves it to the shell.  Nothing when nothing is known.  c has commands, and an
 * arena. */
void complete_words(struct cli *c, int n, char **words, struct buf *out);

#endif
