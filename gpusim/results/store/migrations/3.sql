ALTER TABLE sweeps ADD COLUMN name TEXT;
CREATE UNIQUE INDEX sweeps_by_name ON sweeps (name);
