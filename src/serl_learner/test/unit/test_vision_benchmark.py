"""The update with the network inside is the cached one, with three passes; the rows say so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from image_toy import CAMERAS, FROZEN, IMAGE_SPEC, SIDE, agent_config, image_batch, tiny_trunk
from toy import ACTION_DIM

from serl_learner import vision_benchmark
from serl_learner.agents.sac import SACAgent
from serl_learner.encoding_agent import EncodingAgent
from serl_learner.vision.encoder import encoder_input_spec
from serl_learner.vision.trunk import Trunk

CONFIG = agent_config(FROZEN)
KEY = jax.random.PRNGKey(3)


def counting() -> tuple[Trunk, list[int]]:
    """The tiny network, and how many images each of its passes had."""
    trunk, passes = tiny_trunk(), []

    def features(params: Any, images: jax.Array) -> jax.Array:
        passes.append(len(images))
        return trunk.features(params, images)

    return replace(trunk, features=features), passes


def raw_batch(size: int = 6) -> dict[str, Any]:
    """Random transitions with images."""
    rng = np.random.default_rng(1)
    batch = image_batch(FROZEN, size)
    for name in ("observation", "next_observation"):
        images = {
            f"image/{camera}": rng.integers(0, 256, (size, 1, SIDE, SIDE, 3), dtype=np.uint8)
            for camera in CAMERAS
        }
        state = {k: v for k, v in batch[name].items() if k.startswith("state/")}
        batch[name] = state | {"state/b": np.zeros((size, 1), np.float32)} | images
    return batch


def encoded(batch: dict[str, Any], trunk: Trunk) -> dict[str, Any]:
    """The same transitions with features in place of the images."""
    result = dict(batch)
    for name in ("observation", "next_observation"):
        result[name] = {
            (k.replace("image/", "features/")): (
                trunk.features(trunk.params, v[:, 0])[:, None] if k.startswith("image/") else v
            )
            for k, v in batch[name].items()
        }
    return result


def test_an_update_with_the_network_inside_is_the_cached_one_with_three_passes() -> None:
    trunk, passes = counting()
    inputs = encoder_input_spec(IMAGE_SPEC, FROZEN, trunk)
    cached = SACAgent.create(KEY, inputs, ACTION_DIM, CONFIG)
    inside = EncodingAgent.beside(KEY, IMAGE_SPEC, ACTION_DIM, CONFIG, trunk)
    batch = raw_batch()
    passes.clear()
    expected, metrics = jax.jit(SACAgent.update_critic)(cached, encoded(batch, tiny_trunk()))
    assert passes == []
    updated, found = jax.jit(EncodingAgent.update_critic)(inside, batch)
    assert passes == [2 * 6] * 3
    for name, value in metrics.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4)
    for part in ("encoder", "critic", "target_encoder"):
        pairs = zip(
            jax.tree.leaves(getattr(updated, part)),
            jax.tree.leaves(getattr(expected, part)),
            strict=True,
        )
        for leaf, other in pairs:
            np.testing.assert_allclose(leaf, other, rtol=1e-3, atol=1e-5)


def test_the_target_has_parameters_of_its_own() -> None:
    inside = EncodingAgent.beside(KEY, IMAGE_SPEC, ACTION_DIM, CONFIG, tiny_trunk())
    update = jax.jit(EncodingAgent.update_critic)
    batch = raw_batch()
    _, metrics = update(inside, batch)
    moved = jax.tree.map(lambda leaf: 2.0 * leaf, inside.target_trunk_params)
    _, others = update(inside.replace(target_trunk_params=moved), batch)
    assert float(metrics["target"]) != float(others["target"])
    assert float(metrics["q"]) == float(others["q"])


def test_bytes_of_serls_layout_by_hand() -> None:
    # 2 x 49,152 of images, 2 x 24 float32 of states, 6 of action, reward, mask, done; 21 in 20.
    assert vision_benchmark.serl_bytes_per_transition() == pytest.approx(
        1.05 * (98_304 + 192 + 24 + 4 + 4 + 1)
    )


def test_every_term_has_a_row_and_they_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vision_benchmark.TURNS, "tiny", 1)
    times = {
        "cached draw": 1.0,
        "cached update": 30.0,
        "encoding draw": 2.0,
        "encoding update": 3032.0,
        "pass": 900.0,
    }
    monkeypatch.setattr(vision_benchmark, "_contenders", lambda *_: dict.fromkeys(times))
    seconds = {name: time / 1e3 for name, time in times.items()}
    monkeypatch.setattr(vision_benchmark, "fastest", lambda *_: seconds)
    monkeypatch.setattr(vision_benchmark, "EncoderConfig", lambda kind: FROZEN)
    rows = vision_benchmark._update_rows(tiny_trunk(), "one_core", 2)
    named = {row["name"].removeprefix("vision/tiny_"): row for row in rows}
    updates = named.pop("updates_one_core")
    assert (updates["value"], updates["unit"]) == (pytest.approx(1000.0 / 30.0), "1/s")
    assert updates["ratio"] == pytest.approx(3032.0 / 30.0)
    assert named.pop("one_pass_one_core")["value"] == 900.0
    for side, total in (("value", 30.0), ("reference", 3032.0)):
        assert sum(row[side] for row in named.values()) == pytest.approx(total)
    assert named["passes_one_core"]["reference"] == pytest.approx(3001.0)
