-- A registry of packs (PACK-30 to PACK-53), and the packs that tenants have installed.
-- Bytes are stored once by their digest, away from everything that runs touch.
CREATE TABLE pack_blobs (
    sha256 BLOB PRIMARY KEY NOT NULL CHECK (length(sha256) = 32),
    body   BLOB NOT NULL
) STRICT; -- with rowids: a body is long

-- First claims: "vendor.acme", "private.host", or one name of a community pack.
CREATE TABLE pack_owners (
    namespace  TEXT PRIMARY KEY NOT NULL CHECK (namespace <> ''),
    tenant     TEXT NOT NULL CHECK (tenant <> ''),
    claimed_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE pack_versions (
    name          TEXT NOT NULL CHECK (name <> ''),
    version       TEXT NOT NULL CHECK (version <> ''),
    sha256        BLOB NOT NULL CHECK (length(sha256) = 32),
    bytes         INTEGER NOT NULL,
    manifest      TEXT NOT NULL,     -- as in the tarball
    warnings      TEXT NOT NULL,     -- JSON array of texts
    signature     BLOB CHECK (length(signature) = 64),
    over_manifest INTEGER NOT NULL CHECK (over_manifest IN (0, 1)), -- what was signed; else the tarball
    kid           TEXT,              -- the key that the signature was verified with
    published_ms  INTEGER NOT NULL,
    published_by  TEXT NOT NULL,
    removed_ms    INTEGER,           -- unpublished: the version is never given to other bytes
    deprecation   TEXT,              -- JSON object
    yank          TEXT,              -- JSON object
    PRIMARY KEY (name, version)
) STRICT; -- with rowids: a manifest may be long
CREATE INDEX pack_versions_by_blob ON pack_versions (sha256);

-- Names with a version that is there, and the words by which they are found.
CREATE TABLE packs (
    name        TEXT PRIMARY KEY NOT NULL,
    description TEXT NOT NULL,
    updated_ms  INTEGER NOT NULL
) STRICT; -- with rowids
CREATE TABLE pack_words (
    word TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (word, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX pack_words_by_name ON pack_words (name);

CREATE TABLE pack_keys (
    namespace    TEXT NOT NULL,
    kid          TEXT NOT NULL,
    public_key   BLOB NOT NULL CHECK (length(public_key) = 32),
    from_ms      INTEGER NOT NULL,
    until_ms     INTEGER,
    rotated_from TEXT,
    rotated_to   TEXT,
    proof        TEXT,   -- base64, by the key before (PACK-53)
    revoked_ms   INTEGER,
    PRIMARY KEY (namespace, kid)
) STRICT, WITHOUT ROWID;

-- What was done to a pack, by whom; never changed.
CREATE TABLE pack_history (
    entry_no INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,
    version  TEXT NOT NULL,
    action   TEXT NOT NULL,
    tenant   TEXT NOT NULL,
    key_id   TEXT NOT NULL,
    at_ms    INTEGER NOT NULL,
    details  TEXT        -- JSON object
) STRICT;
CREATE INDEX pack_history_of ON pack_history (name, entry_no);

-- tenant '': of all tenants, by the operator.
CREATE TABLE pack_installs (
    tenant       TEXT NOT NULL,
    name         TEXT NOT NULL,
    version      TEXT NOT NULL,
    sha256       BLOB NOT NULL CHECK (length(sha256) = 32),
    manifest     TEXT NOT NULL,
    origin       TEXT NOT NULL,  -- 'file', 'registry', or the URL of another one
    kid          TEXT,           -- the key that vouched for it; NULL: none
    installed_ms INTEGER NOT NULL,
    installed_by TEXT NOT NULL,
    PRIMARY KEY (tenant, name, version)
) STRICT; -- with rowids: a manifest may be long
CREATE INDEX pack_installs_by_blob ON pack_installs (sha256);
