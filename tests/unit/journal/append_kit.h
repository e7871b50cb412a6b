/*
 * append_kit.h: append a plan to a journal and wait until it is committed.
 */
#ifndef WOPR_TEST_APPEND_KIT_H
#define WOPR_TEST_APPEND_KIT_H

#include "journal/journal.h"
#include "unit/store/kit.h"

#include <semaphore.h>

struct append_done {
    sem_t sem;
    int rc;
};
static void append_landed(void *ctx, struct plan *p, int rc) {
    struct append_done *d = ctx;
    d->rc = rc;
    plan_unref(p);
    sem_post(&d->sem);
}
/* Takes p; the outcome of its commit. */
static int append(struct journal *j, struct plan *p) {
    struct append_done d;
    sem_init(&d.sem, 0, 0);
    cr_assert_eq(journal_append(j, p, append_landed, &d), 0);
    while (sem_wait(&d.sem) != 0) continue;
    sem_destroy(&d.sem);
    return d.rc;
}

#endif
