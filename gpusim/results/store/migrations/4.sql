CREATE TABLE migrations (
    version INTEGER PRIMARY KEY,
    applied TEXT NOT NULL,
    gpusim TEXT NOT NULL
);

CREATE TABLE configurations (
    hash TEXT PRIMARY KEY,
    json TEXT NOT NULL
);

CREATE TABLE networks (
    id INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    source TEXT NOT NULL
);

CREATE TABLE layers (
    id INTEGER PRIMARY KEY,
    network INTEGER NOT NULL REFERENCES networks (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    UNIQUE (network, name)
);

CREATE TABLE sweeps (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    hash TEXT NOT NULL,
    sources TEXT NOT NULL,
    title TEXT NOT NULL,
    specification TEXT NOT NULL,
    points INTEGER NOT NULL,
    started TEXT NOT NULL,
    name TEXT,
    UNIQUE (hash, sources)
);
CREATE UNIQUE INDEX sweeps_by_name ON sweeps (name);

CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT UNIQUE,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    state TEXT NOT NULL,
    exit_code INTEGER NOT NULL,
    error TEXT,
    started TEXT NOT NULL,
    ended TEXT NOT NULL,
    wall_s REAL NOT NULL,
    host TEXT NOT NULL,
    command TEXT NOT NULL,
    folder TEXT NOT NULL,
    gpusim TEXT NOT NULL,
    sources TEXT NOT NULL,
    configuration TEXT NOT NULL REFERENCES configurations (hash),
    inputs TEXT NOT NULL,
    work TEXT NOT NULL,
    gpu TEXT NOT NULL,
    seed INTEGER,
    network INTEGER REFERENCES networks (id),
    batch INTEGER,
    phase TEXT,
    sweep INTEGER REFERENCES sweeps (id)
);
CREATE INDEX runs_by_work ON runs (work);
CREATE INDEX runs_by_configuration ON runs (configuration);

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

CREATE TABLE results (
    run INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    content BLOB NOT NULL
);

CREATE TABLE launches (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    variant TEXT NOT NULL,
    layer INTEGER REFERENCES layers (id),
    pass TEXT,
    kernel TEXT NOT NULL,
    invocation INTEGER NOT NULL,
    of_kernel INTEGER NOT NULL,
    simulated INTEGER NOT NULL
);
CREATE INDEX launches_by_run ON launches (run);
CREATE INDEX launches_by_layer ON launches (layer, kernel);

CREATE TABLE subjects (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    variant TEXT NOT NULL,
    layer INTEGER REFERENCES layers (id),
    pass TEXT,
    launch INTEGER REFERENCES launches (id) ON DELETE CASCADE
);
CREATE INDEX subjects_by_run ON subjects (run);
CREATE INDEX subjects_by_launch ON subjects (launch);

CREATE TABLE metric_names (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    definition TEXT NOT NULL,
    UNIQUE (name, unit, definition)
);

CREATE TABLE metric_values (
    metric INTEGER NOT NULL REFERENCES metric_names (id),
    subject INTEGER NOT NULL,
    value NOT NULL,
    half_width REAL,
    PRIMARY KEY (metric, subject)
) WITHOUT ROWID;
CREATE INDEX metric_values_by_subject ON metric_values (subject);

CREATE TABLE launch_classes (
    key TEXT PRIMARY KEY,
    kernel TEXT NOT NULL,
    facts BLOB NOT NULL
) WITHOUT ROWID;

CREATE VIEW metrics AS
SELECT
    subjects.run AS run,
    subjects.variant AS variant,
    layers.name AS layer,
    subjects.pass AS pass,
    subjects.launch AS launch,
    metric_names.name AS name,
    metric_values.value AS value,
    metric_names.unit AS unit,
    metric_values.half_width AS half_width
FROM metric_names
JOIN metric_values ON metric_values.metric = metric_names.id
JOIN subjects ON subjects.id = metric_values.subject
LEFT JOIN layers ON layers.id = subjects.layer;

CREATE VIEW run_metrics AS
SELECT
    subjects.run AS run,
    subjects.variant AS variant,
    metric_names.name AS name,
    metric_values.value AS value,
    metric_names.unit AS unit,
    metric_values.half_width AS half_width
FROM metric_names
JOIN metric_values ON metric_values.metric = metric_names.id
JOIN subjects ON subjects.id = metric_values.subject
WHERE subjects.layer IS NULL AND subjects.launch IS NULL;
