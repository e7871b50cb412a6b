-- Nodes that workers execute over HTTP (docs/contract/80-workers.md).

-- Types that workers serve; live until they are removed (WRK-1).
CREATE TABLE worker_types (
    tenant        TEXT    NOT NULL,
    test_mode     INTEGER NOT NULL,
    type_id       TEXT    NOT NULL,
    revision      INTEGER NOT NULL,
    input_schema  TEXT,
    output_schema TEXT,
    description   TEXT,
    created_ms    INTEGER NOT NULL,
    updated_ms    INTEGER NOT NULL,
    PRIMARY KEY (tenant, test_mode, type_id)
) STRICT, WITHOUT ROWID;

-- One row per task; state as enum task_row_state (domain/plan.h): below 5 the task is open, 5 and
-- more it is over.  body: what the worker is given, NULL when it is sealed (sealed_at: its place in
-- the table "sealed") or the task is over.
CREATE TABLE worker_tasks (
    task_id       TEXT    NOT NULL PRIMARY KEY,
    run_no        INTEGER NOT NULL,
    node_id       TEXT    NOT NULL,
    tenant        TEXT    NOT NULL,
    test_mode     INTEGER NOT NULL,
    type_id       TEXT    NOT NULL,
    attempt       INTEGER NOT NULL,
    invocation_id TEXT    NOT NULL,
    state         INTEGER NOT NULL,
    epoch         INTEGER NOT NULL DEFAULT 0,
    lost          INTEGER NOT NULL DEFAULT 0,
    body          TEXT,
    sealed_at     INTEGER NOT NULL DEFAULT 0,
    outcome       TEXT,
    reason        TEXT,
    worker        TEXT,
    lease_ms      INTEGER NOT NULL DEFAULT 0,
    lease_until   INTEGER NOT NULL DEFAULT 0,
    ready_ms      INTEGER NOT NULL,
    ended_ms      INTEGER
) STRICT;

-- A node has one open task at most.
CREATE UNIQUE INDEX worker_tasks_open ON worker_tasks (run_no, node_id) WHERE state < 5;
CREATE INDEX worker_tasks_of_run ON worker_tasks (run_no);
-- What a claim looks for: 0 = ready.
CREATE INDEX worker_tasks_ready ON worker_tasks (tenant, test_mode, type_id, ready_ms, task_id)
    WHERE state = 0;
-- Leases that run out: 1 = leased.
CREATE INDEX worker_tasks_leased ON worker_tasks (lease_until) WHERE state = 1;
-- Tasks whose leases ran out too often: 4 = lost; their runs have still to be told.
CREATE INDEX worker_tasks_lost ON worker_tasks (run_no) WHERE state = 4;
