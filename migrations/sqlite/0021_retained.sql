-- Runs that have ended and of which sealed values or sealed checkpoints are still to be removed: the
-- plan that ends a run removes a page, the host the rest, between other commits.
CREATE TABLE sealed_rests (run_no INTEGER PRIMARY KEY) STRICT;
CREATE INDEX run_checkpoints_sealed ON run_checkpoints (run_no, seq) WHERE key_no > 0;

-- An ended run whose parent may still ask for it names the parent here, and no look of retention
-- passes it.  The plan that ends the parent puts that in retention_due: then its children are
-- looked at again, some at a time.
ALTER TABLE runs ADD COLUMN kept_for INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_kept ON runs (kept_for) WHERE kept_for > 0;
CREATE TABLE retention_due (parent_no INTEGER PRIMARY KEY) STRICT;
DROP INDEX runs_ended;
CREATE INDEX runs_ended ON runs (completed_ms)
    WHERE completed_ms IS NOT NULL AND tenant <> '' AND kept_for = 0;
