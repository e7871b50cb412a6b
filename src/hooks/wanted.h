/*
 * wanted.h: which events of which runs a subscription wants (HOOK-1 to HOOK-4, HOOK-7).
 * Layer: hooks (pure).
 */
#ifndef WOPR_HOOKS_WANTED_H
#define WOPR_HOOKS_WANTED_H

#include "base/arena.h"
#include "base/error.h"
#include "domain/event.h"

enum {
    HOOK_EVENTS_MAX = 256, /* names of one subscription */
    HOOK_NAME_MAX = 128,   /* bytes of a name */
    HOOK_TAGS_MAX = 64,
    HOOK_TAG_MAX = 1024, /* bytes of a tag: 256 characters */
    HOOK_SECRET_MIN = 16,
    HOOK_SECRET_MAX = 256
};
/* Raw array of names: *kinds as a bit set, *names the array without repetitions, in a.  A name that
 * begins with "vendor.", "x-" or "openwop-" is taken and matches nothing here; other unknown names
 * are refused with details.unknown.  VALIDATION, NO_MEMORY. */
MUST_CHECK int hook_events_parse(struct str raw, struct arena *a, int64_t *kinds, struct str *names,
                                 struct wopr_error *err);
/* Raw array of strings, or nothing. *tags: empty when there is none. */
MUST_CHECK int hook_tags_parse(struct str raw, struct arena *a, struct str *tags,
                               struct wopr_error *err);
/* 16 to 256 printable ASCII characters. */
MUST_CHECK int hook_secret_check(struct str secret, struct wopr_error *err);

/* kinds: as hook_events_parse gave them. */
bool hook_wants_kind(int64_t kinds, const struct event *e);
/* Both JSON arrays of strings; empty wanted: any run.  NO_MEMORY is no answer. */
MUST_CHECK int hook_wants_tags(struct str wanted, struct str run_tags, struct arena *a, bool *wants,
                               struct wopr_error *err);

#endif
