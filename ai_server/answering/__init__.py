"""The turn: from a question to a cited answer."""
