-- Clear values of what the log shows masked (OBS-71, CHAN-24), encrypted, for as long as their run
-- needs them.

-- Data keys, each encrypted with the key of the installation, which is not in the database.  kek
-- names that key without telling it.  The newest that is not retired seals.
CREATE TABLE seal_keys (
    key_no     INTEGER PRIMARY KEY,
    kek        TEXT NOT NULL,
    wrapped    BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    retired_ms INTEGER
) STRICT;

-- seq: of the event whose payload was masked; -1: the inputs of the run; -2: variables of an ended
-- child that its parent has still to read.
CREATE TABLE sealed (
    run_no INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    key_no INTEGER NOT NULL,
    box    BLOB NOT NULL,
    PRIMARY KEY (run_no, seq)
) STRICT, WITHOUT ROWID;

-- Inputs of the run are masked, and sealed under -1 until it ends.
ALTER TABLE run_origins ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0;

-- A sensitive channel shows one mask in the place of its value, not one for each entry.
CREATE TABLE masked_channels AS
    WITH s (hash, name, mode) AS MATERIALIZED (
        SELECT t.hash, c.key,
               ifnull(json_extract(t.text, '$.metadata.complianceConfig.maskingMode'), 'mask')
        FROM workflow_texts t, json_each(t.text, '$.channels') c
        WHERE c.type = 'object' AND json_extract(c.value, '$.sensitive') = 1)
    SELECT o.run_no, s.name, s.mode FROM s JOIN run_origins o ON o.workflow_hash = s.hash
    WHERE s.mode <> 'passthrough';
DELETE FROM run_channels WHERE declared = 1 AND (run_no, name) IN
    (SELECT run_no, name FROM masked_channels WHERE mode = 'omit');
DELETE FROM run_channels WHERE declared = 1 AND (run_no, name) IN
    (SELECT run_no, name FROM masked_channels) AND seq < (SELECT max(x.seq) FROM run_channels x
    WHERE x.run_no = run_channels.run_no AND x.name = run_channels.name);
UPDATE run_channels SET is_list = 0, ttl_ms = 0, value = '"[REDACTED]"'
    WHERE declared = 1 AND (run_no, name) IN (SELECT run_no, name FROM masked_channels)
    AND (is_list = 1 OR value NOT LIKE '"sha256:%');
DROP TABLE masked_channels;

-- Clear values as they were kept before; the first host that starts seals those of unfinished runs
-- and removes all.
CREATE INDEX run_vars_clear ON run_vars (run_no) WHERE clear IS NOT NULL;
