"""VICE in the learner: when it is trained and on what, and what it rewards."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from image_toy import FROZEN, IMAGE_SPEC, TRAINED, image_record
from reward_toy import SIZES, picture, toy_frames
from session_files import CONFIG, Clock, Files, Sessions, episode, lockstep, train
from toy import ACTION_DIM, same
from vice_toy import QUICK, agent, toy_goals

from serl_learner import replay, updates
from serl_learner.agents.sac import SACAgent
from serl_learner.learner import Learner
from serl_learner.rewards import vice
from serl_learner.rewards.frames import BadFrames
from serl_learner.rewards.goals import encode_goals
from serl_learner.rewards.vice import ViceConfig
from serl_learner.types import Relabel, Source

pytestmark = pytest.mark.usefixtures("tiny")

KEY = jax.random.PRNGKey(0)


@pytest.fixture
def goals(tiny):
    return toy_goals()


CONFIG_VICE = dataclasses.replace(
    CONFIG, agent=agent(), replay_bytes=2**19, prior_bytes=2**18, training_starts=3
)


def course(episodes=3):
    entries = list(episode(0, 0, 4, image_record, source=Source.DEMO, success=True))
    for number in range(1, episodes):
        entries += episode(number, len(entries), 4, image_record, success=False)
    return entries


def watched(goals, entries, **fields):
    """A learner that has taken these."""
    config = dataclasses.replace(CONFIG_VICE, agent=agent(**fields))
    learner = Learner(config, IMAGE_SPEC, ACTION_DIM, 0, goals=goals)
    for entry in entries:
        (learner.relabel if isinstance(entry, Relabel) else learner.add)(entry)
    return learner


def test_it_is_trained_before_the_agent_as_often_as_it_is_told(goals):
    learner = watched(goals, course(), every=2)
    before = jax.device_get(learner.agent.vice)
    metrics = learner.work()
    said = {"vice_goals", "vice_others", "vice_called"}
    assert {"vice_loss", "vice_penalty", *said} <= metrics.keys()
    assert not same(before.params, learner.agent.vice.params)
    assert ["vice_loss" in learner.work() for _ in range(3)] == [False, True, False]


def solved(number, first_seq, length=4, **fields):
    """An episode that a success was called on at its end."""
    *steps, final, last = episode(number, first_seq, length, image_record, success=True, **fields)
    return [*steps, dataclasses.replace(final, reward=1.0, terminated=True), last]


def since(first_seq):
    """The success of the first episode is one since this record."""
    return Relabel(b"s" * 16, 5, first_seq, 3, reward=1.0, terminated=True)


def mixed_up(*episodes):
    """The records of several actors, by turns."""
    return [record for records in zip(*episodes, strict=True) for record in records]


TWO = mixed_up(solved(0, 0), episode(0, 9, 4, image_record, session=b"t" * 16))
"""Of two actors at once; the first solves its task in 4 steps, what it comes to is 0, 2, 4, 6."""
TAKEN_BACK = Relabel(b"s" * 16, 5, 3, 3, reward=0.0, terminated=False)


@pytest.mark.parametrize(("first", "expected"), [(3, {6}), (2, {4, 6}), (0, {0, 2, 4, 6})])
def test_the_frames_on_which_a_success_was_called(goals, first, expected):
    ring = watched(goals, [*TWO, since(first)]).online
    called = np.asarray(replay.called_frames(ring))[ring.data["next_frames"][:8, -1]]
    assert set(np.flatnonzero(called)) == expected


def test_a_success_that_was_taken_back_was_not_called(goals):
    ring = watched(goals, [*TWO, TAKEN_BACK]).online
    assert not np.any(replay.called_frames(ring))


@pytest.mark.parametrize("called", [True, False])
def test_frames_are_drawn_from_those_called_or_from_the_others(goals, called):
    ring = watched(goals, [*TWO, since(2)]).online
    frames = replay.called_frames(ring)
    drawn, found = replay.sample_following(ring, KEY, 64, frames if called else ~frames)
    crops = {x.tobytes() for x in np.asarray(ring.frames["features/side"])[frames].reshape(6, -1)}
    among = [maps.tobytes() in crops for maps in np.asarray(drawn["features/side"]).reshape(64, -1)]
    assert found
    assert set(among) == {called}


def test_without_any_frame_that_is_wanted_all_are_drawn_and_it_says_so(goals):
    ring = watched(goals, TWO).online
    nothing = jnp.zeros(len(ring.frames["features/side"]), bool)
    drawn, found = replay.sample_following(ring, KEY, 4, nothing)
    assert not found
    assert all(np.any(maps[i]) for maps in drawn.values() for i in range(4))


@pytest.mark.parametrize("taken_back", [False, True])
def test_what_was_let_pass_is_not_held_against_the_policy(goals, taken_back):
    """The first actor comes to what goals show, in a light of its own, and a success is called. As
    long as that is not taken back, it is not learned to be none."""
    rng = np.random.default_rng(0)
    seen = {f"image/{camera}": picture(rng, 1) // np.uint8(2) for camera in SIZES}
    *entries, last, _ = TWO
    entries += [dataclasses.replace(last, observation={**last.observation, **seen})]
    entries += [TAKEN_BACK] * taken_back
    learner = watched(goals, entries, prior=0.9, updates=200, frames=1)
    learner.work()
    ring = learner.online
    maps = {k: x[ring.data["next_frames"][6, -1]] for k, x in ring.frames.items()}
    said = vice.judge(learner.agent.vice, maps, QUICK.classifier(FROZEN)).mean()
    assert (said < 0.5) == taken_back


def test_rewards_are_those_of_the_classifier_as_it_is(goals):
    """All the replay holds says 0; what is drawn says what the classifier says."""
    learner = watched(goals, course(), threshold=1e-6)
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
        {"labelled": 0.8},
        {"called": -0.1},
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
