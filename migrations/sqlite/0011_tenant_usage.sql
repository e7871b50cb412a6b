-- What tenants take, moved by the transactions that write it: nothing is ever counted again, and
-- every host on the file sees the same numbers.
ALTER TABLE runs ADD COLUMN log_bytes INTEGER NOT NULL DEFAULT 0;

-- Bytes of a log: its texts and 64 for each event (domain/event.h), and what its artifacts hold.
UPDATE runs SET log_bytes = (
    SELECT ifnull(sum(64 + length(CAST(e.payload AS BLOB))
                      + ifnull(length(CAST(e.node_id AS BLOB)), 0)), 0)
    FROM events e WHERE e.run_no = runs.run_no
) + (
    SELECT ifnull(sum(length(CAST(a.body AS BLOB))), 0)
    FROM artifacts a WHERE a.run_no = runs.run_no
);

-- Runs that are shown: a fork that is still being copied (tenant '') is not counted.
CREATE TABLE tenant_usage (
    tenant    TEXT PRIMARY KEY,
    runs      INTEGER NOT NULL,
    runs_open INTEGER NOT NULL,
    bytes     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO tenant_usage (tenant, runs, runs_open, bytes)
SELECT tenant, count(*), sum(CASE WHEN status < 7 THEN 1 ELSE 0 END), sum(log_bytes)
FROM runs WHERE tenant <> '' GROUP BY tenant;
