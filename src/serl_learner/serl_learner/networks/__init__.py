"""Networks of the agents (flax.linen)."""
