-- How many tasks of a type wait, and how many workers have, so that nobody has to count them: rows
-- change with the states of worker_tasks (src/store/sqlite/task_counts.c).  State 0 = ready,
-- 1 = leased.
CREATE TABLE task_counts (
    tenant    TEXT    NOT NULL,
    test_mode INTEGER NOT NULL,
    type_id   TEXT    NOT NULL,
    ready     INTEGER NOT NULL,
    leased    INTEGER NOT NULL,
    PRIMARY KEY (tenant, test_mode, type_id)
) STRICT, WITHOUT ROWID;

-- Tasks of parked runs are held, as those of paused ones are (WRK-13): 2 = held.
UPDATE worker_tasks SET state = 2 WHERE state < 5 AND state = 0
    AND run_no IN (SELECT run_no FROM runs WHERE parked IS NOT NULL);

INSERT INTO task_counts (tenant, test_mode, type_id, ready, leased)
    SELECT tenant, test_mode, type_id, sum(CASE WHEN state = 0 THEN 1 ELSE 0 END),
    sum(CASE WHEN state = 1 THEN 1 ELSE 0 END) FROM worker_tasks
    WHERE state < 2 GROUP BY tenant, test_mode, type_id;
