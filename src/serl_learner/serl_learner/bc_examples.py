"""What cloning learns from: observations, each with its stack of frames, and actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from serl_learner.frame_encoder import FrameEncoder
from serl_learner.frame_ring import Frame, look_up
from serl_learner.networks.state_vector import PREFIX
from serl_learner.types import ObservationSpec, Record
from serl_learner.vision.augment import augment
from serl_learner.vision.cameras import cameras
from serl_learner.vision.config import EncoderConfig

Chosen = tuple[dict[str, jax.Array], jax.Array]
"""Observations [B, ...] as the encoder takes them, and the actions taken there [B, A]."""


class Examples(NamedTuple):
    """N of them, with M frames: `state/*` [N, ...], frames [M, ...], slots int32 [N, T] of them,
    actions [N, A]. Without images there are no frames."""

    state: dict[str, jax.Array]
    frames: Frame
    slots: jax.Array
    actions: jax.Array

    @property
    def size(self) -> int:
        """N."""
        return int(self.actions.shape[0])

    def drawn(self, key: jax.Array, batch: int, config: EncoderConfig) -> Chosen:
        """`batch` of them, with replacement; images are augmented as for the agent."""
        index = jax.random.randint(key, (batch,), 0, self.size)
        if not self.frames:
            return self._rows(index), self.actions[index]
        frame_key, augment_key = jax.random.split(jax.random.fold_in(key, 1))
        found = augment(augment_key, look_up(self.frames, self.slots[index], frame_key), config)
        return self._rows(index) | found, self.actions[index]

    def plain(self, start: int, stop: int) -> Chosen:
        """Those from `start` to before `stop`, without augmentation."""
        rows = slice(start, stop)
        found = look_up(self.frames, self.slots[rows], None)
        return self._rows(rows) | found, self.actions[rows]

    def _rows(self, rows: Any) -> dict[str, jax.Array]:
        return {name: leaf[rows] for name, leaf in self.state.items()}


def make_examples(
    parts: Sequence[Sequence[Record]], spec: ObservationSpec, config: EncoderConfig
) -> list[Examples]:
    """Examples of each part, whose records all have an action; their frames are shared."""
    every = [record for part in parts for record in part]
    encoder = FrameEncoder(spec, config) if cameras(spec) else None
    frames: Frame = {}
    if encoder is not None:
        encoded = encoder.frames(every)
        frames = jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *encoded)
    slot = {(r.session, r.episode, r.step): number for number, r in enumerate(every)}
    return [_examples(part, frames, _stacks(part, slot, config.stack)) for part in parts]


def _examples(records: Sequence[Record], frames: Frame, slots: np.ndarray) -> Examples:
    keys = [key for key in sorted(records[0].observation) if key.startswith(PREFIX)]
    state = {k: jnp.asarray(np.stack([r.observation[k] for r in records])) for k in keys}
    actions = np.stack([r.action for r in records if r.action is not None])
    return Examples(state, frames, jnp.asarray(slots), jnp.asarray(actions, jnp.float32))


def _stacks(
    records: Sequence[Record], slot: dict[tuple[bytes, int, int], int], stack: int
) -> np.ndarray:
    """Slots of the T frames up to each record, int32 [N, T]; the first counts for what is before
    it."""
    rows = []
    for record in records:
        row = [slot[record.session, record.episode, record.step]]
        for back in range(1, stack):
            row.insert(0, slot.get((record.session, record.episode, record.step - back), row[0]))
        rows.append(row)
    return np.array(rows, np.int32)
