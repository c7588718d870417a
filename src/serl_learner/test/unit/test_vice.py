"""VICE: its losses by hand, its rewards, and the learner that trains it."""

from __future__ import annotations

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from image_toy import FROZEN, IMAGE_SPEC, TRAINED, agent_config, image_record
from reward_toy import SIZES, labelled_episode, toy_frames
from session_files import CONFIG, Clock, Files, Sessions, episode, lockstep, train
from toy import ACTION_DIM, same

from serl_learner import updates
from serl_learner.agents.sac import SACAgent
from serl_learner.episodes import EpisodeError
from serl_learner.learner import Learner
from serl_learner.params_codec import CorruptParams
from serl_learner.rewards import risk, vice
from serl_learner.rewards.estimator import RewardEstimator
from serl_learner.rewards.frame_files import read_frames
from serl_learner.rewards.frames import BadFrames
from serl_learner.rewards.goals import encode_goals
from serl_learner.rewards.model import Judgement
from serl_learner.rewards.published import decode_model, encode_model
from serl_learner.rewards.vice import ViceConfig
from serl_learner.types import Source

pytestmark = pytest.mark.usefixtures("tiny")

KEY = jax.random.PRNGKey(0)
QUICK = ViceConfig(
    enabled=True,
    hidden=8,
    dropout=0.0,
    learning_rate=1e-2,
    batch_size=8,
    first_updates=60,
    gradient_penalty=0.01,
)


def agent(**fields):
    return agent_config(FROZEN, vice=dataclasses.replace(QUICK, **fields))


CONFIG_VICE = dataclasses.replace(
    CONFIG, agent=agent(), replay_bytes=2**19, prior_bytes=2**18, training_starts=3
)


@pytest.fixture
def goals(tiny):
    return encode_goals(toy_frames(), SIZES, QUICK, FROZEN)


def test_labels_are_smoothed_as_published():
    np.testing.assert_allclose(risk.smooth(jnp.array([1.0, 0.0]), 0.2), [0.9, 0.1], rtol=1e-6)


def test_d13_all_cameras_are_mixed_with_the_same_frame():
    """Every frame says its own number, so a mixture tells what went into it."""
    number = jnp.arange(8.0)
    maps = jnp.broadcast_to(number[:, None, None, None], (8, 2, 2, 1))
    mixed = risk.mix(KEY, {"features/side": maps, "features/wrist": 10 * maps}, 1.0)
    np.testing.assert_allclose(10 * mixed["features/side"], mixed["features/wrist"], rtol=1e-6)
    assert not np.allclose(mixed["features/side"][:, 0, 0, 0], number)


def test_without_mixup_nothing_is_mixed():
    features = {"features/side": jnp.ones((2, 1, 1, 1), jnp.float16)}
    mixed = risk.mix(KEY, features, 0.0)
    np.testing.assert_array_equal(mixed["features/side"], features["features/side"])


def logit(*probabilities):
    p = jnp.array(probabilities)
    return jnp.log(p / (1.0 - p))


PLAIN = {"label_smoothing": 0.0, "prior": 0.2}


def test_risk_by_hand_without_labelled_negatives():
    """Goals are said to be solved with 3/4, replay with 1/2 and 3/4: as "not solved" replay costs
    (log 2 + log 4) / 2 = 1.5 log 2, of which 0.2 log 4 may be for solved ones, and 0.8 is left."""
    goal, replay = logit(0.75), logit(0.5, 0.75)
    not_solved = (1.5 * np.log(2) - 0.2 * np.log(4)) / 0.8
    expected = 0.5 * (np.log(4 / 3) + not_solved)
    found = risk.risk(goal, jnp.zeros(0), replay, **PLAIN)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_risk_by_hand_with_labelled_negatives():
    """Of the frames that are no goals one of four is labelled."""
    labelled, replay = logit(0.5), logit(0.5, 0.5, 0.5)
    of_replay = (np.log(2) - 0.2 * np.log(4)) / 0.8
    expected = 0.5 * (np.log(4 / 3) + 0.25 * np.log(2) + 0.75 * of_replay)
    found = risk.risk(logit(0.75), labelled, replay, **PLAIN)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(("prior", "pulled"), [(0.2, False), (0.0, True)])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_a_share_of_replay_may_be_solved_at_no_cost(prior, pulled, smoothing):
    """One of ten is as goals are, which is below `prior`: nothing pulls it down then."""
    goal, none = logit(0.9, 0.9), jnp.zeros(0)
    replay = logit(0.9, *[0.5 * smoothing + 1e-6] * 9)
    slope = jax.grad(lambda x: risk.risk(goal, none, x, smoothing, prior))(replay)
    assert (slope[0] > 1e-3) == pulled
    assert pulled or np.all(slope == 0.0)


def test_with_all_smoothing_there_is_nothing_below_the_least():
    """A perfect classifier of smoothed labels: the cost is what smoothing leaves, no more."""
    found = risk.risk(logit(0.9), logit(0.1), logit(0.1, 0.1), 0.2, 0.1)
    least = -(0.1 * np.log(0.1) + 0.9 * np.log(0.9))
    np.testing.assert_allclose(found, least, rtol=1e-6)


@pytest.mark.parametrize(("slope", "expected"), [(1.0, 0.0), (3.0, 4.0), (0.0, 1.0)])
def test_gradient_penalty_of_a_linear_logit(slope, expected):
    """Weights `slope` in all over 4 + 4 features of two cameras: |gradient| = slope."""
    features = {name: jnp.ones((4, 2, 2, 1)) for name in ("features/side", "features/wrist")}
    weight = slope / np.sqrt(8.0)

    def logit(x):
        return weight * sum(jnp.sum(maps, axis=(1, 2, 3)) for maps in x.values())

    found = risk.gradient_penalty(KEY, logit, features)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_it_learns_to_tell_goals_from_others(goals):
    judgement = Judgement(goals.model(goals.first))
    said = {label: [] for label in (0, 1)}
    for frame in toy_frames(episodes=2):
        said[frame.label].append(judgement.probability(frame.record.observation))
    assert min(said[1]) > 0.5 > max(said[0])


def test_a_success_is_rewarded_and_ends_and_nothing_else_does(goals):
    classifier = QUICK.classifier(FROZEN)
    both = [np.concatenate([goals.solved[k][:2, 0], goals.others[k][:2, 0]]) for k in goals.solved]
    following = {k: x[:, None] for k, x in zip(goals.solved, both, strict=True)}
    batch = {
        "next_observation": following,
        "reward": jnp.array([0.0, 1.0, 1.0, 0.0]),
        "terminated": jnp.array([False, True, True, True]),
    }
    made = vice.rewarded(goals.first, batch, QUICK, classifier)
    np.testing.assert_array_equal(made["reward"], [1.0, 1.0, 0.0, 0.0])
    np.testing.assert_array_equal(made["terminated"], [True, True, False, True])


def test_of_a_stack_the_newest_frame_counts(goals):
    newest = {k: x[:1, 0] for k, x in goals.solved.items()}
    before = {k: x[:1, 0] for k, x in goals.others.items()}
    stacked = {k: np.stack([before[k], newest[k]], axis=1) for k in newest}
    batch = {"next_observation": stacked, "reward": jnp.zeros(1), "terminated": jnp.zeros(1, bool)}
    assert vice.rewarded(goals.first, batch, QUICK, QUICK.classifier(FROZEN))["reward"] == 1.0


# In the learner


def course(episodes=3):
    entries = list(episode(0, 0, 4, image_record, source=Source.DEMO, success=True))
    for number in range(1, episodes):
        entries += episode(number, len(entries), 4, image_record, success=False)
    return entries


def fed(goals, **fields):
    config = dataclasses.replace(CONFIG_VICE, agent=agent(**fields))
    learner = Learner(config, IMAGE_SPEC, ACTION_DIM, 0, goals=goals)
    for record in course():
        learner.add(record)
    return learner


def test_it_is_trained_before_the_agent_as_often_as_it_is_told(goals):
    learner = fed(goals, every=2)
    before = jax.device_get(learner.agent.vice)
    metrics = learner.work()
    said = {"vice_goals", "vice_others", "vice_replay"}
    assert {"vice_loss", "vice_penalty", *said} <= metrics.keys()
    assert not same(before.params, learner.agent.vice.params)
    assert ["vice_loss" in learner.work() for _ in range(3)] == [False, True, False]


def test_rewards_are_those_of_the_classifier_as_it_is(goals):
    """All the replay holds says 0; what is drawn says what the classifier says."""
    learner = fed(goals, threshold=1e-6)
    _, batch = updates.draw(learner.agent, learner.prior, learner.online, 8)
    assert np.all(batch["reward"] == 1.0)
    assert np.all(batch["terminated"])


def test_it_goes_on_after_a_kill_as_if_there_had_been_none(tmp_path, goals):
    entries = course(5)

    def sessions(name):
        files = Files()
        make = Sessions(tmp_path / name, files, Clock())

        def made():
            session = make(config=CONFIG_VICE, restore=False)
            session.trainer.goals = goals
            session.restore()
            return session

        return made

    straight = sessions("straight")()
    lockstep(straight, entries)
    killed = sessions("killed")
    first = killed()
    lockstep(first, entries[:12])
    first.save_checkpoint()
    second = killed()
    reached = second.acknowledgements()[0].received_seq
    lockstep(second, entries[reached:])
    train(second)
    assert same(straight.learner.agent, second.learner.agent)


def test_without_goals_or_features_it_is_refused(goals):
    with pytest.raises(ValueError, match="no goal frames"):
        Learner(CONFIG_VICE, IMAGE_SPEC, ACTION_DIM, 0)
    with pytest.raises(ValueError, match="frozen network sees, not encoder 'small'"):
        encode_goals(toy_frames(), SIZES, QUICK, TRAINED)
    spec = {"state/a": ((2,), "float32")}
    with pytest.raises(ValueError, match="no features to judge"):
        SACAgent.create(KEY, spec, ACTION_DIM, agent())


def test_goals_of_another_camera_or_size_are_refused_with_both(goals):
    other = dataclasses.replace(goals, sizes={"side": (64, 64)})
    with pytest.raises(BadFrames, match=r"goal frames have .*64.* the observation .*wrist"):
        Learner(CONFIG_VICE, IMAGE_SPEC, ACTION_DIM, 0, goals=other)


@pytest.mark.parametrize(
    "wrong",
    [
        {"batch_size": 7},
        {"every": 0},
        {"prior": 1.0},
        {"labelled": -0.1},
        {"frames": 0},
        {"dropout": 1.0},
        {"learning_rate": 0.0},
        {"label_smoothing": 1.0},
        {"gradient_penalty": -1.0},
        {"threshold": 1.0},
        {"mixup": float("nan")},
    ],
)
def test_wrong_settings_are_refused_by_name(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        ViceConfig(**wrong)


# On the wire and in files


def test_what_is_published_judges_alike(goals):
    model = goals.model(goals.first)
    received = decode_model(encode_model(model, 3))
    estimator = RewardEstimator(Judgement(received))
    frame = toy_frames(episodes=1)[-1].record.observation
    assert received.model_id == model.model_id
    assert estimator.judge(1, 1, frame).probability == Judgement(model).probability(frame)


def test_the_next_version_is_taken_over_without_forgetting_the_frames(goals):
    fresh = vice.create_vice(
        KEY, goals.model(goals.first) and _one(goals), QUICK.classifier(FROZEN)
    )
    estimator = RewardEstimator(Judgement(goals.model(goals.first)), frames=2)
    frame = toy_frames(episodes=1)[-1].record.observation
    assert not estimator.judge(1, 1, frame).success
    estimator.adopt(goals.model(goals.first))
    assert estimator.judge(2, 2, frame).success
    estimator.adopt(goals.model(fresh))
    assert estimator.model_id == goals.model(fresh).model_id


def _one(goals):
    return {name: jnp.asarray(maps[:1, 0]) for name, maps in goals.solved.items()}


def test_damaged_bytes_and_another_kind_are_refused(goals):
    model = goals.model(goals.first)
    encoded = encode_model(model, 1)
    with pytest.raises(CorruptParams, match="crc32"):
        decode_model(dataclasses.replace(encoded, data=encoded.data[:-1] + b"x"))
    wider = dataclasses.replace(model, config=dataclasses.replace(model.config, hidden=9))
    with pytest.raises(ValueError, match="'hidden': 9"):
        Judgement(model).adopt(wider)


def test_goals_are_read_from_files_of_one_size(tmp_path):
    episodes = {tmp_path / f"{i}.mcap": labelled_episode(i, [0, 0, 1]) for i in range(2)}
    for path in episodes:
        path.touch()
    frames, sizes = read_frames(tmp_path, episodes.__getitem__)
    assert (len(frames), sizes) == (6, SIZES)


def test_no_file_or_a_damaged_one_is_refused_by_name(tmp_path):
    with pytest.raises(BadFrames, match="holds no episode"):
        read_frames(tmp_path, partial(labelled_episode, labels=[0]))
    (tmp_path / "a.mcap").touch()

    def damaged(path):
        raise EpisodeError(f"{path} is damaged")

    with pytest.raises(BadFrames, match=r"a\.mcap is damaged"):
        read_frames(tmp_path, damaged)
