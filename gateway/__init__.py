"""The gateway: sessions, conversations, event streams and pages, for browsers and staff."""
