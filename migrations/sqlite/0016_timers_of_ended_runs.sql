-- Branches that were cut behind a retry left the row of its timer behind when they ended; nothing
-- would ever remove it, and "wopr verify" reports it.  Status 7 and more: the run has ended.
DELETE FROM timers WHERE run_no IN (SELECT run_no FROM runs WHERE status >= 7);
