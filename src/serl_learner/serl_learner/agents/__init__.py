"""Agents: immutable state with pure updates, (state, batch) -> (state, metrics)."""
