"""A checkpoint is complete, atomic and of this layout, or refused."""

import dataclasses
import json

import pytest
from toy import ACTION_DIM, SMALL, SPEC, record, same, small_learner

from serl_learner import checkpoint
from serl_learner.checkpoint import CheckpointError
from serl_learner.learner import Learner, LearnerConfig


def feed(learner, steps=20):
    for step in range(steps):
        learner.add(record(step, reward=float(step % 3 == 0)))


def do_blocks(learner, count):
    for _ in range(count):
        assert learner.work() is not None


def test_resume_equals_uninterrupted_bit_for_bit(tmp_path):
    straight, first, second = small_learner(), small_learner(), small_learner(seed=9)
    for learner in (straight, first, second):
        feed(learner)
    do_blocks(straight, 8)
    do_blocks(first, 4)
    checkpoint.save(tmp_path / "c", first, version=2)
    assert not same(second.agent, first.agent)
    assert checkpoint.load(tmp_path / "c", second) == 2
    do_blocks(second, 4)
    assert same(second.agent, straight.agent)
    assert (second.blocks, second.online_steps) == (straight.blocks, straight.online_steps)


def test_header_says_where_it_comes_from(tmp_path):
    learner = small_learner()
    checkpoint.save(tmp_path / "c", learner, version=1, commit="abc")
    header = checkpoint.read_header(tmp_path / "c")
    assert header["commit"] == "abc"
    assert header["configuration"] == json.loads(json.dumps(dataclasses.asdict(learner.config)))
    assert checkpoint.spec_in(header) == SPEC


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"spec": SPEC | {"state/a": ((4,), "float32")}},
            "observation state/a is float32.2., expected float32.4.",
        ),
        ({"spec": SPEC | {"state/c": ((1,), "float32")}}, "observation state/c is missing"),
        ({"action_dim": 3}, "action_dim is 2, expected 3"),
        ({"agent": dataclasses.replace(SMALL, hidden=(4,))}, "is float32.*expected float32"),
        ({"agent": dataclasses.replace(SMALL, critics=4)}, r"critic\[3\].* is missing"),
    ],
)
def test_another_layout_is_refused_and_changes_nothing(tmp_path, change, says):
    checkpoint.save(tmp_path / "c", small_learner(), version=1)
    agent, spec, action_dim = (
        change.get(name, default)
        for name, default in (("agent", SMALL), ("spec", SPEC), ("action_dim", ACTION_DIM))
    )
    config = LearnerConfig(agent, replay_bytes=2**12, prior_bytes=2**12)
    other = Learner(config, spec, action_dim, seed=1)
    before = other.agent
    with pytest.raises(CheckpointError, match=says):
        checkpoint.load(tmp_path / "c", other)
    assert other.agent is before


def test_damaged_checkpoint_is_refused(tmp_path):
    path = tmp_path / "c"
    learner = small_learner()
    checkpoint.save(path, learner, version=1)
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[-5] ^= 1
    for damaged in (b"", content[:5], content[:300], content[:-1], bytes(flipped)):
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=str(path)):
            checkpoint.load(path, learner)


def test_c07_failure_while_writing_keeps_the_previous_one(tmp_path, monkeypatch):
    path = tmp_path / "c"
    learner = small_learner()
    checkpoint.save(path, learner, version=1)
    before = path.read_bytes()

    def fail(_):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        checkpoint.save(path, learner, version=2)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
