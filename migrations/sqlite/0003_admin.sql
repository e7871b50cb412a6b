-- What belongs to tenants and operators rather than to one run.

CREATE TABLE workflow_texts (
    hash BLOB PRIMARY KEY CHECK (length(hash) = 32), -- of the canonical form
    text TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- tenant '' = every tenant.  mode: 0 live, 1 test, 2 both.
CREATE TABLE workflows (
    workflow_id TEXT NOT NULL,
    tenant      TEXT NOT NULL,
    mode        INTEGER NOT NULL CHECK (mode IN (0, 1, 2)),
    hash        BLOB NOT NULL REFERENCES workflow_texts (hash),
    version     TEXT NOT NULL,
    created_ms  INTEGER NOT NULL,
    updated_ms  INTEGER NOT NULL,
    PRIMARY KEY (workflow_id, tenant, mode)
) STRICT, WITHOUT ROWID;
CREATE INDEX workflows_by_hash ON workflows (hash);

CREATE TABLE api_keys (
    key_id         TEXT PRIMARY KEY,
    hash           BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    tenant         TEXT NOT NULL,
    workspace      TEXT NOT NULL,
    subject_issuer TEXT NOT NULL,
    subject_id     TEXT NOT NULL,
    subject_kind   TEXT NOT NULL,
    lane           TEXT NOT NULL,
    label          TEXT NOT NULL,
    scopes         INTEGER NOT NULL,
    test_mode      INTEGER NOT NULL CHECK (test_mode IN (0, 1)),
    created_ms     INTEGER NOT NULL,
    expires_ms     INTEGER NOT NULL,
    revoked_ms     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Signing secrets of interrupt tokens: the newest signs, all unexpired verify (D46).
CREATE TABLE token_secrets (
    kid        TEXT PRIMARY KEY,
    secret     BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    retired_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE memory (
    tenant     TEXT NOT NULL,
    test_mode  INTEGER NOT NULL,
    scope      TEXT NOT NULL,
    memory_id  TEXT NOT NULL,
    content    TEXT NOT NULL,
    tags       TEXT,
    source     TEXT,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    PRIMARY KEY (tenant, test_mode, scope, memory_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_by_expiry ON memory (expires_ms) WHERE expires_ms IS NOT NULL;

-- Hash chain over the canonical bytes of the entries (AUD-1 to AUD-5).
CREATE TABLE audit_entries (
    seq       INTEGER PRIMARY KEY,
    ts        INTEGER NOT NULL,
    tenant    TEXT,
    type      TEXT NOT NULL,
    prev_hash BLOB,
    entry     TEXT NOT NULL
) STRICT;
CREATE TABLE audit_checkpoints (
    checkpoint_id TEXT PRIMARY KEY,
    at_seq        INTEGER NOT NULL,
    merkle_root   TEXT NOT NULL,
    signature     TEXT NOT NULL,
    key_id        TEXT NOT NULL,
    ts            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_checkpoints_by_seq ON audit_checkpoints (at_seq);

CREATE TRIGGER audit_entries_stay_same BEFORE UPDATE ON audit_entries
BEGIN SELECT RAISE(ABORT, 'audit_entries: a stored entry never changes'); END;
CREATE TRIGGER audit_entries_stay BEFORE DELETE ON audit_entries
WHEN (SELECT value FROM meta WHERE name = 'retention') IS NOT 1
BEGIN SELECT RAISE(ABORT, 'audit_entries: rows leave by retention only'); END;
CREATE TRIGGER audit_checkpoints_stay_same BEFORE UPDATE ON audit_checkpoints
BEGIN SELECT RAISE(ABORT, 'audit_checkpoints: a stored checkpoint never changes'); END;
CREATE TRIGGER audit_checkpoints_stay BEFORE DELETE ON audit_checkpoints
WHEN (SELECT value FROM meta WHERE name = 'retention') IS NOT 1
BEGIN SELECT RAISE(ABORT, 'audit_checkpoints: rows leave by retention only'); END;
