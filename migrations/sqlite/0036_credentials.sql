-- Credentials that runs use by name (NODE-5, CAP-19), each sealed with a key of its own: that is derived
-- from a data key, and the tenant, the owner and the name are authenticated with the value.
CREATE TABLE credentials (
    tenant     TEXT NOT NULL CHECK (tenant <> ''),
    test_mode  INTEGER NOT NULL CHECK (test_mode IN (0, 1)),
    issuer     TEXT NOT NULL,   -- of the subject; both empty: of the tenant
    subject    TEXT NOT NULL,
    name       TEXT NOT NULL CHECK (name <> ''),
    kind       INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3),
    provider   TEXT NOT NULL,   -- of kind 0: the AI provider that it is for
    key_no     INTEGER NOT NULL,
    box        BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    PRIMARY KEY (tenant, test_mode, issuer, subject, name)
) STRICT; -- with rowids: a box may be long
