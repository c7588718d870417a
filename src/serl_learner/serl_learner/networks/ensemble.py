"""An ensemble: E independent copies of one network, a tuple of E parameter trees.

A tuple, not leaves stacked on a leading axis: XLA's batched matrix product on a CPU, and the
gradient of slicing a stacked leaf, make the same update half as slow again.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

Members = tuple[Any, ...]


def init_ensemble(network: nn.Module, key: jax.Array, size: int, *inputs: jax.Array) -> Members:
    """Parameters of `size` members; every member has a head of its own (D7)."""

    def init(member_key: jax.Array) -> Any:
        return network.init(member_key, *inputs)["params"]

    stacked = jax.lax.map(init, jax.random.split(key, size))  # compiled once, not `size` times
    return tuple(jax.tree.map(lambda leaf, i=i: leaf[i], stacked) for i in range(size))


def apply_ensemble(network: nn.Module, members: Members, *inputs: jax.Array) -> jax.Array:
    """All members on the same inputs: [E, B]."""
    apply = _member(network)
    return jnp.stack([apply(member, *inputs) for member in members])


@cache
def _member(network: nn.Module) -> Any:
    """One member, traced once for all of them: a learner that restarts waits for the tracer."""
    return jax.jit(lambda params, *inputs: network.apply({"params": params}, *inputs))


def subset(members: Members, key: jax.Array, size: int) -> Members:
    """`size` members drawn without replacement (REDQ, arXiv:2101.05982, algorithm 1; D9)."""
    if size == len(members):
        return members
    chosen = jax.random.choice(key, len(members), (size,), replace=False)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)
    return tuple(jax.tree.map(lambda leaf, i=i: leaf[chosen[i]], stacked) for i in range(size))
