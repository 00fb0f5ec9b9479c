"""Operator commands: clients of the running gateway, or at work on its data when none runs."""
