-- Each page that a commit touches is written whole.  A short run touches as few as can be.

-- What the whole database holds is counted beside what its tenants take: the row of no tenant.
ALTER TABLE tenant_usage ADD COLUMN events INTEGER NOT NULL DEFAULT 0; -- of that row alone
DELETE FROM tenant_usage WHERE tenant = '';
INSERT INTO tenant_usage (tenant, runs, runs_open, bytes, events)
    SELECT '', runs, runs_open, 0, events FROM counters;
DROP TABLE counters;

-- The one terminal event is the last of a run that has ended.  The run says so; no index has to.
DROP INDEX events_terminal;
DROP TRIGGER events_reserved;
CREATE TRIGGER events_reserved BEFORE INSERT ON events
WHEN NEW.seq < ifnull((SELECT until_seq FROM run_prefixes WHERE run_no = NEW.run_no), 0)
    OR NEW.seq >= ifnull((SELECT next_seq FROM runs WHERE run_no = NEW.run_no), 0)
    OR (NEW.kind BETWEEN 1 AND 3 AND NOT EXISTS (SELECT 1 FROM runs
        WHERE run_no = NEW.run_no AND status >= 7 AND next_seq = NEW.seq + 1))
BEGIN SELECT RAISE(ABORT, 'events: this sequence was not reserved by an unfinished run'); END;

-- Most runs complete: a list of those is the list of the tenant, compared as it goes.
DROP INDEX runs_gone;
CREATE INDEX runs_missed ON runs (tenant, test_mode, status) WHERE status > 7;

-- Short states are their own keys again; a long one, which a search would copy, lies beside.
CREATE TABLE node_states_long (
    run_no  INTEGER NOT NULL,
    node_id TEXT NOT NULL,
    state   TEXT NOT NULL,
    PRIMARY KEY (run_no, node_id)
) STRICT;
CREATE TABLE node_states_new (
    run_no  INTEGER NOT NULL,
    node_id TEXT NOT NULL,
    state   TEXT, -- NULL: in node_states_long
    PRIMARY KEY (run_no, node_id)
) STRICT, WITHOUT ROWID;
INSERT INTO node_states_long SELECT run_no, node_id, state FROM node_states
    WHERE length(CAST(state AS BLOB)) > 512;
INSERT INTO node_states_new SELECT run_no, node_id,
    CASE WHEN length(CAST(state AS BLOB)) <= 512 THEN state END
    FROM node_states ORDER BY run_no, node_id;
DROP TABLE node_states;
ALTER TABLE node_states_new RENAME TO node_states;
