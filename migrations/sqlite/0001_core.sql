-- Runs, their append-only logs and their projections.
-- Status numbers follow enum run_status (7 completed, 8 failed, 9 cancelled: final), event kinds
-- follow domain/events.def (1, 2, 3 are the terminal ones).  Times are UTC milliseconds.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;
-- retention = 1 only inside the transaction of a purge: it opens the triggers below.
INSERT INTO meta (name, value) VALUES ('retention', 0), ('written_by_v1', 1), ('era', 2);

CREATE TABLE secrets (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL CHECK (length(value) = 32)
) STRICT, WITHOUT ROWID;

-- One row, moved by every commit, so that counting never walks a table.
CREATE TABLE counters (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    runs      INTEGER NOT NULL,
    runs_open INTEGER NOT NULL,
    events    INTEGER NOT NULL
) STRICT;
INSERT INTO counters VALUES (1, 0, 0, 0);

-- Lease holders.  A lease ends when its holder's until_ms passes: renewing all leases of a process
-- is one row, however many runs it holds (STORE-31, STORE-32).
CREATE TABLE holders (
    holder_no INTEGER PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE,
    until_ms  INTEGER NOT NULL
) STRICT;

-- AUTOINCREMENT: a number is never given twice, not even after a purge.
CREATE TABLE runs (
    run_no               INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id               TEXT NOT NULL UNIQUE,
    tenant               TEXT NOT NULL,
    test_mode            INTEGER NOT NULL CHECK (test_mode IN (0, 1)),
    workflow_id          TEXT NOT NULL,
    scope_id             TEXT,
    era                  INTEGER NOT NULL,
    engine_version       INTEGER NOT NULL,
    shown_engine_version INTEGER NOT NULL,
    is_replay            INTEGER NOT NULL DEFAULT 0 CHECK (is_replay IN (0, 1)),
    created_ms           INTEGER NOT NULL,
    holder_no            INTEGER,
    lease_epoch          INTEGER NOT NULL,
    parked               TEXT,
    status               INTEGER NOT NULL CHECK (status BETWEEN 0 AND 9),
    next_seq             INTEGER NOT NULL CHECK (next_seq >= 0),
    current_node         TEXT,
    started_ms           INTEGER,
    completed_ms         INTEGER,
    paused_ms            INTEGER,
    error                TEXT,
    outputs              TEXT,
    agent                TEXT
) STRICT;
CREATE INDEX runs_by_tenant ON runs (tenant);
CREATE INDEX runs_open ON runs (run_no, holder_no) WHERE status < 7;
CREATE INDEX runs_by_scope ON runs (tenant, scope_id) WHERE status < 7 AND scope_id IS NOT NULL;
CREATE INDEX runs_ended ON runs (completed_ms) WHERE completed_ms IS NOT NULL;

-- Creation data, written once: kept out of runs so that moving a run does not rewrite its inputs.
CREATE TABLE run_origins (
    run_no          INTEGER PRIMARY KEY REFERENCES runs (run_no) ON DELETE CASCADE,
    workspace       TEXT NOT NULL,
    subject         TEXT,
    workflow_hash   BLOB NOT NULL CHECK (length(workflow_hash) = 32),
    inputs          TEXT,
    configurable    TEXT,
    tags            TEXT,
    metadata        TEXT,
    transport       TEXT,
    callback_url    TEXT,
    traceparent     TEXT,
    recursion_limit INTEGER NOT NULL,
    parent_run_id   TEXT,
    parent_node_id  TEXT,
    fork_run_id     TEXT,
    fork_seq        INTEGER
) STRICT;
CREATE INDEX run_origins_by_parent ON run_origins (parent_run_id) WHERE parent_run_id IS NOT NULL;

CREATE TRIGGER runs_final_stays BEFORE UPDATE OF status, next_seq ON runs
WHEN OLD.status >= 7 OR NEW.next_seq < OLD.next_seq
BEGIN SELECT RAISE(ABORT, 'runs: a finished run does not move, and no log shrinks'); END;

CREATE TRIGGER runs_stay BEFORE DELETE ON runs
WHEN (SELECT value FROM meta WHERE name = 'retention') IS NOT 1
BEGIN SELECT RAISE(ABORT, 'runs: rows leave by retention only'); END;

-- eventId is derived from run id and sequence, so it needs no column.  type only for kinds we do
-- not know.
CREATE TABLE events (
    run_no         INTEGER NOT NULL,
    seq            INTEGER NOT NULL,
    kind           INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 255),
    ts             INTEGER NOT NULL,
    node_id        TEXT,
    causation_seq  INTEGER,
    schema_version INTEGER NOT NULL,
    engine_version INTEGER NOT NULL,
    flags          INTEGER NOT NULL,
    type           TEXT,
    payload        TEXT NOT NULL,
    PRIMARY KEY (run_no, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX events_terminal ON events (run_no) WHERE kind IN (1, 2, 3);

-- A run reserves sequences before it fills them (runs.next_seq), and a finished run reserves none:
-- this is the terminal rule, the check against holes and the foreign key, in one look-up.
CREATE TRIGGER events_reserved BEFORE INSERT ON events
WHEN NEW.seq < 0 OR NEW.seq >= ifnull((SELECT next_seq FROM runs WHERE run_no = NEW.run_no), 0)
BEGIN SELECT RAISE(ABORT, 'events: this sequence was not reserved by an unfinished run'); END;

CREATE TRIGGER events_stay_same BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events: a stored event never changes'); END;

CREATE TRIGGER events_stay BEFORE DELETE ON events
WHEN (SELECT value FROM meta WHERE name = 'retention') IS NOT 1
BEGIN SELECT RAISE(ABORT, 'events: rows leave by retention only'); END;

-- Projections: rebuildable from the log.  No foreign keys here (hot path); verification looks for
-- orphans.
CREATE TABLE node_states (
    run_no  INTEGER NOT NULL,
    node_id TEXT NOT NULL,
    state   TEXT NOT NULL,
    PRIMARY KEY (run_no, node_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_vars (
    run_no INTEGER NOT NULL,
    name   TEXT NOT NULL,
    shown  TEXT NOT NULL,
    clear  TEXT, -- NULL when equal to shown
    PRIMARY KEY (run_no, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_channels (
    run_no   INTEGER NOT NULL,
    name     TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    declared INTEGER NOT NULL,
    is_list  INTEGER NOT NULL,
    ts       INTEGER NOT NULL,
    value    TEXT NOT NULL,
    PRIMARY KEY (run_no, name, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE timers (
    run_no       INTEGER NOT NULL,
    kind         INTEGER NOT NULL,
    node_id      TEXT NOT NULL, -- '' for timers of the run
    fire_at_ms   INTEGER NOT NULL, -- -1 = stopped
    remaining_ms INTEGER NOT NULL,
    PRIMARY KEY (run_no, kind, node_id)
) STRICT, WITHOUT ROWID;

-- What is left of a purged run (STORE-44): the answer 410 instead of 404 for a while.
CREATE TABLE run_tombstones (
    run_id    TEXT PRIMARY KEY,
    tenant    TEXT NOT NULL,
    test_mode INTEGER NOT NULL,
    run_no    INTEGER NOT NULL,
    ended_ms  INTEGER NOT NULL,
    purged_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX run_tombstones_by_time ON run_tombstones (purged_ms);
