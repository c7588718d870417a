"""How the crew loses nothing: room for records, the best policy, a job that goes on."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from conftest import SPACES, FakeBoard, FakeLink

from serl_actor.entry_queue import size_of
from serl_actor.job import Cancelled
from serl_actor.job_memory import JobMemory
from serl_actor.journal import LINE, Journal
from serl_actor.policy_source import Snapshot
from serl_actor.training import Training
from serl_actor.transition_sender import LearnerForgot
from serl_learner.types import Record

SIZE = size_of(
    Record(b"s" * 16, 0, 0, 0, {k: np.zeros(6, np.float32) for k in SPACES}, np.zeros(6))
)


def test_a_full_queue_holds_the_arm_and_says_so_until_there_is_room(make_crew):
    link = FakeLink(memory_bytes=4 * SIZE, acks=False)
    board = FakeBoard(patience=1, helps=lambda: link.ack())
    parts = make_crew(link=link, board=board, steps=5)
    link.sender.acknowledge(0, 0, credit=100)
    parts.crew.run(parts.crew.random())
    assert "4 records are not durable there, no room for 1 more" in board.waits[0]
    assert parts.arm.holds == 1
    assert [r.seq for r in link.records] == list(range(6))


def test_a_real_arm_does_not_begin_an_episode_without_room_for_all_of_it(make_crew):
    link = FakeLink(memory_bytes=14 * SIZE, acks=False)
    starts: list[int] = []
    board = FakeBoard(patience=1)
    parts = make_crew(link=link, board=board, lockstep=False, steps=5)
    board.helps = lambda: (starts.append(len(parts.arm.starts)), link.ack())
    parts.crew.run(parts.crew.random())
    assert board.waits == []
    parts.crew.run(parts.crew.random())
    assert "no room for 12 more" in board.waits[0]
    assert starts == [1], "the arm waits before the reset"
    assert parts.arm.holds == 1
    assert link.records[-1].last


def test_an_arm_that_waits_long_is_told_to_hold_once_and_not_moved_by_it(make_crew):
    link = FakeLink(memory_bytes=4 * SIZE, acks=False)
    board = FakeBoard(patience=4)
    parts = make_crew(link=link, board=board, lockstep=False, steps=5)
    with pytest.raises(Cancelled):
        parts.crew.run(parts.crew.random())
    assert len(board.waits) == 5
    assert parts.arm.holds == 1


def test_a_real_arm_without_room_in_spite_of_the_reservation_ends_the_episode(make_crew):
    link = FakeLink(acks=False)
    board = FakeBoard(patience=1)
    parts = make_crew(link=link, board=board, lockstep=False, steps=5)

    def refuse(entry):
        if not refused and entry.step == 2:
            refused.append(entry.seq)
            raise OSError(28, "No space left on device")

    refused: list[int] = []
    link.sender._witness = SimpleNamespace(write=refuse, require=lambda count: None)
    parts.crew.run(parts.crew.random())
    assert "record 2 cannot be kept" in board.waits[0]
    assert (link.records[2].last, link.records[2].aborted) == (True, True)


def test_a_journal_that_cannot_be_written_is_waited_for_before_the_arm_moves(
    make_crew, tmp_path, monkeypatch
):
    link = FakeLink()
    board = FakeBoard(patience=1)
    parts = make_crew(link=link, board=board, lockstep=False)
    parts.crew.run(parts.crew.random())
    link.sender._witness = Journal(tmp_path / "journal")
    asked, starts = [], []

    def full(descriptor, data):
        asked.append(len(data))
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.write", full)
        board.helps = lambda: (starts.append(len(parts.arm.starts)), patch.undo())
        parts.crew.run(parts.crew.random())
    assert "No space left on device" in board.waits[0]
    assert starts == [1]
    assert set(asked) == {12 * LINE}
    assert len((tmp_path / "journal").read_text().splitlines()) == 6


def test_settling_notices_that_the_learner_forgot(make_crew):
    link = FakeLink(acks=False)
    parts = make_crew(link=link)
    link.sender.acknowledge(0, 0, credit=100)
    parts.crew.run(parts.crew.random())
    link.sender.acknowledge(5, 5, 100)
    link.sender.acknowledge(0, 0, 100)
    with pytest.raises(LearnerForgot):
        parts.crew.settle()


@pytest.mark.parametrize("lockstep", [True, False])
def test_the_end_waits_until_every_record_is_durable_and_says_how_many_are_not(make_crew, lockstep):
    link = FakeLink(acks=False)
    board = FakeBoard(patience=2)
    parts = make_crew(link=link, board=board, lockstep=lockstep)
    link.sender.acknowledge(0, 0, credit=100)
    parts.crew.run(parts.crew.random())
    link.sender.acknowledge(6, 2, 100)  # received, and two of them stored
    board.helps = lambda: len(board.waits) == 2 and link.ack()
    parts.crew.deliver()
    assert board.waits == ["the learner to store 4 records"] * 2


def test_the_wait_at_the_end_can_be_cancelled(make_crew):
    parts = make_crew(link=FakeLink(acks=False), lockstep=False)
    parts.crew.run(parts.crew.random())
    with pytest.raises(Cancelled):
        parts.crew.deliver()


def test_the_best_policy_is_kept_at_the_learner_too(make_crew):
    parts = make_crew()
    parts.crew.keep_best(parts.crew.snapshot())
    assert parts.link.saved == [1]


@pytest.mark.parametrize(("confirmed", "asked"), [(None, [3]), (2, [3]), (3, [])])
def test_a_resumed_job_has_its_best_kept_unless_that_was_confirmed(make_crew, confirmed, asked):
    parts = make_crew()
    best = Snapshot(3, 0, None, 0.0, None)
    parts.crew._memory.recall = lambda: Training(episodes=1, best=best)
    parts.crew._memory.confirmed_best = lambda: confirmed
    assert parts.crew.remembered().best is best
    assert parts.link.saved == asked


def test_what_was_confirmed_is_remembered_and_a_full_disk_does_not_end_the_job(
    make_crew, tmp_path, monkeypatch, caplog
):
    memory = JobMemory(tmp_path, make_crew().source)
    assert memory.confirmed_best() is None
    memory.confirm_best(4)
    assert memory.confirmed_best() == 4

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("serl_actor.job_memory.write_file", full)
    monkeypatch.setattr("serl_actor.job_memory.write_params", full)
    memory.confirm_best(5)
    memory.keep(Training())
    memory.keep_best(Snapshot(5, 0, None, 0.0, None))
    assert caplog.text.count("No space left") == 3
    assert memory.confirmed_best() == 4
