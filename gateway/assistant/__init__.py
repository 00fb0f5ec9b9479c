"""The gateway's only way to the AI server."""
