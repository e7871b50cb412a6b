-- The AgentRef of a run's supervisor, shown as runOrchestrator (AGT-5).  NULL: the run has none.
ALTER TABLE runs ADD COLUMN orchestrator TEXT;
