-- What differs from SQLite.

-- name: live_instances
SELECT CAST(objid AS BIGINT) AS instance FROM pg_locks
WHERE locktype = 'advisory' AND classid = 1885434739 AND granted AND objsubid = 2
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND pid <> pg_backend_pid()

-- name: departed_instances
SELECT CAST(working.instance AS BIGINT) AS instance FROM (
    SELECT instance FROM open_reservations WHERE held = 0
    UNION SELECT instance FROM requests WHERE result IS NULL
) AS working
WHERE working.instance NOT IN (
    SELECT CAST(objid AS BIGINT) FROM pg_locks
    WHERE locktype = 'advisory' AND classid = 1885434739 AND granted AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)

-- name: lock_ledger
SELECT pg_advisory_xact_lock(1885434740, 1)

-- name: probe
UPDATE probes SET count = count + 1 WHERE probe_id = 1

-- name: lock_schema
SELECT pg_advisory_lock(1885434740, 2)

-- name: unlock_schema
SELECT pg_advisory_unlock(1885434740, 2)

-- name: take_instance
SELECT pg_try_advisory_lock(1885434739, CAST(:instance AS INTEGER)) AS taken

-- name: release_instance
SELECT pg_advisory_unlock(1885434739, CAST(:instance AS INTEGER)) AS released

-- name: schema_there
SELECT to_regclass('schema_version') IS NOT NULL AS there

-- name: schema_version
SELECT version FROM schema_version

-- name: set_schema_version
INSERT INTO schema_version (version) VALUES (:version)

-- name: safety
SELECT current_setting('fsync') AS fsync, current_setting('transaction_read_only') AS read_only,
       current_setting('server_version') AS version
