-- What tasks hold in bytes, what ended them, how much they emitted; what operators list.

-- bytes: of the body or the outcome while the task is open, sealed or not; part of what its tenant
-- takes.  word: a digest of what the worker said that ended it.  emitted: the number of the last
-- emit that was taken in, 0 = none had a number.
ALTER TABLE worker_tasks ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE worker_tasks ADD COLUMN word TEXT;
ALTER TABLE worker_tasks ADD COLUMN emitted INTEGER NOT NULL DEFAULT 0;

UPDATE worker_tasks SET bytes = ifnull(length(CAST(body AS BLOB)), 0)
    + ifnull(length(CAST(outcome AS BLOB)), 0) WHERE state < 5;
UPDATE tenant_usage SET bytes = bytes
    + ifnull((SELECT sum(t.bytes) FROM worker_tasks t WHERE t.tenant = tenant_usage.tenant), 0);

-- What a claim looks for (state 0), and what operators list: open tasks (ended_ms is NULL)
-- by type and state.
DROP INDEX worker_tasks_ready;
CREATE INDEX worker_tasks_queue
    ON worker_tasks (tenant, test_mode, type_id, state, ready_ms, task_id)
    WHERE ended_ms IS NULL;

-- Of schemas and description.
ALTER TABLE worker_types ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE worker_types SET bytes = ifnull(length(CAST(input_schema AS BLOB)), 0)
    + ifnull(length(CAST(output_schema AS BLOB)), 0) + ifnull(length(CAST(description AS BLOB)), 0);
