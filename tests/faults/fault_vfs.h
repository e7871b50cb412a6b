/*
 * fault_vfs.h: a SQLite VFS over the default one, for tests: fails chosen calls, or loses power.
 * Chosen by store_config.vfs = FAULT_VFS.
 *
 * Failing calls: writes and truncations pass FAULT_WRITE of base/fault, syncs FAULT_FSYNC, deletes
 * FAULT_RENAME; fault_arm() says which one fails.
 * Power: while power_on, what a sync has not covered is known, file by file and name by name.  At
 * the cut every call fails, as for a process that is gone; power_restore() then leaves on the disk
 * what would be there: synced bytes, names that a sync of their folder covered, and of the rest
 * nothing, a torn last write, or any choice of sectors.
 * Reads and locks are those of the default VFS, so several connections and threads work as usual.
 * Nothing is ever really synced: only what SQLite asks for counts.  One folder per test.
 */
#ifndef WOPR_TESTS_FAULT_VFS_H
#define WOPR_TESTS_FAULT_VFS_H

#include <stdbool.h>
#include <stdint.h>

#define FAULT_VFS "wopr-fault"

void fault_vfs_register(void); /* once per process; later calls only heal */

enum fault_write {
    FAULT_WRITE_ERROR, /* nothing is written, I/O error */
    FAULT_WRITE_FULL,  /* nothing is written, disk full */
    FAULT_WRITE_SHORT, /* half is written, disk full */
    FAULT_WRITE_NR
};
/* How armed writes fail.  sticky: the first failure is that of a broken disk, all later calls of
 * the same sort fail too, until fault_vfs_heal(). */
void fault_vfs_style(enum fault_write how, bool sticky);
void fault_vfs_heal(void);

enum power_keep {
    POWER_LOSES_ALL,  /* everything unsynced */
    POWER_TEARS_LAST, /* the last unsynced write of each file keeps half of its sectors */
    POWER_KEEPS_SOME, /* each sector and each name of what is unsynced: kept or lost by chance */
    POWER_KEEP_NR
};
/* Follow all files from now on; what they hold when they are first opened counts as synced. */
void power_on(uint64_t seed);
/* The power goes at the nth (from 1) write, truncation, sync or delete from now on; that call may
 * still have taken effect.  0: not at all. */
void power_cut_at(uint64_t nth);
bool power_is_cut(void);
uint64_t power_calls(void); /* since power_on */
/* All connections are closed: put on the disk what survived, and power is back, uncut. */
void power_restore(enum power_keep keep);
void power_off(void); /* follow no more; the files stay as they are */

#endif
