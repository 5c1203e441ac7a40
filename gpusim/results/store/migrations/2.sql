CREATE TABLE sweeps (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    hash TEXT NOT NULL,
    sources TEXT NOT NULL,
    title TEXT NOT NULL,
    specification TEXT NOT NULL,
    points INTEGER NOT NULL,
    started TEXT NOT NULL,
    UNIQUE (hash, sources)
);

ALTER TABLE runs ADD COLUMN sweep INTEGER REFERENCES sweeps (id);

CREATE TABLE points (
    sweep INTEGER NOT NULL REFERENCES sweeps (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    PRIMARY KEY (sweep, number)
) WITHOUT ROWID;
CREATE INDEX points_by_run ON points (run);

CREATE TABLE axes (
    sweep INTEGER NOT NULL REFERENCES sweeps (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    number INTEGER NOT NULL,
    value,
    PRIMARY KEY (sweep, path, number)
) WITHOUT ROWID;

CREATE INDEX metric_values_by_subject ON metric_values (subject);
