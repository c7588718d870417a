"""Demonstrations that a run is given are checked as a whole and taken once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from recorded_episodes import STATE, make_records, write_episode, write_episodes

from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.demonstrations import take_demonstrations
from serl_franka_bringup.plan import make_plan
from serl_learner.episodes import is_demonstration, stretch
from serl_learner.ros_log import encode_episode, read_episode
from serl_learner.types import Relabel, Source

PCB = str(Path(__file__).resolve().parents[2] / "config" / "pcb.yaml")


def plan_of(tmp_path, *pairs, given="given", observation="state"):
    pairs = (f"observation:={observation}", f"demonstrations:={tmp_path / given}", *pairs)
    return make_plan(PCB, pairs, tmp_path / "runs")


def taken(plan):
    """Episodes in the run's directory of demonstrations."""
    directory = Path(plan.arguments.demonstrations_dir)
    return [read_episode(path) for path in sorted(directory.glob("*.mcap"))]


def test_successful_ones_are_taken_once_and_the_others_are_counted(tmp_path):
    write_episodes(tmp_path / "given", 3)
    write_episode(tmp_path / "given" / "n000004.mcap", make_records(3, success=False))
    driven = [replace(r, source=Source.POLICY) for r in make_records(4)]
    write_episode(tmp_path / "given" / "n000005.mcap", driven)
    plan = plan_of(tmp_path)
    said = take_demonstrations(plan)
    assert f"3 of {tmp_path / 'given'}, 3 of them new" in said
    assert said.endswith("left out: 1 not demonstrated, 1 without success")
    assert "3 of" in take_demonstrations(plan)
    assert "0 of them new" in take_demonstrations(plan)
    found = taken(plan)
    assert len(found) == 3
    assert all(is_demonstration(episode) for episode in found)
    assert (Path(plan.arguments.demonstrations_dir) / "metadata.yaml").exists()


def test_one_that_was_taken_back_is_left_out(tmp_path):
    directory = write_episodes(tmp_path / "given", 2)
    session = make_records(0)[0].session
    veto = stretch("actor", session, [Relabel(session, 5, 3, 3, 0.0, False)])
    (directory / "n000009-seq5.mcap").write_bytes(encode_episode(veto))
    plan = plan_of(tmp_path)
    assert take_demonstrations(plan).endswith("left out: 1 without success")
    assert [episode.number for episode in taken(plan)] == [1]


def test_they_are_the_runs_own_and_no_more_are_recorded(tmp_path):
    write_episodes(tmp_path / "given", 1)
    plan, other = plan_of(tmp_path), plan_of(tmp_path, given="other")
    without = make_plan(PCB, ("observation:=state",), tmp_path / "runs")
    assert len({p.directory for p in (plan, other, without)}) == 3
    assert plan.arguments.demonstrations_dir == str(plan.directory / "demonstrations")
    nodes = {node.name: node.parameters for node in plan.nodes}
    assert nodes["learner"]["demonstrations_dir"] == str(plan.directory / "demonstrations")
    assert nodes["actor"]["job.demonstrations"] == 0
    more = plan_of(tmp_path, "demos:=30")
    wanted = {node.name: node.parameters for node in more.nodes}["actor"]["job.demonstrations"]
    assert (wanted, more.directory) == (30, plan.directory)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"keys": STATE[1:]}, "key 'state/target_offset' is missing"),
        ({"keys": (*STATE, "state/q")}, "key 'state/q' .* is not in the layout"),
        ({"cameras": ("wrist",)}, "key 'image/wrist' .* is not in the layout"),
    ],
)
def test_case08_wrong_keys_are_refused_and_nothing_is_taken(tmp_path, fields, says):
    write_episodes(tmp_path / "given", 2)
    write_episode(tmp_path / "given" / "n000009.mcap", make_records(5, **fields))
    plan = plan_of(tmp_path)
    with pytest.raises(ConfigError, match=says) as caught:
        take_demonstrations(plan)
    assert "n000009.mcap" in str(caught.value)
    assert not taken(plan)


@pytest.mark.parametrize("reward", [-0.05, 10.0])
def test_a_reward_that_cannot_be_learned_is_refused_and_nothing_is_taken(tmp_path, reward):
    records = make_records(5)
    records[1] = replace(records[1], reward=reward)
    write_episode(write_episodes(tmp_path / "given", 2) / "n000009.mcap", records)
    plan = plan_of(tmp_path)
    with pytest.raises(
        ConfigError, match=r"n000009.*reward .* is outside reward_range \[0.0, 1.0\]"
    ):
        take_demonstrations(plan)
    assert not taken(plan)
    wider = plan_of(tmp_path, "learner.agent.reward_range:=[-1.0, 10.0]")
    assert "3 of" in take_demonstrations(wider)


@pytest.mark.parametrize(
    ("cameras", "size", "says"),
    [
        (("wrist", "side"), 64, r"\(64, 64, 3\), 'uint8'\), not \(\(128, 128, 3\)"),
        (("wrist", "front"), 128, "key 'image/front' .* is not in the layout"),
        (("wrist",), 128, "key 'image/side' is missing"),
    ],
)
def test_case08_other_pictures_than_the_tasks_are_refused(tmp_path, cameras, size, says):
    keys = [key for key in STATE if key != "state/tcp_fine"]
    write_episodes(tmp_path / "given", 1, cameras=cameras, size=size, keys=keys)
    with pytest.raises(ConfigError, match=says):
        take_demonstrations(plan_of(tmp_path, observation="image"))


def test_case09_of_a_bag_that_was_cut_off_the_whole_episodes_are_taken(tmp_path):
    write_episodes(tmp_path / "given", 3)
    last = tmp_path / "given" / "n000003.mcap"
    last.write_bytes(last.read_bytes()[: last.stat().st_size // 3])
    plan = plan_of(tmp_path)
    assert "2 of" in take_demonstrations(plan)
    assert [episode.number for episode in taken(plan)] == [0, 1]


def test_a_directory_with_a_damaged_file_is_named(tmp_path):
    write_episodes(tmp_path / "given", 1)
    plan = plan_of(tmp_path)
    directory = Path(plan.arguments.demonstrations_dir)
    directory.mkdir(parents=True)
    (directory / "n000001.mcap").write_bytes(b"damaged")
    with pytest.raises(ConfigError, match=r"n000001.mcap is damaged"):
        take_demonstrations(plan)


def test_a_gap_is_refused_by_name(tmp_path):
    records = make_records(0)
    del records[2]
    (tmp_path / "given").mkdir()
    write_episode(tmp_path / "given" / "n000001.mcap", records)
    with pytest.raises(ConfigError, match="a gap: step 3 follows on step 1"):
        take_demonstrations(plan_of(tmp_path))


def test_nothing_there_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="there is no such file"):
        take_demonstrations(plan_of(tmp_path))
    write_episodes(tmp_path / "given", 2, success=False)
    with pytest.raises(ConfigError, match="holds none that succeeded: 2 without success"):
        take_demonstrations(plan_of(tmp_path))


@pytest.mark.parametrize("pair", ["roles:=robot", "job:=evaluate"])
def test_only_who_learns_takes_them(tmp_path, pair):
    assert take_demonstrations(plan_of(tmp_path, pair)) == ""
    assert take_demonstrations(make_plan(PCB, (), tmp_path / "runs")) == ""


def test_a_learner_alone_takes_what_agrees_with_itself(tmp_path):
    write_episodes(tmp_path / "given", 2)
    assert "2 of" in take_demonstrations(plan_of(tmp_path, "roles:=learner"))
