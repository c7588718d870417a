"""A checkpoint is complete, atomic and of this layout, or not used."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
from toy import ACTION_DIM, SMALL, SPEC, host_copy, record, same, small_learner

from serl_learner import checkpoint
from serl_learner.checkpoint import CheckpointError, DamagedCheckpoint
from serl_learner.disk_space import DiskSpace, NoSpace
from serl_learner.learner import LearnerConfig, agent_shapes


@pytest.fixture(scope="module")
def learner():
    """One that has done 8 blocks."""
    made = small_learner()
    for step in range(20):
        made.add(record(step, reward=float(step % 3 == 0)))
    for _ in range(8):
        assert made.work() is not None
    return made


def snapshot(learner, blocks=None, **fields):
    """A snapshot, as if the learner had done so many blocks."""
    made = checkpoint.take(learner, version=2, positions={"73" * 16: 20}, **fields)
    if blocks is not None:
        made.about["counters"]["blocks"] = blocks
    return made


def shapes(spec=SPEC, action_dim=ACTION_DIM, agent=SMALL):
    return agent_shapes(LearnerConfig(agent), spec, action_dim)


def test_what_is_read_is_what_was_written_bit_by_bit(tmp_path, learner):
    path = checkpoint.write(tmp_path, snapshot(learner, commit="abc"))
    assert path == tmp_path / "8"
    assert same(checkpoint.load_agent(path, shapes()), learner.agent)
    about = checkpoint.read_about(path)
    assert about["counters"] == {
        "online_steps": 19,
        "blocks": 8,
        "cloned": 0,
        "demonstrations": 0,
        "version": 2,
    }
    assert (about["log"], about["commit"]) == ({"73" * 16: 20}, "abc")
    assert about["configuration"] == json.loads(json.dumps(dataclasses.asdict(learner.config)))
    assert checkpoint.spec_in(about) == SPEC


def test_a_snapshot_does_not_change_with_the_learner():
    learner = small_learner()
    for step in range(8):
        learner.add(record(step))
    made = checkpoint.take(learner, 1, {})
    before = host_copy(made.vectors)
    while learner.work() is not None:
        pass
    assert same(made.vectors, before)
    assert not same(made.vectors, checkpoint.take(learner, 1, {}).vectors)


@pytest.mark.parametrize(
    ("spec", "action_dim", "says"),
    [
        (
            SPEC | {"state/a": ((4,), "float32")},
            ACTION_DIM,
            "observation state/a is float32.2., expected float32.4.",
        ),
        (SPEC | {"state/c": ((1,), "float32")}, ACTION_DIM, "observation state/c is missing"),
        (SPEC, 3, "action_dim is 2, expected 3"),
    ],
)
def test_another_observation_or_action_is_refused(tmp_path, learner, spec, action_dim, says):
    path = checkpoint.write(tmp_path, snapshot(learner))
    with pytest.raises(CheckpointError, match=says) as caught:
        checkpoint.check_layout(path, checkpoint.read_about(path), spec, action_dim)
    assert not isinstance(caught.value, DamagedCheckpoint)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"hidden": (4,)}, r"is float32\[.*expected float32\["),
        ({"critics": 4}, r"critic\[3\].* is missing"),
    ],
)
def test_another_network_is_refused(tmp_path, learner, change, says):
    path = checkpoint.write(tmp_path, snapshot(learner))
    with pytest.raises(CheckpointError, match=says) as caught:
        checkpoint.load_agent(path, shapes(agent=dataclasses.replace(SMALL, **change)))
    assert not isinstance(caught.value, DamagedCheckpoint)


def test_a_flipped_value_is_told_by_the_checksum(tmp_path, learner):
    made = snapshot(learner)
    made.vectors["float32"][7] += np.float32(1e-3)
    path = checkpoint.write(tmp_path, made)
    with pytest.raises(DamagedCheckpoint, match=f"{path}.*crc32 0x.*, expected 0x"):
        checkpoint.load_agent(path, shapes())


def every_file(path):
    return sorted(p for p in path.rglob("*") if p.is_file())


def reads_as(path, agent) -> bool:
    """Whether it is sound; then it must be this agent."""
    try:
        found = checkpoint.load_agent(path, shapes())
    except DamagedCheckpoint:
        return False
    assert same(found, agent)
    return True


def test_a_checkpoint_with_any_file_missing_or_cut_is_damaged_or_whole(tmp_path, learner):
    """What orbax needs is its affair: no loss of a file may pass unnoticed."""
    path = checkpoint.write(tmp_path / "good", snapshot(learner))
    damaged = 0
    for file in every_file(path):
        for cut in (False, True):
            copy = tmp_path / "bad" / "8"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(path, copy)
            victim = copy / file.relative_to(path)
            content = victim.read_bytes()
            victim.write_bytes(content[: len(content) // 2]) if cut else victim.unlink()
            damaged += not reads_as(copy, learner.agent)
    assert damaged > 5


def test_the_newest_three_are_kept(tmp_path, learner):
    for blocks in (9, 10, 100, 11):
        checkpoint.write(tmp_path, snapshot(learner, blocks))
    assert [p.name for p in checkpoint.candidates(tmp_path)] == ["100", "11", "10"]
    assert not (tmp_path / "9").exists()


def test_one_of_as_many_blocks_is_replaced_if_it_says_something_else(tmp_path, learner):
    path = checkpoint.write(tmp_path, snapshot(learner))
    inode = path.stat().st_ino
    assert checkpoint.write(tmp_path, snapshot(learner)) == path
    assert path.stat().st_ino == inode
    later = checkpoint.take(learner, version=2, positions={"73" * 16: 40})
    assert checkpoint.write(tmp_path, later) == path
    assert checkpoint.read_about(path)["log"] == {"73" * 16: 40}
    assert checkpoint.candidates(tmp_path) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_the_one_that_is_being_replaced_stays_whatever_happens(
    tmp_path, learner, monkeypatch, error
):
    """The second error is a kill: nothing is cleared up."""
    checkpoint.write(tmp_path, snapshot(learner))

    def fail(*_, **__):
        raise error("killed")

    with monkeypatch.context() as failing:
        failing.setattr("orbax.checkpoint.Checkpointer.save", fail)
        with pytest.raises((OSError, KeyboardInterrupt)):
            checkpoint.write(tmp_path, snapshot(learner, commit="new"))
    (found,) = checkpoint.candidates(tmp_path)
    assert found.name == ("8" if error is ValueError else "8.older")
    assert same(checkpoint.load_agent(found, shapes()), learner.agent)
    path = checkpoint.write(tmp_path, snapshot(learner, commit="new"))
    assert checkpoint.read_about(path)["commit"] == "new"
    assert checkpoint.candidates(tmp_path) == [path]


@pytest.mark.parametrize(
    "damage",
    [
        lambda about: about.pop("counters"),
        lambda about: about["counters"].update(blocks=9),
        lambda about: about.update(spec={}),
        lambda about: about.pop("about_crc32"),
    ],
)
def test_an_about_that_says_something_else_is_damaged(tmp_path, learner, damage):
    path = checkpoint.write(tmp_path, snapshot(learner))
    file = path / "about" / "about.json"
    about = json.loads(file.read_bytes())
    damage(about)
    file.write_text(json.dumps(about))
    with pytest.raises(DamagedCheckpoint, match=rf"{path} is damaged: about_crc32 of about\.json"):
        checkpoint.read_about(path)


def test_one_that_is_set_aside_is_no_candidate_and_makes_room_for_a_new_one(tmp_path, learner):
    path = checkpoint.write(tmp_path, snapshot(learner))
    checkpoint.set_aside(path)
    assert checkpoint.candidates(tmp_path) == []
    assert checkpoint.write(tmp_path, snapshot(learner)) == path
    assert checkpoint.candidates(tmp_path) == [path]


def test_case07_what_a_kill_left_half_written_is_no_candidate_and_goes(tmp_path, learner):
    path = checkpoint.write(tmp_path, snapshot(learner))
    half = tmp_path / "12.orbax-checkpoint-tmp-34"
    shutil.copytree(path, half)
    assert checkpoint.candidates(tmp_path) == [path]
    checkpoint.write(tmp_path, snapshot(learner, 13))
    assert not half.exists()


def test_case07_failure_while_writing_keeps_the_previous_one(tmp_path, learner, monkeypatch):
    path = checkpoint.write(tmp_path, snapshot(learner))

    def fail(*_, **__):
        raise ValueError("tensorstore: [Errno 28] No space left on device")

    monkeypatch.setattr("orbax.checkpoint.Checkpointer.save", fail)
    with pytest.raises(NoSpace, match=f"disk space: {tmp_path} has .* MB, needs .* MB"):
        checkpoint.write(tmp_path, snapshot(learner, 9))
    assert checkpoint.candidates(tmp_path) == [path]
    assert same(checkpoint.load_agent(path, shapes()), learner.agent)


def test_nothing_is_written_below_the_space_to_be_left_free(tmp_path, learner):
    space = DiskSpace(min_free=2**40, free=lambda _: 2**30)
    with pytest.raises(NoSpace, match=r"has 1024.0 MB, needs 10485\d\d.\d MB"):
        checkpoint.write(tmp_path, snapshot(learner), space)
    assert list(tmp_path.iterdir()) == []
