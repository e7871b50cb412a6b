-- What a run exchanges with the outside: waits, effects, answers, deliveries, artifacts.

-- Suspension records (STORE-8, D44).  state: 0 pending, 1 resumed, 2 rejected, 3 timed out.
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
    project_id    TEXT,
    UNIQUE (run_no, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX interrupts_pending ON interrupts (timeout_at_ms) WHERE state = 0;

-- Outside effects, recorded before a node sees their outcome (STORE-42, D55).  The claim key holds
-- no attempt; invocation_id (IDEM-16) does and is kept beside it.
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
CREATE INDEX effects_by_run ON effects (run_no, node_id);
CREATE INDEX effects_by_invocation ON effects (invocation_id) WHERE invocation_id IS NOT NULL;
CREATE INDEX effects_by_expiry ON effects (expires_ms);

-- Stored responses (IDEM-4, D51).  state: 0 in flight, 1 final.
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
CREATE INDEX idempotency_by_expiry ON idempotency (expires_ms);

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
CREATE INDEX webhooks_by_tenant ON webhooks (tenant, test_mode);

-- Deliveries, inserted with the events they carry (D31, D60).
-- state: 0 pending, 1 leased, 2 done, 3 dead.
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
CREATE INDEX outbox_by_run ON outbox (run_no);
CREATE INDEX outbox_due ON outbox (next_attempt_ms) WHERE state < 2;
CREATE INDEX outbox_by_expiry ON outbox (expires_ms) WHERE state >= 2;

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

-- Content-addressed: the key is the SHA-256 of body.
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
CREATE INDEX run_snapshots_by_hash ON run_snapshots (hash);
