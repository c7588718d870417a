"""Learning from images: what caching the features of a frozen network saves, and what it costs.

Batch 128, two cameras of 128 x 128, ten critics. The cached update is held against the same one
with the frozen network run inside it, three passes per critic update as SERL runs its ResNet.
Both are measured in turns in one process; the fastest turn counts. Every term of either is a row
of its own. On one core, what counts is the time that the core gives to this process.
"""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from serl_learner.agents.config import SACConfig
from serl_learner.agents.sac import SACAgent
from serl_learner.benchmark import Turn, fastest, in_process, seconds_of, use_one_core
from serl_learner.encoding_agent import EncodingAgent
from serl_learner.frame_encoder import FrameEncoder, features_of, frozen_trunk, stored_layout
from serl_learner.frame_ring import FrameLayout
from serl_learner.policy import Policy
from serl_learner.replay import Ring, create_ring, transition_bytes
from serl_learner.types import ObservationSpec, Record
from serl_learner.updates import critic_step, draw
from serl_learner.vision.config import EncoderConfig
from serl_learner.vision.encoder import encoder_input_spec
from serl_learner.vision.trunk import Trunk, random_resnet10

BATCH_SIZE = 128
ACTION_DIM = 6
SIDE = 128
CAMERAS = ("side", "wrist")
STORED = 300
"""Transitions in either half of replay."""
EPISODE_STEPS = 20
"""Of an episode, for bytes per transition: it has one frame more."""
INFERENCE_AIM_MS = 40.0
LEAST_SECONDS = 1.0
"""For what is quicker, one turn is several."""
TURNS = {"efficientnet_lite0": 3, "resnet10": 1}
SPEC: ObservationSpec = {
    **{f"image/{camera}": ((SIDE, SIDE, 3), "uint8") for camera in CAMERAS},
    **{f"state/{name}": ((6,), "float32") for name in ("tcp_pose", "tcp_twist", "wrench")},
    "state/target_offset": ((6,), "float32"),
}
Rows = list[dict[str, Any]]


def run() -> Rows:
    """Every row, on one core, then those of the update with all of them."""
    return [row for cores in ("one_core", "all_cores") for row in in_process(__name__, cores)]


def measure(cores: str, batch: int = BATCH_SIZE) -> Rows:
    """The rows of this process; "one_core" binds it to one."""
    if cores == "one_core":
        use_one_core()
    trunk = frozen_trunk(EncoderConfig())
    contenders = (trunk, random_resnet10(0))
    rows = [row for each in contenders for row in _update_rows(each, cores, batch)]
    return [*rows, *_byte_rows(trunk), *_step_rows()] if cores == "one_core" else rows


# The update


def _update_rows(trunk: Trunk, cores: str, batch: int) -> Rows:
    """Critic updates/s, and the time of each term, cached and with the network inside."""
    config = SACConfig(encoder=EncoderConfig(kind=trunk.name))
    clock = time.process_time if cores == "one_core" else time.perf_counter
    contenders, turns = _contenders(trunk, config, batch), TURNS[trunk.name]
    seconds = fastest(contenders, turns, clock, LEAST_SECONDS)
    ms = {name: 1e3 * each for name, each in seconds.items()}
    total, cached = ms["encoding update"], ms["cached update"]
    rest = cached - ms["cached draw"]  # encoder's trained part, critics: the same in both
    terms = {
        "draw": (ms["cached draw"], ms["encoding draw"]),
        "rest": (rest, rest),
        "passes": (0.0, total - ms["encoding draw"] - rest),
    }
    name = f"vision/{trunk.name}"
    rows = [_row(f"{name}_updates_{cores}", 1e3 / cached, "1/s", 1e3 / total, total / cached)]
    for term, (ours, theirs) in terms.items():
        ratio = theirs / ours if ours else None
        rows.append(_row(f"{name}_{term}_{cores}", ours, "ms", theirs, ratio))
    return [*rows, _row(f"{name}_one_pass_{cores}", ms["pass"], "ms", None, None)]


def _contenders(trunk: Trunk, config: SACConfig, batch: int) -> dict[str, Turn]:
    """A turn of each of what is measured, by name."""
    inputs = encoder_input_spec(SPEC, config.encoder, trunk)
    key = jax.random.PRNGKey(0)
    cached = [_ring(stored_layout(inputs, config.encoder), seed) for seed in (0, 1)]
    raw = [_ring(_raw_layout(), seed) for seed in (0, 1)]
    agent = SACAgent.create(key, inputs, ACTION_DIM, config)
    encoding = EncodingAgent.beside(key, SPEC, ACTION_DIM, config, trunk)
    images = {c: jnp.zeros((batch, SIDE, SIDE, 3), jnp.uint8) + i for i, c in enumerate(CAMERAS)}
    encode = jax.jit(partial(features_of, trunk))
    return {
        "cached draw": _draws(agent, cached, batch),
        "cached update": _updates(agent, cached, batch),
        "encoding draw": _draws(encoding, raw, batch),
        "encoding update": _updates(encoding, raw, batch),
        "pass": lambda: jax.block_until_ready(encode(encoding.trunk_params, images)),
    }


def _draws(agent: SACAgent, rings: list[Ring], batch: int) -> Turn:
    """Sampling alone; raw images are augmented in it."""
    drawn = jax.jit(lambda agent, prior, online: draw(agent, prior, online, batch)[1])
    return lambda: jax.block_until_ready(drawn(agent, *rings))


def _updates(agent: SACAgent, rings: list[Ring], batch: int) -> Turn:
    """One update of the critics on a fresh batch."""
    update = jax.jit(partial(critic_step, batch_size=batch))

    def turn() -> None:
        nonlocal agent
        agent, metrics = update(agent, *rings)
        jax.block_until_ready((agent, metrics))

    return turn


def _ring(layout: FrameLayout, seed: int) -> Ring:
    """A ring with STORED random transitions of such frames."""
    item = transition_bytes(SPEC, ACTION_DIM, layout)
    room = 2 * STORED * (item + layout.frame_bytes)
    ring = create_ring(SPEC, ACTION_DIM, room, layout)
    rng = np.random.default_rng(seed)

    def random(leaf: jax.Array) -> jax.Array:
        if jnp.issubdtype(leaf.dtype, jnp.floating):
            return jnp.asarray(rng.uniform(0, 1, leaf.shape).astype(leaf.dtype))
        return jnp.asarray(rng.integers(0, 2, leaf.shape).astype(leaf.dtype))

    data = jax.tree.map(random, ring.data)
    for name in ("frames", "next_frames"):
        data[name] = jnp.arange(ring.capacity, dtype=jnp.int32)[:, None]
    frames = jax.tree.map(random, ring.frames)
    return ring.replace(data=data, frames=frames, size=jnp.int32(STORED))


# What replay takes


def _raw_layout() -> FrameLayout:
    return FrameLayout({key: SPEC[key] for key in SPEC if key.startswith("image/")})


def _byte_rows(trunk: Trunk) -> Rows:
    """Bytes per transition in episodes of EPISODE_STEPS, against SERL's layout."""
    config = EncoderConfig()
    cached = stored_layout(encoder_input_spec(SPEC, config, trunk), config)
    rows = []
    for name, layout in (("raw", _raw_layout()), ("cached", cached)):
        value = _frames_per_transition() * layout.frame_bytes
        value += transition_bytes(SPEC, ACTION_DIM, layout)
        reference = serl_bytes_per_transition()
        row = f"vision/replay_bytes_{name}"
        rows.append(_row(row, value, "B", reference, reference / value))
    return rows


def serl_bytes_per_transition() -> float:
    """In SERL's memory-efficient replay: a slot for each frame, which holds states and next
    states, action, reward, mask and done, too; the first frame of an episode takes one more."""
    images = 2 * SIDE * SIDE * 3
    states = 2 * 4 * sum(SPEC[key][0][0] for key in SPEC if key.startswith("state/"))
    return _frames_per_transition() * (images + states + 4 * ACTION_DIM + 4 + 4 + 1)


def _frames_per_transition() -> float:
    return (EPISODE_STEPS + 1) / EPISODE_STEPS


# What a step costs


def _step_rows() -> Rows:
    """Ingest of one transition at the learner, and the actor's inference [ms]."""
    rng = np.random.default_rng(0)
    observation = {
        key: rng.integers(0, 255, shape).astype(dtype) for key, (shape, dtype) in SPEC.items()
    }
    record = Record(bytes(16), 0, 0, 0, observation, None)
    encoder = FrameEncoder(SPEC, EncoderConfig())
    config = SACConfig()
    policy = Policy(SPEC, ACTION_DIM, config)
    key = jax.random.PRNGKey(0)

    def act() -> None:
        policy.sample(policy.template, observation, key)

    def ingest() -> None:
        encoder.frames([record])

    seconds = [_median(turn) for turn in (ingest, act)]
    taken, acted = (1e3 * each for each in seconds)
    return [
        _row("vision/ingest_one_core", taken, "ms", None, None),
        _row(
            "vision/inference_one_core",
            acted,
            "ms",
            INFERENCE_AIM_MS,
            INFERENCE_AIM_MS / acted,
        ),
    ]


def _median(turn: Turn, turns: int = 30) -> float:
    turn()
    return float(np.median([seconds_of(turn, time.process_time) for _ in range(turns)]))


def _row(
    name: str, value: float, unit: str, reference: float | None, ratio: float | None
) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "reference": reference, "ratio": ratio}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1] if len(sys.argv) > 1 else "all_cores")))
