-- Webhooks: subscriptions, and a cursor of each over the commits of its tenant (src/hooks/DESIGN.md).
-- The first design had one outbox row for each event and subscription; no program ever used it.
DROP TABLE outbox;
DROP TABLE webhooks;

CREATE TABLE webhooks (
    hook_no       INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook_id    TEXT NOT NULL UNIQUE,
    tenant        TEXT NOT NULL,
    test_mode     INTEGER NOT NULL,
    created_major INTEGER NOT NULL,
    url           TEXT NOT NULL,
    kinds         INTEGER NOT NULL, -- bit set by event kind
    events        TEXT NOT NULL, -- names as registered, JSON array
    tags          TEXT, -- JSON array, NULL = all runs
    secret_box    BLOB NOT NULL, -- sealed with a data key (seal_keys)
    secret_key_no INTEGER NOT NULL,
    fingerprint   TEXT NOT NULL, -- of the secret
    created_by    TEXT,
    created_ms    INTEGER NOT NULL,
    idem_key      BLOB, -- the request that made it, for its repetition
    idem_digest   BLOB,
    idem_until_ms INTEGER,
    stopped       INTEGER NOT NULL DEFAULT 0 -- 1: failed too often, nothing is delivered any more
) STRICT;
CREATE INDEX webhooks_by_tenant ON webhooks (tenant, test_mode, hook_no);
CREATE UNIQUE INDEX webhooks_by_idem ON webhooks (idem_key) WHERE idem_key IS NOT NULL;
CREATE INDEX webhooks_by_seal ON webhooks (secret_key_no);

-- What changes with deliveries.
CREATE TABLE webhook_states (
    hook_no         INTEGER PRIMARY KEY,
    next_move       INTEGER NOT NULL, -- the commit that is next ...
    next_seq        INTEGER NOT NULL, -- ... and the first sequence in it that is left
    attempts        INTEGER NOT NULL DEFAULT 0, -- of that event
    next_attempt_ms INTEGER NOT NULL DEFAULT 0,
    failures        INTEGER NOT NULL DEFAULT 0, -- in a row
    failures_total  INTEGER NOT NULL DEFAULT 0,
    open_until_ms   INTEGER NOT NULL DEFAULT 0, -- circuit breaker; 0 = closed
    delivered       INTEGER NOT NULL DEFAULT 0,
    dead            INTEGER NOT NULL DEFAULT 0,
    dropped         INTEGER NOT NULL DEFAULT 0, -- commits beyond the backlog
    last_status     INTEGER NOT NULL DEFAULT 0,
    last_error      TEXT,
    last_ms         INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Times of the last failures, a ring: slot = number modulo 100 (HOOK-15).
CREATE TABLE webhook_failures (
    hook_no INTEGER NOT NULL,
    slot    INTEGER NOT NULL,
    at_ms   INTEGER NOT NULL,
    PRIMARY KEY (hook_no, slot)
) STRICT, WITHOUT ROWID;

-- One row for each commit with events that a subscription of the tenant may want, written in the
-- transaction of these events.
CREATE TABLE webhook_moves (
    move_no   INTEGER PRIMARY KEY, -- the last row is never deleted, so no number is given twice
    tenant    TEXT NOT NULL,
    test_mode INTEGER NOT NULL,
    run_no    INTEGER NOT NULL,
    from_seq  INTEGER NOT NULL,
    until_seq INTEGER NOT NULL,
    kinds     INTEGER NOT NULL, -- of its events
    at_ms     INTEGER NOT NULL,
    hook_no   INTEGER -- of one subscription only: a dead letter that is tried again
) STRICT;
CREATE INDEX webhook_moves_by_tenant ON webhook_moves (tenant, test_mode, move_no);

CREATE TABLE webhook_dead (
    dead_no    INTEGER PRIMARY KEY AUTOINCREMENT,
    hook_no    INTEGER NOT NULL,
    run_no     INTEGER NOT NULL,
    run_id     TEXT, -- NULL: the run is gone
    seq        INTEGER NOT NULL,
    until_seq  INTEGER NOT NULL, -- more than seq + 1 when the run is gone
    event_type TEXT,
    attempts   INTEGER NOT NULL,
    status     INTEGER NOT NULL, -- of the last answer, 0 = none
    reason     TEXT NOT NULL,
    dead_ms    INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX webhook_dead_by_hook ON webhook_dead (hook_no, dead_no);
CREATE INDEX webhook_dead_by_expiry ON webhook_dead (expires_ms);

-- Which host delivers, and how often subscriptions were added, removed or woken.
CREATE TABLE webhook_lease (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    holder_no INTEGER NOT NULL,
    epoch     INTEGER NOT NULL,
    changes   INTEGER NOT NULL
) STRICT;
INSERT INTO webhook_lease (id, holder_no, epoch, changes) VALUES (1, 0, 0, 0);
