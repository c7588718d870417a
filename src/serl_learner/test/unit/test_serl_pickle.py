"""Demonstrations of SERL and HIL-SERL come in by what is said of their keys, and nothing else."""

from __future__ import annotations

import collections
import os
import pickle
import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from serl_learner.data.from_transitions import Reading, mappable, session_of
from serl_learner.data.keymap import BadMapping, parse_map
from serl_learner.data.serl_pickle import BadPickle, load_transitions
from serl_learner.episodes import is_demonstration
from serl_learner.types import spec_of
from serl_learner.validation import RejectedRecord, check_record

SESSION = bytes(range(16))
MAP = parse_map(
    {
        "observation": {
            "image/wrist": "wrist_1",
            "state/tcp_pose": {
                "from": "state.tcp_pose",
                "euler": True,
                "scale": [0.05, 0.05, 0.05, 0.35, 0.35, 0.35],
            },
            "state/wrench": {
                "from": ["state.tcp_force", "state[10:13]"],
                "scale": 10,
                "tanh": True,
            },
            "state/target_offset": {"zeros": 6},
        },
        "action": "actions[0:6]",
    }
)


def observation(rng):
    return {
        "state": rng.normal(size=(1, 19)).astype(np.float32),
        "wrist_1": rng.integers(0, 256, (1, 8, 8, 3), np.uint8),
        "wrist_2": rng.integers(0, 256, (1, 8, 8, 3), np.uint8),
    }


def serl_transitions(lengths=(4, 3), successes=(True, True), seed=0):
    """As SERL records them: done is 1 at the end, the mask 0 whatever ended it."""
    rng, made = np.random.default_rng(seed), []
    for length, success in zip(lengths, successes, strict=True):
        observed = observation(rng)
        for step in range(length):
            following, end = observation(rng), step == length - 1
            made.append(
                {
                    "observations": observed,
                    "actions": rng.uniform(-1, 1, 7).astype(np.float32),
                    "next_observations": following,
                    "rewards": np.float64(end and success),
                    "masks": 1.0 - end,
                    "dones": bool(end),
                    "infos": {"succeed": np.bool_(end and success), "original_state": [1, "a"]},
                }
            )
            observed = following
    return made


def write(path, content, protocol=4):
    path.write_bytes(pickle.dumps(content, protocol=protocol))
    return path


def read(path, keys=MAP, **options):
    return Reading(keys, SESSION, **options).episodes(load_transitions(path))


@pytest.mark.parametrize("protocol", range(2, 6))
def test_what_was_pickled_comes_back_bit_by_bit(tmp_path, protocol):
    made = serl_transitions()
    found = load_transitions(write(tmp_path / "a.pkl", made, protocol))
    assert len(found) == len(made)
    for a, b in zip(found, made, strict=True):
        for group in ("observations", "next_observations"):
            for key, value in b[group].items():
                assert a[group][key].dtype == value.dtype
                np.testing.assert_array_equal(a[group][key], value)
        np.testing.assert_array_equal(a["actions"], b["actions"])
        assert (a["rewards"], a["masks"], a["dones"]) == (b["rewards"], b["masks"], b["dones"])
        assert a["infos"] == b["infos"]


def test_episodes_with_their_ends(tmp_path):
    made = serl_transitions((4, 3), (True, False))
    first, second = read(write(tmp_path / "a.pkl", made))
    assert [len(e.records) for e in (first, second)] == [5, 4]
    assert [r.seq for r in (*first.records, *second.records)] == list(range(9))
    assert is_demonstration(first)
    assert not is_demonstration(second)
    assert [r.terminated for r in first.records] == [False, False, False, True, False]
    # D5: it ends without reward, so it was the time limit, though SERL's mask says otherwise
    end = second.records[-2]
    assert (end.terminated, end.truncated) == (False, True)
    assert second.records[-1].success is False


def test_keys_as_they_were_mapped(tmp_path):
    made = serl_transitions()
    records = read(write(tmp_path / "a.pkl", made))[0].records
    state = made[1]["observations"]["state"][0].astype(np.float64)
    seen = records[1].observation
    np.testing.assert_array_equal(seen["image/wrist"], made[1]["observations"]["wrist_1"][0])
    turn = Rotation.from_euler("xyz", state[7:10]).as_rotvec()
    np.testing.assert_allclose(seen["state/tcp_pose"][:3], state[4:7] / 0.05, rtol=1e-6)
    np.testing.assert_allclose(seen["state/tcp_pose"][3:], turn / 0.35, rtol=1e-6)
    wrench = np.concatenate([state[1:4], state[10:13]])
    np.testing.assert_allclose(seen["state/wrench"], np.tanh(wrench / 10), rtol=1e-6)
    np.testing.assert_array_equal(seen["state/target_offset"], np.zeros(6, np.float32))
    np.testing.assert_array_equal(records[1].action, made[1]["actions"][:6])
    final = made[3]["next_observations"]["wrist_1"][0]
    np.testing.assert_array_equal(records[4].observation["image/wrist"], final)


def test_d03_what_does_not_follow_is_an_episode_of_its_own(tmp_path):
    made = serl_transitions((6,), (True,))
    del made[2]  # no done says that something is missing here
    first, second = read(write(tmp_path / "a.pkl", made))
    assert [len(e.records) for e in (first, second)] == [3, 4]
    assert [e.records[-1].success for e in (first, second)] == [False, True]


def test_d26_an_action_beyond_one_is_refused_or_clipped(tmp_path):
    made = serl_transitions()
    made[2]["actions"][1] = 1.25
    path = write(tmp_path / "a.pkl", made)
    with pytest.raises(BadMapping, match=r"transition 2: action .*1.25.* is not in \[-1, 1\]"):
        read(path)
    assert read(path, clip=True)[0].records[2].action[1] == 1.0


def test_a_reward_that_is_no_number_is_named(tmp_path):
    made = serl_transitions()
    made[2]["rewards"] = np.zeros(3)
    with pytest.raises(BadMapping, match=r"transition 2: rewards is float64\[3\], expected one"):
        read(write(tmp_path / "a.pkl", made))


@pytest.mark.parametrize("other", [{"period": 0.2}, {"clip": True}, {"keys": {"b": "state"}}])
def test_a_session_is_of_the_file_and_of_how_it_is_read(other):
    def session(content=b"a file", keys=None, period=0.1, clip=False):
        mapped = parse_map({"observation": keys or {"a": "state", "b": "wrist_1"}})
        return session_of(content, mapped, period, clip)

    assert session() == session(keys={"b": "wrist_1", "a": "state"})
    assert len(session()) == 16
    assert session(**other)[:8] == session()[:8]
    assert session(**other) != session()
    assert session(b"another")[:8] != session()[:8]


class Command:
    def __reduce__(self):
        return os.system, ("true",)


class Attribute:
    def __reduce__(self):
        return getattr, ("a", "upper")


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ([Command()], "'posix.system'"),
        ({"a": Attribute()}, "'builtins.getattr'"),
        ([collections.Counter("a")], "'collections.Counter'"),
        ([np.array([Command()], object)], "dtype 'O8'"),
        ([np.datetime64("2026-01-01")], "dtype 'M8'"),
    ],
)
def test_whatever_else_it_names_is_refused_by_name(tmp_path, content, named):
    path = write(tmp_path / "a.pkl", content)
    with pytest.raises(BadPickle) as caught:
        load_transitions(path)
    assert named in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"a": 1}, "holds a dict, not a list"),
        ([], "holds a list, not a list of transitions"),
        ([{"observations": {}}], "transition 0 lacks actions, next_observations"),
        ([1, 2], "transition 0 lacks observations"),
    ],
)
def test_what_is_no_list_of_transitions(tmp_path, content, says):
    with pytest.raises(BadPickle, match=says):
        load_transitions(write(tmp_path / "a.pkl", content))


def test_a_damaged_file(tmp_path):
    path = write(tmp_path / "a.pkl", serl_transitions())
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(BadPickle, match="a.pkl"):
        load_transitions(path)
    with pytest.raises(BadPickle, match="No such file"):
        load_transitions(tmp_path / "b.pkl")


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (
            {"image/wrist": "front"},
            "image/wrist: there is no 'front'; there are state float32",
        ),
        ({"image/wrist": "state"}, "image/wrist has the shape (1, 19), expected 3 dimensions"),
        ({"state/a": "state[4:25]"}, "state/a: 'state[4:25]' reaches out of state of 19"),
        ({"state/a": "state.elbow"}, "with the parts gripper_pose, tcp_force"),
        ({"state/a": {"from": "state[0:3]", "euler": True}}, "euler needs 6 numbers, there are 3"),
        ({"state/a": {"from": "state[0:3]", "scale": [1, 2]}}, "scale has 2 numbers for 3"),
        ({"state/a": "wrist_1[0:3]"}, "wrist_1 has the shape (1, 8, 8, 3)"),
    ],
)
def test_case08_a_mapping_that_does_not_fit_names_the_key_and_what_there_is(
    tmp_path, columns, says
):
    path = write(tmp_path / "a.pkl", serl_transitions())
    with pytest.raises(BadMapping, match=re.escape(says)):
        read(path, parse_map({"observation": columns}))


@pytest.mark.parametrize(
    ("mapping", "says"),
    [
        ({}, "no key is mapped"),
        ({"observations": {}}, "observations: unknown"),
        ({"observation": {"a": {"form": "b"}}}, "a: expected a source"),
        ({"observation": {"a": {"from": "b", "size": 1}}}, "a.size: unknown"),
        ({"observation": {"a": "b[1]"}}, "'b\\[1\\]' is no name"),
        ({"observation": {"a": 3}}, "expected a source"),
        ({"observation": None}, "no key is mapped"),
        ({"observation": {"a": {"from": "b", "scale": "x"}}}, "a.scale: expected numbers .* 'x'"),
        ({"observation": {"a": {"from": "b", "scale": [1, 0]}}}, r"a.scale: .* other than 0"),
        ({"observation": {"a": {"from": "b", "euler": "no"}}}, "a.euler: expected true or false"),
        ({"observation": {"a": {"from": 3}}}, "a.from: expected a source or a list of them"),
        ({"observation": {"a": []}}, "a.from: expected a source or a list of them"),
        ({"observation": {"a": {"zeros": "x"}}}, "a.zeros: expected how many, at least 1.*'x'"),
        ({"observation": {"a": {"zeros": -1}}}, "a.zeros: expected how many"),
        ({"observation": {"a": {"zeros": 6, "from": "b"}}}, "and no `from`"),
    ],
)
def test_a_mapping_that_cannot_be_read(mapping, says):
    with pytest.raises(BadMapping, match=says):
        parse_map(mapping)


def test_it_says_what_can_be_mapped():
    text = mappable(serl_transitions())
    assert "actions float32[7]" in text
    assert "state float32[1, 19]" in text
    assert "wrist_2 uint8[1, 8, 8, 3]" in text


def test_pictures_in_a_group_of_their_own_are_found(tmp_path):
    made = serl_transitions()
    for transition in made:
        for group in ("observations", "next_observations"):
            seen = transition[group]
            transition[group] = {"state": seen["state"], "images": {"wrist_1": seen["wrist_1"]}}
    assert "image/wrist" in read(write(tmp_path / "a.pkl", made))[0].records[0].observation


WITH_GRIPPER = parse_map(
    {"observation": {"state/gripper": "state.gripper_pose", "state/a": "state[1:3]"}}
)


def gripper_transitions(wishes, measured=0.5, lengths=None):
    """One trajectory, or several, whose actions ask these of the gripper."""
    lengths = lengths or (len(wishes),)
    made = serl_transitions(lengths, (True,) * len(lengths))
    for transition, wish in zip(made, wishes, strict=True):
        transition["actions"][6] = wish
        for group in ("observations", "next_observations"):
            transition[group]["state"][0, 0] = measured
    return made


def gripper_of(episode):
    return [record.action[6] for record in episode.records[:-1]]


def test_what_is_asked_of_a_closed_gripper_at_every_step_is_stored_as_one_toggle(tmp_path):
    wishes = (0, -1, -0.93, -1, 0.4, 1, 0.95, -1, -1)
    made = gripper_transitions(wishes)
    (episode,) = read(write(tmp_path / "a.pkl", made), WITH_GRIPPER)
    assert gripper_of(episode) == [0, -1, 0, 0, 0, 1, 0, -1, 0]
    commanded = [record.observation["state/gripper"][1] for record in episode.records]
    assert commanded == [1, 1, -1, -1, -1, -1, 1, 1, -1, -1]
    np.testing.assert_array_equal(episode.records[0].action[:6], made[0]["actions"][:6])


def test_every_trajectory_begins_with_an_open_gripper(tmp_path):
    made = gripper_transitions((-1, -1, 0, -1, -1), lengths=(2, 3))
    first, second = read(
        write(tmp_path / "a.pkl", made), parse_map({"observation": {"a": "state"}})
    )
    assert (gripper_of(first), gripper_of(second)) == ([-1, 0], [0, -1, 0])


def test_a_measured_opening_is_observed_as_the_actor_would(tmp_path):
    path = write(tmp_path / "a.pkl", gripper_transitions((0, 0), measured=0.75))
    (episode,) = read(path, WITH_GRIPPER)
    np.testing.assert_array_equal(episode.records[0].observation["state/gripper"], (0.5, 1.0))


@pytest.mark.parametrize("measured", [200.0, -0.1, np.nan])
def test_a_measured_opening_beyond_its_limits_is_refused(tmp_path, measured):
    path = write(tmp_path / "a.pkl", gripper_transitions((0, 0), measured=measured))
    with pytest.raises(BadMapping, match=r"state/gripper is \[.*expected one number.*0 closed"):
        read(path, WITH_GRIPPER)


def test_d03_after_a_gap_nobody_knows_whether_the_gripper_is_open(tmp_path):
    made = gripper_transitions((0, -1, -1, -1, 1))
    del made[2]
    path = write(tmp_path / "a.pkl", made)
    with pytest.raises(BadMapping, match="step 0 of episode 1 is missing.*whether the gripper is"):
        read(path, WITH_GRIPPER)
    assert len(read(path)) == 2  # without the gripper


def test_a_wish_that_is_not_finite_is_not_made_one(tmp_path):
    made = gripper_transitions((0, np.nan, -1))
    (episode,) = read(write(tmp_path / "a.pkl", made), WITH_GRIPPER)
    np.testing.assert_array_equal(gripper_of(episode), (0, np.nan, -1))
    spec = spec_of(episode.records[0].observation)
    with pytest.raises(RejectedRecord, match="not in"):
        check_record(episode.records[1], spec, 7)
