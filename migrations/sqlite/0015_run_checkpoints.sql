-- Images of folded states (domain/state_save.h), so that loading or forking a long run folds the rest
-- only.  None is a fact: a run without them is folded from its log.
CREATE TABLE run_checkpoints (
    run_no INTEGER NOT NULL,
    seq    INTEGER NOT NULL CHECK (seq > 0), -- events folded: the state expects this one next
    image  BLOB NOT NULL,
    PRIMARY KEY (run_no, seq)
) STRICT;
