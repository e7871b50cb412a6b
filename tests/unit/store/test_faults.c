/*
 * Machines fail: full disk, write and sync errors, allocation, kill -9 (STORE-11, STORE-17, E16).
 */
#include "base/fault.h"
#include "faults/fault_vfs.h"
#include "store/leases.h"
#include "store/sqlite/sql.h"
#include "unit/store/kit.h"

#include <signal.h>
#include <sys/wait.h>

static struct kit w;
static void down(void) { kit_down(&w); }
static void up(void) { kit_up(&w); }
TestSuite(faults, .init = up, .fini = down, .timeout = 300);

static void up_on_faults(void) {
    kit_close(&w);
    fault_vfs_register();
    struct store_config cfg = kit_config(&w);
    cfg.vfs = FAULT_VFS;
    cfg.sync = STORE_SYNC_FULL;
    cr_assert_eq(store_open(&cfg, &w.s, &w.err), 0, "%s", w.err.message);
}

Test(faults, a_full_disk_refuses_and_recovers /* STORE-17 */) {
    int64_t no = kit_run(&w, "run_1", 1);
    cr_assert_eq(sqlite3_exec(w.s->writer->db, "PRAGMA max_page_count = 90", NULL, NULL, NULL), 0);
    int64_t seq = 1;
    int rc;
    while ((rc = kit_apply(&w, kit_append(no, seq, 40, false))) == 0) seq += 40;
    cr_assert_eq(rc, WOPR_E_DISK_FULL, "%s", w.err.message);
    cr_assert_not_null(strstr(w.err.message, "free space"));
    cr_assert_eq(kit_count_events(&w, no), seq, "nothing of the refused plan is there");
    cr_assert_eq(sqlite3_exec(w.s->writer->db, "PRAGMA max_page_count = 100000", NULL, NULL, NULL),
                 0);
    cr_assert_eq(kit_apply(&w, kit_append(no, seq, 40, false)), 0);
    cr_assert_eq(kit_verify(&w), 0);
}

Test(faults, one_poisonous_plan_does_not_fail_its_neighbours) {
    int64_t no = kit_run(&w, "run_1", 1), no2 = kit_run(&w, "run_2", 1);
    cr_assert_eq(sqlite3_exec(w.s->writer->db, "PRAGMA max_page_count = 90", NULL, NULL, NULL), 0);
    struct plan *v[3] = {kit_append(no, 1, 1, false), kit_append(no2, 1, 4000, false),
                         kit_create("run_3", 1)};
    int rcs[3];
    cr_assert_eq(store_apply(w.s, v, 3, rcs, &w.err), 0);
    cr_assert(rcs[0] == 0 && rcs[1] == WOPR_E_DISK_FULL && rcs[2] == 0, "%d %d %d", rcs[0], rcs[1],
              rcs[2]);
    cr_assert_gt(v[2]->run_no, 0);
    for (int i = 0; i < 3; i++) plan_unref(v[i]);
    cr_assert(kit_count_events(&w, no) == 2 && kit_count_events(&w, no2) == 1);
    cr_assert_eq(kit_verify(&w), 0);
}

Test(faults, every_failed_write_leaves_all_or_nothing /* STORE-2 */) {
    up_on_faults();
    int64_t no = kit_run(&w, "run_1", 1), seq = 1;
    for (unsigned nth = 1; fault_arm(1u << FAULT_WRITE, nth); nth++) {
        int rc = kit_apply(&w, kit_append(no, seq, 30, false));
        cr_assert_eq(rc, fault_fired() ? WOPR_E_IO : 0, "write %u: %s", nth, wopr_err_name(rc));
        fault_disarm();
        if (rc == 0) seq += 30;
        cr_assert_eq(kit_count_events(&w, no), seq);
    }
    cr_assert_gt(seq, 1, "the loop ended with a round that met no failure");
    cr_assert_eq(kit_verify(&w), 0);
}

Test(faults, nobody_goes_on_after_a_failed_sync /* STORE-11 */) {
    struct run_head h;
    up_on_faults();
    int64_t no = kit_run(&w, "run_1", 1);
    cr_assert(fault_arm(1u << FAULT_FSYNC, 1));
    cr_assert_eq(kit_apply(&w, kit_append(no, 1, 3, false)), WOPR_E_SYNC_FAILED);
    cr_assert(fault_fired(), "exactly one sync failed");
    cr_assert_eq(kit_apply(&w, kit_append(no, 1, 3, false)), WOPR_E_SYNC_FAILED);
    cr_assert_eq(store_run_head(w.s, KIT_TENANT, false, STR("run_1"), w.a, &h, &w.err),
                 WOPR_E_SYNC_FAILED);
    cr_assert_eq(store_run_park(w.s, no, LEASE_ANY, STR("x"), &w.err), WOPR_E_SYNC_FAILED);
    kit_close(&w);
    kit_open(&w); /* reopened: none or all of the three */
    int64_t n = kit_count_events(&w, no);
    cr_assert(n == 1 || n == 4, "%d", (int)n);
    cr_assert_eq(kit_apply(&w, kit_append(no, n, 1, false)), 0);
    cr_assert_eq(kit_verify(&w), 0);
}

Test(faults, a_failed_sync_of_a_batch_is_told_to_all) {
    up_on_faults();
    int64_t no = kit_run(&w, "run_1", 1);
    struct plan *v[2] = {kit_append(no, 1, 1, false), kit_create("run_2", 1)};
    int rcs[2];
    cr_assert(fault_arm(1u << FAULT_FSYNC, 1));
    cr_assert_eq(store_apply(w.s, v, 2, rcs, &w.err), WOPR_E_SYNC_FAILED);
    cr_assert(rcs[0] == WOPR_E_SYNC_FAILED && rcs[1] == WOPR_E_SYNC_FAILED);
    cr_assert_eq(v[1]->run_no, 0);
    for (int i = 0; i < 2; i++) plan_unref(v[i]);
}

Test(faults, every_failed_allocation_is_survived) {
    int64_t no = kit_run(&w, "run_1", 1), seq = 1;
    bool clean = false;
    for (unsigned nth = 1; nth < 400 && !clean; nth++) {
        struct plan *p = kit_append(no, seq, 3, false);
        int rc = 0;
        cr_assert(fault_arm(1u << FAULT_MALLOC, nth) || nth > 1);
        int all = store_apply(w.s, &p, 1, &rc, NULL);
        clean = !fault_fired();
        fault_disarm();
        cr_assert_eq(all, rc);
        cr_assert(rc == 0 || rc == WOPR_E_NO_MEMORY, "allocation %u: %s", nth, wopr_err_name(rc));
        if (rc == 0) seq += 3;
        plan_unref(p);
        cr_assert_eq(kit_count_events(&w, no), seq);
    }
    cr_assert(clean);
    cr_assert_eq(kit_verify(&w), 0);
}

/* The child appends and writes each acknowledged tail into the pipe. */
static void child_appends(int fd, int64_t no) {
    struct store_config cfg = kit_config(&w);
    struct store *s = NULL;
    struct run_head h;
    cfg.sync = STORE_SYNC_FULL;
    cfg.host_lock = true;
    if (store_open(&cfg, &s, NULL) != 0) _exit(1);
    if (store_run_head(s, KIT_TENANT, false, STR("run_1"), w.a, &h, NULL) != 0) _exit(2);
    for (int64_t seq = h.next_seq;;) {
        struct plan *p = kit_append(no, seq, 1 + (size_t)seq % 7, false);
        int rc = -1;
        if (store_apply(s, &p, 1, &rc, NULL) != 0 || rc != 0) _exit(3);
        seq += (int64_t)p->events_nr;
        plan_unref(p);
        if (write(fd, &seq, sizeof seq) != (ssize_t)sizeof seq) _exit(4);
    }
}

Test(faults, acknowledged_survives_kill_9 /* 20-runtime 14 check 2, IDEM-12 */) {
    int64_t no = kit_run(&w, "run_1", 1);
    for (int round = 0; round < 8; round++) {
        kit_close(&w);
        int fd[2];
        int64_t acked = 0, v;
        cr_assert_eq(pipe(fd), 0);
        pid_t pid = fork();
        if (pid == 0) {
            close(fd[0]);
            child_appends(fd[1], no);
        }
        close(fd[1]);
        for (int i = 0; i < 5 + 11 * round; i++) {
            cr_assert_eq(read(fd[0], &v, sizeof v), (ssize_t)sizeof v, "the child goes on");
            acked = v;
        }
        cr_assert_eq(kill(pid, SIGKILL), 0);
        waitpid(pid, NULL, 0);
        while (read(fd[0], &v, sizeof v) == (ssize_t)sizeof v) acked = v;
        close(fd[0]);
        kit_open(&w);
        int64_t n = kit_count_events(&w, no);
        cr_assert(n >= acked && n <= acked + 7, "acknowledged %d, found %d", (int)acked, (int)n);
        cr_assert_eq(kit_verify(&w), 0);
    }
}
