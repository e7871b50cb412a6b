-- A row of a table WITHOUT ROWID is its own key: to compare it with another one, SQLite copies all of
-- it, megabytes for a large value, also when the search is for a row of another tenant.  Tables whose
-- rows hold what callers send are therefore ordinary ones; their keys have an index of their own.

CREATE TABLE events_new (
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
) STRICT;
INSERT INTO events_new SELECT * FROM events ORDER BY run_no, seq;
DROP TABLE events;
ALTER TABLE events_new RENAME TO events;
CREATE UNIQUE INDEX events_terminal ON events (run_no) WHERE kind BETWEEN 1 AND 3;
CREATE TRIGGER events_stay_same BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events: a stored event never changes'); END;
CREATE TRIGGER events_stay BEFORE DELETE ON events
WHEN (SELECT value FROM meta WHERE name = 'retention') IS NOT 1
BEGIN SELECT RAISE(ABORT, 'events: rows leave by retention only'); END;
CREATE TRIGGER events_reserved BEFORE INSERT ON events
WHEN NEW.seq < ifnull((SELECT until_seq FROM run_prefixes WHERE run_no = NEW.run_no), 0)
    OR NEW.seq >= ifnull((SELECT next_seq FROM runs WHERE run_no = NEW.run_no), 0)
BEGIN SELECT RAISE(ABORT, 'events: this sequence was not reserved by an unfinished run'); END;

CREATE TABLE node_states_new (
    run_no  INTEGER NOT NULL,
    node_id TEXT NOT NULL,
    state   TEXT NOT NULL,
    PRIMARY KEY (run_no, node_id)
) STRICT;
INSERT INTO node_states_new SELECT * FROM node_states ORDER BY run_no, node_id;
DROP TABLE node_states;
ALTER TABLE node_states_new RENAME TO node_states;

CREATE TABLE run_vars_new (
    run_no INTEGER NOT NULL,
    name   TEXT NOT NULL,
    shown  TEXT NOT NULL,
    clear  TEXT, -- NULL when equal to shown
    PRIMARY KEY (run_no, name)
) STRICT;
INSERT INTO run_vars_new SELECT * FROM run_vars ORDER BY run_no, name;
DROP TABLE run_vars;
ALTER TABLE run_vars_new RENAME TO run_vars;
CREATE INDEX run_vars_clear ON run_vars (run_no) WHERE clear IS NOT NULL;

CREATE TABLE run_channels_new (
    run_no   INTEGER NOT NULL,
    name     TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    declared INTEGER NOT NULL,
    is_list  INTEGER NOT NULL,
    ts       INTEGER NOT NULL,
    value    TEXT NOT NULL,
    ttl_ms   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run_no, name, seq)
) STRICT;
INSERT INTO run_channels_new SELECT * FROM run_channels ORDER BY run_no, name, seq;
DROP TABLE run_channels;
ALTER TABLE run_channels_new RENAME TO run_channels;

CREATE TABLE artifacts_new (
    run_no        INTEGER NOT NULL REFERENCES runs (run_no) ON DELETE CASCADE,
    artifact_id   TEXT NOT NULL,
    artifact_type TEXT NOT NULL,
    node_id       TEXT,
    version       TEXT,
    summary       TEXT,
    body          TEXT NOT NULL,
    created_ms    INTEGER NOT NULL,
    seq INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run_no, artifact_id)
) STRICT;
INSERT INTO artifacts_new SELECT * FROM artifacts ORDER BY run_no, artifact_id;
DROP TABLE artifacts;
ALTER TABLE artifacts_new RENAME TO artifacts;

CREATE TABLE interrupts_new (
    interrupt_id  TEXT PRIMARY KEY,
    run_no        INTEGER NOT NULL REFERENCES runs (run_no) ON DELETE CASCADE,
    node_id       TEXT NOT NULL,
    key           TEXT NOT NULL,
    kind          TEXT NOT NULL,
    state         INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),
    payload       TEXT NOT NULL,
    resume_schema TEXT,
    votes         TEXT,
    requested_ms  INTEGER NOT NULL,
    timeout_at_ms INTEGER,
    requested_seq INTEGER NOT NULL,
    resolved_seq  INTEGER,
    resolved_ms   INTEGER,
    resume_value  TEXT,
    resolved_by   TEXT, -- Subject
    action        TEXT,
    decision      TEXT,
    cause         TEXT,
    card_type     TEXT,
    owner_user_id TEXT,
    project_id    TEXT,
    tenant TEXT NOT NULL DEFAULT '',
    test_mode INTEGER NOT NULL DEFAULT 0,
    UNIQUE (run_no, key)
) STRICT;
INSERT INTO interrupts_new SELECT * FROM interrupts ORDER BY interrupt_id;
DROP TABLE interrupts;
ALTER TABLE interrupts_new RENAME TO interrupts;
CREATE INDEX interrupts_pending ON interrupts (timeout_at_ms) WHERE state = 0;
CREATE INDEX interrupts_waiting ON interrupts (requested_ms, interrupt_id) WHERE state = 0;
CREATE INDEX interrupts_of_tenant ON interrupts (tenant, test_mode, requested_ms, interrupt_id)
    WHERE state = 0;

CREATE TABLE effects_new (
    effect_id      TEXT PRIMARY KEY,
    tenant         TEXT NOT NULL,
    run_no         INTEGER NOT NULL REFERENCES runs (run_no) ON DELETE CASCADE,
    node_id        TEXT NOT NULL,
    ordinal        INTEGER NOT NULL,
    attempt        INTEGER NOT NULL,
    keying         TEXT NOT NULL,
    effect_key     TEXT NOT NULL,
    invocation_id  TEXT,
    provider_key   TEXT NOT NULL,
    state          INTEGER NOT NULL,
    request_digest BLOB,
    outcome        TEXT,
    created_ms     INTEGER NOT NULL,
    finished_ms    INTEGER,
    expires_ms     INTEGER NOT NULL,
    UNIQUE (tenant, effect_key)
) STRICT;
INSERT INTO effects_new SELECT * FROM effects ORDER BY effect_id;
DROP TABLE effects;
ALTER TABLE effects_new RENAME TO effects;
CREATE INDEX effects_by_run ON effects (run_no, node_id);
CREATE INDEX effects_by_invocation ON effects (invocation_id) WHERE invocation_id IS NOT NULL;
CREATE INDEX effects_by_expiry ON effects (expires_ms);

CREATE TABLE sealed_new (
    run_no INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    key_no INTEGER NOT NULL,
    box    BLOB NOT NULL,
    PRIMARY KEY (run_no, seq)
) STRICT;
INSERT INTO sealed_new SELECT * FROM sealed ORDER BY run_no, seq;
DROP TABLE sealed;
ALTER TABLE sealed_new RENAME TO sealed;

CREATE TABLE worker_types_new (
    tenant        TEXT    NOT NULL,
    test_mode     INTEGER NOT NULL,
    type_id       TEXT    NOT NULL,
    revision      INTEGER NOT NULL,
    input_schema  TEXT,
    output_schema TEXT,
    description   TEXT,
    created_ms    INTEGER NOT NULL,
    updated_ms    INTEGER NOT NULL,
    bytes         INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, test_mode, type_id)
) STRICT;
INSERT INTO worker_types_new SELECT * FROM worker_types ORDER BY tenant, test_mode, type_id;
DROP TABLE worker_types;
ALTER TABLE worker_types_new RENAME TO worker_types;

-- Those that refer to texts go with them.

CREATE TABLE workflow_texts_new (
    hash BLOB PRIMARY KEY CHECK (length(hash) = 32), -- of the canonical form
    text TEXT NOT NULL
) STRICT;
INSERT INTO workflow_texts_new SELECT * FROM workflow_texts ORDER BY hash;

CREATE TABLE workflows_new (
    workflow_id TEXT NOT NULL,
    tenant      TEXT NOT NULL,
    mode        INTEGER NOT NULL CHECK (mode IN (0, 1, 2)),
    hash        BLOB NOT NULL REFERENCES workflow_texts_new (hash),
    version     TEXT NOT NULL,
    created_ms  INTEGER NOT NULL,
    updated_ms  INTEGER NOT NULL,
    PRIMARY KEY (workflow_id, tenant, mode)
) STRICT, WITHOUT ROWID;
INSERT INTO workflows_new SELECT * FROM workflows ORDER BY workflow_id, tenant, mode;

CREATE TABLE workflow_versions_new (
    tenant      TEXT NOT NULL,
    workflow_id TEXT NOT NULL,
    mode        INTEGER NOT NULL CHECK (mode IN (0, 1, 2)),
    revision    INTEGER NOT NULL CHECK (revision > 0),
    hash        BLOB NOT NULL REFERENCES workflow_texts_new (hash),
    version     TEXT NOT NULL,
    bytes       INTEGER NOT NULL,
    created_ms  INTEGER NOT NULL,
    created_by  TEXT NOT NULL,
    dead_ms     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, workflow_id, mode, revision)
) STRICT, WITHOUT ROWID;
INSERT INTO workflow_versions_new
    SELECT * FROM workflow_versions ORDER BY tenant, workflow_id, mode, revision;
DROP TABLE workflow_versions;
DROP TABLE workflows;
DROP TABLE workflow_texts;
ALTER TABLE workflow_texts_new RENAME TO workflow_texts;
ALTER TABLE workflows_new RENAME TO workflows;
ALTER TABLE workflow_versions_new RENAME TO workflow_versions;
CREATE INDEX workflows_by_hash ON workflows (hash);
CREATE INDEX workflows_by_tenant ON workflows (tenant, workflow_id);
CREATE INDEX workflow_versions_by_hash ON workflow_versions (hash);
CREATE INDEX workflow_versions_dead ON workflow_versions (tenant, dead_ms) WHERE dead_ms > 0;
