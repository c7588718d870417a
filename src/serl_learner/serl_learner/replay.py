"""Replay on the device: one ring per tensor, sampled inside the jitted update."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from serl_learner.frame_ring import Frame, FrameLayout, create_frames, look_up
from serl_learner.types import ObservationSpec
from serl_learner.vision.cameras import IMAGE

Transition = Mapping[str, Any]
"""observation, next_observation (dicts), action [A], reward, terminated of one transition.

With images, the observations hold the rest, and `frames`, `next_frames` (int32 [T]) the slots of
the frames.
"""


class Ring(flax.struct.PyTreeNode):
    """Fixed-capacity ring of transitions; the oldest are overwritten.

    With images there is a ring of frames beside it, which wraps by itself. Of the transitions
    only the newest `size` count then: those before them lack a frame.
    """

    data: Any
    size: jax.Array
    head: jax.Array
    frames: Frame | None = None

    @property
    def capacity(self) -> int:
        """Transitions it can hold."""
        return jax.tree.leaves(self.data)[0].shape[0]


def transition_bytes(
    spec: ObservationSpec, action_dim: int, layout: FrameLayout | None = None
) -> int:
    """Bytes that one transition takes in a ring, its frames not counted."""
    template = _empty_transition(spec, action_dim, layout)
    return sum(leaf.nbytes for leaf in jax.tree.leaves(template))


def create_ring(
    spec: ObservationSpec,
    action_dim: int,
    capacity_bytes: int,
    layout: FrameLayout | None = None,
) -> Ring:
    """An empty ring as large as `capacity_bytes` allows; ValueError if not even one fits.

    With a layout of frames, images are stored once each, and these bytes cover them, too.
    """
    item = transition_bytes(spec, action_dim, layout)
    capacity, frames = capacity_bytes // item, None
    if layout is not None:
        capacity, room = layout.capacities(item, capacity_bytes)
        frames = create_frames(layout, room)
    if capacity < 1:
        of_frames = f" and its frames of {layout.frame_bytes}" if layout is not None else ""
        raise ValueError(
            f"replay capacity of {capacity_bytes} bytes is below one transition"
            f" ({item} bytes{of_frames})"
        )
    template = _empty_transition(spec, action_dim, layout)
    data = jax.tree.map(lambda leaf: jnp.zeros((capacity, *leaf.shape), leaf.dtype), template)
    return Ring(data=data, size=jnp.int32(0), head=jnp.int32(0), frames=frames)


@partial(jax.jit, donate_argnums=0)
def insert(ring: Ring, transition: Transition) -> Ring:
    """The ring with one more transition; the old ring's buffers are reused."""
    data = jax.tree.map(lambda ring_leaf, x: ring_leaf.at[ring.head].set(x), ring.data, transition)
    return ring.replace(
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
    return ring.replace(
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


def called_frames(ring: Ring) -> jax.Array:
    """Slots of the frames on which a success was called: those that a reward led to; bool, of all
    frames that the ring can hold.

    A success that was taken back is none.
    """
    after = ring.data["next_frames"][:, -1]
    called = jnp.zeros(len(jax.tree.leaves(ring.frames)[0]), bool)
    return called.at[after].max(_held(ring) & (ring.data["reward"] > 0.0))


def sample_following(
    ring: Ring, key: jax.Array, batch: int, wanted: jax.Array
) -> tuple[Frame, jax.Array]:
    """What came of `batch` transitions, uniform with replacement: for every camera the newest
    frame of the next observation, [batch, ...]; the ring must not be empty.

    Only frames in `wanted` slots, bool; and whether there is any: if not, of all.
    """
    row_key, crop_key = jax.random.split(key)
    slots = ring.data["next_frames"][:, -1:]
    held = _held(ring)
    among = held & wanted[slots[:, 0]]
    count = jnp.cumsum(jnp.where(jnp.any(among), among, held))
    number = jax.random.randint(row_key, (batch,), 0, count[-1])
    rows = jnp.searchsorted(count, number, side="right")
    found = look_up(ring.frames or {}, slots[rows], crop_key)
    return {name: x[:, 0] for name, x in found.items()}, jnp.any(among)


def _held(ring: Ring) -> jax.Array:
    """Slots of the newest `size` transitions, bool [capacity]."""
    age = (ring.head - 1 - jnp.arange(ring.capacity)) % ring.capacity
    return age < ring.size


def sample_mixed(prior: Ring, online: Ring, key: jax.Array, batch: int) -> Transition:
    """Half prior data, half online, interleaved so that every slice holds both (RLPD; D11).

    While one of the rings is empty, all come from the other.
    """
    if prior.frames is not None:
        return _sample_mixed_frames(prior, online, key, batch)
    prior_key, online_key = jax.random.split(key)
    from_prior = jnp.arange(batch) % 2 == 0
    from_prior = jnp.where(online.size == 0, True, from_prior & (prior.size > 0))
    prior_index = jax.random.randint(prior_key, (batch,), 0, jnp.maximum(prior.size, 1))
    online_index = jax.random.randint(online_key, (batch,), 0, jnp.maximum(online.size, 1))

    def pick(prior_leaf: jax.Array, online_leaf: jax.Array) -> jax.Array:
        mask = from_prior.reshape((batch,) + (1,) * (prior_leaf.ndim - 1))
        return jnp.where(mask, prior_leaf[prior_index], online_leaf[online_index])

    return jax.tree.map(pick, prior.data, online.data)


def _sample_mixed_frames(prior: Ring, online: Ring, key: jax.Array, batch: int) -> Transition:
    """As `sample_mixed`; only the frames that are used are read, and those of o and o' are drawn
    independently of each other."""
    prior_key, online_key, crop_key = jax.random.split(key, 3)
    prior_rows = _newest_rows(prior, prior_key, batch)
    online_rows = _newest_rows(online, online_key, batch)

    def half_and_half() -> Transition:
        first = _with_frames(prior, prior_rows[0::2], crop_key)
        second = _with_frames(online, online_rows[1::2], jax.random.fold_in(crop_key, 1))
        return jax.tree.map(_interleave, first, second)

    choices = (
        half_and_half,
        lambda: _with_frames(prior, prior_rows, crop_key),
        lambda: _with_frames(online, online_rows, crop_key),
    )
    choice = jnp.where(online.size == 0, 1, jnp.where(prior.size == 0, 2, 0))
    return jax.lax.switch(choice, choices)


def _newest_rows(ring: Ring, key: jax.Array, batch: int) -> jax.Array:
    """Slots of `batch` transitions among the newest `size`, uniform with replacement."""
    number = jax.random.randint(key, (batch,), 0, jnp.maximum(ring.size, 1))
    return (ring.head - ring.size + number) % ring.capacity


def _with_frames(ring: Ring, rows: jax.Array, key: jax.Array) -> Transition:
    """These transitions, their frames in the observations."""
    found = jax.tree.map(lambda leaf: leaf[rows], ring.data)
    first_key, next_key = jax.random.split(key)
    stored = ring.frames or {}
    frames = look_up(stored, found.pop("frames"), first_key)
    next_frames = look_up(stored, found.pop("next_frames"), next_key)
    return found | {
        "observation": found["observation"] | frames,
        "next_observation": found["next_observation"] | next_frames,
    }


def _interleave(even: jax.Array, odd: jax.Array) -> jax.Array:
    """[N, ...] and [N or N - 1, ...] -> rows 0, 2, ... of the one, 1, 3, ... of the other."""
    pairs = jnp.stack([even[: len(odd)], odd], axis=1)
    both = pairs.reshape(-1, *even.shape[1:])
    return jnp.concatenate([both, even[len(odd) :]])


def _empty_transition(
    spec: ObservationSpec, action_dim: int, layout: FrameLayout | None = None
) -> dict[str, Any]:
    observation = {
        key: np.zeros(shape, dtype)
        for key, (shape, dtype) in sorted(spec.items())
        if layout is None or not key.startswith(IMAGE)
    }
    transition = {
        "observation": observation,
        "next_observation": dict(observation),
        "action": np.zeros(action_dim, np.float32),
        "reward": np.zeros((), np.float32),
        "terminated": np.zeros((), np.bool_),
    }
    if layout is None:
        return transition
    slots = np.zeros(layout.stack, np.int32)
    return transition | {"frames": slots, "next_frames": slots}
