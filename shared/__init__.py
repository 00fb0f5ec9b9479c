"""What the AI server and the gateway both stand on: errors, money, ids, time, settings access, logs, metrics."""
