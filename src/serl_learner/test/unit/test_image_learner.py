"""The learner on images: what it encodes, what it samples, what an actor gets of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from image_toy import (
    CAMERAS,
    ENCODERS,
    FROZEN,
    IMAGE_SPEC,
    SIDE,
    agent_config,
    image_learner,
    image_record,
    tiny_trunk,
)
from toy import ACTION_DIM, host_copy, same

from serl_learner.frame_encoder import FrameEncoder
from serl_learner.learner import Learner, agent_shapes
from serl_learner.policy import Policy
from serl_learner.replay import sample_mixed
from serl_learner.types import Record, Source, spec_of
from serl_learner.validation import RejectedRecord, check_record
from serl_learner.vision.config import EncoderConfig

pytestmark = pytest.mark.usefixtures("tiny")


def feed(learner: Learner, first: int, length: int, **fields: Any) -> list[Record]:
    """An episode of `length` steps, numbered from `first` on."""
    steps = range(length + 1)
    records = [image_record(i, seq=first + i, episode=first, **fields) for i in steps]
    records[-1] = replace(records[-1], action=None, last=True, success=True)
    for item in records:
        learner.add(item)
    return records


def filled(encoder: EncoderConfig) -> tuple[Learner, list[Record]]:
    """A learner with a demonstration, and an episode with an intervention."""
    learner = image_learner(encoder)
    records = feed(learner, 0, 4, source=Source.DEMO)
    records += feed(learner, 10, 4, source=Source.INTERVENTION)
    return learner, records + feed(learner, 20, 3)


@pytest.mark.parametrize("name", ENCODERS)
def test_blocks_train_encoder_critic_and_policy(name: str) -> None:
    learner, _ = filled(ENCODERS[name])
    before = host_copy(learner.agent)
    metrics = learner.work()
    assert metrics is not None
    assert all(np.isfinite(value) for value in metrics.values())
    for part in ("encoder", "critic", "actor"):
        assert not same(getattr(before, part), getattr(learner.agent, part)), part


@pytest.mark.parametrize("name", ENCODERS)
def test_compiled_ahead_gives_the_same_bits(name: str) -> None:
    ahead, usual = filled(ENCODERS[name])[0], filled(ENCODERS[name])[0]
    ahead.compile()
    for learner in (ahead, usual):
        while learner.work() is not None:
            pass
    assert ahead.blocks == usual.blocks > 0
    assert same(ahead.agent, usual.agent)


def test_a_record_is_encoded_once_however_many_transitions_and_halves_it_is_in(tiny: Any) -> None:
    _, records = filled(FROZEN)
    assert sorted(tiny) == sorted(r.seq for r in records)


def test_what_is_not_trained_on_is_not_encoded(tiny: Any) -> None:
    feed(image_learner(FROZEN), 0, 4, source=Source.EVAL)
    assert tiny == []


def test_encoded_alone_or_with_others_a_record_gives_the_same_bits() -> None:
    records = [image_record(i) for i in range(20)]
    together = FrameEncoder(IMAGE_SPEC, FROZEN).frames(records)
    alone = [FrameEncoder(IMAGE_SPEC, FROZEN).keyed(item).frame for item in records]
    assert same(together, alone)
    assert together[0]["features/wrist"].dtype == np.float16
    assert together[0]["features/wrist"].shape == (FROZEN.crops, 4, 4, 3)


def test_the_first_cached_crop_is_the_plain_frame_the_others_are_shifted() -> None:
    item, trunk = image_record(0), tiny_trunk()
    frame = FrameEncoder(IMAGE_SPEC, FROZEN).keyed(item).frame
    for camera in CAMERAS:
        plain = trunk.features(trunk.params, item.observation[f"image/{camera}"][None])[0]
        variants = frame[f"features/{camera}"].astype(np.float32)
        np.testing.assert_allclose(variants[0], plain, atol=1e-3)
        for k in range(1, FROZEN.crops):
            assert np.abs(variants[k] - plain).max() > 0.01


def draw(learner: Learner, batch: int, key: int = 0) -> Any:
    """A batch as an update draws it."""
    sample = jax.jit(sample_mixed, static_argnames="batch")
    return sample(learner.prior, learner.online, jax.random.PRNGKey(key), batch=batch)


def variants_drawn(learner: Learner, records: list[Record], batch: Any) -> dict[str, np.ndarray]:
    """Which cached crop each row has, by camera, for o and (with ' ) for o'."""
    assert learner.frames is not None
    stored: dict[str, list[tuple[int, bytes]]] = {}
    found = {}
    for camera in CAMERAS:
        name = f"features/{camera}"
        stored[camera] = [
            (k, variant.tobytes())
            for item in records
            for k, variant in enumerate(learner.frames.keyed(item).frame[name])
        ]
        number = {content: k for k, content in stored[camera]}
        for mark, which in (("", "observation"), ("'", "next_observation")):
            rows = np.asarray(batch[which][name])[:, 0]
            found[camera + mark] = np.array([number[row.tobytes()] for row in rows])
    return found


def test_crops_are_drawn_for_each_camera_and_independently_for_both_observations() -> None:
    learner, records = filled(FROZEN)
    drawn = variants_drawn(learner, records, draw(learner, 900))
    for name, crops in drawn.items():
        counts = np.bincount(crops, minlength=FROZEN.crops)
        assert np.all(np.abs(counts - 300) < 75), name  # standard deviation 14
    names = sorted(drawn)
    for i, first in enumerate(names):
        for second in names[:i]:
            agree = np.mean(drawn[first] == drawn[second])
            assert abs(agree - 1 / 3) < 0.08, (first, second)  # standard deviation 0.016


def test_d16_the_frames_of_a_stack_have_their_crop_in_common() -> None:
    encoder = replace(FROZEN, stack=3)
    learner = image_learner(encoder)
    records = feed(learner, 0, 9)
    assert learner.frames is not None
    batch = draw(learner, 64)
    for camera in CAMERAS:
        name = f"features/{camera}"
        number = {
            variant.tobytes(): k
            for item in records
            for k, variant in enumerate(learner.frames.keyed(item).frame[name])
        }
        rows = np.asarray(batch["observation"][name])
        crops = np.array([[number[frame.tobytes()] for frame in row] for row in rows])
        assert np.all(crops == crops[:, :1])
        assert len(np.unique(crops)) == 3


# What the actor gets


def one_of_batch(learner: Learner, item: Record) -> Any:
    """A record as a batch of one for the agent's encoder, without augmentation."""
    assert learner.frames is not None
    frame = learner.frames.keyed(item).frame
    pick = {k: v[:1] if k.startswith("features/") else v[None] for k, v in frame.items()}
    state = {k: v[None] for k, v in item.observation.items() if k.startswith("state/")}
    return state | {k: v[None] for k, v in pick.items()}


@pytest.mark.parametrize("name", ENCODERS)
def test_the_policy_draws_what_the_agent_draws(name: str) -> None:
    learner, records = filled(ENCODERS[name])
    learner.work()
    policy = Policy(IMAGE_SPEC, ACTION_DIM, learner.config.agent)
    agent, key = learner.agent, jax.random.PRNGKey(5)
    state = agent.encode(agent.encoder, one_of_batch(learner, records[3]))
    expected, _ = agent._sample(agent.actor, state, key)
    drawn = policy.sample(learner.policy_params(), records[3].observation, key)
    np.testing.assert_allclose(drawn, expected[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ENCODERS)
def test_the_policy_takes_a_stack_of_frames(name: str) -> None:
    encoder = replace(ENCODERS[name], stack=2)
    policy = Policy(IMAGE_SPEC, ACTION_DIM, agent_config(encoder))
    learner = image_learner(encoder)
    first, second = (image_record(step).observation for step in (0, 1))
    stacked = {k: np.stack([first[k], second[k]]) if "image" in k else second[k] for k in first}
    turned = {k: v[::-1] if "image" in k else v for k, v in stacked.items()}
    params = learner.policy_params()
    assert not np.array_equal(policy.mode(params, stacked), policy.mode(params, turned))


@pytest.mark.parametrize("name", ENCODERS)
def test_published_parameters_are_those_the_policy_expects(name: str) -> None:
    learner = image_learner(ENCODERS[name])
    template = Policy(IMAGE_SPEC, ACTION_DIM, learner.config.agent).template
    published = learner.policy_params()
    assert sorted(published) == ["encoder", "policy"]
    assert jax.tree.structure(template) == jax.tree.structure(published)
    shapes = agent_shapes(learner.config, IMAGE_SPEC, ACTION_DIM)
    assert jax.tree.structure(shapes) == jax.tree.structure(learner.agent)


def test_layout_hash_differs_where_the_encoder_is_another(monkeypatch: Any) -> None:
    def layout(**fields: Any) -> str:
        config = agent_config(replace(FROZEN, **fields))
        return Policy(IMAGE_SPEC, ACTION_DIM, config).layout_hash

    changes: list[dict[str, Any]] = [
        {},
        {"kind": "small"},
        {"latent": 5},
        {"proprio_latent": 3},
        {"film": True},
        {"stack": 2},
        {"blank": True},
        {"pooling": "spatial_softmax"},
    ]
    hashes = [layout(**change) for change in changes]
    other = replace(tiny_trunk(), weights_hash="1" * 64)
    monkeypatch.setattr("serl_learner.frame_encoder._load", lambda config: other)
    assert len({*hashes, layout()}) == len(changes) + 1


def test_layout_hash_does_not_depend_on_augmentation() -> None:
    for fields in ({"crops": 7}, {"pad": 1}, {"colour_jitter": 0.3}, {"weights": "elsewhere"}):
        other = agent_config(replace(FROZEN, **fields))
        same_hash = Policy(IMAGE_SPEC, ACTION_DIM, agent_config(FROZEN)).layout_hash
        assert Policy(IMAGE_SPEC, ACTION_DIM, other).layout_hash == same_hash


def test_a_blind_policy_does_not_see_the_image() -> None:
    encoder = replace(FROZEN, blank=True)
    learner = image_learner(encoder)
    policy = Policy(IMAGE_SPEC, ACTION_DIM, learner.config.agent)
    seen = dict(image_record(1).observation)
    other = seen | {k: v for k, v in image_record(1, value=77).observation.items() if "image" in k}
    params = learner.policy_params()
    np.testing.assert_array_equal(policy.mode(params, seen), policy.mode(params, other))


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((SIDE, SIDE, 3), np.float32),
        np.zeros((SIDE, SIDE), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
    ],
)
def test_case11_what_is_no_image_is_refused_even_when_the_layout_says_so(value: Any) -> None:
    item = image_record(0)
    item = replace(item, observation=item.observation | {"image/wrist": value})
    with pytest.raises(RejectedRecord, match=r"image/wrist.*not uint8 \[H, W, 3\]"):
        check_record(item, spec_of(item.observation), ACTION_DIM)
