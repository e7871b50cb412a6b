-- The audit log gets its reader and writer (AUD-1 to AUD-9).  Entries and checkpoints are the tables
-- of the first design, which no program wrote; a checkpoint now keeps the peaks of its tree, too, so
-- that the next one and a verification begin there.
ALTER TABLE audit_checkpoints ADD COLUMN peaks BLOB;

-- Public keys that sign, or signed, checkpoints.  A file with one is audited.
CREATE TABLE audit_keys (
    key_id     TEXT PRIMARY KEY,
    public_key BLOB NOT NULL CHECK (length(public_key) = 32),
    created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER audit_keys_stay_same BEFORE UPDATE ON audit_keys
BEGIN SELECT RAISE(ABORT, 'audit_keys: a stored key never changes'); END;
CREATE TRIGGER audit_keys_stay BEFORE DELETE ON audit_keys
BEGIN SELECT RAISE(ABORT, 'audit_keys: keys stay, because checkpoints do'); END;

-- Nothing removes entries, retention neither.
DROP TRIGGER audit_entries_stay;
CREATE TRIGGER audit_entries_stay BEFORE DELETE ON audit_entries
BEGIN SELECT RAISE(ABORT, 'audit_entries: entries stay'); END;
DROP TRIGGER audit_checkpoints_stay;
CREATE TRIGGER audit_checkpoints_stay BEFORE DELETE ON audit_checkpoints
BEGIN SELECT RAISE(ABORT, 'audit_checkpoints: checkpoints stay'); END;
