/*
 * framework.h: names with a meaning in the protocol (CHAN-23).  Layer: domain (pure).  In workflows
 * without a channels block a variable of such a name is a channel.  The facts of callers (votes,
 * questions, answers) are written by the resolution layer alone: no node, channel or variable may
 * have such a name (INT-27).
 */
#ifndef WOPR_DOMAIN_FRAMEWORK_H
#define WOPR_DOMAIN_FRAMEWORK_H

#include "domain/reducer.h"

#define CHAN_NAME_MAX 256u  /* characters (CHAN-1) */
#define CHAN_ASK_MAX  1000u /* entries of _askExchanges: */
struct chan_legacy {
    const char *name;
    bool is_prefix;
    enum reducer reducer;
    size_t max;      /* entries, 0 = no bound of its own */
    bool of_callers; /* facts of callers */
};
const struct chan_legacy *chan_legacy(struct str name); /* NULL: an ordinary name */
bool name_of_callers(struct str name);                  /* true for a bare prefix, too */

#endif
