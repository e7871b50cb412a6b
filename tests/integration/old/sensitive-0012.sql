PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 BLOB NOT NULL, applied_ms INTEGER NOT NULL) STRICT;
INSERT INTO schema_migrations VALUES(1,'0001_core.sql',X'4d67dc3ec45f6c46184ae288691224a386f5128dda4307bc3a60c84ee8da542a',1795363838504);
INSERT INTO schema_migrations VALUES(2,'0002_interaction.sql',X'331d676ddf2981ed937d6c8aa67c7ed69d59c4f2c6cececccd76d2abc201c6d1',1795363838509);
INSERT INTO schema_migrations VALUES(3,'0003_admin.sql',X'c2dab96d11f005cc4df052c8e53ea4cf3b94543310a317611941a3d7920df530',1795363838513);
INSERT INTO schema_migrations VALUES(4,'0004_interrupts.sql',X'2d883a0e57bcaac04d7f2f15b694f025c8ac1c9c87d9028d53d477b1434b85c0',1795363838515);
INSERT INTO schema_migrations VALUES(5,'0005_children.sql',X'd6fad8d29b772563149b585727ef17d26063f414b374bec0d6c77177821290e3',1795363838523);
INSERT INTO schema_migrations VALUES(6,'0006_peers.sql',X'a102b759008fb64ff831f08f5aff72dd6c7bf27b40958cad53a12866dbc03dd3',1795363838524);
INSERT INTO schema_migrations VALUES(7,'0007_forks.sql',X'4556e29a2db48e38262142a5d609f3ca1df1a696c2ef6e0aac1510d7fae87812',1795363838541);
INSERT INTO schema_migrations VALUES(8,'0008_channel_ttl.sql',X'bef68a75d47b470002bfd6f754dd9d0471e3b8f5a467c1e310387aa6f5ff3359',1795363838547);
INSERT INTO schema_migrations VALUES(9,'0009_terminal_index.sql',X'183fc622ac2b3144db18d0ba9b59ef5907c09fdcd8a893b525362d28b66952ab',1795363838549);
INSERT INTO schema_migrations VALUES(10,'0010_lists.sql',X'3640dc14aabd4a1c26c3bfc20d698d9454a156513af3dc4e96f6b72145cf0bb0',1795363838552);
INSERT INTO schema_migrations VALUES(11,'0011_tenant_usage.sql',X'5f81b59bcfd80a465d519e0756d7881734d6008b587d22a230711763bfce4e74',1795363838553);
INSERT INTO schema_migrations VALUES(12,'0012_configured_keys.sql',X'1dbedf7b9c05de0dd715274f383b65e198c303bbe3921044b020b4dcc610a2cb',1795363838554);
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES('era',2);
INSERT INTO meta VALUES('retention',0);
INSERT INTO meta VALUES('written_by_v1',1);
CREATE TABLE secrets (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL CHECK (length(value) = 32)
) STRICT, WITHOUT ROWID;
INSERT INTO secrets VALUES('pepper',X'ab072b80e5985648d702e0031b19b0b503bde2d1ec4dc5c3e3aeefcce2e6e7a8');
INSERT INTO secrets VALUES('ticket',X'c49400d6946357d42298d6e7585fc666412de78e3d641354c8550c8bd7d570a2');
CREATE TABLE counters (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    runs      INTEGER NOT NULL,
    runs_open INTEGER NOT NULL,
    events    INTEGER NOT NULL
) STRICT;
INSERT INTO counters VALUES(1,4,2,46);
CREATE TABLE holders (
    holder_no INTEGER PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE,
    until_ms  INTEGER NOT NULL
, beat INTEGER NOT NULL DEFAULT 0, ttl_ms INTEGER NOT NULL DEFAULT 30000) STRICT;
INSERT INTO holders VALUES(1,'host-01M820C6M563Z0980FRF1CG3J7',0,2,30000);
CREATE TABLE runs (
    run_no               INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id               TEXT NOT NULL UNIQUE,
    tenant               TEXT NOT NULL,
    test_mode            INTEGER NOT NULL CHECK (test_mode IN (0, 1)),
    workflow_id          TEXT NOT NULL,
    scope_id             TEXT,
    era                  INTEGER NOT NULL,
    engine_version       INTEGER NOT NULL,
    shown_engine_version INTEGER NOT NULL,
    is_replay            INTEGER NOT NULL DEFAULT 0 CHECK (is_replay IN (0, 1)),
    created_ms           INTEGER NOT NULL,
    holder_no            INTEGER,
    lease_epoch          INTEGER NOT NULL,
    parked               TEXT,
    status               INTEGER NOT NULL CHECK (status BETWEEN 0 AND 9),
    next_seq             INTEGER NOT NULL CHECK (next_seq >= 0),
    current_node         TEXT,
    started_ms           INTEGER,
    completed_ms         INTEGER,
    paused_ms            INTEGER,
    error                TEXT,
    outputs              TEXT,
    agent                TEXT
, log_bytes INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO runs VALUES(1,'run_01M820C6PBPE0ZGE7WC944NMXN','default',1,'sens',NULL,2,1,1,0,1795363838667,1,2,NULL,7,15,NULL,1795363838667,1795363839401,NULL,NULL,'{"m":{"n":17,"k":17}}',NULL,2753);
INSERT INTO runs VALUES(2,'run_01M820C6Q7M0F894QAK9360107','default',1,'sens',NULL,2,1,1,0,1795363838695,NULL,1,NULL,3,8,'g',1795363838695,NULL,NULL,NULL,NULL,NULL,1423);
INSERT INTO runs VALUES(3,'run_01M820C6T0E236CF802HFMSZ3B','default',1,'sens2',NULL,2,1,1,0,1795363838784,1,2,NULL,7,15,NULL,1795363838784,1795363839432,NULL,NULL,'{"m":{"n":17,"k":17}}',NULL,2596);
INSERT INTO runs VALUES(4,'run_01M820C6VJYGEB6BB5ZAQR9ZCZ','default',1,'sens2',NULL,2,1,1,0,1795363838834,NULL,1,NULL,3,8,'g',1795363838834,NULL,NULL,NULL,NULL,NULL,1266);
CREATE TABLE run_origins (
    run_no          INTEGER PRIMARY KEY REFERENCES runs (run_no) ON DELETE CASCADE,
    workspace       TEXT NOT NULL,
    subject         TEXT,
    workflow_hash   BLOB NOT NULL CHECK (length(workflow_hash) = 32),
    inputs          TEXT,
    configurable    TEXT,
    tags            TEXT,
    metadata        TEXT,
    transport       TEXT,
    callback_url    TEXT,
    traceparent     TEXT,
    recursion_limit INTEGER NOT NULL,
    parent_run_id   TEXT,
    parent_node_id  TEXT,
    fork_run_id     TEXT,
    fork_seq        INTEGER
, child_depth INTEGER NOT NULL DEFAULT 0
    CHECK (child_depth BETWEEN 0 AND 100), child_flags INTEGER NOT NULL DEFAULT 0, fork_mode INTEGER, fork_run_no INTEGER, fork_base INTEGER, fork_cut_ms INTEGER) STRICT;
INSERT INTO run_origins VALUES(1,'default','{"issuer":"wopr:api-key","subjectId":"cfgfb99b4f3b01185e59795bcf8","tenant":"default","lane":"api-key","kind":"user"}',X'5f17fd52823f4034b4389b2b43274b53489b92217509f72ce68821692bcf78cf','{"k":"CANARY-old-file-9"}',NULL,NULL,NULL,'rest',NULL,NULL,100,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL);
INSERT INTO run_origins VALUES(2,'default','{"issuer":"wopr:api-key","subjectId":"cfgfb99b4f3b01185e59795bcf8","tenant":"default","lane":"api-key","kind":"user"}',X'5f17fd52823f4034b4389b2b43274b53489b92217509f72ce68821692bcf78cf','{"k":"CANARY-old-file-9"}',NULL,NULL,NULL,'rest',NULL,NULL,100,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL);
INSERT INTO run_origins VALUES(3,'default','{"issuer":"wopr:api-key","subjectId":"cfgfb99b4f3b01185e59795bcf8","tenant":"default","lane":"api-key","kind":"user"}',X'8c9b66959901b534f0ddfd826a0afd06e4a2edbb99d21a1e36bbbb216584e6c7','{"k":"CANARY-old-file-9"}',NULL,NULL,NULL,'rest',NULL,NULL,100,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL);
INSERT INTO run_origins VALUES(4,'default','{"issuer":"wopr:api-key","subjectId":"cfgfb99b4f3b01185e59795bcf8","tenant":"default","lane":"api-key","kind":"user"}',X'8c9b66959901b534f0ddfd826a0afd06e4a2edbb99d21a1e36bbbb216584e6c7','{"k":"CANARY-old-file-9"}',NULL,NULL,NULL,'rest',NULL,NULL,100,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL);
CREATE TABLE events (
    run_no         INTEGER NOT NULL,
    seq            INTEGER NOT NULL,
    kind           INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 255),
    ts             INTEGER NOT NULL,
    node_id        TEXT,
    causation_seq  INTEGER,
    schema_version INTEGER NOT NULL,
    engine_version INTEGER NOT NULL,
    flags          INTEGER NOT NULL,
    type           TEXT,
    payload        TEXT NOT NULL,
    PRIMARY KEY (run_no, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO events VALUES(1,0,0,1795363838667,NULL,NULL,1,1,0,NULL,'{"workflowId":"sens","inputs":{"k":"sha256:63cad4c9097ad8c2690b0bf08d2830536f3f8506c749ab96d2e346520cfd39fd"},"transport":"rest","engineVersion":"1"}');
INSERT INTO events VALUES(1,1,8,1795363838667,'s',NULL,1,1,0,NULL,'{"nodeId":"s","typeId":"core.setVariable","attempt":0}');
INSERT INTO events VALUES(1,2,26,1795363838667,'s',NULL,1,1,0,NULL,'{"name":"v","next":"sha256:63cad4c9097ad8c2690b0bf08d2830536f3f8506c749ab96d2e346520cfd39fd","nodeId":"s"}');
INSERT INTO events VALUES(1,3,9,1795363838667,'s',NULL,1,1,0,NULL,'{"nodeId":"s","outputs":{},"durationMs":0}');
INSERT INTO events VALUES(1,4,8,1795363838672,'g',NULL,1,1,0,NULL,'{"nodeId":"g","typeId":"core.approvalGate","attempt":0}');
INSERT INTO events VALUES(1,5,21,1795363838672,'g',NULL,1,1,0,NULL,'{"kind":"approval","key":"run_01M820C6PBPE0ZGE7WC944NMXN:g:0","data":{"artifactId":"run_01M820C6PBPE0ZGE7WC944NMXN:g","artifactType":"approval","title":"g","actions":["accept","reject"]}}');
INSERT INTO events VALUES(1,6,17,1795363838672,'g',NULL,1,1,0,NULL,'{"nodeId":"g","interruptId":"int_6204b19720cb768cfb6139519e5166b3","artifactId":"run_01M820C6PBPE0ZGE7WC944NMXN:g","artifactType":"approval","title":"g","actions":["accept","reject"]}');
INSERT INTO events VALUES(1,7,11,1795363838672,'g',5,1,1,0,NULL,'{"nodeId":"g","interruptId":"int_6204b19720cb768cfb6139519e5166b3","kind":"approval","key":"run_01M820C6PBPE0ZGE7WC944NMXN:g:0"}');
INSERT INTO events VALUES(1,8,22,1795363839401,'g',5,1,1,0,NULL,'{"nodeId":"g","interruptId":"int_6204b19720cb768cfb6139519e5166b3","kind":"approval","resumeValue":{"action":"accept","decidedBy":"cfgfb99b4f3b01185e59795bcf8","decidedAt":"2026-11-22T16:10:39.401Z"},"resolvedAt":"2026-11-22T16:10:39.401Z","resolvedBy":"cfgfb99b4f3b01185e59795bcf8"}');
INSERT INTO events VALUES(1,9,18,1795363839401,'g',5,1,1,0,NULL,'{"nodeId":"g","action":"accept","decidedBy":"cfgfb99b4f3b01185e59795bcf8","decidedAt":"2026-11-22T16:10:39.401Z"}');
INSERT INTO events VALUES(1,10,13,1795363839401,'g',5,1,1,0,NULL,'{"nodeId":"g","interruptId":"int_6204b19720cb768cfb6139519e5166b3","resumeValue":{"action":"accept","decidedBy":"cfgfb99b4f3b01185e59795bcf8","decidedAt":"2026-11-22T16:10:39.401Z"}}');
INSERT INTO events VALUES(1,11,9,1795363839401,'g',NULL,1,1,0,NULL,'{"nodeId":"g","outputs":{"action":"accept","decidedBy":"cfgfb99b4f3b01185e59795bcf8","decidedAt":"2026-11-22T16:10:39.401Z"},"durationMs":729}');
INSERT INTO events VALUES(1,12,8,1795363839401,'m',NULL,1,1,0,NULL,'{"nodeId":"m","typeId":"core.identity","attempt":0}');
INSERT INTO events VALUES(1,13,9,1795363839401,'m',NULL,1,1,0,NULL,'{"nodeId":"m","outputs":{"n":17,"k":17},"durationMs":0}');
INSERT INTO events VALUES(1,14,1,1795363839401,NULL,NULL,1,1,0,NULL,'{"outputs":{"m":{"n":17,"k":17}},"durationMs":734}');
INSERT INTO events VALUES(2,0,0,1795363838695,NULL,NULL,1,1,0,NULL,'{"workflowId":"sens","inputs":{"k":"sha256:63cad4c9097ad8c2690b0bf08d2830536f3f8506c749ab96d2e346520cfd39fd"},"transport":"rest","engineVersion":"1"}');
INSERT INTO events VALUES(2,1,8,1795363838695,'s',NULL,1,1,0,NULL,'{"nodeId":"s","typeId":"core.setVariable","attempt":0}');
INSERT INTO events VALUES(2,2,26,1795363838695,'s',NULL,1,1,0,NULL,'{"name":"v","next":"sha256:63cad4c9097ad8c2690b0bf08d2830536f3f8506c749ab96d2e346520cfd39fd","nodeId":"s"}');
INSERT INTO events VALUES(2,3,9,1795363838695,'s',NULL,1,1,0,NULL,'{"nodeId":"s","outputs":{},"durationMs":0}');
INSERT INTO events VALUES(2,4,8,1795363838700,'g',NULL,1,1,0,NULL,'{"nodeId":"g","typeId":"core.approvalGate","attempt":0}');
INSERT INTO events VALUES(2,5,21,1795363838700,'g',NULL,1,1,0,NULL,'{"kind":"approval","key":"run_01M820C6Q7M0F894QAK9360107:g:0","data":{"artifactId":"run_01M820C6Q7M0F894QAK9360107:g","artifactType":"approval","title":"g","actions":["accept","reject"]}}');
INSERT INTO events VALUES(2,6,17,1795363838700,'g',NULL,1,1,0,NULL,'{"nodeId":"g","interruptId":"int_49d4014c4bb89e472d3d0ceeda28b7ec","artifactId":"run_01M820C6Q7M0F894QAK9360107:g","artifactType":"approval","title":"g","actions":["accept","reject"]}');
INSERT INTO events VALUES(2,7,11,1795363838700,'g',5,1,1,0,NULL,'{"nodeId":"g","interruptId":"int_49d4014c4bb89e472d3d0ceeda28b7ec","kind":"approval","key":"run_01M820C6Q7M0F894QAK9360107:g:0"}');
INSERT INTO events VALUES(3,0,0,1795363838784,NULL,NULL,1,1,0,NULL,'{"workflowId":"sens2","inputs":{},"transport":"rest","engineVersion":"1"}');
INSERT INTO events VALUES(3,1,8,1795363838784,'s',NULL,1,1,0,NULL,'{"nodeId":"s","typeId":"core.setVariable","attempt":0}');
INSERT INTO events VALUES(3,2,26,1795363838784,'s',NULL,1,1,0,NULL,'{"name":"v","nodeId":"s"}');
INSERT INTO events VALUES(3,3,9,1795363838784,'s',NULL,1,1,0,NULL,'{"nodeId":"s","outputs":{},"durationMs":0}');
INSERT INTO events VALUES(3,4,8,1795363838785,'g',NULL,1,1,0,NULL,'{"nodeId":"g","typeId":"core.approvalGate","attempt":0}');
INSERT INTO events VALUES(3,5,21,1795363838785,'g',NULL,1,1,0,NULL,'{"kind":"approval","key":"run_01M820C6T0E236CF802HFMSZ3B:g:0","data":{"artifactId":"run_01M820C6T0E236CF802HFMSZ3B:g","artifactType":"approval","title":"g","actions":["accept","reject"]}}');
INSERT INTO events VALUES(3,6,17,1795363838785,'g',NULL,1,1,0,NULL,'{"nodeId":"g","interruptId":"int_8259229deadc95dd6a93c29db83e5813","artifactId":"run_01M820C6T0E236CF802HFMSZ3B:g","artifactType":"approval","title":"g","actions":["accept","reject"]}');
INSERT INTO events VALUES(3,7,11,1795363838785,'g',5,1,1,0,NULL,'{"nodeId":"g","interruptId":"int_8259229deadc95dd6a93c29db83e5813","kind":"approval","key":"run_01M820C6T0E236CF802HFMSZ3B:g:0"}');
INSERT INTO events VALUES(3,8,22,1795363839432,'g',5,1,1,0,NULL,'{"nodeId":"g","interruptId":"int_8259229deadc95dd6a93c29db83e5813","kind":"approval","resumeValue":{"action":"accept","decidedBy":"cfgfb99b4f3b01185e59795bcf8","decidedAt":"2026-11-22T16:10:39.432Z"},"resolvedAt":"2026-11-22T16:10:39.432Z","resolvedBy":"cfgfb99b4f3b01185e59795bcf8"}');
INSERT INTO events VALUES(3,9,18,1795363839432,'g',5,1,1,0,NULL,'{"nodeId":"g","action":"accept","decidedBy":"cfgfb99b4f3b01185e59795bcf8","decidedAt":"2026-11-22T16:10:39.432Z"}');
INSERT INTO events VALUES(3,10,13,1795363839432,'g',5,1,1,0,NULL,'{"nodeId":"g","interruptId":"int_8259229deadc95dd6a93c29db83e5813","resumeValue":{"action":"accept","decidedBy":"cfgfb99b4f3b01185e59795bcf8","decidedAt":"2026-11-22T16:10:39.432Z"}}');
INSERT INTO events VALUES(3,11,9,1795363839432,'g',NULL,1,1,0,NULL,'{"nodeId":"g","outputs":{"action":"accept","decidedBy":"cfgfb99b4f3b01185e59795bcf8","decidedAt":"2026-11-22T16:10:39.432Z"},"durationMs":647}');
INSERT INTO events VALUES(3,12,8,1795363839432,'m',NULL,1,1,0,NULL,'{"nodeId":"m","typeId":"core.identity","attempt":0}');
INSERT INTO events VALUES(3,13,9,1795363839432,'m',NULL,1,1,0,NULL,'{"nodeId":"m","outputs":{"n":17,"k":17},"durationMs":0}');
INSERT INTO events VALUES(3,14,1,1795363839432,NULL,NULL,1,1,0,NULL,'{"outputs":{"m":{"n":17,"k":17}},"durationMs":648}');
INSERT INTO events VALUES(4,0,0,1795363838834,NULL,NULL,1,1,0,NULL,'{"workflowId":"sens2","inputs":{},"transport":"rest","engineVersion":"1"}');
INSERT INTO events VALUES(4,1,8,1795363838834,'s',NULL,1,1,0,NULL,'{"nodeId":"s","typeId":"core.setVariable","attempt":0}');
INSERT INTO events VALUES(4,2,26,1795363838834,'s',NULL,1,1,0,NULL,'{"name":"v","nodeId":"s"}');
INSERT INTO events VALUES(4,3,9,1795363838834,'s',NULL,1,1,0,NULL,'{"nodeId":"s","outputs":{},"durationMs":0}');
INSERT INTO events VALUES(4,4,8,1795363838835,'g',NULL,1,1,0,NULL,'{"nodeId":"g","typeId":"core.approvalGate","attempt":0}');
INSERT INTO events VALUES(4,5,21,1795363838835,'g',NULL,1,1,0,NULL,'{"kind":"approval","key":"run_01M820C6VJYGEB6BB5ZAQR9ZCZ:g:0","data":{"artifactId":"run_01M820C6VJYGEB6BB5ZAQR9ZCZ:g","artifactType":"approval","title":"g","actions":["accept","reject"]}}');
INSERT INTO events VALUES(4,6,17,1795363838835,'g',NULL,1,1,0,NULL,'{"nodeId":"g","interruptId":"int_c894709163417d7bbd5a67ee5821261f","artifactId":"run_01M820C6VJYGEB6BB5ZAQR9ZCZ:g","artifactType":"approval","title":"g","actions":["accept","reject"]}');
INSERT INTO events VALUES(4,7,11,1795363838835,'g',5,1,1,0,NULL,'{"nodeId":"g","interruptId":"int_c894709163417d7bbd5a67ee5821261f","kind":"approval","key":"run_01M820C6VJYGEB6BB5ZAQR9ZCZ:g:0"}');
CREATE TABLE node_states (
    run_no  INTEGER NOT NULL,
    node_id TEXT NOT NULL,
    state   TEXT NOT NULL,
    PRIMARY KEY (run_no, node_id)
) STRICT, WITHOUT ROWID;
INSERT INTO node_states VALUES(1,'g','{"status":"completed","attempt":0,"startedAt":"2026-11-22T16:10:38.672Z","completedAt":"2026-11-22T16:10:39.401Z","outputs":{"action":"accept","decidedBy":"cfgfb99b4f3b01185e59795bcf8","decidedAt":"2026-11-22T16:10:39.401Z"}}');
INSERT INTO node_states VALUES(1,'m','{"status":"completed","attempt":0,"startedAt":"2026-11-22T16:10:39.401Z","completedAt":"2026-11-22T16:10:39.401Z","outputs":{"n":17,"k":17}}');
INSERT INTO node_states VALUES(1,'s','{"status":"completed","attempt":0,"startedAt":"2026-11-22T16:10:38.667Z","completedAt":"2026-11-22T16:10:38.667Z","outputs":{}}');
INSERT INTO node_states VALUES(2,'g','{"status":"suspended","attempt":0,"startedAt":"2026-11-22T16:10:38.700Z"}');
INSERT INTO node_states VALUES(2,'s','{"status":"completed","attempt":0,"startedAt":"2026-11-22T16:10:38.695Z","completedAt":"2026-11-22T16:10:38.695Z","outputs":{}}');
INSERT INTO node_states VALUES(3,'g','{"status":"completed","attempt":0,"startedAt":"2026-11-22T16:10:38.785Z","completedAt":"2026-11-22T16:10:39.432Z","outputs":{"action":"accept","decidedBy":"cfgfb99b4f3b01185e59795bcf8","decidedAt":"2026-11-22T16:10:39.432Z"}}');
INSERT INTO node_states VALUES(3,'m','{"status":"completed","attempt":0,"startedAt":"2026-11-22T16:10:39.432Z","completedAt":"2026-11-22T16:10:39.432Z","outputs":{"n":17,"k":17}}');
INSERT INTO node_states VALUES(3,'s','{"status":"completed","attempt":0,"startedAt":"2026-11-22T16:10:38.784Z","completedAt":"2026-11-22T16:10:38.784Z","outputs":{}}');
INSERT INTO node_states VALUES(4,'g','{"status":"suspended","attempt":0,"startedAt":"2026-11-22T16:10:38.835Z"}');
INSERT INTO node_states VALUES(4,'s','{"status":"completed","attempt":0,"startedAt":"2026-11-22T16:10:38.834Z","completedAt":"2026-11-22T16:10:38.834Z","outputs":{}}');
CREATE TABLE run_vars (
    run_no INTEGER NOT NULL,
    name   TEXT NOT NULL,
    shown  TEXT NOT NULL,
    clear  TEXT, -- NULL when equal to shown
    PRIMARY KEY (run_no, name)
) STRICT, WITHOUT ROWID;
INSERT INTO run_vars VALUES(1,'k','"sha256:63cad4c9097ad8c2690b0bf08d2830536f3f8506c749ab96d2e346520cfd39fd"','"CANARY-old-file-9"');
INSERT INTO run_vars VALUES(1,'v','"sha256:63cad4c9097ad8c2690b0bf08d2830536f3f8506c749ab96d2e346520cfd39fd"','"CANARY-old-file-9"');
INSERT INTO run_vars VALUES(2,'k','"sha256:63cad4c9097ad8c2690b0bf08d2830536f3f8506c749ab96d2e346520cfd39fd"','"CANARY-old-file-9"');
INSERT INTO run_vars VALUES(2,'v','"sha256:63cad4c9097ad8c2690b0bf08d2830536f3f8506c749ab96d2e346520cfd39fd"','"CANARY-old-file-9"');
INSERT INTO run_vars VALUES(3,'k','','"CANARY-old-file-9"');
INSERT INTO run_vars VALUES(3,'v','','"CANARY-old-file-9"');
INSERT INTO run_vars VALUES(4,'k','','"CANARY-old-file-9"');
INSERT INTO run_vars VALUES(4,'v','','"CANARY-old-file-9"');
CREATE TABLE run_channels (
    run_no   INTEGER NOT NULL,
    name     TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    declared INTEGER NOT NULL,
    is_list  INTEGER NOT NULL,
    ts       INTEGER NOT NULL,
    value    TEXT NOT NULL, ttl_ms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run_no, name, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE timers (
    run_no       INTEGER NOT NULL,
    kind         INTEGER NOT NULL,
    node_id      TEXT NOT NULL, -- '' for timers of the run
    fire_at_ms   INTEGER NOT NULL, -- -1 = stopped
    remaining_ms INTEGER NOT NULL,
    PRIMARY KEY (run_no, kind, node_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE run_tombstones (
    run_id    TEXT PRIMARY KEY,
    tenant    TEXT NOT NULL,
    test_mode INTEGER NOT NULL,
    run_no    INTEGER NOT NULL,
    ended_ms  INTEGER NOT NULL,
    purged_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE interrupts (
    interrupt_id  TEXT PRIMARY KEY,
    run_no        INTEGER NOT NULL REFERENCES runs (run_no) ON DELETE CASCADE,
    node_id       TEXT NOT NULL,
    key           TEXT NOT NULL,
    kind          TEXT NOT NULL,
    state         INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),
    payload       TEXT NOT NULL,
    resume_schema TEXT,
    votes         TEXT,
    requested_ms  INTEGER NOT NULL,
    timeout_at_ms INTEGER,
    requested_seq INTEGER NOT NULL,
    resolved_seq  INTEGER,
    resolved_ms   INTEGER,
    resume_value  TEXT,
    resolved_by   TEXT, -- Subject
    action        TEXT,
    decision      TEXT,
    cause         TEXT,
    card_type     TEXT,
    owner_user_id TEXT,
    project_id    TEXT, tenant TEXT NOT NULL DEFAULT '', test_mode INTEGER NOT NULL DEFAULT 0,
    UNIQUE (run_no, key)
) STRICT, WITHOUT ROWID;
INSERT INTO interrupts VALUES('int_49d4014c4bb89e472d3d0ceeda28b7ec',2,'g','run_01M820C6Q7M0F894QAK9360107:g:0','approval',0,'{"kind":"approval","key":"run_01M820C6Q7M0F894QAK9360107:g:0","data":{"artifactId":"run_01M820C6Q7M0F894QAK9360107:g","artifactType":"approval","title":"g","actions":["accept","reject"]}}',NULL,NULL,1795363838700,NULL,5,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'default',1);
INSERT INTO interrupts VALUES('int_6204b19720cb768cfb6139519e5166b3',1,'g','run_01M820C6PBPE0ZGE7WC944NMXN:g:0','approval',1,'{"kind":"approval","key":"run_01M820C6PBPE0ZGE7WC944NMXN:g:0","data":{"artifactId":"run_01M820C6PBPE0ZGE7WC944NMXN:g","artifactType":"approval","title":"g","actions":["accept","reject"]}}',NULL,NULL,1795363838672,NULL,5,8,1795363839401,'{"action":"accept","decidedBy":"cfgfb99b4f3b01185e59795bcf8","decidedAt":"2026-11-22T16:10:39.401Z"}','cfgfb99b4f3b01185e59795bcf8','accept',NULL,NULL,NULL,NULL,NULL,'default',1);
INSERT INTO interrupts VALUES('int_8259229deadc95dd6a93c29db83e5813',3,'g','run_01M820C6T0E236CF802HFMSZ3B:g:0','approval',1,'{"kind":"approval","key":"run_01M820C6T0E236CF802HFMSZ3B:g:0","data":{"artifactId":"run_01M820C6T0E236CF802HFMSZ3B:g","artifactType":"approval","title":"g","actions":["accept","reject"]}}',NULL,NULL,1795363838785,NULL,5,8,1795363839432,'{"action":"accept","decidedBy":"cfgfb99b4f3b01185e59795bcf8","decidedAt":"2026-11-22T16:10:39.432Z"}','cfgfb99b4f3b01185e59795bcf8','accept',NULL,NULL,NULL,NULL,NULL,'default',1);
INSERT INTO interrupts VALUES('int_c894709163417d7bbd5a67ee5821261f',4,'g','run_01M820C6VJYGEB6BB5ZAQR9ZCZ:g:0','approval',0,'{"kind":"approval","key":"run_01M820C6VJYGEB6BB5ZAQR9ZCZ:g:0","data":{"artifactId":"run_01M820C6VJYGEB6BB5ZAQR9ZCZ:g","artifactType":"approval","title":"g","actions":["accept","reject"]}}',NULL,NULL,1795363838835,NULL,5,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'default',1);
CREATE TABLE effects (
    effect_id      TEXT PRIMARY KEY,
    tenant         TEXT NOT NULL,
    run_no         INTEGER NOT NULL REFERENCES runs (run_no) ON DELETE CASCADE,
    node_id        TEXT NOT NULL,
    ordinal        INTEGER NOT NULL,
    attempt        INTEGER NOT NULL,
    keying         TEXT NOT NULL,
    effect_key     TEXT NOT NULL,
    invocation_id  TEXT,
    provider_key   TEXT NOT NULL,
    state          INTEGER NOT NULL,
    request_digest BLOB,
    outcome        TEXT,
    created_ms     INTEGER NOT NULL,
    finished_ms    INTEGER,
    expires_ms     INTEGER NOT NULL,
    UNIQUE (tenant, effect_key)
) STRICT, WITHOUT ROWID;
CREATE TABLE idempotency (
    tenant             TEXT NOT NULL,
    operation_id       TEXT NOT NULL,
    key                BLOB NOT NULL CHECK (length(key) = 32),
    digest             BLOB NOT NULL CHECK (length(digest) = 32),
    state              INTEGER NOT NULL,
    owner              TEXT,
    started_ms         INTEGER,
    status             INTEGER NOT NULL,
    headers            TEXT,
    body               TEXT NOT NULL,
    retry_after_s      INTEGER NOT NULL,
    transient_until_ms INTEGER NOT NULL,
    result_ref         TEXT,
    major              INTEGER NOT NULL,
    created_ms         INTEGER NOT NULL,
    expires_ms         INTEGER NOT NULL,
    PRIMARY KEY (tenant, operation_id, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE webhooks (
    webhook_id          TEXT PRIMARY KEY,
    tenant              TEXT NOT NULL,
    workspace           TEXT NOT NULL,
    test_mode           INTEGER NOT NULL,
    created_major       INTEGER NOT NULL,
    url                 TEXT NOT NULL,
    kinds               BLOB NOT NULL, -- bit set by event kind
    names               TEXT NOT NULL, -- event names as registered, JSON array
    tags                TEXT NOT NULL,
    secret              TEXT NOT NULL,
    previous_secret     TEXT,
    previous_expires_ms INTEGER,
    fingerprint         TEXT NOT NULL,
    schemes             TEXT NOT NULL,
    state               INTEGER NOT NULL,
    breaker             TEXT,
    created_ms          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE outbox (
    delivery_id      TEXT PRIMARY KEY,
    webhook_id       TEXT NOT NULL REFERENCES webhooks (webhook_id) ON DELETE CASCADE,
    run_no           INTEGER NOT NULL REFERENCES runs (run_no) ON DELETE CASCADE,
    seq              INTEGER NOT NULL,
    state            INTEGER NOT NULL,
    attempts         INTEGER NOT NULL,
    first_attempt_ms INTEGER,
    next_attempt_ms  INTEGER NOT NULL,
    lease_holder     TEXT,
    lease_until_ms   INTEGER,
    last_status      INTEGER,
    last_error       TEXT,
    dead_ms          INTEGER,
    expires_ms       INTEGER NOT NULL,
    body             TEXT,
    body_major       INTEGER,
    UNIQUE (webhook_id, run_no, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE artifacts (
    run_no        INTEGER NOT NULL REFERENCES runs (run_no) ON DELETE CASCADE,
    artifact_id   TEXT NOT NULL,
    artifact_type TEXT NOT NULL,
    node_id       TEXT,
    version       TEXT,
    summary       TEXT,
    body          TEXT NOT NULL,
    created_ms    INTEGER NOT NULL,
    PRIMARY KEY (run_no, artifact_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE snapshots (
    hash       BLOB PRIMARY KEY CHECK (length(hash) = 32),
    kind       TEXT NOT NULL,
    body       BLOB NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE run_snapshots (
    run_no INTEGER NOT NULL REFERENCES runs (run_no) ON DELETE CASCADE,
    seq    INTEGER NOT NULL,
    hash   BLOB NOT NULL REFERENCES snapshots (hash),
    PRIMARY KEY (run_no, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE workflow_texts (
    hash BLOB PRIMARY KEY CHECK (length(hash) = 32), -- of the canonical form
    text TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO workflow_texts VALUES(X'5f17fd52823f4034b4389b2b43274b53489b92217509f72ce68821692bcf78cf',replace('{"id":"sens","name":"sens","version":"1.0","nodes":[\n{"id":"s","typeId":"core.setVariable","name":"s","position":{"x":0,"y":0},"config":{"name":"v"},"inputs":{"value":{"type":"variable","variableName":"k"}}},\n{"id":"g","typeId":"core.approvalGate","name":"g","position":{"x":0,"y":0},"config":{},"inputs":{}},\n{"id":"m","typeId":"core.identity","name":"m","position":{"x":0,"y":0},"config":{},"inputs":{"n":{"type":"expression","expression":"size(variables.v)"},"k":{"type":"expression","expression":"size(variables.k)"}}}],\n"edges":[{"id":"e","sourceNodeId":"s","targetNodeId":"g"},{"id":"f","sourceNodeId":"g","targetNodeId":"m"}],"triggers":[],\n"variables":[{"name":"k","type":"string","sensitive":true},{"name":"v","type":"string","sensitive":true}],"metadata":{"complianceConfig":{"maskingMode":"hash"}},"settings":{}}\n','\n',char(10)));
INSERT INTO workflow_texts VALUES(X'8c9b66959901b534f0ddfd826a0afd06e4a2edbb99d21a1e36bbbb216584e6c7',replace('{"id":"sens2","name":"sens2","version":"1.0","nodes":[\n{"id":"s","typeId":"core.setVariable","name":"s","position":{"x":0,"y":0},"config":{"name":"v"},"inputs":{"value":{"type":"variable","variableName":"k"}}},\n{"id":"g","typeId":"core.approvalGate","name":"g","position":{"x":0,"y":0},"config":{},"inputs":{}},\n{"id":"m","typeId":"core.identity","name":"m","position":{"x":0,"y":0},"config":{},"inputs":{"n":{"type":"expression","expression":"size(variables.v)"},"k":{"type":"expression","expression":"size(variables.k)"}}}],\n"edges":[{"id":"e","sourceNodeId":"s","targetNodeId":"g"},{"id":"f","sourceNodeId":"g","targetNodeId":"m"}],"triggers":[],\n"variables":[{"name":"k","type":"string","sensitive":true},{"name":"v","type":"string","sensitive":true}],"metadata":{"complianceConfig":{"maskingMode":"omit"}},"settings":{}}\n','\n',char(10)));
CREATE TABLE workflows (
    workflow_id TEXT NOT NULL,
    tenant      TEXT NOT NULL,
    mode        INTEGER NOT NULL CHECK (mode IN (0, 1, 2)),
    hash        BLOB NOT NULL REFERENCES workflow_texts (hash),
    version     TEXT NOT NULL,
    created_ms  INTEGER NOT NULL,
    updated_ms  INTEGER NOT NULL,
    PRIMARY KEY (workflow_id, tenant, mode)
) STRICT, WITHOUT ROWID;
INSERT INTO workflows VALUES('sens','',2,X'5f17fd52823f4034b4389b2b43274b53489b92217509f72ce68821692bcf78cf','1.0',1795363838595,1795363838595);
INSERT INTO workflows VALUES('sens2','',2,X'8c9b66959901b534f0ddfd826a0afd06e4a2edbb99d21a1e36bbbb216584e6c7','1.0',1795363838596,1795363838596);
CREATE TABLE api_keys (
    key_id         TEXT PRIMARY KEY,
    hash           BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    tenant         TEXT NOT NULL,
    workspace      TEXT NOT NULL,
    subject_issuer TEXT NOT NULL,
    subject_id     TEXT NOT NULL,
    subject_kind   TEXT NOT NULL,
    lane           TEXT NOT NULL,
    label          TEXT NOT NULL,
    scopes         INTEGER NOT NULL,
    test_mode      INTEGER NOT NULL CHECK (test_mode IN (0, 1)),
    created_ms     INTEGER NOT NULL,
    expires_ms     INTEGER NOT NULL,
    revoked_ms     INTEGER NOT NULL
, configured INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
INSERT INTO api_keys VALUES('cfgfb99b4f3b01185e59795bcf8',X'fb99b4f3b01185e59795bcf8bc04a95f8421a228d22f8fc77453cb932198431a','default','default','wopr:api-key','cfgfb99b4f3b01185e59795bcf8','service','api-key','configured',4095,1,1795363838590,0,0,1);
CREATE TABLE token_secrets (
    kid        TEXT PRIMARY KEY,
    secret     BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    retired_ms INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO token_secrets VALUES('01M820C6KJ7Z3MTGGVA4ACA6NN',X'738e3298dddd261573e1b0e67d2e6f6f5c37742329ec7ffe98faaf731b09c8f1',1795363838578,NULL);
CREATE TABLE memory (
    tenant     TEXT NOT NULL,
    test_mode  INTEGER NOT NULL,
    scope      TEXT NOT NULL,
    memory_id  TEXT NOT NULL,
    content    TEXT NOT NULL,
    tags       TEXT,
    source     TEXT,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    PRIMARY KEY (tenant, test_mode, scope, memory_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE audit_entries (
    seq       INTEGER PRIMARY KEY,
    ts        INTEGER NOT NULL,
    tenant    TEXT,
    type      TEXT NOT NULL,
    prev_hash BLOB,
    entry     TEXT NOT NULL
) STRICT;
CREATE TABLE audit_checkpoints (
    checkpoint_id TEXT PRIMARY KEY,
    at_seq        INTEGER NOT NULL,
    merkle_root   TEXT NOT NULL,
    signature     TEXT NOT NULL,
    key_id        TEXT NOT NULL,
    ts            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE lease_wants (
    run_no    INTEGER PRIMARY KEY,
    holder_no INTEGER NOT NULL
) STRICT;
CREATE TABLE peer_moves (
    move_no   INTEGER PRIMARY KEY,
    holder_no INTEGER NOT NULL,
    runs      BLOB NOT NULL
) STRICT;
CREATE TABLE run_tags (
    tenant    TEXT NOT NULL,
    test_mode INTEGER NOT NULL,
    tag       TEXT NOT NULL,
    run_no    INTEGER NOT NULL,
    PRIMARY KEY (tenant, test_mode, tag, run_no)
) STRICT, WITHOUT ROWID;
CREATE TABLE tenant_usage (
    tenant    TEXT PRIMARY KEY,
    runs      INTEGER NOT NULL,
    runs_open INTEGER NOT NULL,
    bytes     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO tenant_usage VALUES('default',4,2,8038);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('runs',4);
CREATE INDEX runs_open ON runs (run_no, holder_no) WHERE status < 7;
CREATE INDEX runs_by_scope ON runs (tenant, scope_id) WHERE status < 7 AND scope_id IS NOT NULL;
CREATE INDEX runs_ended ON runs (completed_ms) WHERE completed_ms IS NOT NULL;
CREATE INDEX run_origins_by_parent ON run_origins (parent_run_id) WHERE parent_run_id IS NOT NULL;
CREATE TRIGGER runs_final_stays BEFORE UPDATE OF status, next_seq ON runs
WHEN OLD.status >= 7 OR NEW.next_seq < OLD.next_seq
BEGIN SELECT RAISE(ABORT, 'runs: a finished run does not move, and no log shrinks'); END;
CREATE TRIGGER runs_stay BEFORE DELETE ON runs
WHEN (SELECT value FROM meta WHERE name = 'retention') IS NOT 1
BEGIN SELECT RAISE(ABORT, 'runs: rows leave by retention only'); END;
CREATE TRIGGER events_reserved BEFORE INSERT ON events
WHEN NEW.seq < 0 OR NEW.seq >= ifnull((SELECT next_seq FROM runs WHERE run_no = NEW.run_no), 0)
BEGIN SELECT RAISE(ABORT, 'events: this sequence was not reserved by an unfinished run'); END;
CREATE TRIGGER events_stay_same BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events: a stored event never changes'); END;
CREATE TRIGGER events_stay BEFORE DELETE ON events
WHEN (SELECT value FROM meta WHERE name = 'retention') IS NOT 1
BEGIN SELECT RAISE(ABORT, 'events: rows leave by retention only'); END;
CREATE INDEX run_tombstones_by_time ON run_tombstones (purged_ms);
CREATE INDEX interrupts_pending ON interrupts (timeout_at_ms) WHERE state = 0;
CREATE INDEX effects_by_run ON effects (run_no, node_id);
CREATE INDEX effects_by_invocation ON effects (invocation_id) WHERE invocation_id IS NOT NULL;
CREATE INDEX effects_by_expiry ON effects (expires_ms);
CREATE INDEX idempotency_by_expiry ON idempotency (expires_ms);
CREATE INDEX webhooks_by_tenant ON webhooks (tenant, test_mode);
CREATE INDEX outbox_by_run ON outbox (run_no);
CREATE INDEX outbox_due ON outbox (next_attempt_ms) WHERE state < 2;
CREATE INDEX outbox_by_expiry ON outbox (expires_ms) WHERE state >= 2;
CREATE INDEX run_snapshots_by_hash ON run_snapshots (hash);
CREATE INDEX workflows_by_hash ON workflows (hash);
CREATE INDEX memory_by_expiry ON memory (expires_ms) WHERE expires_ms IS NOT NULL;
CREATE INDEX audit_checkpoints_by_seq ON audit_checkpoints (at_seq);
CREATE TRIGGER audit_entries_stay_same BEFORE UPDATE ON audit_entries
BEGIN SELECT RAISE(ABORT, 'audit_entries: a stored entry never changes'); END;
CREATE TRIGGER audit_entries_stay BEFORE DELETE ON audit_entries
WHEN (SELECT value FROM meta WHERE name = 'retention') IS NOT 1
BEGIN SELECT RAISE(ABORT, 'audit_entries: rows leave by retention only'); END;
CREATE TRIGGER audit_checkpoints_stay_same BEFORE UPDATE ON audit_checkpoints
BEGIN SELECT RAISE(ABORT, 'audit_checkpoints: a stored checkpoint never changes'); END;
CREATE TRIGGER audit_checkpoints_stay BEFORE DELETE ON audit_checkpoints
WHEN (SELECT value FROM meta WHERE name = 'retention') IS NOT 1
BEGIN SELECT RAISE(ABORT, 'audit_checkpoints: rows leave by retention only'); END;
CREATE INDEX timers_interrupts ON timers (fire_at_ms) WHERE kind = 5;
CREATE INDEX interrupts_waiting ON interrupts (requested_ms, interrupt_id) WHERE state = 0;
CREATE INDEX run_origins_by_fork ON run_origins (fork_run_id) WHERE fork_run_id IS NOT NULL;
CREATE UNIQUE INDEX events_terminal ON events (run_no) WHERE kind BETWEEN 1 AND 3;
CREATE INDEX runs_by_tenant ON runs (tenant, test_mode);
CREATE INDEX runs_by_workflow ON runs (tenant, test_mode, workflow_id);
CREATE INDEX runs_going ON runs (tenant, test_mode) WHERE status < 7;
CREATE INDEX runs_gone ON runs (tenant, test_mode, status) WHERE status >= 7;
CREATE INDEX interrupts_of_tenant ON interrupts (tenant, test_mode, requested_ms, interrupt_id)
    WHERE state = 0;
COMMIT;
