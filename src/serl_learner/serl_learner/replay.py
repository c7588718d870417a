"""Replay on the device: a ring of records, sampled inside the jitted update.

Every observation is stored once. The action, reward and termination flag of a transition lie in
the slot of its first observation, and its next observation is in the slot after it.
"""

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

Batch = Mapping[str, Any]
"""The same with a leading axis [B]."""

MIN_CAPACITY = 3
"""Slots: a transition takes two, and what is being written must not be one of them."""


class Ring(flax.struct.PyTreeNode):
    """Fixed-capacity ring of records; the oldest are overwritten.

    Attributes:
      slots: {"observation": {...}, "action", "reward", "terminated"}, each [capacity, ...].
      starts: slots at which a transition starts, itself a ring, oldest at `tail`: [capacity].
      tail: index into `starts` of the oldest transition.
      size: transitions that can be sampled.
      head: the slot that is written next.
    """

    slots: Any
    starts: jax.Array
    tail: jax.Array
    size: jax.Array
    head: jax.Array

    @property
    def capacity(self) -> int:
        """Records it can hold."""
        return self.starts.shape[0]


def record_bytes(spec: ObservationSpec, action_dim: int) -> int:
    """Bytes that one record takes in a ring."""
    return sum(leaf.nbytes for leaf in jax.tree.leaves(_empty_slot(spec, action_dim))) + 4


def create_ring(spec: ObservationSpec, action_dim: int, capacity_bytes: int) -> Ring:
    """An empty ring as large as `capacity_bytes` allows; ValueError if that is too small."""
    size = record_bytes(spec, action_dim)
    capacity = capacity_bytes // size
    if capacity < MIN_CAPACITY:
        raise ValueError(
            f"replay capacity of {capacity_bytes} bytes is below {MIN_CAPACITY} records"
            f" of {size} bytes each"
        )
    slots = jax.tree.map(
        lambda leaf: jnp.zeros((capacity, *leaf.shape), leaf.dtype), _empty_slot(spec, action_dim)
    )
    return Ring(
        slots=slots,
        starts=jnp.zeros((capacity,), jnp.int32),
        tail=jnp.int32(0),
        size=jnp.int32(0),
        head=jnp.int32(0),
    )


@partial(jax.jit, static_argnames="continues", donate_argnums=0)
def insert(ring: Ring, transition: Transition, continues: bool = False) -> Ring:
    """The ring with one more transition; the buffers of the old one are reused.

    With `continues`, the observation is the next observation of the transition inserted before,
    so it is in the ring already.
    """
    if not continues:
        ring = _push(ring, transition["observation"])
    start = (ring.head - 1) % ring.capacity
    ring = _push(ring, transition["next_observation"])
    slots = dict(ring.slots)
    for name in ("action", "reward", "terminated"):
        slots[name] = slots[name].at[start].set(transition[name])
    end = (ring.tail + ring.size) % ring.capacity
    return ring.replace(slots=slots, starts=ring.starts.at[end].set(start), size=ring.size + 1)


def _push(ring: Ring, observation: Any) -> Ring:
    """Writes one observation; the transition that started in its slot, the oldest, is dropped."""
    stored = jax.tree.map(
        lambda leaf, x: leaf.at[ring.head].set(x), ring.slots["observation"], observation
    )
    drop = (ring.size > 0) & (ring.starts[ring.tail] == ring.head)
    return ring.replace(
        slots=dict(ring.slots) | {"observation": stored},
        tail=jnp.where(drop, (ring.tail + 1) % ring.capacity, ring.tail),
        size=ring.size - drop.astype(jnp.int32),
        head=(ring.head + 1) % ring.capacity,
    )


def sample(ring: Ring, key: jax.Array, batch: int) -> Batch:
    """`batch` transitions, uniform with replacement; of an empty ring the content is undefined."""
    drawn = jax.random.randint(key, (batch,), 0, jnp.maximum(ring.size, 1))
    return transitions_at(ring, drawn)


def transitions_at(ring: Ring, index: jax.Array) -> Batch:
    """The transitions number `index` [B], counted from the oldest."""
    start = ring.starts[(ring.tail + index) % ring.capacity]
    following = (start + 1) % ring.capacity
    observation = ring.slots["observation"]
    return {
        "observation": jax.tree.map(lambda leaf: leaf[start], observation),
        "next_observation": jax.tree.map(lambda leaf: leaf[following], observation),
        "action": ring.slots["action"][start],
        "reward": ring.slots["reward"][start],
        "terminated": ring.slots["terminated"][start],
    }


def sample_mixed(prior: Ring, online: Ring, key: jax.Array, batch: int) -> Batch:
    """Half prior data, half online, interleaved so that every slice holds both (RLPD; D11).

    While one of the rings is empty, all come from the other.

    Args:
      batch: number of transitions, even.
    """
    prior_key, online_key = jax.random.split(key)
    halves = (
        _sample_or(prior, online, prior_key, batch // 2),
        _sample_or(online, prior, online_key, batch // 2),
    )
    return jax.tree.map(lambda a, b: jnp.stack([a, b], 1).reshape(batch, *a.shape[1:]), *halves)


def _sample_or(ring: Ring, other: Ring, key: jax.Array, batch: int) -> Batch:
    """From `ring`, or from `other` while `ring` is empty."""
    return jax.lax.cond(
        ring.size > 0,
        lambda: sample(ring, key, batch),
        lambda: sample(other, key, batch),
    )


def _empty_slot(spec: ObservationSpec, action_dim: int) -> dict[str, Any]:
    return {
        "observation": {k: np.zeros(shape, dtype) for k, (shape, dtype) in sorted(spec.items())},
        "action": np.zeros(action_dim, np.float32),
        "reward": np.zeros((), np.float32),
        "terminated": np.zeros((), np.bool_),
    }
