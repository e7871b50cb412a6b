-- Lists cost what they show: an index for each filter of GET /v1/runs, newest first by the number
-- that every index ends with.  Filled at once, under the lock of the upgrade.
DROP INDEX runs_by_tenant;
CREATE INDEX runs_by_tenant ON runs (tenant, test_mode);
CREATE INDEX runs_by_workflow ON runs (tenant, test_mode, workflow_id);
CREATE INDEX runs_going ON runs (tenant, test_mode) WHERE status < 7;
CREATE INDEX runs_gone ON runs (tenant, test_mode, status) WHERE status >= 7;

-- run_origins.tags, one row a tag, of runs that somebody may see.
CREATE TABLE run_tags (
    tenant    TEXT NOT NULL,
    test_mode INTEGER NOT NULL,
    tag       TEXT NOT NULL,
    run_no    INTEGER NOT NULL,
    PRIMARY KEY (tenant, test_mode, tag, run_no)
) STRICT, WITHOUT ROWID;
INSERT INTO run_tags (tenant, test_mode, tag, run_no)
    SELECT DISTINCT r.tenant, r.test_mode, j.value, r.run_no
    FROM runs r JOIN run_origins o ON o.run_no = r.run_no, json_each(o.tags) j
    WHERE r.tenant <> '' AND o.tags IS NOT NULL;

-- What waits, by tenant.  The list of one tenant does not walk what others wait for.
ALTER TABLE interrupts ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE interrupts ADD COLUMN test_mode INTEGER NOT NULL DEFAULT 0;
UPDATE interrupts SET
    tenant = (SELECT tenant FROM runs r WHERE r.run_no = interrupts.run_no),
    test_mode = (SELECT test_mode FROM runs r WHERE r.run_no = interrupts.run_no)
    WHERE state = 0;
CREATE INDEX interrupts_of_tenant ON interrupts (tenant, test_mode, requested_ms, interrupt_id)
    WHERE state = 0;
