-- A fork refers to the sealed values of what it inherits, as it does to the events: what it still
-- needs outlives the run that sealed it, and goes with the last fork that needs it.
CREATE TABLE sealed_holds (
    run_no    INTEGER NOT NULL, -- a fork that has not ended
    owner_no  INTEGER NOT NULL, -- reads what this run has sealed
    until_seq INTEGER NOT NULL CHECK (until_seq > 0), -- for events before this one
    PRIMARY KEY (run_no, owner_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX sealed_holds_by_owner ON sealed_holds (owner_no, until_seq);

-- Which data key opens the image, 0: it is not sealed.
ALTER TABLE run_checkpoints ADD COLUMN key_no INTEGER NOT NULL DEFAULT 0;

-- The data key of which the key of digest is made; 0: an older program wrote it, without one.
ALTER TABLE idempotency ADD COLUMN keyed INTEGER NOT NULL DEFAULT 0;
