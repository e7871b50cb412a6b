-- Agents of a workspace (AGT-40 to AGT-46): definitions as they were put, and the sets of them that
-- runs were started with.
CREATE TABLE agents (
    tenant     TEXT NOT NULL CHECK (tenant <> ''),
    test_mode  INTEGER NOT NULL CHECK (test_mode IN (0, 1)),
    agent_id   TEXT NOT NULL CHECK (agent_id <> ''),
    revision   INTEGER NOT NULL CHECK (revision > 0), -- none is given twice in a tenant and mode
    digest     BLOB NOT NULL CHECK (length(digest) = 32),
    definition TEXT NOT NULL,
    bytes      INTEGER NOT NULL, -- what it counts for in agent_usage
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    created_by TEXT NOT NULL,    -- id of the key, or empty
    PRIMARY KEY (tenant, test_mode, agent_id)
) STRICT; -- with rowids: a definition may be long

-- Runs share a set that is the same; it goes with the last of them.
CREATE TABLE agent_sets (
    set_no      INTEGER PRIMARY KEY,
    tenant      TEXT NOT NULL CHECK (tenant <> ''),
    test_mode   INTEGER NOT NULL CHECK (test_mode IN (0, 1)),
    digest      TEXT NOT NULL CHECK (digest <> ''),
    definitions TEXT NOT NULL,
    bytes       INTEGER NOT NULL,
    UNIQUE (tenant, test_mode, digest)
) STRICT;
ALTER TABLE run_origins ADD COLUMN agents INTEGER REFERENCES agent_sets (set_no);
CREATE INDEX run_origins_by_agents ON run_origins (agents) WHERE agents IS NOT NULL;

-- Sums over both, changed in the same transactions, and the last revision.
CREATE TABLE agent_usage (
    tenant    TEXT NOT NULL,
    test_mode INTEGER NOT NULL,
    revision  INTEGER NOT NULL,
    agents    INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    set_bytes INTEGER NOT NULL,
    PRIMARY KEY (tenant, test_mode)
) STRICT, WITHOUT ROWID;
