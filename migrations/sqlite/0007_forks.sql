-- Forks (FORK-1 to FORK-26).  fork_run_id and fork_seq of 0001 name the source and the first
-- sequence that is not inherited; these say the rest.  fork_mode: 1 replay, 2 branch, NULL no fork.
ALTER TABLE run_origins ADD COLUMN fork_mode INTEGER;
-- The source's number: never given twice, so it cannot come to mean another run after a purge.
ALTER TABLE run_origins ADD COLUMN fork_run_no INTEGER;
-- Length of the source's log when it was forked: the baseline of a replay (FORK-5).
ALTER TABLE run_origins ADD COLUMN fork_base INTEGER;
-- Time of the last inherited event, NULL when nothing was inherited.
ALTER TABLE run_origins ADD COLUMN fork_cut_ms INTEGER;
CREATE INDEX run_origins_by_fork ON run_origins (fork_run_id) WHERE fork_run_id IS NOT NULL;
