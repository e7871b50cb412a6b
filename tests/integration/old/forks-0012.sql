PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 BLOB NOT NULL, applied_ms INTEGER NOT NULL) STRICT;
INSERT INTO schema_migrations VALUES(1,'0001_core.sql',X'4d67dc3ec45f6c46184ae288691224a386f5128dda4307bc3a60c84ee8da542a',1795359016888);
INSERT INTO schema_migrations VALUES(2,'0002_interaction.sql',X'331d676ddf2981ed937d6c8aa67c7ed69d59c4f2c6cececccd76d2abc201c6d1',1795359016892);
INSERT INTO schema_migrations VALUES(3,'0003_admin.sql',X'c2dab96d11f005cc4df052c8e53ea4cf3b94543310a317611941a3d7920df530',1795359016896);
INSERT INTO schema_migrations VALUES(4,'0004_interrupts.sql',X'2d883a0e57bcaac04d7f2f15b694f025c8ac1c9c87d9028d53d477b1434b85c0',1795359016908);
INSERT INTO schema_migrations VALUES(5,'0005_children.sql',X'd6fad8d29b772563149b585727ef17d26063f414b374bec0d6c77177821290e3',1795359016912);
INSERT INTO schema_migrations VALUES(6,'0006_peers.sql',X'a102b759008fb64ff831f08f5aff72dd6c7bf27b40958cad53a12866dbc03dd3',1795359016918);
INSERT INTO schema_migrations VALUES(7,'0007_forks.sql',X'4556e29a2db48e38262142a5d609f3ca1df1a696c2ef6e0aac1510d7fae87812',1795359016925);
INSERT INTO schema_migrations VALUES(8,'0008_channel_ttl.sql',X'bef68a75d47b470002bfd6f754dd9d0471e3b8f5a467c1e310387aa6f5ff3359',1795359016932);
INSERT INTO schema_migrations VALUES(9,'0009_terminal_index.sql',X'183fc622ac2b3144db18d0ba9b59ef5907c09fdcd8a893b525362d28b66952ab',1795359016944);
INSERT INTO schema_migrations VALUES(10,'0010_lists.sql',X'3640dc14aabd4a1c26c3bfc20d698d9454a156513af3dc4e96f6b72145cf0bb0',1795359016948);
INSERT INTO schema_migrations VALUES(11,'0011_tenant_usage.sql',X'5f81b59bcfd80a465d519e0756d7881734d6008b587d22a230711763bfce4e74',1795359016952);
INSERT INTO schema_migrations VALUES(12,'0012_configured_keys.sql',X'1dbedf7b9c05de0dd715274f383b65e198c303bbe3921044b020b4dcc610a2cb',1795359016957);
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
INSERT INTO secrets VALUES('pepper',X'b1d1f1b702b3d63548fb2cde42e7305ae0f1718638e8f5d6855b1628935ba75d');
INSERT INTO secrets VALUES('ticket',X'fe83b4e6bb3adc61dd72094175803290d3d212634879c4f2240f4c2a13a7e531');
CREATE TABLE counters (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    runs      INTEGER NOT NULL,
    runs_open INTEGER NOT NULL,
    events    INTEGER NOT NULL
) STRICT;
INSERT INTO counters VALUES(1,10,3,113);
CREATE TABLE holders (
    holder_no INTEGER PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE,
    until_ms  INTEGER NOT NULL
, beat INTEGER NOT NULL DEFAULT 0, ttl_ms INTEGER NOT NULL DEFAULT 30000) STRICT;
INSERT INTO holders VALUES(1,'host-01M81VS21MKKMF33V73GTGK723',0,2,30000);
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
INSERT INTO runs VALUES(1,'run_01M81VS24HH3MNPG6P75EBWWNJ','default',1,'purchase',NULL,2,1,1,0,1795359017105,1,2,NULL,7,14,NULL,1795359017105,1795359018824,NULL,NULL,'{"order":{}}',NULL,2646);
INSERT INTO runs VALUES(2,'run_01M81VS2BPB93Q50V1RXTBJGAX','default',1,'purchase',NULL,2,1,1,0,1795359017334,NULL,1,NULL,3,5,'approve',1795359017334,NULL,NULL,NULL,NULL,NULL,1032);
INSERT INTO runs VALUES(3,'run_01M81VS35S338WQV35FKMGCSGT','default',1,'purchase',NULL,2,1,1,0,1795359018173,NULL,1,NULL,3,5,'approve',1795359017334,NULL,NULL,NULL,NULL,NULL,1032);
INSERT INTO runs VALUES(4,'run_01M81VS4B571JW3S68KXRTZ4DN','default',1,'purchase',NULL,2,1,1,1,1795359019368,1,1,NULL,7,14,NULL,1795359017105,1795359018824,NULL,NULL,'{"order":{}}',NULL,2646);
INSERT INTO runs VALUES(5,'run_01M81VS4JFQ0TX5SSW7GXJ7PX0','default',1,'purchase',NULL,2,1,1,1,1795359019599,1,1,NULL,7,14,NULL,1795359017105,1795359018824,NULL,NULL,'{"order":{}}',NULL,2646);
INSERT INTO runs VALUES(6,'run_01M81VS4SP45MZE87X5TNBGVBN','default',1,'purchase',NULL,2,1,1,1,1795359019836,1,1,NULL,7,14,NULL,1795359017105,1795359018824,NULL,NULL,'{"order":{}}',NULL,2646);
INSERT INTO runs VALUES(7,'run_01M81VS50J8M7P13C7SZVAEDT1','default',1,'purchase',NULL,2,1,1,1,1795359020051,1,1,NULL,7,14,NULL,1795359017105,1795359018824,NULL,NULL,'{"order":{}}',NULL,2646);
INSERT INTO runs VALUES(8,'run_01M81VS5B0SYVGXCDW89851R7Q','default',1,'purchase',NULL,2,1,1,0,1795359020384,1,1,NULL,7,14,NULL,1795359017105,1795359020405,NULL,NULL,'{"order":{}}',NULL,2646);
INSERT INTO runs VALUES(9,'run_01M81VS6KGS4WTRFEC8NPM7FCY','default',1,'purchase',NULL,2,1,1,1,1795359021680,1,1,NULL,7,14,NULL,1795359017105,1795359020405,NULL,NULL,'{"order":{}}',NULL,2646);
INSERT INTO runs VALUES(10,'run_01M81VS6TE4PHV2DWBSE1HYCR4','default',1,'purchase',NULL,2,1,1,0,1795359021902,NULL,1,NULL,3,5,'approve',1795359017334,NULL,NULL,NULL,NULL,NULL,1032);
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
INSERT INTO run_origins VALUES(1,'default','{"issuer":"wopr:api-key","subjectId":"cfg78f56d5dfcc985efa94d1f04","tenant":"default","lane":"api-key","kind":"user"}',X'788ecc1c0516f20ca42a525c4edb4915442273b4593fa73f22e6f01db49f4a3c','{}',NULL,NULL,NULL,'rest',NULL,NULL,100,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL);
INSERT INTO run_origins VALUES(2,'default','{"issuer":"wopr:api-key","subjectId":"cfg78f56d5dfcc985efa94d1f04","tenant":"default","lane":"api-key","kind":"user"}',X'788ecc1c0516f20ca42a525c4edb4915442273b4593fa73f22e6f01db49f4a3c','{}',NULL,NULL,NULL,'rest',NULL,NULL,100,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL);
INSERT INTO run_origins VALUES(3,'default','{"issuer":"wopr:api-key","subjectId":"cfg78f56d5dfcc985efa94d1f04","tenant":"default","lane":"api-key","kind":"user"}',X'788ecc1c0516f20ca42a525c4edb4915442273b4593fa73f22e6f01db49f4a3c','{}',NULL,NULL,NULL,'rest',NULL,NULL,100,NULL,NULL,'run_01M81VS2BPB93Q50V1RXTBJGAX',4,0,0,2,2,5,1795359017337);
INSERT INTO run_origins VALUES(4,'default','{"issuer":"wopr:api-key","subjectId":"cfg78f56d5dfcc985efa94d1f04","tenant":"default","lane":"api-key","kind":"user"}',X'788ecc1c0516f20ca42a525c4edb4915442273b4593fa73f22e6f01db49f4a3c','{}',NULL,NULL,NULL,'rest',NULL,NULL,100,NULL,NULL,'run_01M81VS24HH3MNPG6P75EBWWNJ',0,0,0,1,1,14,NULL);
INSERT INTO run_origins VALUES(5,'default','{"issuer":"wopr:api-key","subjectId":"cfg78f56d5dfcc985efa94d1f04","tenant":"default","lane":"api-key","kind":"user"}',X'788ecc1c0516f20ca42a525c4edb4915442273b4593fa73f22e6f01db49f4a3c','{}',NULL,NULL,NULL,'rest',NULL,NULL,100,NULL,NULL,'run_01M81VS24HH3MNPG6P75EBWWNJ',1,0,0,1,1,14,1795359017105);
INSERT INTO run_origins VALUES(6,'default','{"issuer":"wopr:api-key","subjectId":"cfg78f56d5dfcc985efa94d1f04","tenant":"default","lane":"api-key","kind":"user"}',X'788ecc1c0516f20ca42a525c4edb4915442273b4593fa73f22e6f01db49f4a3c','{}',NULL,NULL,NULL,'rest',NULL,NULL,100,NULL,NULL,'run_01M81VS24HH3MNPG6P75EBWWNJ',5,0,0,1,1,14,1795359017113);
INSERT INTO run_origins VALUES(7,'default','{"issuer":"wopr:api-key","subjectId":"cfg78f56d5dfcc985efa94d1f04","tenant":"default","lane":"api-key","kind":"user"}',X'788ecc1c0516f20ca42a525c4edb4915442273b4593fa73f22e6f01db49f4a3c','{}',NULL,NULL,NULL,'rest',NULL,NULL,100,NULL,NULL,'run_01M81VS24HH3MNPG6P75EBWWNJ',9,0,0,1,1,14,1795359018824);
INSERT INTO run_origins VALUES(8,'default','{"issuer":"wopr:api-key","subjectId":"cfg78f56d5dfcc985efa94d1f04","tenant":"default","lane":"api-key","kind":"user"}',X'788ecc1c0516f20ca42a525c4edb4915442273b4593fa73f22e6f01db49f4a3c','{}',NULL,NULL,NULL,'rest',NULL,NULL,100,NULL,NULL,'run_01M81VS24HH3MNPG6P75EBWWNJ',7,0,0,2,1,14,1795359018824);
INSERT INTO run_origins VALUES(9,'default','{"issuer":"wopr:api-key","subjectId":"cfg78f56d5dfcc985efa94d1f04","tenant":"default","lane":"api-key","kind":"user"}',X'788ecc1c0516f20ca42a525c4edb4915442273b4593fa73f22e6f01db49f4a3c','{}',NULL,NULL,NULL,'rest',NULL,NULL,100,NULL,NULL,'run_01M81VS5B0SYVGXCDW89851R7Q',5,0,0,1,8,14,1795359017113);
INSERT INTO run_origins VALUES(10,'default','{"issuer":"wopr:api-key","subjectId":"cfg78f56d5dfcc985efa94d1f04","tenant":"default","lane":"api-key","kind":"user"}',X'788ecc1c0516f20ca42a525c4edb4915442273b4593fa73f22e6f01db49f4a3c','{}',NULL,NULL,NULL,'rest',NULL,NULL,100,NULL,NULL,'run_01M81VS35S338WQV35FKMGCSGT',3,0,0,2,3,5,1795359017337);
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
INSERT INTO events VALUES(1,0,0,1795359017105,NULL,NULL,1,1,0,NULL,'{"workflowId":"purchase","inputs":{},"transport":"rest","engineVersion":"1"}');
INSERT INTO events VALUES(1,1,8,1795359017112,'approve',NULL,1,1,0,NULL,'{"nodeId":"approve","typeId":"core.approvalGate","attempt":0}');
INSERT INTO events VALUES(1,2,21,1795359017113,'approve',NULL,1,1,0,NULL,'{"kind":"approval","key":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0","data":{"artifactId":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}');
INSERT INTO events VALUES(1,3,17,1795359017113,'approve',NULL,1,1,0,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","artifactId":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve","artifactType":"approval","title":"Buy it?","actions":["accept","reject"]}');
INSERT INTO events VALUES(1,4,11,1795359017113,'approve',2,1,1,0,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","kind":"approval","key":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0"}');
INSERT INTO events VALUES(1,5,22,1795359018824,'approve',2,1,1,0,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","kind":"approval","resumeValue":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"},"resolvedAt":"2026-11-22T14:50:18.824Z","resolvedBy":"cfg78f56d5dfcc985efa94d1f04"}');
INSERT INTO events VALUES(1,6,18,1795359018824,'approve',2,1,1,0,NULL,'{"nodeId":"approve","action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}');
INSERT INTO events VALUES(1,7,13,1795359018824,'approve',2,1,1,0,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","resumeValue":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}}');
INSERT INTO events VALUES(1,8,9,1795359018824,'approve',NULL,1,1,0,NULL,'{"nodeId":"approve","outputs":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"},"durationMs":1712}');
INSERT INTO events VALUES(1,9,15,1795359018824,'decline',NULL,1,1,0,NULL,'{"nodeId":"decline","reason":"condition-false"}');
INSERT INTO events VALUES(1,10,8,1795359018824,'order',NULL,1,1,0,NULL,'{"nodeId":"order","typeId":"core.setVariable","attempt":0}');
INSERT INTO events VALUES(1,11,26,1795359018824,'order',NULL,1,1,0,NULL,'{"name":"state","next":"ordered","nodeId":"order"}');
INSERT INTO events VALUES(1,12,9,1795359018824,'order',NULL,1,1,0,NULL,'{"nodeId":"order","outputs":{},"durationMs":0}');
INSERT INTO events VALUES(1,13,1,1795359018824,NULL,NULL,1,1,0,NULL,'{"outputs":{"order":{}},"durationMs":1719}');
INSERT INTO events VALUES(2,0,0,1795359017334,NULL,NULL,1,1,0,NULL,'{"workflowId":"purchase","inputs":{},"transport":"rest","engineVersion":"1"}');
INSERT INTO events VALUES(2,1,8,1795359017337,'approve',NULL,1,1,0,NULL,'{"nodeId":"approve","typeId":"core.approvalGate","attempt":0}');
INSERT INTO events VALUES(2,2,21,1795359017337,'approve',NULL,1,1,0,NULL,'{"kind":"approval","key":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve:0","data":{"artifactId":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}');
INSERT INTO events VALUES(2,3,17,1795359017337,'approve',NULL,1,1,0,NULL,'{"nodeId":"approve","interruptId":"int_976f38f8243a48e40294dd812b0d038a","artifactId":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve","artifactType":"approval","title":"Buy it?","actions":["accept","reject"]}');
INSERT INTO events VALUES(2,4,11,1795359017337,'approve',2,1,1,0,NULL,'{"nodeId":"approve","interruptId":"int_976f38f8243a48e40294dd812b0d038a","kind":"approval","key":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve:0"}');
INSERT INTO events VALUES(3,0,0,1795359017334,NULL,NULL,1,1,1,NULL,'{"workflowId":"purchase","inputs":{},"transport":"rest","engineVersion":"1"}');
INSERT INTO events VALUES(3,1,8,1795359017337,'approve',NULL,1,1,1,NULL,'{"nodeId":"approve","typeId":"core.approvalGate","attempt":0}');
INSERT INTO events VALUES(3,2,21,1795359017337,'approve',NULL,1,1,1,NULL,'{"kind":"approval","key":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve:0","data":{"artifactId":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}');
INSERT INTO events VALUES(3,3,17,1795359017337,'approve',NULL,1,1,1,NULL,'{"nodeId":"approve","interruptId":"int_976f38f8243a48e40294dd812b0d038a","artifactId":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve","artifactType":"approval","title":"Buy it?","actions":["accept","reject"]}');
INSERT INTO events VALUES(3,4,11,1795359018184,'approve',2,1,1,0,NULL,'{"nodeId":"approve","interruptId":"int_976f38f8243a48e40294dd812b0d038a","kind":"approval","key":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve:0"}');
INSERT INTO events VALUES(4,0,0,1795359017105,NULL,NULL,1,1,2,NULL,'{"workflowId":"purchase","inputs":{},"transport":"rest","engineVersion":"1"}');
INSERT INTO events VALUES(4,1,8,1795359017112,'approve',NULL,1,1,2,NULL,'{"nodeId":"approve","typeId":"core.approvalGate","attempt":0}');
INSERT INTO events VALUES(4,2,21,1795359017113,'approve',NULL,1,1,2,NULL,'{"kind":"approval","key":"run_01M81VS4B571JW3S68KXRTZ4DN:approve:0","data":{"artifactId":"run_01M81VS4B571JW3S68KXRTZ4DN:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}');
INSERT INTO events VALUES(4,3,17,1795359017113,'approve',NULL,1,1,2,NULL,'{"nodeId":"approve","interruptId":"int_1bc7b46ab519c357611e7e8b33b6324c","artifactId":"run_01M81VS4B571JW3S68KXRTZ4DN:approve","artifactType":"approval","title":"Buy it?","actions":["accept","reject"]}');
INSERT INTO events VALUES(4,4,11,1795359017113,'approve',2,1,1,2,NULL,'{"nodeId":"approve","interruptId":"int_1bc7b46ab519c357611e7e8b33b6324c","kind":"approval","key":"run_01M81VS4B571JW3S68KXRTZ4DN:approve:0"}');
INSERT INTO events VALUES(4,5,22,1795359018824,'approve',2,1,1,2,NULL,'{"nodeId":"approve","interruptId":"int_1bc7b46ab519c357611e7e8b33b6324c","kind":"approval","resumeValue":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"},"resolvedAt":"2026-11-22T14:50:18.824Z","resolvedBy":"cfg78f56d5dfcc985efa94d1f04"}');
INSERT INTO events VALUES(4,6,18,1795359018824,'approve',2,1,1,2,NULL,'{"nodeId":"approve","action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}');
INSERT INTO events VALUES(4,7,13,1795359018824,'approve',2,1,1,2,NULL,'{"nodeId":"approve","interruptId":"int_1bc7b46ab519c357611e7e8b33b6324c","resumeValue":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}}');
INSERT INTO events VALUES(4,8,9,1795359018824,'approve',NULL,1,1,2,NULL,'{"nodeId":"approve","outputs":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"},"durationMs":1712}');
INSERT INTO events VALUES(4,9,15,1795359018824,'decline',NULL,1,1,2,NULL,'{"nodeId":"decline","reason":"condition-false"}');
INSERT INTO events VALUES(4,10,8,1795359018824,'order',NULL,1,1,2,NULL,'{"nodeId":"order","typeId":"core.setVariable","attempt":0}');
INSERT INTO events VALUES(4,11,26,1795359018824,'order',NULL,1,1,2,NULL,'{"name":"state","next":"ordered","nodeId":"order"}');
INSERT INTO events VALUES(4,12,9,1795359018824,'order',NULL,1,1,2,NULL,'{"nodeId":"order","outputs":{},"durationMs":0}');
INSERT INTO events VALUES(4,13,1,1795359018824,NULL,NULL,1,1,2,NULL,'{"outputs":{"order":{}},"durationMs":1719}');
INSERT INTO events VALUES(5,0,0,1795359017105,NULL,NULL,1,1,1,NULL,'{"workflowId":"purchase","inputs":{},"transport":"rest","engineVersion":"1"}');
INSERT INTO events VALUES(5,1,8,1795359017112,'approve',NULL,1,1,2,NULL,'{"nodeId":"approve","typeId":"core.approvalGate","attempt":0}');
INSERT INTO events VALUES(5,2,21,1795359017113,'approve',NULL,1,1,2,NULL,'{"kind":"approval","key":"run_01M81VS4JFQ0TX5SSW7GXJ7PX0:approve:0","data":{"artifactId":"run_01M81VS4JFQ0TX5SSW7GXJ7PX0:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}');
INSERT INTO events VALUES(5,3,17,1795359017113,'approve',NULL,1,1,2,NULL,'{"nodeId":"approve","interruptId":"int_a1411e53d9532415a0f7742cbf86333b","artifactId":"run_01M81VS4JFQ0TX5SSW7GXJ7PX0:approve","artifactType":"approval","title":"Buy it?","actions":["accept","reject"]}');
INSERT INTO events VALUES(5,4,11,1795359017113,'approve',2,1,1,2,NULL,'{"nodeId":"approve","interruptId":"int_a1411e53d9532415a0f7742cbf86333b","kind":"approval","key":"run_01M81VS4JFQ0TX5SSW7GXJ7PX0:approve:0"}');
INSERT INTO events VALUES(5,5,22,1795359018824,'approve',2,1,1,2,NULL,'{"nodeId":"approve","interruptId":"int_a1411e53d9532415a0f7742cbf86333b","kind":"approval","resumeValue":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"},"resolvedAt":"2026-11-22T14:50:18.824Z","resolvedBy":"cfg78f56d5dfcc985efa94d1f04"}');
INSERT INTO events VALUES(5,6,18,1795359018824,'approve',2,1,1,2,NULL,'{"nodeId":"approve","action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}');
INSERT INTO events VALUES(5,7,13,1795359018824,'approve',2,1,1,2,NULL,'{"nodeId":"approve","interruptId":"int_a1411e53d9532415a0f7742cbf86333b","resumeValue":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}}');
INSERT INTO events VALUES(5,8,9,1795359018824,'approve',NULL,1,1,2,NULL,'{"nodeId":"approve","outputs":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"},"durationMs":1712}');
INSERT INTO events VALUES(5,9,15,1795359018824,'decline',NULL,1,1,2,NULL,'{"nodeId":"decline","reason":"condition-false"}');
INSERT INTO events VALUES(5,10,8,1795359018824,'order',NULL,1,1,2,NULL,'{"nodeId":"order","typeId":"core.setVariable","attempt":0}');
INSERT INTO events VALUES(5,11,26,1795359018824,'order',NULL,1,1,2,NULL,'{"name":"state","next":"ordered","nodeId":"order"}');
INSERT INTO events VALUES(5,12,9,1795359018824,'order',NULL,1,1,2,NULL,'{"nodeId":"order","outputs":{},"durationMs":0}');
INSERT INTO events VALUES(5,13,1,1795359018824,NULL,NULL,1,1,2,NULL,'{"outputs":{"order":{}},"durationMs":1719}');
INSERT INTO events VALUES(6,0,0,1795359017105,NULL,NULL,1,1,1,NULL,'{"workflowId":"purchase","inputs":{},"transport":"rest","engineVersion":"1"}');
INSERT INTO events VALUES(6,1,8,1795359017112,'approve',NULL,1,1,1,NULL,'{"nodeId":"approve","typeId":"core.approvalGate","attempt":0}');
INSERT INTO events VALUES(6,2,21,1795359017113,'approve',NULL,1,1,1,NULL,'{"kind":"approval","key":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0","data":{"artifactId":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}');
INSERT INTO events VALUES(6,3,17,1795359017113,'approve',NULL,1,1,1,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","artifactId":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve","artifactType":"approval","title":"Buy it?","actions":["accept","reject"]}');
INSERT INTO events VALUES(6,4,11,1795359017113,'approve',2,1,1,1,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","kind":"approval","key":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0"}');
INSERT INTO events VALUES(6,5,22,1795359018824,'approve',2,1,1,2,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","kind":"approval","resumeValue":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"},"resolvedAt":"2026-11-22T14:50:18.824Z","resolvedBy":"cfg78f56d5dfcc985efa94d1f04"}');
INSERT INTO events VALUES(6,6,18,1795359018824,'approve',2,1,1,2,NULL,'{"nodeId":"approve","action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}');
INSERT INTO events VALUES(6,7,13,1795359018824,'approve',2,1,1,2,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","resumeValue":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}}');
INSERT INTO events VALUES(6,8,9,1795359018824,'approve',NULL,1,1,2,NULL,'{"nodeId":"approve","outputs":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"},"durationMs":1712}');
INSERT INTO events VALUES(6,9,15,1795359018824,'decline',NULL,1,1,2,NULL,'{"nodeId":"decline","reason":"condition-false"}');
INSERT INTO events VALUES(6,10,8,1795359018824,'order',NULL,1,1,2,NULL,'{"nodeId":"order","typeId":"core.setVariable","attempt":0}');
INSERT INTO events VALUES(6,11,26,1795359018824,'order',NULL,1,1,2,NULL,'{"name":"state","next":"ordered","nodeId":"order"}');
INSERT INTO events VALUES(6,12,9,1795359018824,'order',NULL,1,1,2,NULL,'{"nodeId":"order","outputs":{},"durationMs":0}');
INSERT INTO events VALUES(6,13,1,1795359018824,NULL,NULL,1,1,2,NULL,'{"outputs":{"order":{}},"durationMs":1719}');
INSERT INTO events VALUES(7,0,0,1795359017105,NULL,NULL,1,1,1,NULL,'{"workflowId":"purchase","inputs":{},"transport":"rest","engineVersion":"1"}');
INSERT INTO events VALUES(7,1,8,1795359017112,'approve',NULL,1,1,1,NULL,'{"nodeId":"approve","typeId":"core.approvalGate","attempt":0}');
INSERT INTO events VALUES(7,2,21,1795359017113,'approve',NULL,1,1,1,NULL,'{"kind":"approval","key":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0","data":{"artifactId":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}');
INSERT INTO events VALUES(7,3,17,1795359017113,'approve',NULL,1,1,1,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","artifactId":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve","artifactType":"approval","title":"Buy it?","actions":["accept","reject"]}');
INSERT INTO events VALUES(7,4,11,1795359017113,'approve',2,1,1,1,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","kind":"approval","key":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0"}');
INSERT INTO events VALUES(7,5,22,1795359018824,'approve',2,1,1,1,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","kind":"approval","resumeValue":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"},"resolvedAt":"2026-11-22T14:50:18.824Z","resolvedBy":"cfg78f56d5dfcc985efa94d1f04"}');
INSERT INTO events VALUES(7,6,18,1795359018824,'approve',2,1,1,1,NULL,'{"nodeId":"approve","action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}');
INSERT INTO events VALUES(7,7,13,1795359018824,'approve',2,1,1,1,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","resumeValue":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}}');
INSERT INTO events VALUES(7,8,9,1795359018824,'approve',NULL,1,1,1,NULL,'{"nodeId":"approve","outputs":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"},"durationMs":1712}');
INSERT INTO events VALUES(7,9,15,1795359018824,'decline',NULL,1,1,2,NULL,'{"nodeId":"decline","reason":"condition-false"}');
INSERT INTO events VALUES(7,10,8,1795359018824,'order',NULL,1,1,2,NULL,'{"nodeId":"order","typeId":"core.setVariable","attempt":0}');
INSERT INTO events VALUES(7,11,26,1795359018824,'order',NULL,1,1,2,NULL,'{"name":"state","next":"ordered","nodeId":"order"}');
INSERT INTO events VALUES(7,12,9,1795359018824,'order',NULL,1,1,2,NULL,'{"nodeId":"order","outputs":{},"durationMs":0}');
INSERT INTO events VALUES(7,13,1,1795359018824,NULL,NULL,1,1,2,NULL,'{"outputs":{"order":{}},"durationMs":1719}');
INSERT INTO events VALUES(8,0,0,1795359017105,NULL,NULL,1,1,1,NULL,'{"workflowId":"purchase","inputs":{},"transport":"rest","engineVersion":"1"}');
INSERT INTO events VALUES(8,1,8,1795359017112,'approve',NULL,1,1,1,NULL,'{"nodeId":"approve","typeId":"core.approvalGate","attempt":0}');
INSERT INTO events VALUES(8,2,21,1795359017113,'approve',NULL,1,1,1,NULL,'{"kind":"approval","key":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0","data":{"artifactId":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}');
INSERT INTO events VALUES(8,3,17,1795359017113,'approve',NULL,1,1,1,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","artifactId":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve","artifactType":"approval","title":"Buy it?","actions":["accept","reject"]}');
INSERT INTO events VALUES(8,4,11,1795359017113,'approve',2,1,1,1,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","kind":"approval","key":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0"}');
INSERT INTO events VALUES(8,5,22,1795359018824,'approve',2,1,1,1,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","kind":"approval","resumeValue":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"},"resolvedAt":"2026-11-22T14:50:18.824Z","resolvedBy":"cfg78f56d5dfcc985efa94d1f04"}');
INSERT INTO events VALUES(8,6,18,1795359018824,'approve',2,1,1,1,NULL,'{"nodeId":"approve","action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}');
INSERT INTO events VALUES(8,7,13,1795359020404,'approve',2,1,1,0,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","resumeValue":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}}');
INSERT INTO events VALUES(8,8,9,1795359020405,'approve',NULL,1,1,0,NULL,'{"nodeId":"approve","outputs":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"},"durationMs":3293}');
INSERT INTO events VALUES(8,9,15,1795359020405,'decline',NULL,1,1,0,NULL,'{"nodeId":"decline","reason":"condition-false"}');
INSERT INTO events VALUES(8,10,8,1795359020405,'order',NULL,1,1,0,NULL,'{"nodeId":"order","typeId":"core.setVariable","attempt":0}');
INSERT INTO events VALUES(8,11,26,1795359020405,'order',NULL,1,1,0,NULL,'{"name":"state","next":"ordered","nodeId":"order"}');
INSERT INTO events VALUES(8,12,9,1795359020405,'order',NULL,1,1,0,NULL,'{"nodeId":"order","outputs":{},"durationMs":0}');
INSERT INTO events VALUES(8,13,1,1795359020405,NULL,NULL,1,1,0,NULL,'{"outputs":{"order":{}},"durationMs":3300}');
INSERT INTO events VALUES(9,0,0,1795359017105,NULL,NULL,1,1,1,NULL,'{"workflowId":"purchase","inputs":{},"transport":"rest","engineVersion":"1"}');
INSERT INTO events VALUES(9,1,8,1795359017112,'approve',NULL,1,1,1,NULL,'{"nodeId":"approve","typeId":"core.approvalGate","attempt":0}');
INSERT INTO events VALUES(9,2,21,1795359017113,'approve',NULL,1,1,1,NULL,'{"kind":"approval","key":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0","data":{"artifactId":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}');
INSERT INTO events VALUES(9,3,17,1795359017113,'approve',NULL,1,1,1,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","artifactId":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve","artifactType":"approval","title":"Buy it?","actions":["accept","reject"]}');
INSERT INTO events VALUES(9,4,11,1795359017113,'approve',2,1,1,1,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","kind":"approval","key":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0"}');
INSERT INTO events VALUES(9,5,22,1795359018824,'approve',2,1,1,2,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","kind":"approval","resumeValue":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"},"resolvedAt":"2026-11-22T14:50:18.824Z","resolvedBy":"cfg78f56d5dfcc985efa94d1f04"}');
INSERT INTO events VALUES(9,6,18,1795359018824,'approve',2,1,1,2,NULL,'{"nodeId":"approve","action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}');
INSERT INTO events VALUES(9,7,13,1795359020404,'approve',2,1,1,2,NULL,'{"nodeId":"approve","interruptId":"int_d136fa552e7d9e99fae73962f2cc7474","resumeValue":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}}');
INSERT INTO events VALUES(9,8,9,1795359020405,'approve',NULL,1,1,2,NULL,'{"nodeId":"approve","outputs":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"},"durationMs":3293}');
INSERT INTO events VALUES(9,9,15,1795359020405,'decline',NULL,1,1,2,NULL,'{"nodeId":"decline","reason":"condition-false"}');
INSERT INTO events VALUES(9,10,8,1795359020405,'order',NULL,1,1,2,NULL,'{"nodeId":"order","typeId":"core.setVariable","attempt":0}');
INSERT INTO events VALUES(9,11,26,1795359020405,'order',NULL,1,1,2,NULL,'{"name":"state","next":"ordered","nodeId":"order"}');
INSERT INTO events VALUES(9,12,9,1795359020405,'order',NULL,1,1,2,NULL,'{"nodeId":"order","outputs":{},"durationMs":0}');
INSERT INTO events VALUES(9,13,1,1795359020405,NULL,NULL,1,1,2,NULL,'{"outputs":{"order":{}},"durationMs":3300}');
INSERT INTO events VALUES(10,0,0,1795359017334,NULL,NULL,1,1,1,NULL,'{"workflowId":"purchase","inputs":{},"transport":"rest","engineVersion":"1"}');
INSERT INTO events VALUES(10,1,8,1795359017337,'approve',NULL,1,1,1,NULL,'{"nodeId":"approve","typeId":"core.approvalGate","attempt":0}');
INSERT INTO events VALUES(10,2,21,1795359017337,'approve',NULL,1,1,1,NULL,'{"kind":"approval","key":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve:0","data":{"artifactId":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}');
INSERT INTO events VALUES(10,3,17,1795359021908,'approve',2,1,1,0,NULL,'{"nodeId":"approve","interruptId":"int_976f38f8243a48e40294dd812b0d038a","artifactId":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve","artifactType":"approval","title":"Buy it?","actions":["accept","reject"]}');
INSERT INTO events VALUES(10,4,11,1795359021908,'approve',2,1,1,0,NULL,'{"nodeId":"approve","interruptId":"int_976f38f8243a48e40294dd812b0d038a","kind":"approval","key":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve:0"}');
CREATE TABLE node_states (
    run_no  INTEGER NOT NULL,
    node_id TEXT NOT NULL,
    state   TEXT NOT NULL,
    PRIMARY KEY (run_no, node_id)
) STRICT, WITHOUT ROWID;
INSERT INTO node_states VALUES(1,'approve','{"status":"completed","attempt":0,"startedAt":"2026-11-22T14:50:17.112Z","completedAt":"2026-11-22T14:50:18.824Z","outputs":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}}');
INSERT INTO node_states VALUES(1,'decline','{"status":"skipped","attempt":0,"completedAt":"2026-11-22T14:50:18.824Z"}');
INSERT INTO node_states VALUES(1,'order','{"status":"completed","attempt":0,"startedAt":"2026-11-22T14:50:18.824Z","completedAt":"2026-11-22T14:50:18.824Z","outputs":{}}');
INSERT INTO node_states VALUES(2,'approve','{"status":"suspended","attempt":0,"startedAt":"2026-11-22T14:50:17.337Z"}');
INSERT INTO node_states VALUES(3,'approve','{"status":"suspended","attempt":0,"startedAt":"2026-11-22T14:50:17.337Z"}');
INSERT INTO node_states VALUES(4,'approve','{"status":"completed","attempt":0,"startedAt":"2026-11-22T14:50:17.112Z","completedAt":"2026-11-22T14:50:18.824Z","outputs":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}}');
INSERT INTO node_states VALUES(4,'decline','{"status":"skipped","attempt":0,"completedAt":"2026-11-22T14:50:18.824Z"}');
INSERT INTO node_states VALUES(4,'order','{"status":"completed","attempt":0,"startedAt":"2026-11-22T14:50:18.824Z","completedAt":"2026-11-22T14:50:18.824Z","outputs":{}}');
INSERT INTO node_states VALUES(5,'approve','{"status":"completed","attempt":0,"startedAt":"2026-11-22T14:50:17.112Z","completedAt":"2026-11-22T14:50:18.824Z","outputs":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}}');
INSERT INTO node_states VALUES(5,'decline','{"status":"skipped","attempt":0,"completedAt":"2026-11-22T14:50:18.824Z"}');
INSERT INTO node_states VALUES(5,'order','{"status":"completed","attempt":0,"startedAt":"2026-11-22T14:50:18.824Z","completedAt":"2026-11-22T14:50:18.824Z","outputs":{}}');
INSERT INTO node_states VALUES(6,'approve','{"status":"completed","attempt":0,"startedAt":"2026-11-22T14:50:17.112Z","completedAt":"2026-11-22T14:50:18.824Z","outputs":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}}');
INSERT INTO node_states VALUES(6,'decline','{"status":"skipped","attempt":0,"completedAt":"2026-11-22T14:50:18.824Z"}');
INSERT INTO node_states VALUES(6,'order','{"status":"completed","attempt":0,"startedAt":"2026-11-22T14:50:18.824Z","completedAt":"2026-11-22T14:50:18.824Z","outputs":{}}');
INSERT INTO node_states VALUES(7,'approve','{"status":"completed","attempt":0,"startedAt":"2026-11-22T14:50:17.112Z","completedAt":"2026-11-22T14:50:18.824Z","outputs":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}}');
INSERT INTO node_states VALUES(7,'decline','{"status":"skipped","attempt":0,"completedAt":"2026-11-22T14:50:18.824Z"}');
INSERT INTO node_states VALUES(7,'order','{"status":"completed","attempt":0,"startedAt":"2026-11-22T14:50:18.824Z","completedAt":"2026-11-22T14:50:18.824Z","outputs":{}}');
INSERT INTO node_states VALUES(8,'approve','{"status":"completed","attempt":0,"startedAt":"2026-11-22T14:50:17.112Z","completedAt":"2026-11-22T14:50:20.405Z","outputs":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}}');
INSERT INTO node_states VALUES(8,'decline','{"status":"skipped","attempt":0,"completedAt":"2026-11-22T14:50:20.405Z"}');
INSERT INTO node_states VALUES(8,'order','{"status":"completed","attempt":0,"startedAt":"2026-11-22T14:50:20.405Z","completedAt":"2026-11-22T14:50:20.405Z","outputs":{}}');
INSERT INTO node_states VALUES(9,'approve','{"status":"completed","attempt":0,"startedAt":"2026-11-22T14:50:17.112Z","completedAt":"2026-11-22T14:50:20.405Z","outputs":{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}}');
INSERT INTO node_states VALUES(9,'decline','{"status":"skipped","attempt":0,"completedAt":"2026-11-22T14:50:20.405Z"}');
INSERT INTO node_states VALUES(9,'order','{"status":"completed","attempt":0,"startedAt":"2026-11-22T14:50:20.405Z","completedAt":"2026-11-22T14:50:20.405Z","outputs":{}}');
INSERT INTO node_states VALUES(10,'approve','{"status":"suspended","attempt":0,"startedAt":"2026-11-22T14:50:17.337Z"}');
CREATE TABLE run_vars (
    run_no INTEGER NOT NULL,
    name   TEXT NOT NULL,
    shown  TEXT NOT NULL,
    clear  TEXT, -- NULL when equal to shown
    PRIMARY KEY (run_no, name)
) STRICT, WITHOUT ROWID;
INSERT INTO run_vars VALUES(1,'item','"a pen"',NULL);
INSERT INTO run_vars VALUES(1,'state','"ordered"',NULL);
INSERT INTO run_vars VALUES(2,'item','"a pen"',NULL);
INSERT INTO run_vars VALUES(3,'item','"a pen"',NULL);
INSERT INTO run_vars VALUES(4,'item','"a pen"',NULL);
INSERT INTO run_vars VALUES(4,'state','"ordered"',NULL);
INSERT INTO run_vars VALUES(5,'item','"a pen"',NULL);
INSERT INTO run_vars VALUES(5,'state','"ordered"',NULL);
INSERT INTO run_vars VALUES(6,'item','"a pen"',NULL);
INSERT INTO run_vars VALUES(6,'state','"ordered"',NULL);
INSERT INTO run_vars VALUES(7,'item','"a pen"',NULL);
INSERT INTO run_vars VALUES(7,'state','"ordered"',NULL);
INSERT INTO run_vars VALUES(8,'item','"a pen"',NULL);
INSERT INTO run_vars VALUES(8,'state','"ordered"',NULL);
INSERT INTO run_vars VALUES(9,'item','"a pen"',NULL);
INSERT INTO run_vars VALUES(9,'state','"ordered"',NULL);
INSERT INTO run_vars VALUES(10,'item','"a pen"',NULL);
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
INSERT INTO interrupts VALUES('int_1bc7b46ab519c357611e7e8b33b6324c',4,'approve','run_01M81VS4B571JW3S68KXRTZ4DN:approve:0','approval',1,'{"kind":"approval","key":"run_01M81VS4B571JW3S68KXRTZ4DN:approve:0","data":{"artifactId":"run_01M81VS4B571JW3S68KXRTZ4DN:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}',NULL,NULL,1795359017113,NULL,2,5,1795359018824,'{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}','cfg78f56d5dfcc985efa94d1f04','accept',NULL,'replay',NULL,NULL,NULL,'default',1);
INSERT INTO interrupts VALUES('int_33dbaa6eed6e454f4d64a569127e0197',10,'approve','run_01M81VS2BPB93Q50V1RXTBJGAX:approve:0','approval',0,'{"kind":"approval","key":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve:0","data":{"artifactId":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}',NULL,NULL,1795359017337,NULL,2,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'default',1);
INSERT INTO interrupts VALUES('int_33f9b813c1331cf87370ef30882b14d0',3,'approve','run_01M81VS2BPB93Q50V1RXTBJGAX:approve:0','approval',0,'{"kind":"approval","key":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve:0","data":{"artifactId":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}',NULL,NULL,1795359017337,NULL,2,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'default',1);
INSERT INTO interrupts VALUES('int_47840f1d4b9221b8ff4004579e3bead3',7,'approve','run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0','approval',1,'{}',NULL,NULL,1795359017113,NULL,2,NULL,1795359018824,'{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}','cfg78f56d5dfcc985efa94d1f04','accept',NULL,'inherited',NULL,NULL,NULL,'default',1);
INSERT INTO interrupts VALUES('int_976f38f8243a48e40294dd812b0d038a',2,'approve','run_01M81VS2BPB93Q50V1RXTBJGAX:approve:0','approval',0,'{"kind":"approval","key":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve:0","data":{"artifactId":"run_01M81VS2BPB93Q50V1RXTBJGAX:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}',NULL,NULL,1795359017337,NULL,2,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'default',1);
INSERT INTO interrupts VALUES('int_a1411e53d9532415a0f7742cbf86333b',5,'approve','run_01M81VS4JFQ0TX5SSW7GXJ7PX0:approve:0','approval',1,'{"kind":"approval","key":"run_01M81VS4JFQ0TX5SSW7GXJ7PX0:approve:0","data":{"artifactId":"run_01M81VS4JFQ0TX5SSW7GXJ7PX0:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}',NULL,NULL,1795359017113,NULL,2,5,1795359018824,'{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}','cfg78f56d5dfcc985efa94d1f04','accept',NULL,'replay',NULL,NULL,NULL,'default',1);
INSERT INTO interrupts VALUES('int_d136fa552e7d9e99fae73962f2cc7474',1,'approve','run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0','approval',1,'{"kind":"approval","key":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0","data":{"artifactId":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}',NULL,NULL,1795359017113,NULL,2,5,1795359018824,'{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}','cfg78f56d5dfcc985efa94d1f04','accept',NULL,NULL,NULL,NULL,NULL,'default',1);
INSERT INTO interrupts VALUES('int_d9528503537555eee446abff2293862d',8,'approve','run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0','approval',1,'{}',NULL,NULL,1795359017113,NULL,2,NULL,1795359018824,'{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}','cfg78f56d5dfcc985efa94d1f04','accept',NULL,'inherited',NULL,NULL,NULL,'default',1);
INSERT INTO interrupts VALUES('int_da52f53c98c2fc5b2b70d173029c49be',9,'approve','run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0','approval',1,'{"kind":"approval","key":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0","data":{"artifactId":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}',NULL,NULL,1795359017113,NULL,2,5,1795359018824,'{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}','cfg78f56d5dfcc985efa94d1f04','accept',NULL,'replay',NULL,NULL,NULL,'default',1);
INSERT INTO interrupts VALUES('int_f81caf08994642ddd78404dbba193e46',6,'approve','run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0','approval',1,'{"kind":"approval","key":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve:0","data":{"artifactId":"run_01M81VS24HH3MNPG6P75EBWWNJ:approve","artifactType":"approval","title":"Buy it?","actions":["accept", "reject"]}}',NULL,NULL,1795359017113,NULL,2,5,1795359018824,'{"action":"accept","decidedBy":"cfg78f56d5dfcc985efa94d1f04","decidedAt":"2026-11-22T14:50:18.824Z"}','cfg78f56d5dfcc985efa94d1f04','accept',NULL,'replay',NULL,NULL,NULL,'default',1);
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
INSERT INTO workflow_texts VALUES(X'4fcce877048f0ae7059a212926d1b1230d42acc97932bdf3b353d97f6a2d1d65',replace('{\n  "id": "hello",\n  "name": "Hello",\n  "version": "1.0",\n  "description": "Greets whoever the input names.",\n  "nodes": [\n    {\n      "id": "greet", "typeId": "core.identity", "name": "Greet", "position": { "x": 0, "y": 0 }, "config": {},\n      "inputs": { "greeting": { "type": "expression", "expression": "''Hello, '' + variables.name + ''!''" } }\n    }\n  ],\n  "edges": [],\n  "triggers": [{ "id": "manual", "type": "manual", "enabled": true }],\n  "variables": [{ "name": "name", "type": "string", "required": true, "defaultValue": "world" }],\n  "metadata": { "tags": ["example"] },\n  "settings": { "timeout": 10000 }\n}\n','\n',char(10)));
INSERT INTO workflow_texts VALUES(X'68dc435699cb1fdef98a6941362ae837dbfeca1d01b589f35f57e094deb0426f',replace('{\n  "id": "router",\n  "name": "Router",\n  "version": "1.0",\n  "description": "Routes an order by its amount: conditions on edges, one branch runs, the other is skipped.",\n  "nodes": [\n    { "id": "check", "typeId": "core.conditional", "name": "Check", "position": { "x": 0, "y": 0 }, "config": {}, "inputs": {} },\n    { "id": "small", "typeId": "core.setVariable", "name": "Small order", "position": { "x": 1, "y": 0 }, "config": { "name": "lane", "value": "express" }, "inputs": {} },\n    { "id": "large", "typeId": "core.setVariable", "name": "Large order", "position": { "x": 1, "y": 1 }, "config": { "name": "lane", "value": "review" }, "inputs": {} },\n    { "id": "done", "typeId": "core.merge", "name": "Done", "position": { "x": 2, "y": 0 }, "config": {}, "inputs": {} }\n  ],\n  "edges": [\n    { "id": "e1", "sourceNodeId": "check", "targetNodeId": "small", "condition": { "type": "expression", "expression": "variables.amount < 100" } },\n    { "id": "e2", "sourceNodeId": "check", "targetNodeId": "large", "condition": { "type": "expression", "expression": "variables.amount >= 100" } },\n    { "id": "e3", "sourceNodeId": "small", "targetNodeId": "done", "triggerRule": "none_failed" },\n    { "id": "e4", "sourceNodeId": "large", "targetNodeId": "done", "triggerRule": "none_failed" }\n  ],\n  "triggers": [{ "id": "manual", "type": "manual", "enabled": true }],\n  "variables": [\n    { "name": "amount", "type": "number", "required": true },\n    { "name": "lane", "type": "string" }\n  ],\n  "metadata": { "tags": ["example"] },\n  "settings": { "timeout": 10000 }\n}\n','\n',char(10)));
INSERT INTO workflow_texts VALUES(X'788ecc1c0516f20ca42a525c4edb4915442273b4593fa73f22e6f01db49f4a3c',replace('{\n  "id": "purchase",\n  "name": "Purchase",\n  "version": "1.0",\n  "description": "A person approves or rejects; the workflow waits as long as it takes, and routes by the decision.",\n  "nodes": [\n    {\n      "id": "approve", "typeId": "core.approvalGate", "name": "Approve", "position": { "x": 0, "y": 0 },\n      "config": { "title": "Buy it?", "actions": ["accept", "reject"] }, "inputs": {}\n    },\n    { "id": "order", "typeId": "core.setVariable", "name": "Order", "position": { "x": 1, "y": 0 }, "config": { "name": "state", "value": "ordered" }, "inputs": {} },\n    { "id": "decline", "typeId": "core.setVariable", "name": "Decline", "position": { "x": 1, "y": 1 }, "config": { "name": "state", "value": "declined" }, "inputs": {} }\n  ],\n  "edges": [\n    { "id": "e1", "sourceNodeId": "approve", "targetNodeId": "order", "condition": { "type": "equals", "left": "output.action", "right": "accept" } },\n    { "id": "e2", "sourceNodeId": "approve", "targetNodeId": "decline", "condition": { "type": "equals", "left": "output.action", "right": "reject" } }\n  ],\n  "triggers": [{ "id": "manual", "type": "manual", "enabled": true }],\n  "variables": [{ "name": "item", "type": "string", "required": true, "defaultValue": "a pen" }, { "name": "state", "type": "string" }],\n  "metadata": { "tags": ["example"] },\n  "settings": { "timeout": 0 }\n}\n','\n',char(10)));
INSERT INTO workflow_texts VALUES(X'a627c04eac66aee5e95637924a9445d5dcba8f00e6eb11e12b432e38f6aa5187',replace('{\n  "id": "slow-pipeline",\n  "name": "Slow pipeline",\n  "version": "1.0",\n  "description": "Three steps with a wait in the middle: start it, tail it, kill the host, start the host again.",\n  "nodes": [\n    { "id": "prepare", "typeId": "core.setVariable", "name": "Prepare", "position": { "x": 0, "y": 0 }, "config": { "name": "stage", "value": "prepared" }, "inputs": {} },\n    {\n      "id": "wait", "typeId": "core.delay", "name": "Wait", "position": { "x": 1, "y": 0 }, "config": {},\n      "inputs": { "delayMs": { "type": "variable", "variableName": "delayMs" } }\n    },\n    { "id": "finish", "typeId": "core.setVariable", "name": "Finish", "position": { "x": 2, "y": 0 }, "config": { "name": "stage", "value": "finished" }, "inputs": {} }\n  ],\n  "edges": [\n    { "id": "e1", "sourceNodeId": "prepare", "targetNodeId": "wait" },\n    { "id": "e2", "sourceNodeId": "wait", "targetNodeId": "finish" }\n  ],\n  "triggers": [{ "id": "manual", "type": "manual", "enabled": true }],\n  "variables": [\n    { "name": "delayMs", "type": "number", "required": true, "defaultValue": 5000 },\n    { "name": "stage", "type": "string", "defaultValue": "new" }\n  ],\n  "metadata": { "tags": ["example"] },\n  "settings": { "timeout": 120000 }\n}\n','\n',char(10)));
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
INSERT INTO workflows VALUES('hello','',2,X'4fcce877048f0ae7059a212926d1b1230d42acc97932bdf3b353d97f6a2d1d65','1.0',1795359016980,1795359016980);
INSERT INTO workflows VALUES('purchase','',2,X'788ecc1c0516f20ca42a525c4edb4915442273b4593fa73f22e6f01db49f4a3c','1.0',1795359016992,1795359016992);
INSERT INTO workflows VALUES('router','',2,X'68dc435699cb1fdef98a6941362ae837dbfeca1d01b589f35f57e094deb0426f','1.0',1795359016992,1795359016992);
INSERT INTO workflows VALUES('slow-pipeline','',2,X'a627c04eac66aee5e95637924a9445d5dcba8f00e6eb11e12b432e38f6aa5187','1.0',1795359017002,1795359017002);
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
INSERT INTO api_keys VALUES('cfg78f56d5dfcc985efa94d1f04',X'78f56d5dfcc985efa94d1f04371d47495fc9d85bea738a10c5714b63acf5b617','default','default','wopr:api-key','cfg78f56d5dfcc985efa94d1f04','service','api-key','configured',4095,1,1795359016980,0,0,1);
CREATE TABLE token_secrets (
    kid        TEXT PRIMARY KEY,
    secret     BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    retired_ms INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO token_secrets VALUES('01M81VS20M9T8HY3NQ2PQT3QQD',X'530a27a85404dcbbfc60b85be7bd98db86a7b6d76622a01b5749312a57910db0',1795359016980,NULL);
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
INSERT INTO tenant_usage VALUES('default',10,3,21618);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('runs',10);
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
