/*
 * due_tree.h: which nodes wait for a time, and which of those whose time has come is the first in
 * definition order (WF-14).  Layer: domain (pure), private to this folder.
 *
 * A tree over the nodes whose inner places hold the earliest time below them: setting a time and
 * both questions cost the height of the tree, however many nodes wait.
 */
#ifndef WOPR_DOMAIN_DUE_TREE_H
#define WOPR_DOMAIN_DUE_TREE_H

#include "base/arena.h"

struct due_tree;
/* For nodes 0 to n-1, none of which waits.  NULL when memory is short. */
struct due_tree *due_tree_new(struct arena *a, size_t n);
/* t may be NULL in all of these: no node waits, and none is let to. */
void due_tree_set(struct due_tree *t, int node, int64_t at_ms); /* at_ms 0: it waits no longer */
int64_t due_tree_earliest(const struct due_tree *t);            /* -1: no node waits */
int due_tree_first(const struct due_tree *t, int64_t now_ms);   /* -1: none is due */

#endif
