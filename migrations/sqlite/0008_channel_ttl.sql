-- Channels say how long their entries live, so that a snapshot of a live run can leave out what has
-- expired since the last write without folding the log (CHAN-16, CHAN-17).  0 = for ever.
ALTER TABLE run_channels ADD COLUMN ttl_ms INTEGER NOT NULL DEFAULT 0;
