"""The state store: ledger entries, requests, journal, audit and index registry."""
