"""Passing a visitor to a person and back: tickets, replies, notices, and who is looking at what."""
