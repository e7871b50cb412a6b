-- Long-term memory of agents (MEM-4 to MEM-14).  Content and tags are sealed with a key of the entry's own,
-- which is derived from a data key.  The table of migration 0003 was never written to.
DROP TABLE memory;
CREATE TABLE memory_entries (
    entry_no      INTEGER PRIMARY KEY,
    tenant        TEXT NOT NULL CHECK (tenant <> ''),
    test_mode     INTEGER NOT NULL CHECK (test_mode IN (0, 1)),
    ref           TEXT NOT NULL CHECK (ref <> ''),
    entry_id      TEXT NOT NULL CHECK (entry_id <> ''),
    writer_run_no INTEGER NOT NULL, -- outlives the run; run numbers are not given twice
    created_ms    INTEGER NOT NULL,
    expires_ms    INTEGER,
    deleted_ms    INTEGER,          -- runs that started before still see the entry (MEM-8)
    key_no        INTEGER NOT NULL,
    box           BLOB NOT NULL,
    bytes         INTEGER NOT NULL, -- what it counts for in memory_usage
    UNIQUE (tenant, test_mode, ref, entry_id)
) STRICT; -- with rowids: a box may be long
CREATE INDEX memory_by_time ON memory_entries (tenant, test_mode, ref, created_ms, entry_id);
CREATE INDEX memory_by_expiry ON memory_entries (expires_ms) WHERE expires_ms IS NOT NULL;
CREATE INDEX memory_dead ON memory_entries (tenant, test_mode, deleted_ms) WHERE deleted_ms IS NOT NULL;

-- Sums over the entries, changed in the same transactions.  ref '': of the whole tenant.
CREATE TABLE memory_usage (
    tenant    TEXT NOT NULL,
    test_mode INTEGER NOT NULL,
    ref       TEXT NOT NULL,
    entries   INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    PRIMARY KEY (tenant, test_mode, ref)
) STRICT, WITHOUT ROWID;
