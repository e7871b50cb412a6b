-- Waiting runs are in nobody's memory; their deadlines are found here (STORE-9, STORE-35).  5 = TIMER_INTERRUPT.
CREATE INDEX timers_interrupts ON timers (fire_at_ms) WHERE kind = 5;
-- The operator's list of what waits, oldest first (INT-47).
CREATE INDEX interrupts_waiting ON interrupts (requested_ms, interrupt_id) WHERE state = 0;
