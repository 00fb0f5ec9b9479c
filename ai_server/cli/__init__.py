"""Operator commands: clients of the running server."""
