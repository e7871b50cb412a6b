/*
 * check.c: a stored subscription against itself: its types as names and as a set, its secret and
 * the fingerprint of that.
 */
#include "hooks/hooks.h"
#include "hooks/hooks_int.h"
#include "hooks/message.h"
#include "hooks/wanted.h"

const char *hook_row_broken(const struct hook_row *row, struct vault *v, struct arena *a) {
    char mark[HOOK_FINGERPRINT_LEN + 1];
    struct str names, tags, secret;
    struct wopr_error why;
    int64_t kinds = 0;
    if (hook_events_parse(row->events, a, &kinds, &names, &why) != 0)
        return "its events are not names of events";
    if (kinds != row->kinds) return "it is sent other events than it was registered for";
    if (row->tags.n > 0 && hook_tags_parse(row->tags, a, &tags, &why) != 0)
        return "its tags are not tags";
    if (!v) return NULL;
    if (hook_secret_open(v, row->webhook_id, &row->secret, a, &secret, &why) != 0)
        return "its secret does not open";
    hook_fingerprint(secret, mark);
    return str_eqc(row->fingerprint, mark) ? NULL : "its secret has another fingerprint";
}
