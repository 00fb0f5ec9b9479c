-- Requests and their results by idempotency key.

-- name: request
SELECT client, key, body_digest, turn_id, owner, result, created_at FROM requests WHERE client = :client AND key = :key

-- name: claim_request
INSERT INTO requests (client, key, body_digest, turn_id, owner, instance, result, created_at)
VALUES (:client, :key, :body_digest, :turn_id, :owner, :instance, :result, :created_at)
ON CONFLICT (client, key) DO NOTHING
RETURNING key

-- name: finish_request
UPDATE requests SET result = :result WHERE client = :client AND key = :key AND result IS NULL

-- name: running_requests
SELECT client, key, body_digest, turn_id, owner, instance, result, created_at
FROM requests WHERE result IS NULL AND owner <> :owner ORDER BY created_at LIMIT :count

-- name: forget_requests
DELETE FROM requests WHERE result IS NOT NULL AND created_at < :instant RETURNING key
