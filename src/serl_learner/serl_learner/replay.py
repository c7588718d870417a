"""Replay on the device: one ring per tensor, sampled inside the jitted update."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from serl_learner.types import ObservationSpec

Transition = Mapping[str, Any]
"""observation, next_observation (dicts), action [A], reward, terminated of one transition."""


class Ring(flax.struct.PyTreeNode):
    """Fixed-capacity ring of transitions; the oldest are overwritten."""

    data: Any
    size: jax.Array
    head: jax.Array

    @property
    def capacity(self) -> int:
        """Transitions it can hold."""
        return jax.tree.leaves(self.data)[0].shape[0]


def transition_bytes(spec: ObservationSpec, action_dim: int) -> int:
    """Bytes that one transition takes in a ring."""
    return sum(leaf.nbytes for leaf in jax.tree.leaves(_empty_transition(spec, action_dim)))


def create_ring(spec: ObservationSpec, action_dim: int, capacity_bytes: int) -> Ring:
    """An empty ring as large as `capacity_bytes` allows; ValueError if not even one fits."""
    capacity = capacity_bytes // transition_bytes(spec, action_dim)
    if capacity < 1:
        raise ValueError(
            f"replay capacity of {capacity_bytes} bytes is below one transition"
            f" ({transition_bytes(spec, action_dim)} bytes)"
        )
    template = _empty_transition(spec, action_dim)
    data = jax.tree.map(lambda leaf: jnp.zeros((capacity, *leaf.shape), leaf.dtype), template)
    return Ring(data=data, size=jnp.int32(0), head=jnp.int32(0))


@partial(jax.jit, donate_argnums=0)
def insert(ring: Ring, transition: Transition) -> Ring:
    """The ring with one more transition; the old ring's buffers are reused."""
    data = jax.tree.map(lambda ring_leaf, x: ring_leaf.at[ring.head].set(x), ring.data, transition)
    return Ring(
        data=data,
        size=jnp.minimum(ring.size + 1, ring.capacity),
        head=(ring.head + 1) % ring.capacity,
    )


@partial(jax.jit, donate_argnums=0)
def insert_many(ring: Ring, transitions: Transition, count: jax.Array) -> Ring:
    """The ring with the first `count` of some transitions, [N, ...] with N <= capacity, as if
    they had been inserted one by one; the old ring's buffers are reused."""
    number = jnp.arange(jax.tree.leaves(transitions)[0].shape[0])
    slots = jnp.where(number < count, (ring.head + number) % ring.capacity, ring.capacity)
    data = jax.tree.map(lambda leaf, x: leaf.at[slots].set(x, mode="drop"), ring.data, transitions)
    return Ring(
        data=data,
        size=jnp.minimum(ring.size + count, ring.capacity),
        head=(ring.head + count) % ring.capacity,
    )


@partial(jax.jit, donate_argnums=0)
def relabel(ring: Ring, chosen: jax.Array, reward: jax.Array, terminated: jax.Array) -> Ring:
    """The ring with another label in the `chosen` slots, bool [capacity]; the old one's buffers
    are reused."""
    labels = {
        "reward": jnp.where(chosen, reward, ring.data["reward"]),
        "terminated": jnp.where(chosen, terminated, ring.data["terminated"]),
    }
    return ring.replace(data=ring.data | labels)


@partial(jax.jit, donate_argnums=0)
def turn(ring: Ring, steps: jax.Array) -> Ring:
    """The same transitions, every one `steps` slots further on."""
    data = jax.tree.map(lambda leaf: jnp.roll(leaf, steps, axis=0), ring.data)
    return ring.replace(data=data, head=(ring.head + steps) % ring.capacity)


def sample(ring: Ring, key: jax.Array, batch: int) -> Transition:
    """`batch` transitions, uniform with replacement; the ring must not be empty."""
    index = jax.random.randint(key, (batch,), 0, ring.size)
    return jax.tree.map(lambda leaf: leaf[index], ring.data)


def sample_mixed(prior: Ring, online: Ring, key: jax.Array, batch: int) -> Transition:
    """Half prior data, half online, interleaved so that every slice holds both (RLPD; D11).

    While one of the rings is empty, all come from the other.
    """
    prior_key, online_key = jax.random.split(key)
    from_prior = jnp.arange(batch) % 2 == 0
    from_prior = jnp.where(online.size == 0, True, from_prior & (prior.size > 0))
    prior_index = jax.random.randint(prior_key, (batch,), 0, jnp.maximum(prior.size, 1))
    online_index = jax.random.randint(online_key, (batch,), 0, jnp.maximum(online.size, 1))

    def pick(prior_leaf: jax.Array, online_leaf: jax.Array) -> jax.Array:
        mask = from_prior.reshape((batch,) + (1,) * (prior_leaf.ndim - 1))
        return jnp.where(mask, prior_leaf[prior_index], online_leaf[online_index])

    return jax.tree.map(pick, prior.data, online.data)


def _empty_transition(spec: ObservationSpec, action_dim: int) -> dict[str, Any]:
    observation = {key: np.zeros(shape, dtype) for key, (shape, dtype) in sorted(spec.items())}
    return {
        "observation": observation,
        "next_observation": dict(observation),
        "action": np.zeros(action_dim, np.float32),
        "reward": np.zeros((), np.float32),
        "terminated": np.zeros((), np.bool_),
    }
