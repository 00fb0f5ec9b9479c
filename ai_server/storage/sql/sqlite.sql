-- What differs from PostgreSQL.

-- name: live_instances
SELECT 0 AS instance WHERE 0

-- name: departed_instances
SELECT 0 AS instance WHERE 0

-- name: lock_ledger
SELECT 1 AS locked

-- name: probe
UPDATE probes SET count = count + 1 WHERE probe_id = 1
