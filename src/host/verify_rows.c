/*
 * verify_rows.c: rows beside the log against what it folds to and against their keys: tasks of
 * workers, sealed values, subscriptions.  How a finding is reported.
 */
#include "engine/workers.h"
#include "hooks/hooks.h"
#include "host/verify_int.h"
#include "store/credentials.h"
#include "store/hooks.h"
#include "store/memory.h"
#include "store/tasks.h"

#include <stdio.h>

#define SEALED_PAGE      64 /* sequences */
#define SEALED_ARENA_MAX (1024u * 1024 * 1024)
#define HOOKS_PAGE       100u

void line_report(struct verify *v, struct str run_id, const char *what, const char *text) {
    char line[1024];
    snprintf(line, sizeof line, "%.*s%s%s: %s", STR_ARG(run_id), run_id.n > 0 ? ": " : "", what,
             text);
    v->report(v->ctx, line);
}

void finding_report(struct verify *v, struct str run_id, const char *what, const char *text) {
    line_report(v, run_id, what, text);
    v->findings++;
}

int verify_tasks(struct verify *v, const struct run_state *s, int64_t run_no,
                 struct wopr_error *err) {
    struct task_brief_list l;
    int rc = store_tasks_of_run(v->store, run_no, v->arena, &l, err);
    for (size_t i = 0; rc == 0 && i < l.n; i++) {
        struct task_row t;
        rc = store_task_of_node(v->store, run_no, l.v[i].node_id, v->arena, &t, err);
        if (rc == WOPR_E_NOT_FOUND) rc = 0; /* a host has gone on */
        else if (rc == 0) {
            const char *broken = task_row_broken(s, &t, v->arena);
            if (broken) finding_report(v, s->meta.run_id, "tasks", broken);
        }
    }
    return rc;
}

static int boxes_open(struct verify *v, const struct sealed_list *l, struct str run_id,
                      struct arena *a, struct wopr_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < l->n; i++) {
        const struct sealed_row *row = &l->v[i];
        const struct seal_place place = {row->run_id, row->sealed.seq};
        struct str clear;
        struct wopr_error why = {0};
        char text[64];
        rc = vault_open(v->vault, &place, &row->sealed, a, &clear, &why);
        if (rc == WOPR_E_NO_MEMORY) return wopr_error_set(err, rc, "out of memory");
        if (rc == 0) continue;
        snprintf(text, sizeof text, "the one at %lld does not open", (long long)row->sealed.seq);
        finding_report(v, run_id, "sealed values", text);
        rc = 0;
    }
    return rc;
}

int verify_sealed(struct verify *v, const struct run_head *h, struct wopr_error *err) {
    struct arena *a = v->vault ? arena_new(SEALED_ARENA_MAX) : NULL;
    struct sealed_list l;
    if (!v->vault) return 0;
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    int rc = store_sealed(v->store, h->run_no, INT64_MIN, 0, a, &l, err);
    if (rc == 0) rc = boxes_open(v, &l, h->run_id, a, err);
    for (int64_t from = 0; rc == 0 && from < h->next_seq; from += SEALED_PAGE) {
        arena_reset(a);
        rc = store_sealed(v->store, h->run_no, from, from + SEALED_PAGE, a, &l, err);
        if (rc == 0) rc = boxes_open(v, &l, h->run_id, a, err);
    }
    arena_free(a);
    return rc;
}

const char *verify_image_broken(struct verify *v, struct str run_id,
                                const struct plan_checkpoint *c) {
    const struct plan_sealed row = {SEALED_IMAGE(c->seq), c->key_no, c->image};
    const struct seal_place place = {run_id, row.seq};
    struct str clear;
    struct wopr_error why;
    if (!v->vault) return NULL;
    return vault_open(v->vault, &place, &row, v->arena, &clear, &why) == 0 ? NULL
                                                                           : "it does not open";
}

int verify_hooks(struct verify *v, struct wopr_error *err) {
    struct hook_list l = {.n = HOOKS_PAGE};
    int rc = 0;
    for (int64_t after = 0; rc == 0 && l.n == HOOKS_PAGE;) {
        arena_reset(v->arena);
        rc = store_hooks(v->store, STR_NONE, false, after, HOOKS_PAGE, v->arena, &l, err);
        for (size_t i = 0; rc == 0 && i < l.n; i++) {
            const struct hook_row *row = &l.v[i].row;
            struct hook_item item;
            after = row->hook_no;
            rc = store_hook_get(v->store, row->tenant, row->test_mode, row->webhook_id, v->arena,
                                &item, err);
            if (rc == WOPR_E_NOT_FOUND) rc = 0; /* unregistered since */
            else if (rc == 0) {
                const char *broken = hook_row_broken(&item.row, v->vault, v->arena);
                if (broken) finding_report(v, row->webhook_id, "webhooks", broken);
            }
        }
    }
    return rc;
}

/* Replaced or deleted since it was read, a credential is no finding. */
static int credential_broken(struct verify *v, const struct credential *c, bool *broken,
                             struct wopr_error *err) {
    struct wopr_error why = {0};
    struct credential now;
    int rc = credential_check(v->vault, c, v->arena, &why);
    *broken = false;
    if (rc != WOPR_E_CORRUPT) return rc;
    rc = store_credential_find(v->store, &c->id, v->arena, &now, err);
    *broken = rc == 0 && now.updated_ms == c->updated_ms && str_eq(now.id.subject, c->id.subject);
    return rc == WOPR_E_NOT_FOUND ? 0 : rc;
}

int verify_credentials(struct verify *v, struct wopr_error *err) {
    struct arena *a = v->vault ? arena_new(SEALED_ARENA_MAX) : NULL;
    struct credential_id after, *from = NULL;
    struct credential_list l = {.n = 1};
    int rc = 0;
    if (!v->vault) return 0;
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    while (rc == 0 && l.n > 0) {
        rc = store_credentials(v->store, STR_NONE, from, a, &l, err);
        for (size_t i = 0; rc == 0 && i < l.n; i++) {
            bool broken = false;
            arena_reset(v->arena);
            rc = credential_broken(v, &l.v[i], &broken, err);
            if (broken) finding_report(v, l.v[i].id.name, "credentials", "it does not open");
            after = l.v[i].id; /* of a's memory */
            from = &after;
        }
    }
    arena_free(a);
    return rc;
}

/* Removed since it was read, an entry is no finding; it never changes otherwise. */
static int memory_broken(struct verify *v, const struct memory_row *r, bool *broken,
                         struct wopr_error *err) {
    struct wopr_error why = {0};
    struct memory_row now;
    int rc = memory_check(v->vault, r, v->arena, &why);
    *broken = false;
    if (rc != WOPR_E_CORRUPT) return rc;
    rc = store_memory_find(v->store, &r->at, &(struct memory_view){.run_no = r->writer_run_no},
                           r->id, v->arena, &now, err);
    *broken = rc == 0;
    return rc == WOPR_E_NOT_FOUND ? 0 : rc;
}

int verify_memory(struct verify *v, struct wopr_error *err) {
    struct arena *a = v->vault ? arena_new(SEALED_ARENA_MAX) : NULL;
    struct memory_rows l = {.n = 1};
    int64_t after = 0;
    int rc = 0;
    if (!v->vault) return 0;
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    while (rc == 0 && l.n > 0) {
        arena_reset(a);
        rc = store_memory_all(v->store, &after, MEMORY_LIST_MAX, a, &l, err);
        for (size_t i = 0; rc == 0 && i < l.n; i++) {
            bool broken = false;
            arena_reset(v->arena);
            rc = memory_broken(v, &l.v[i], &broken, err);
            if (broken) finding_report(v, l.v[i].id, "memory", "it does not open");
        }
    }
    arena_free(a);
    return rc;
}
