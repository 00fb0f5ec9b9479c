-- Tables that came after the first schema and change nothing of it; run at every opening, in both dialects.

CREATE TABLE IF NOT EXISTS leases (
    name  TEXT NOT NULL CONSTRAINT leases_one_each PRIMARY KEY,
    owner TEXT NOT NULL,
    until BIGINT NOT NULL
);
