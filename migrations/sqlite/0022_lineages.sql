-- Forks of forks name each other by ids in their logs: interrupts, artifacts and children are called
-- after the run that made them.  A removed fork is still named here while a fork of it, or another
-- row of this table, leads up to it: nothing of it but where it was cut from.
CREATE TABLE run_lineages (
    run_no      INTEGER PRIMARY KEY,
    run_id      TEXT NOT NULL UNIQUE,
    created_ms  INTEGER NOT NULL,
    fork_mode   INTEGER NOT NULL,
    fork_run_id TEXT NOT NULL, -- its source, and so on, as in run_origins
    fork_seq    INTEGER NOT NULL,
    fork_run_no INTEGER NOT NULL,
    fork_base   INTEGER NOT NULL,
    fork_cut_ms INTEGER,
    due         INTEGER NOT NULL DEFAULT 0 CHECK (due IN (0, 1)) -- 1: nothing leads to it any more
) STRICT;
CREATE INDEX run_lineages_by_fork ON run_lineages (fork_run_id);
CREATE INDEX run_lineages_due ON run_lineages (run_no) WHERE due = 1;
