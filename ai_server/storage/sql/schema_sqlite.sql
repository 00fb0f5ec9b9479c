-- The state store on SQLite. Instants are microseconds since 1970 UTC, money is nanodollars, flags are 0 or 1.
-- Rules stand here as CHECK, UNIQUE and triggers; their names are mapped to domain errors in constraints.py.

CREATE TABLE budgets (
    budget_id      INTEGER PRIMARY KEY,
    kind           TEXT NOT NULL CONSTRAINT budgets_kind CHECK (kind IN ('global', 'project', 'assistant', 'user')),
    project_id     TEXT NOT NULL,
    assistant      TEXT NOT NULL,
    user_name      TEXT NOT NULL,
    period         TEXT NOT NULL CONSTRAINT budgets_period CHECK (period IN ('daily', 'monthly')),
    limit_nanousd  INTEGER NOT NULL
        CONSTRAINT budgets_limit CHECK (limit_nanousd BETWEEN 0 AND 4611686018427387904),
    time_zone      TEXT NOT NULL,
    alert_share    REAL NOT NULL CONSTRAINT budgets_alert_share CHECK (alert_share >= 0 AND alert_share <= 1),
    overrun_at     INTEGER,
    changed_at     INTEGER NOT NULL,
    CONSTRAINT budgets_one_each UNIQUE (kind, project_id, assistant, user_name, period)
) STRICT;

-- One row for each window of a budget that was ever charged. The four sums are derived from the entries in the
-- transaction that adds them; the audit recomputes them.
CREATE TABLE windows (
    window_id         INTEGER PRIMARY KEY,
    budget_id         INTEGER NOT NULL REFERENCES budgets (budget_id),
    starts_at         INTEGER NOT NULL,
    ends_at           INTEGER NOT NULL,
    settled_nanousd   INTEGER NOT NULL DEFAULT 0,
    open_nanousd      INTEGER NOT NULL DEFAULT 0,
    held_nanousd      INTEGER NOT NULL DEFAULT 0,
    estimated_nanousd INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT windows_span CHECK (starts_at < ends_at),
    CONSTRAINT windows_sums CHECK (
        settled_nanousd BETWEEN 0 AND 4611686018427387904
        AND open_nanousd BETWEEN 0 AND 4611686018427387904
        AND held_nanousd BETWEEN 0 AND open_nanousd
        AND estimated_nanousd BETWEEN 0 AND settled_nanousd
    ),
    CONSTRAINT windows_one_each UNIQUE (budget_id, starts_at)
) STRICT;
CREATE INDEX windows_by_end ON windows (ends_at);

CREATE TABLE reservations (
    number          INTEGER PRIMARY KEY,
    reservation_id  TEXT NOT NULL CONSTRAINT reservations_id UNIQUE,
    key             TEXT NOT NULL CONSTRAINT reservations_key UNIQUE,
    project_id      TEXT NOT NULL,
    assistant       TEXT NOT NULL,
    user_name       TEXT NOT NULL,
    operation       TEXT NOT NULL,
    provider        TEXT NOT NULL,
    model           TEXT NOT NULL,
    service_tier    TEXT NOT NULL,
    price_version   TEXT NOT NULL,
    ceiling_nanousd INTEGER NOT NULL
        CONSTRAINT reservations_ceiling CHECK (ceiling_nanousd BETWEEN 0 AND 1000000000000000),
    created_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX reservations_by_project ON reservations (project_id, number);

-- Which windows a reservation takes from, fixed at admission.
CREATE TABLE charges (
    number    INTEGER NOT NULL REFERENCES reservations (number),
    window_id INTEGER NOT NULL REFERENCES windows (window_id),
    CONSTRAINT charges_once PRIMARY KEY (number, window_id)
) STRICT, WITHOUT ROWID;

-- The ledger proper: append-only, each entry chained to the one before by `digest`.
CREATE TABLE entries (
    entry_number    INTEGER PRIMARY KEY,
    number          INTEGER NOT NULL REFERENCES reservations (number),
    kind            TEXT NOT NULL CONSTRAINT entries_kind CHECK (kind IN ('reserve', 'hold', 'settle', 'void')),
    amount_nanousd  INTEGER NOT NULL
        CONSTRAINT entries_amount CHECK (amount_nanousd BETWEEN 0 AND 1000000000000000),
    overrun_nanousd INTEGER NOT NULL CONSTRAINT entries_overrun CHECK (overrun_nanousd BETWEEN 0 AND amount_nanousd),
    estimated       INTEGER NOT NULL CONSTRAINT entries_estimated CHECK (estimated IN (0, 1)),
    usage           TEXT,
    reason          TEXT NOT NULL,
    at              INTEGER NOT NULL,
    digest          BLOB NOT NULL,
    CONSTRAINT entries_void_costs_nothing CHECK (kind <> 'void' OR amount_nanousd = 0)
) STRICT;
CREATE UNIQUE INDEX entries_one_of_a_kind ON entries (number, kind);
CREATE INDEX entries_ended ON entries (kind, number) WHERE kind IN ('settle', 'void');
CREATE UNIQUE INDEX entries_one_resolution ON entries (number) WHERE kind IN ('settle', 'void');

-- Reservations not yet settled or voided: the only mutable view of them, audited against the entries.
CREATE TABLE open_reservations (
    number   INTEGER PRIMARY KEY REFERENCES reservations (number),
    held     INTEGER NOT NULL CONSTRAINT open_held CHECK (held IN (0, 1)),
    instance INTEGER NOT NULL
) STRICT;

CREATE TRIGGER entries_never_change BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'ledger_is_append_only'); END;
CREATE TRIGGER entries_never_go BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'ledger_is_append_only'); END;
CREATE TRIGGER reservations_never_change BEFORE UPDATE ON reservations
BEGIN SELECT RAISE(ABORT, 'ledger_is_append_only'); END;
CREATE TRIGGER reservations_never_go BEFORE DELETE ON reservations
BEGIN SELECT RAISE(ABORT, 'ledger_is_append_only'); END;

CREATE TABLE requests (
    client      TEXT NOT NULL,
    key         TEXT NOT NULL,
    body_digest BLOB NOT NULL,
    turn_id     TEXT NOT NULL,
    owner       TEXT NOT NULL,
    instance    INTEGER NOT NULL,
    result      BLOB,
    created_at  INTEGER NOT NULL,
    CONSTRAINT requests_one_each PRIMARY KEY (client, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX requests_running ON requests (created_at) WHERE result IS NULL;
CREATE INDEX requests_by_age ON requests (created_at);

CREATE TABLE journal (
    line_number INTEGER PRIMARY KEY,
    turn_id     TEXT NOT NULL CONSTRAINT journal_one_a_turn UNIQUE,
    project_id  TEXT NOT NULL,
    client      TEXT NOT NULL,
    key         TEXT NOT NULL,
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER NOT NULL,
    body        TEXT NOT NULL CONSTRAINT journal_body CHECK (length(CAST(body AS BLOB)) <= 262144)
) STRICT;
CREATE INDEX journal_by_key ON journal (project_id, client, key, line_number);

CREATE TABLE documents (
    project_id      TEXT NOT NULL,
    source_id       TEXT NOT NULL,
    path            TEXT NOT NULL,
    status          TEXT NOT NULL,
    reason          TEXT NOT NULL,
    content_sha256  BLOB NOT NULL,
    settings_sha256 BLOB NOT NULL,
    title           TEXT NOT NULL,
    language        TEXT NOT NULL,
    metadata        TEXT NOT NULL,
    chunk_ids       TEXT NOT NULL,
    synced_at       INTEGER NOT NULL,
    CONSTRAINT documents_one_each PRIMARY KEY (project_id, source_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE indexes (
    project_id          TEXT NOT NULL CONSTRAINT indexes_one_a_project PRIMARY KEY,
    collection          TEXT NOT NULL,
    fingerprint         TEXT NOT NULL,
    generation          INTEGER NOT NULL,
    calibration         TEXT NOT NULL,
    previous_collection TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE probes (
    probe_id INTEGER PRIMARY KEY,
    count    INTEGER NOT NULL
) STRICT;
INSERT INTO probes VALUES (1, 0);
