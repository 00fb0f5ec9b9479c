-- One line a turn.

-- name: append_line
INSERT INTO journal (turn_id, project_id, client, key, started_at, ended_at, body)
VALUES (:turn_id, :project_id, :client, :key, :started_at, :ended_at, :body)
ON CONFLICT (turn_id) DO NOTHING

-- name: line_by_turn
SELECT turn_id, project_id, client, key, started_at, ended_at, body
FROM journal WHERE project_id = :project_id AND turn_id = :turn_id

-- name: line_by_key
SELECT turn_id, project_id, client, key, started_at, ended_at, body
FROM journal WHERE project_id = :project_id AND client = :client AND key = :key
ORDER BY line_number DESC LIMIT 1
