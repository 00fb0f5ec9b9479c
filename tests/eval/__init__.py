"""Figures on the handed sets: `python -m tests.eval E=retrieval`."""
