-- Which packs a run executes its node types with: a JSON object of the digest of a tarball for each
-- type, as resolved when the run was created (PACK-64).  NULL: it has no types of packs.
ALTER TABLE run_origins ADD COLUMN modules TEXT;
