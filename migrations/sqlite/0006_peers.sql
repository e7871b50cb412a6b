-- Several hosts on one file (STORE-30 to STORE-36).

-- A lease goes on while its holder's beat counts up: readers compare it with what they saw a ttl of
-- their own monotonic clock ago, so that no wall clock decides.  until_ms is shown only; 0 = given
-- back.
ALTER TABLE holders ADD COLUMN beat INTEGER NOT NULL DEFAULT 0;
ALTER TABLE holders ADD COLUMN ttl_ms INTEGER NOT NULL DEFAULT 30000;

-- Who asks the holder of a run to hand it over.  The last one to ask gets it.
CREATE TABLE lease_wants (
    run_no    INTEGER PRIMARY KEY,
    holder_no INTEGER NOT NULL
) STRICT;

-- What other hosts are to look at: one row for each transaction that moved runs while other hosts
-- were alive.  runs: pairs of little-endian 64-bit numbers, run_no and its next_seq (-1: the lease
-- moved); empty: a host gave all its leases back.  The newest row is never deleted, so numbers only
-- grow.
CREATE TABLE peer_moves (
    move_no   INTEGER PRIMARY KEY,
    holder_no INTEGER NOT NULL,
    runs      BLOB NOT NULL
) STRICT;
