-- Manifests and warnings lie aside: beside them, whoever listed the versions of a name went through all of their bytes.
-- Those of a version that was unpublished are gone.
CREATE TABLE pack_texts (
    name     TEXT NOT NULL,
    version  TEXT NOT NULL,
    manifest TEXT NOT NULL,  -- as in the tarball
    warnings TEXT NOT NULL,  -- JSON array of texts
    PRIMARY KEY (name, version)
) STRICT; -- with rowids: a manifest may be long
INSERT INTO pack_texts (name, version, manifest, warnings)
SELECT name, version, manifest, warnings FROM pack_versions WHERE removed_ms IS NULL;

-- What the packs of tenants take, moved by the transactions that change it: tarballs and manifests.
ALTER TABLE pack_versions ADD COLUMN manifest_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE pack_versions SET manifest_bytes = length(CAST(manifest AS BLOB));
ALTER TABLE pack_versions DROP COLUMN manifest;
ALTER TABLE pack_versions DROP COLUMN warnings;
CREATE TABLE pack_usage (
    tenant TEXT PRIMARY KEY NOT NULL CHECK (tenant <> ''),
    bytes  INTEGER NOT NULL
) STRICT;
INSERT INTO pack_usage (tenant, bytes)
SELECT o.tenant, sum(v.bytes + v.manifest_bytes)
FROM pack_owners o JOIN pack_versions v ON v.name = o.namespace
    OR ((o.namespace LIKE 'vendor.%' OR o.namespace LIKE 'private.%')
        AND v.name > o.namespace || '.' AND v.name < o.namespace || '/')
WHERE v.removed_ms IS NULL GROUP BY o.tenant;
