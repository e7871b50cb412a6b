-- Forks that programs before migration 0022 removed left no row of run_lineages.  What their own
-- forks know of them is kept in its place: a fork that inherits from a run above its source was cut
-- from a fork, and that one led, perhaps through others that nobody knows any more, up to that run.
ALTER TABLE run_lineages ADD COLUMN guessed INTEGER NOT NULL DEFAULT 0 CHECK (guessed IN (0, 1));

INSERT INTO run_lineages (run_no, run_id, created_ms, fork_mode, fork_run_id, fork_seq, fork_run_no,
                          fork_base, guessed)
    SELECT g.run_no, g.run_id, g.created_ms, 2, w.run_id, g.seq, g.owner_no, g.seq, 1
    FROM (SELECT o.fork_run_no AS run_no, min(o.fork_run_id) AS run_id,
                 min(r.created_ms) AS created_ms, max(p.until_seq) AS seq, max(p.owner_no) AS owner_no
          FROM run_prefixes p JOIN run_origins o ON o.run_no = p.run_no
          JOIN runs r ON r.run_no = p.run_no
          WHERE o.fork_run_id IS NOT NULL AND o.fork_run_no > p.owner_no
          AND o.fork_run_no NOT IN (SELECT run_no FROM runs)
          AND o.fork_run_no NOT IN (SELECT run_no FROM run_lineages)
          GROUP BY o.fork_run_no) g
    JOIN runs w ON w.run_no = g.owner_no;
