-- Money. The same text serves SQLite and PostgreSQL; `:name` is a parameter.

-- name: reservation_by_key
SELECT number, reservation_id, key, project_id, assistant, user_name, operation, provider, model, service_tier,
       price_version, ceiling_nanousd, created_at
FROM reservations WHERE key = :key

-- name: reservation_by_id
SELECT number, reservation_id, key, project_id, assistant, user_name, operation, provider, model, service_tier,
       price_version, ceiling_nanousd, created_at
FROM reservations WHERE reservation_id = :reservation_id

-- name: reservation_to_end
SELECT r.number, r.reservation_id, r.key, r.project_id, r.assistant, r.user_name, r.operation, r.provider, r.model,
       r.service_tier, r.price_version, r.ceiling_nanousd, r.created_at, o.held
FROM reservations AS r LEFT JOIN open_reservations AS o ON o.number = r.number
WHERE r.reservation_id = :reservation_id

-- name: reservation_by_number
SELECT number, reservation_id, key, project_id, assistant, user_name, operation, provider, model, service_tier,
       price_version, ceiling_nanousd, created_at
FROM reservations WHERE number = :number

-- name: entries_of
SELECT kind, amount_nanousd, overrun_nanousd, estimated, usage, reason, at
FROM entries WHERE number = :number ORDER BY entry_number

-- name: budgets_of
SELECT b.budget_id, b.kind, b.project_id, b.assistant, b.user_name, b.period, b.limit_nanousd, b.time_zone,
       b.alert_share, b.overrun_at, w.window_id, w.starts_at, w.ends_at, w.settled_nanousd, w.open_nanousd,
       w.held_nanousd, w.estimated_nanousd
FROM budgets AS b LEFT JOIN windows AS w ON w.window_id = (
    SELECT window_id FROM windows WHERE budget_id = b.budget_id AND starts_at <= :at AND ends_at > :at
    ORDER BY starts_at DESC LIMIT 1
)
WHERE (b.kind = 'global' AND b.project_id = '' AND b.assistant = '' AND b.user_name = '')
   OR (b.kind = 'project' AND b.project_id = :project_id AND b.assistant = '' AND b.user_name = '')
   OR (b.kind = 'assistant' AND b.project_id = :project_id AND b.assistant = :assistant AND b.user_name = '')
   OR (b.kind = 'user' AND b.project_id = :project_id AND b.assistant = '' AND b.user_name = :user_name)
ORDER BY b.budget_id

-- name: budget
SELECT budget_id, kind, project_id, assistant, user_name, period, limit_nanousd, time_zone, alert_share, overrun_at
FROM budgets
WHERE kind = :kind AND project_id = :project_id AND assistant = :assistant AND user_name = :user_name
  AND period = :period

-- name: recent_budgets
SELECT budget_id, kind, project_id, assistant, user_name, period, limit_nanousd, time_zone, alert_share, overrun_at
FROM budgets ORDER BY budget_id DESC LIMIT :count

-- name: seed_budget
INSERT INTO budgets (kind, project_id, assistant, user_name, period, limit_nanousd, time_zone, alert_share, changed_at)
VALUES (:kind, :project_id, :assistant, :user_name, :period, :limit_nanousd, :time_zone, :alert_share, :at)
ON CONFLICT (kind, project_id, assistant, user_name, period) DO NOTHING

-- name: put_budget
INSERT INTO budgets (kind, project_id, assistant, user_name, period, limit_nanousd, time_zone, alert_share, changed_at)
VALUES (:kind, :project_id, :assistant, :user_name, :period, :limit_nanousd, :time_zone, :alert_share, :at)
ON CONFLICT (kind, project_id, assistant, user_name, period) DO UPDATE
SET limit_nanousd = excluded.limit_nanousd, time_zone = excluded.time_zone, alert_share = excluded.alert_share,
    changed_at = excluded.changed_at

-- name: window_at
SELECT window_id, starts_at, ends_at, settled_nanousd, open_nanousd, held_nanousd, estimated_nanousd
FROM windows WHERE budget_id = :budget_id AND starts_at <= :at AND ends_at > :at
ORDER BY starts_at DESC LIMIT 1

-- name: windows_at
SELECT budget_id, window_id, starts_at, ends_at, settled_nanousd, open_nanousd, held_nanousd, estimated_nanousd
FROM windows WHERE starts_at <= :at AND ends_at > :at
ORDER BY starts_at

-- name: add_window
INSERT INTO windows (budget_id, starts_at, ends_at) VALUES (:budget_id, :starts_at, :ends_at)
RETURNING window_id

-- name: take
UPDATE windows SET open_nanousd = open_nanousd + :ceiling_nanousd
WHERE window_id = :window_id
  AND :ceiling_nanousd <= (
      SELECT limit_nanousd FROM budgets WHERE budgets.budget_id = windows.budget_id AND overrun_at IS NULL
  ) - settled_nanousd - open_nanousd
RETURNING window_id

-- name: add_reservation
INSERT INTO reservations (reservation_id, key, project_id, assistant, user_name, operation, provider, model,
                          service_tier, price_version, ceiling_nanousd, created_at)
VALUES (:reservation_id, :key, :project_id, :assistant, :user_name, :operation, :provider, :model,
        :service_tier, :price_version, :ceiling_nanousd, :created_at)
RETURNING number

-- name: add_charge
INSERT INTO charges (number, window_id) VALUES (:number, :window_id)

-- name: open_reservation
INSERT INTO open_reservations (number, held, instance) VALUES (:number, 0, :instance)

-- name: last_entry
SELECT entry_number, digest FROM entries ORDER BY entry_number DESC LIMIT 1

-- name: add_entry
INSERT INTO entries (entry_number, number, kind, amount_nanousd, overrun_nanousd, estimated, usage, reason, at, digest)
VALUES (:entry_number, :number, :kind, :amount_nanousd, :overrun_nanousd, :estimated, :usage, :reason, :at, :digest)

-- name: give_back
UPDATE windows
SET open_nanousd = open_nanousd - :ceiling_nanousd,
    held_nanousd = held_nanousd - :held_nanousd,
    settled_nanousd = settled_nanousd + :cost_nanousd,
    estimated_nanousd = estimated_nanousd + :estimated_nanousd
WHERE window_id IN (SELECT window_id FROM charges WHERE number = :number)

-- name: close_reservation
DELETE FROM open_reservations WHERE number = :number

-- name: close_by_overrun
UPDATE budgets SET overrun_at = :at
WHERE budget_id IN (
    SELECT windows.budget_id FROM charges JOIN windows ON windows.window_id = charges.window_id
    WHERE charges.number = :number
)

-- name: acknowledge_overrun
UPDATE budgets SET overrun_at = NULL, changed_at = :at
WHERE kind = :kind AND project_id = :project_id AND assistant = :assistant AND user_name = :user_name
  AND overrun_at IS NOT NULL

-- name: pending_reservations
SELECT open_reservations.number, open_reservations.instance, reservations.ceiling_nanousd
FROM open_reservations JOIN reservations ON reservations.number = open_reservations.number
WHERE open_reservations.held = 0 ORDER BY open_reservations.number

-- name: mark_held
UPDATE open_reservations SET held = 1 WHERE number = :number

-- name: hold_in_windows
UPDATE windows SET held_nanousd = held_nanousd + :ceiling_nanousd
WHERE window_id IN (SELECT window_id FROM charges WHERE number = :number)

-- name: reservations_before
SELECT r.number, r.reservation_id, r.key, r.project_id, r.assistant, r.user_name, r.operation, r.provider, r.model,
       r.service_tier, r.price_version, r.ceiling_nanousd, r.created_at
FROM reservations AS r
WHERE (:project_id = '' OR r.project_id = :project_id) AND r.number < :before
ORDER BY r.number DESC LIMIT :count

-- name: open_before
SELECT r.number, r.reservation_id, r.key, r.project_id, r.assistant, r.user_name, r.operation, r.provider, r.model,
       r.service_tier, r.price_version, r.ceiling_nanousd, r.created_at
FROM open_reservations AS o JOIN reservations AS r ON r.number = o.number
WHERE o.held = :held AND (:project_id = '' OR r.project_id = :project_id) AND r.number < :before
ORDER BY r.number DESC LIMIT :count

-- name: ended_before
SELECT r.number, r.reservation_id, r.key, r.project_id, r.assistant, r.user_name, r.operation, r.provider, r.model,
       r.service_tier, r.price_version, r.ceiling_nanousd, r.created_at
FROM reservations AS r JOIN entries AS e ON e.number = r.number AND e.kind = :kind
WHERE (:project_id = '' OR r.project_id = :project_id) AND r.number < :before
ORDER BY r.number DESC LIMIT :count

-- name: entries_after
SELECT e.entry_number, e.number, e.kind, e.amount_nanousd, e.overrun_nanousd, e.estimated, e.usage, e.reason, e.at,
       e.digest, r.reservation_id, r.key, r.project_id, r.assistant, r.user_name, r.operation, r.provider, r.model,
       r.service_tier, r.price_version, r.ceiling_nanousd, r.created_at
FROM entries AS e LEFT JOIN reservations AS r ON r.number = e.number
WHERE e.entry_number > :after ORDER BY e.entry_number LIMIT :count

-- name: ledger_counts
SELECT (SELECT COUNT(*) FROM entries) AS entry_count, (SELECT COUNT(*) FROM reservations) AS reservation_count

-- name: audit_reservations_without_entry
SELECT reservation_id FROM reservations AS r
WHERE NOT EXISTS (SELECT 1 FROM entries AS e WHERE e.number = r.number AND e.kind = 'reserve')
LIMIT :count

-- name: audit_open_mismatch
SELECT r.reservation_id, o.number AS open_number, o.held AS held,
       (SELECT COUNT(*) FROM entries AS e WHERE e.number = r.number AND e.kind IN ('settle', 'void')) AS resolutions,
       (SELECT COUNT(*) FROM entries AS e WHERE e.number = r.number AND e.kind = 'hold') AS holds
FROM reservations AS r LEFT JOIN open_reservations AS o ON o.number = r.number
WHERE (o.number IS NULL) <> EXISTS (
          SELECT 1 FROM entries AS e WHERE e.number = r.number AND e.kind IN ('settle', 'void'))
   OR (o.number IS NOT NULL AND (o.held = 1) <> EXISTS (
          SELECT 1 FROM entries AS e WHERE e.number = r.number AND e.kind = 'hold'))
LIMIT :count

-- name: audit_windows
SELECT w.window_id, w.starts_at, w.ends_at, w.settled_nanousd, w.open_nanousd, w.held_nanousd, w.estimated_nanousd,
       b.kind, b.project_id, b.assistant, b.user_name, b.period,
       CAST(COALESCE(s.settled, 0) AS BIGINT) AS settled_sum,
       CAST(COALESCE(s.estimated, 0) AS BIGINT) AS estimated_sum,
       CAST(COALESCE(s.opened, 0) AS BIGINT) AS open_sum,
       CAST(COALESCE(s.held, 0) AS BIGINT) AS held_sum
FROM windows AS w JOIN budgets AS b ON b.budget_id = w.budget_id
LEFT JOIN (
    SELECT c.window_id,
           SUM(CASE WHEN e.kind = 'settle' THEN e.amount_nanousd ELSE 0 END) AS settled,
           SUM(CASE WHEN e.kind = 'settle' AND e.estimated = 1 THEN e.amount_nanousd ELSE 0 END) AS estimated,
           SUM(CASE WHEN e.kind = 'reserve' THEN r.ceiling_nanousd
                    WHEN e.kind IN ('settle', 'void') THEN -r.ceiling_nanousd ELSE 0 END) AS opened,
           SUM(CASE WHEN e.kind = 'hold' THEN r.ceiling_nanousd
                    WHEN e.kind IN ('settle', 'void') AND EXISTS (
                        SELECT 1 FROM entries AS h WHERE h.number = e.number AND h.kind = 'hold'
                    ) THEN -r.ceiling_nanousd ELSE 0 END) AS held
    FROM charges AS c
    JOIN reservations AS r ON r.number = c.number
    JOIN entries AS e ON e.number = c.number
    GROUP BY c.window_id
) AS s ON s.window_id = w.window_id
