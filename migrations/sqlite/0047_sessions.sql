-- Sessions of agents that are led step by step (WR-68).  wr_event and wr_manifest are the truth of a session:
-- bytes are the exact canonical JSON, never written again.  Each session is also a run: wr_run and wr_node say
-- which run shows which branch of it.
-- AUTOINCREMENT: a number is never given twice.
CREATE TABLE wr_session (
    session_no          INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id          TEXT NOT NULL UNIQUE CHECK (session_id <> ''),
    tenant              TEXT NOT NULL CHECK (tenant <> ''),
    test_mode           INTEGER NOT NULL CHECK (test_mode IN (0, 1)),
    created_ms          INTEGER NOT NULL,
    changed_ms          INTEGER NOT NULL,
    next_event_index    INTEGER NOT NULL CHECK (next_event_index >= 0),
    next_manifest_index INTEGER NOT NULL CHECK (next_manifest_index >= 0),
    commit_no           INTEGER NOT NULL, -- of the last append, counted over all sessions of the file
    bytes               INTEGER NOT NULL, -- of events, records and what they refer to
    keep                INTEGER NOT NULL DEFAULT 0 CHECK (keep IN (0, 1)),
    imported_from       TEXT,             -- its id where it came from, when it has another here
    doomed              INTEGER NOT NULL DEFAULT 0 CHECK (doomed IN (0, 1)) -- being removed, in slices
) STRICT;
CREATE INDEX wr_session_recent ON wr_session (tenant, test_mode, commit_no);
CREATE INDEX wr_session_by_age ON wr_session (changed_ms) WHERE keep = 0;
CREATE INDEX wr_session_doomed ON wr_session (session_no) WHERE doomed = 1;

CREATE TABLE wr_event (
    session_no  INTEGER NOT NULL,
    event_index INTEGER NOT NULL CHECK (event_index >= 0),
    event_id    TEXT NOT NULL,
    kind        TEXT NOT NULL,
    run_id      TEXT,
    node_id     TEXT,
    dedupe_key  TEXT NOT NULL CHECK (dedupe_key <> ''),
    bytes       TEXT NOT NULL,
    PRIMARY KEY (session_no, event_index),
    UNIQUE (session_no, dedupe_key)
) STRICT; -- with rowids: bytes may be long

CREATE TABLE wr_manifest (
    session_no     INTEGER NOT NULL,
    manifest_index INTEGER NOT NULL CHECK (manifest_index >= 0),
    kind           TEXT NOT NULL,
    first_index    INTEGER,
    last_index     INTEGER,
    event_index    INTEGER,
    snapshot_ref   TEXT,
    committed_ms   INTEGER NOT NULL,
    bytes          TEXT NOT NULL,
    PRIMARY KEY (session_no, manifest_index)
) STRICT; -- with rowids

CREATE TRIGGER wr_event_stay_same BEFORE UPDATE ON wr_event
BEGIN SELECT RAISE(ABORT, 'wr_event: a stored event never changes'); END;
CREATE TRIGGER wr_event_stay BEFORE DELETE ON wr_event
WHEN (SELECT value FROM meta WHERE name = 'retention') IS NOT 1
BEGIN SELECT RAISE(ABORT, 'wr_event: events leave with their session only'); END;
CREATE TRIGGER wr_event_reserved BEFORE INSERT ON wr_event
WHEN NEW.event_index >= ifnull((SELECT next_event_index FROM wr_session WHERE session_no = NEW.session_no), 0)
    OR (NEW.event_index > 0 AND NOT EXISTS (SELECT 1 FROM wr_event
        WHERE session_no = NEW.session_no AND event_index = NEW.event_index - 1))
BEGIN SELECT RAISE(ABORT, 'wr_event: this index was not reserved'); END;
CREATE TRIGGER wr_manifest_stay_same BEFORE UPDATE ON wr_manifest
BEGIN SELECT RAISE(ABORT, 'wr_manifest: a stored record never changes'); END;
CREATE TRIGGER wr_manifest_stay BEFORE DELETE ON wr_manifest
WHEN (SELECT value FROM meta WHERE name = 'retention') IS NOT 1
BEGIN SELECT RAISE(ABORT, 'wr_manifest: records leave with their session only'); END;

-- Snapshots (kind 1), compiled workflows (2), artifacts (3): stored once by digest, and who refers to them.
CREATE TABLE wr_blob (
    kind         INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 3),
    digest       TEXT NOT NULL CHECK (digest <> ''),
    content_type TEXT,
    bytes        TEXT NOT NULL,
    PRIMARY KEY (kind, digest)
) STRICT; -- with rowids: bytes may be long
CREATE TABLE wr_ref (
    kind       INTEGER NOT NULL,
    digest     TEXT NOT NULL,
    session_no INTEGER NOT NULL,
    PRIMARY KEY (kind, digest, session_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX wr_ref_of ON wr_ref (session_no);

-- Runs that show a session: its own, and one for each branch that left it (WR-262).
CREATE TABLE wr_run (
    run_no     INTEGER PRIMARY KEY,
    session_no INTEGER NOT NULL,
    wr_run_id  TEXT NOT NULL
) STRICT;
CREATE INDEX wr_run_of ON wr_run (session_no);
CREATE TABLE wr_node (
    session_no INTEGER NOT NULL,
    node_id    TEXT NOT NULL,
    run_id     TEXT NOT NULL,    -- that shows it
    seq        INTEGER NOT NULL, -- of its last event there before it is answered
    PRIMARY KEY (session_no, node_id)
) STRICT, WITHOUT ROWID;

-- What resume_session looks through (WR-183): one short row for each run of a session, and the long rest of it.
-- Derived; wopr sessions verify compares it.
CREATE TABLE wr_resume (
    tenant        TEXT NOT NULL,
    test_mode     INTEGER NOT NULL,
    commit_no     INTEGER NOT NULL, -- of the session
    session_no    INTEGER NOT NULL,
    wr_run_id     TEXT NOT NULL,
    session_id    TEXT NOT NULL,
    node_id       TEXT NOT NULL, -- the preferred tip
    workflow_hash TEXT NOT NULL,
    head_sha      TEXT,
    branch        TEXT,
    workflow_text TEXT NOT NULL, -- words of its id and name, a few
    filter        BLOB NOT NULL CHECK (length(filter) = 256), -- which words the notes may have
    PRIMARY KEY (tenant, test_mode, commit_no, session_no, wr_run_id)
) STRICT, WITHOUT ROWID; -- all of a row is short: a search reads them in order
CREATE TABLE wr_resume_text (
    session_no INTEGER NOT NULL,
    wr_run_id  TEXT NOT NULL,
    words      TEXT NOT NULL, -- of the notes from the tip to the root
    snippet    TEXT NOT NULL,
    title      TEXT NOT NULL,
    status     TEXT NOT NULL,
    PRIMARY KEY (session_no, wr_run_id)
) STRICT; -- with rowids

CREATE TABLE wr_counter (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    value INTEGER NOT NULL
) STRICT;
INSERT INTO wr_counter VALUES (1, 0);

-- The keys that sign tokens (WR-111), sealed with a data key.
CREATE TABLE wr_keyring (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    key_no     INTEGER NOT NULL,
    box        BLOB NOT NULL,
    changed_ms INTEGER NOT NULL
) STRICT;
