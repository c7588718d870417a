"""Late verdicts: from steps of an episode to the numbers of its records; the actor's journal."""

from __future__ import annotations

import json
import threading
import zlib
from dataclasses import replace

import numpy as np
import pytest

from serl_actor.episode_index import EpisodeIndex, UnknownSteps
from serl_actor.journal import Journal, observation_crc32
from serl_actor.recorder import Recorder
from serl_learner.types import Entry, Record, Relabel, Source

ACTION = np.full(6, 0.5)


def step(recorder: Recorder, count: int = 1) -> None:
    for _ in range(count):
        recorder.step({}, ACTION, 0.0, False, False, Source.POLICY, 0, 0)


def episode(recorder: Recorder, steps: int) -> None:
    recorder.begin()
    step(recorder, steps)
    recorder.end({}, False, False, 0)


def test_a_verdict_names_the_records_of_the_steps():
    taken: list[Entry] = []
    recorder = Recorder(b"s" * 16, "robot", taken.append)
    episode(recorder, 3)
    episode(recorder, 4)
    made = recorder.relabel(1, (1, 3), 1.0, True, 7)
    assert made == Relabel(b"s" * 16, 9, 5, 7, 1.0, True, 7, "robot")
    assert taken[-1] == made
    episode(recorder, 1)
    assert [entry.seq for entry in taken] == list(range(12))


def test_a_verdict_within_an_episode_takes_a_number_of_it():
    taken: list[Entry] = []
    recorder = Recorder(b"s" * 16, "robot", taken.append)
    recorder.begin()
    step(recorder, 2)
    recorder.relabel(0, (0, 1), 1.0, False, 0)
    step(recorder, 2)
    recorder.end({}, False, False, 0)
    made = recorder.relabel(0, (1, 3), 1.0, False, 0)
    assert (made.first_seq, made.last_seq) == (1, 4)
    assert [entry.seq for entry in taken] == list(range(7))


def test_numbers_have_no_gap_whoever_comes_first():
    taken: list[Entry] = []
    recorder = Recorder(b"s" * 16, "robot", taken.append)
    episode(recorder, 1)

    def judge():
        for _ in range(200):
            recorder.relabel(0, (0, 0), 1.0, False, 0)

    thread = threading.Thread(target=judge)
    thread.start()
    for _ in range(100):
        episode(recorder, 1)
    thread.join()
    assert [entry.seq for entry in taken] == list(range(402))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ((0, (2, 1)), r"steps 2\.\.1 of episode 0 are no range in 0\.\.2"),
        ((0, (0, 3)), r"steps 0\.\.3 of episode 0 are no range in 0\.\.2"),
        ((5, (0, 0)), r"episode 5 is not recorded; first and last are \[0, 1\]"),
    ],
)
def test_steps_that_do_not_exist_are_refused(asked, message):
    recorder = Recorder(b"s" * 16, "robot", lambda entry: None)
    episode(recorder, 3)
    episode(recorder, 1)
    with pytest.raises(UnknownSteps, match=message):
        recorder.relabel(*asked, 1.0, True, 0)
    assert recorder.next_seq == 6


def test_nothing_is_known_before_anything_is_recorded():
    with pytest.raises(UnknownSteps, match="episode 0 is not recorded"):
        EpisodeIndex().find(0, 0, 0)


def test_old_episodes_are_forgotten():
    index = EpisodeIndex(episodes=2)
    for number in range(3):
        index.add(Record(b"", number, number, 0, {}, ACTION))
    assert index.find(1, 0, 0) == (1, 1)
    with pytest.raises(UnknownSteps, match="episode 0"):
        index.find(0, 0, 0)


def test_the_journal_says_what_was_recorded(tmp_path):
    journal = Journal(tmp_path / "deep" / "journal.jsonl")
    action = np.array((0.1, -0.2), np.float32)
    seen = {"b": np.ones(2, np.float32), "a": np.zeros((1, 3), np.uint8)}
    first = Record(b"\x01" * 16, 4, 2, 1, seen, action, 0.1, True, source=Source.DEMO)
    journal.write(replace(first, policy_version=3))
    journal.write(Record(b"\x01" * 16, 5, 2, 2, seen, None, last=True, success=True, aborted=True))
    journal.write(Relabel(b"\x01" * 16, 6, 3, 4, 1.0, True))
    lines = [json.loads(line) for line in (tmp_path / "deep/journal.jsonl").open()]
    session = "01" * 16
    assert lines[0] == {
        "session": session,
        "seq": 4,
        "kind": "record",
        "episode": 2,
        "step": 1,
        "reward": float(np.float32(0.1)),
        "terminated": True,
        "truncated": False,
        "last": False,
        "success": False,
        "aborted": False,
        "source": "DEMO",
        "policy_version": 3,
        "observation_crc32": zlib.crc32(
            b"a uint8 [1, 3]\n" + bytes(3) + b"b float32 [2]\n" + np.ones(2, np.float32).tobytes()
        ),
        "action_crc32": zlib.crc32(action.tobytes()),
    }
    assert (lines[1]["last"], "action_crc32" in lines[1]) == (True, False)
    assert (lines[1]["success"], lines[1]["aborted"]) == (True, True)
    assert (lines[2]["kind"], lines[2]["first_seq"], lines[2]["last_seq"]) == ("relabel", 3, 4)


@pytest.mark.parametrize(
    "other",
    [
        {"a": np.ones(4, np.float32)},
        {"b": np.zeros(4, np.float32)},
        {"a": np.zeros((2, 2), np.float32)},
        {"a": np.zeros(4, np.int32)},
    ],
    ids=["value", "name", "shape", "dtype"],
)
def test_the_journal_tells_observations_apart(other):
    same = {"a": np.zeros(4, np.float32)}
    assert observation_crc32(same) == observation_crc32({"a": np.zeros(4, np.float32)})
    assert observation_crc32(same) != observation_crc32(other)


def test_the_journal_of_a_killed_actor_goes_on_with_a_whole_line(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text('{"seq": 0}\n{"se')
    Journal(path).write(Relabel(b"", 6, 3, 4, 1.0, True))
    lines = path.read_text().splitlines()
    assert lines[:2] == ['{"seq": 0}', '{"se']
    assert json.loads(lines[2])["seq"] == 6
