-- Questions of runs that named a callback URL: one row for each, written in the transaction of the
-- event (src/hooks/DESIGN.md).  Rows stay as long as their run, with the outcome.
CREATE TABLE callbacks (
    interrupt_id TEXT PRIMARY KEY,
    run_no       INTEGER NOT NULL,
    tenant       TEXT NOT NULL,
    test_mode    INTEGER NOT NULL,
    state        INTEGER NOT NULL DEFAULT 0, -- 0 to be sent, 1 sent, 2 given up, 3 answered before
    attempts     INTEGER NOT NULL DEFAULT 0,
    next_ms      INTEGER NOT NULL, -- no attempt before it
    status       INTEGER NOT NULL DEFAULT 0, -- of the last answer, 0 = none
    error        TEXT,
    last_ms      INTEGER NOT NULL DEFAULT 0 -- of the last attempt
) STRICT;
CREATE INDEX callbacks_due ON callbacks (tenant, test_mode, next_ms) WHERE state = 0;
CREATE INDEX callbacks_of_run ON callbacks (run_no);

-- 1: whoever asked for the run may answer its questions, so its callbacks carry tokens (RUN-12).
ALTER TABLE run_origins ADD COLUMN callback_answers INTEGER NOT NULL DEFAULT 0;

-- While a new key takes over, checkpoints are signed by the one before, too (AUD-7).
ALTER TABLE audit_checkpoints ADD COLUMN old_signature TEXT;
ALTER TABLE audit_checkpoints ADD COLUMN old_key_id TEXT;
