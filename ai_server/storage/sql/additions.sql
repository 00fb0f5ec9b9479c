-- Tables that came after the first schema and change nothing of it; run at every opening, in both dialects.

CREATE TABLE IF NOT EXISTS leases (
    name  TEXT NOT NULL CONSTRAINT leases_one_each PRIMARY KEY,
    owner TEXT NOT NULL,
    until BIGINT NOT NULL
);

-- Folders that came with a sync and that no settings declare: remembered, so that a lost index is built again.
CREATE TABLE IF NOT EXISTS sources (
    project_id TEXT NOT NULL,
    source_id  TEXT NOT NULL,
    root       TEXT NOT NULL,
    defaults   TEXT NOT NULL,
    key_map    TEXT NOT NULL,
    CONSTRAINT sources_one_each PRIMARY KEY (project_id, source_id)
);
