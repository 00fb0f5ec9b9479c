-- What differs from SQLite.

-- name: live_instances
SELECT CAST(objid AS BIGINT) AS instance FROM pg_locks
WHERE locktype = 'advisory' AND classid = 1885434739 AND granted AND objsubid = 2
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND pid <> pg_backend_pid() AND CAST(objid AS BIGINT) <> :mine

-- name: lock_ledger
SELECT pg_advisory_xact_lock(1885434740, 1)

-- name: probe
UPDATE probes SET count = count + 1 WHERE probe_id = 1
