-- Retention looks for ended runs that are still shown.  Runs that are kept for their forks alone
-- (tenant '') wait in run_burials, as many as there are, and no look has to pass them.
DROP INDEX runs_ended;
CREATE INDEX runs_ended ON runs (completed_ms) WHERE completed_ms IS NOT NULL AND tenant <> '';
