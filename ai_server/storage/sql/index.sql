-- What the index ought to hold.

-- name: documents_of_source
SELECT project_id, source_id, path, status, reason, content_sha256, settings_sha256, title, language, metadata,
       chunk_ids, synced_at
FROM documents WHERE project_id = :project_id AND source_id = :source_id

-- name: documents_of_project
SELECT project_id, source_id, path, status, reason, content_sha256, settings_sha256, title, language, metadata,
       chunk_ids, synced_at
FROM documents WHERE project_id = :project_id

-- name: put_document
INSERT INTO documents (project_id, source_id, path, status, reason, content_sha256, settings_sha256, title, language,
                       metadata, chunk_ids, synced_at)
VALUES (:project_id, :source_id, :path, :status, :reason, :content_sha256, :settings_sha256, :title, :language,
        :metadata, :chunk_ids, :synced_at)
ON CONFLICT (project_id, source_id, path) DO UPDATE
SET status = excluded.status, reason = excluded.reason, content_sha256 = excluded.content_sha256,
    settings_sha256 = excluded.settings_sha256, title = excluded.title, language = excluded.language,
    metadata = excluded.metadata, chunk_ids = excluded.chunk_ids, synced_at = excluded.synced_at

-- name: remove_document
DELETE FROM documents WHERE project_id = :project_id AND source_id = :source_id AND path = :path

-- name: index
SELECT project_id, collection, fingerprint, generation, calibration, previous_collection
FROM indexes WHERE project_id = :project_id

-- name: put_index
INSERT INTO indexes (project_id, collection, fingerprint, generation, calibration, previous_collection)
VALUES (:project_id, :collection, :fingerprint, :generation, :calibration, :previous_collection)
ON CONFLICT (project_id) DO UPDATE
SET collection = excluded.collection, fingerprint = excluded.fingerprint, generation = excluded.generation,
    calibration = excluded.calibration, previous_collection = excluded.previous_collection

-- name: sources
SELECT project_id, source_id, root, defaults, key_map FROM sources WHERE project_id = :project_id ORDER BY source_id

-- name: put_source
INSERT INTO sources (project_id, source_id, root, defaults, key_map)
VALUES (:project_id, :source_id, :root, :defaults, :key_map)
ON CONFLICT (project_id, source_id) DO UPDATE
SET root = excluded.root, defaults = excluded.defaults, key_map = excluded.key_map

-- name: remove_source
DELETE FROM sources WHERE project_id = :project_id AND source_id = :source_id

-- name: take_lease
INSERT INTO leases (name, owner, until) VALUES (:name, :owner, :until)
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
WHERE leases.owner = excluded.owner OR leases.until <= :now
RETURNING name

-- name: drop_lease
DELETE FROM leases WHERE name = :name AND owner = :owner
