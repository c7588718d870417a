"""Cloning on images: its encoder is trained by the clone's loss, on the frames that belong."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest
from image_toy import ENCODERS, FROZEN, IMAGE_SPEC, agent_config, image_record, trained_is_slow
from toy import ACTION_DIM

from serl_learner.bc import BCConfig, _init, clone
from serl_learner.bc_examples import make_examples
from serl_learner.frame_encoder import FrameEncoder
from serl_learner.policy import Policy
from serl_learner.types import Record

pytestmark = pytest.mark.usefixtures("tiny")


def config(encoder: object, **fields: float) -> BCConfig:
    """A few updates of a small policy."""
    defaults = {"batch_size": 8, "evaluation_period": 20, "max_updates": 200, "learning_rate": 1e-2}
    return BCConfig(policy=agent_config(encoder), **(defaults | fields))


def shades(episodes: int = 4, length: int = 6) -> list[Record]:
    """Records whose action is how bright the wrist's image is, which no state tells."""
    records = []
    rng = np.random.default_rng(0)
    for number in range(episodes * length):
        episode, step = divmod(number, length)
        made = image_record(step, seq=number, episode=episode)
        shade = rng.uniform(-0.8, 0.8)
        image = np.full((32, 32, 3), round(127.5 * (1 + shade)), np.uint8)
        observation = {k: np.zeros_like(v) for k, v in made.observation.items()}
        action = np.full(ACTION_DIM, shade, np.float32)
        records.append(
            replace(made, observation=observation | {"image/wrist": image}, action=action)
        )
    return records


def test_a_clone_acts_by_what_it_sees() -> None:
    made = config(FROZEN)
    params, metrics = clone(shades(), IMAGE_SPEC, ACTION_DIM, made, jax.random.PRNGKey(0))
    policy = Policy(IMAGE_SPEC, ACTION_DIM, made.policy)
    records = shades()
    acted = np.array([policy.mode(params, r.observation)[0] for r in records])
    shown = np.array([r.action[0] for r in records])
    assert np.corrcoef(acted, shown)[0, 1] > 0.95
    assert metrics["held_out_loss"] < 0.0  # a blind one cannot: uniform is log 2 = 0.69 each


@pytest.mark.parametrize("name", trained_is_slow(ENCODERS))
def test_the_encoder_is_trained_too(name: str) -> None:
    made = config(ENCODERS[name], max_updates=2, evaluation_period=2, batch_size=2)
    key = jax.random.PRNGKey(0)
    params, _ = clone(shades(2, 3), IMAGE_SPEC, ACTION_DIM, made, key)
    before = _init(jax.random.split(key, 3)[1], IMAGE_SPEC, ACTION_DIM, made.policy)
    template = Policy(IMAGE_SPEC, ACTION_DIM, made.policy).template
    assert jax.tree.structure(params) == jax.tree.structure(template)
    seen = [(p["policy"], p["encoder"]["camera_wrist"]) for p in (params, before)]
    for new, old in zip(*map(jax.tree.leaves, seen), strict=True):  # the other camera is dark
        assert not np.array_equal(new, old)


def test_a_stack_has_the_frames_of_its_episode_the_first_one_repeated() -> None:
    encoder = replace(FROZEN, stack=3)
    records = [image_record(i % 4, seq=i, episode=i // 4) for i in range(8)]
    (examples,) = make_examples([records], IMAGE_SPEC, encoder)
    frames = FrameEncoder(IMAGE_SPEC, encoder).frames(records)
    observation, _ = examples.plain(0, 8)
    expected = [[0, 0, 0], [0, 0, 1], [0, 1, 2], [1, 2, 3]]
    expected += [[4 + n for n in row] for row in expected]
    for row, numbers in enumerate(expected):
        for camera in ("features/side", "features/wrist"):
            stack = np.stack([frames[n][camera][0] for n in numbers])
            np.testing.assert_array_equal(observation[camera][row], stack)
