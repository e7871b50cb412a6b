-- Sub-workflows (WF-45..51).  child_depth: 0 = nobody's child.  child_flags: 1 the parent's node waits
-- for the end, 2 the child does not end with its parent.  run_origins_by_parent finds the children.
ALTER TABLE run_origins ADD COLUMN child_depth INTEGER NOT NULL DEFAULT 0
    CHECK (child_depth BETWEEN 0 AND 100);
ALTER TABLE run_origins ADD COLUMN child_flags INTEGER NOT NULL DEFAULT 0;
