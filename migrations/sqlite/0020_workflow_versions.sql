-- Every text that was stored for a workflow id, in order; the current one is the row of workflows.
-- dead_ms: the workflow was deleted then; the row stays until no run needs its text.
CREATE TABLE workflow_versions (
    tenant      TEXT NOT NULL,
    workflow_id TEXT NOT NULL,
    mode        INTEGER NOT NULL CHECK (mode IN (0, 1, 2)),
    revision    INTEGER NOT NULL CHECK (revision > 0),
    hash        BLOB NOT NULL REFERENCES workflow_texts (hash),
    version     TEXT NOT NULL,
    bytes       INTEGER NOT NULL,
    created_ms  INTEGER NOT NULL,
    created_by  TEXT NOT NULL,
    dead_ms     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, workflow_id, mode, revision)
) STRICT, WITHOUT ROWID;
CREATE INDEX workflow_versions_by_hash ON workflow_versions (hash);
CREATE INDEX workflow_versions_dead ON workflow_versions (tenant, dead_ms) WHERE dead_ms > 0;
CREATE INDEX workflows_by_tenant ON workflows (tenant, workflow_id);

INSERT INTO workflow_versions
    (tenant, workflow_id, mode, revision, hash, version, bytes, created_ms, created_by)
SELECT w.tenant, w.workflow_id, w.mode, 1, w.hash, w.version, length(CAST(t.text AS BLOB)) + 256,
    w.updated_ms, ''
FROM workflows w JOIN workflow_texts t ON t.hash = w.hash;

-- Texts of before: runs may hold them that no row above names, so they stay.
CREATE TABLE workflow_texts_older (hash BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO workflow_texts_older (hash) SELECT hash FROM workflow_texts;

-- Bytes of these rows, by tenant: nothing is ever counted again.
CREATE TABLE workflow_usage (
    tenant TEXT PRIMARY KEY,
    bytes  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO workflow_usage (tenant, bytes)
SELECT tenant, sum(bytes) FROM workflow_versions GROUP BY tenant;
