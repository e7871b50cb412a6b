-- A fork refers to what it inherits (FORK-9).  Its log is what the chain of owners holds before each
-- cut, and its own events from until_seq on.  Forks that older versions made have no row here: they
-- hold a copy of all they inherited.
CREATE TABLE run_prefixes (
    run_no    INTEGER PRIMARY KEY,
    until_seq INTEGER NOT NULL CHECK (until_seq > 0), -- the first event of its own
    owner_no  INTEGER NOT NULL,                       -- the run that holds the event before it
    jump_no   INTEGER NOT NULL,                       -- an owner further up: long chains cost log n
    depth     INTEGER NOT NULL CHECK (depth > 0),     -- owners before this run
    bytes     INTEGER NOT NULL,                       -- of all that is inherited, as log_bytes counts
    row_bytes INTEGER NOT NULL                        -- of the state it began with; part of its log_bytes
) STRICT;
CREATE INDEX run_prefixes_by_owner ON run_prefixes (owner_no, until_seq);

-- Runs that retention has begun to remove (tenant '' in runs).  One that forks refer to keeps the
-- events they show until the last of them is gone; its tenant pays for those.
CREATE TABLE run_burials (
    run_no  INTEGER PRIMARY KEY,
    tenant  TEXT NOT NULL,
    bytes   INTEGER NOT NULL, -- what the tenant still pays for it
    waiting INTEGER NOT NULL CHECK (waiting IN (0, 1)) -- 1: nothing to remove until a fork goes
) STRICT;
CREATE INDEX run_burials_due ON run_burials (run_no) WHERE waiting = 0;
INSERT INTO run_burials (run_no, tenant, bytes, waiting)
    SELECT run_no, '', 0, 0 FROM runs WHERE tenant = '' AND status >= 7;

-- An artifact knows the event that told of it, so that a fork finds those of its prefix.
ALTER TABLE artifacts ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
CREATE TABLE artifact_events AS
    SELECT e.run_no, json_extract(e.payload, '$.artifactId') AS artifact_id, min(e.seq) AS seq
    FROM (SELECT DISTINCT run_no FROM artifacts) a JOIN events e ON e.run_no = a.run_no
    WHERE e.kind = 24 GROUP BY 1, 2;
CREATE INDEX artifact_events_by_id ON artifact_events (run_no, artifact_id);
UPDATE artifacts SET seq = ifnull((SELECT x.seq FROM artifact_events x
    WHERE x.run_no = artifacts.run_no AND x.artifact_id = artifacts.artifact_id), 0);
DROP TABLE artifact_events;

-- Older versions left the copies of artifacts out of what a fork weighs.
UPDATE runs SET log_bytes = (
    SELECT ifnull(sum(64 + length(CAST(e.payload AS BLOB))
                      + ifnull(length(CAST(e.node_id AS BLOB)), 0)), 0)
    FROM events e WHERE e.run_no = runs.run_no
) + (
    SELECT sum(length(CAST(a.body AS BLOB))) FROM artifacts a WHERE a.run_no = runs.run_no
) WHERE run_no IN (SELECT a.run_no FROM artifacts a JOIN run_origins o ON o.run_no = a.run_no
                   WHERE o.fork_mode IS NOT NULL);
UPDATE tenant_usage SET bytes =
    (SELECT ifnull(sum(r.log_bytes), 0) FROM runs r WHERE r.tenant = tenant_usage.tenant);

-- Forks that an older version had not finished copying (tenant '', not final).
UPDATE meta SET value = 1 WHERE name = 'retention';
UPDATE counters SET
    runs = runs - (SELECT count(*) FROM runs WHERE tenant = '' AND status < 7),
    runs_open = runs_open - (SELECT count(*) FROM runs WHERE tenant = '' AND status < 7),
    events = events - (SELECT ifnull(sum(next_seq), 0) FROM runs WHERE tenant = '' AND status < 7);
DELETE FROM events WHERE run_no IN (SELECT run_no FROM runs WHERE tenant = '' AND status < 7);
DELETE FROM node_states WHERE run_no IN (SELECT run_no FROM runs WHERE tenant = '' AND status < 7);
DELETE FROM run_vars WHERE run_no IN (SELECT run_no FROM runs WHERE tenant = '' AND status < 7);
DELETE FROM run_channels WHERE run_no IN (SELECT run_no FROM runs WHERE tenant = '' AND status < 7);
DELETE FROM timers WHERE run_no IN (SELECT run_no FROM runs WHERE tenant = '' AND status < 7);
DELETE FROM interrupts WHERE run_no IN (SELECT run_no FROM runs WHERE tenant = '' AND status < 7);
DELETE FROM effects WHERE run_no IN (SELECT run_no FROM runs WHERE tenant = '' AND status < 7);
DELETE FROM artifacts WHERE run_no IN (SELECT run_no FROM runs WHERE tenant = '' AND status < 7);
DELETE FROM run_origins WHERE run_no IN (SELECT run_no FROM runs WHERE tenant = '' AND status < 7);
DELETE FROM runs WHERE tenant = '' AND status < 7;
UPDATE meta SET value = 0 WHERE name = 'retention';

-- As in 0001, and no event of a fork before its cut.
DROP TRIGGER events_reserved;
CREATE TRIGGER events_reserved BEFORE INSERT ON events
WHEN NEW.seq < ifnull((SELECT until_seq FROM run_prefixes WHERE run_no = NEW.run_no), 0)
    OR NEW.seq >= ifnull((SELECT next_seq FROM runs WHERE run_no = NEW.run_no), 0)
BEGIN SELECT RAISE(ABORT, 'events: this sequence was not reserved by an unfinished run'); END;

CREATE TRIGGER run_prefixes_stay_same BEFORE UPDATE ON run_prefixes
BEGIN SELECT RAISE(ABORT, 'run_prefixes: what a fork inherits never changes'); END;

CREATE TRIGGER run_prefixes_stay BEFORE DELETE ON run_prefixes
WHEN (SELECT value FROM meta WHERE name = 'retention') IS NOT 1
BEGIN SELECT RAISE(ABORT, 'run_prefixes: rows leave by retention only'); END;
