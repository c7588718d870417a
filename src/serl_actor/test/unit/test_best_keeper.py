"""The best policy reaches the learner's disk, whatever the learner does meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from serl_actor.best_keeper import ANSWER_TIMEOUT, PAUSE, REFUSALS, BestKeeper


class Learner:
    """Answers when told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.present = True
        self.newest = 7
        self.questions: list[tuple[int, Callable[[bool, str], None]]] = []
        self.confirmed: list[int] = []
        self.keeper = BestKeeper(
            self._ask, lambda: self.newest, lambda: self.now, self.confirmed.append
        )

    def _ask(self, version: int, answer: Callable[[bool, str], None]) -> bool:
        if self.present:
            self.questions.append((version, answer))
        return self.present

    def poll(self, after: float = 0.0) -> list[int]:
        """Versions that are asked for after a time [s]."""
        self.now += after
        before = len(self.questions)
        self.keeper.poll()
        return [version for version, _ in self.questions[before:]]

    def answer(self, success: bool, message: str = "") -> None:
        self.questions[-1][1](success, message)


@pytest.fixture
def learner() -> Learner:
    return Learner()


def test_it_is_asked_once_and_then_all_is_well(learner):
    assert learner.poll() == []
    learner.keeper.want(7)
    assert learner.poll() == [7]
    assert learner.poll(1.0) == []
    learner.answer(True)
    assert (learner.keeper.wanted, learner.keeper.kept, learner.confirmed) == (None, 7, [7])
    assert learner.poll(100.0) == []


def test_a_learner_that_is_away_is_asked_when_it_is_there(learner):
    learner.present = False
    learner.keeper.want(7)
    assert learner.poll() == []
    learner.present = True
    assert learner.poll() == [7]


def test_case_07_a_learner_that_died_without_an_answer_is_asked_again(learner):
    learner.keeper.want(7)
    learner.poll()
    assert learner.poll(ANSWER_TIMEOUT - 0.1) == []
    assert learner.poll(0.2) == [7]
    learner.questions[0][1](True, "")  # too late: the answer to the first question
    assert learner.keeper.wanted == 7
    learner.answer(True)
    assert learner.keeper.wanted is None


def test_a_refusal_is_said_and_asked_again(learner, caplog):
    learner.keeper.want(7)
    learner.poll()
    learner.answer(False, "no space left on device")
    assert "refuses to keep version 7 as the best: no space left on device" in caplog.text
    assert learner.poll(PAUSE - 0.1) == []
    assert learner.poll(0.2) == [7]
    learner.answer(True)
    assert learner.confirmed == [7]


def test_a_full_disk_does_not_replace_the_best(learner):
    learner.keeper.want(7)
    learner.newest = 60
    for _ in range(REFUSALS + 2):
        assert learner.poll(PAUSE) == [7]
        learner.answer(False, "disk space: /run has 1.0 MB, needs 512.0 MB")
    assert learner.poll(PAUSE) == [7]
    learner.answer(True)
    assert (learner.keeper.kept, learner.confirmed) == (7, [7])


def test_a_version_that_is_no_longer_there_is_replaced_by_the_newest_and_that_is_said(
    learner, caplog
):
    learner.keeper.want(7)
    learner.newest = 60
    for _ in range(REFUSALS):
        assert learner.poll(PAUSE) == [7]
        learner.answer(False, "policy version 7 is not kept; kept are 11..60")
    assert learner.poll(PAUSE) == [60]
    learner.answer(True)
    assert "version 60, not the best one, 7" in caplog.text
    assert (learner.keeper.wanted, learner.keeper.kept, learner.confirmed) == (None, 60, [7])


def test_a_new_best_is_asked_for_at_once_and_on_its_own_account(learner):
    learner.keeper.want(7)
    for _ in range(REFUSALS):
        learner.poll(PAUSE)
        learner.answer(False, "policy version 7 is not kept; kept are none")
    learner.keeper.want(9)
    assert learner.poll() == [9]
    learner.answer(True)
    assert learner.confirmed == [9]


def test_a_best_that_came_while_the_old_one_was_asked_for_is_not_forgotten(learner):
    learner.keeper.want(7)
    learner.poll()
    learner.keeper.want(9)
    learner.answer(True)
    assert learner.keeper.wanted == 9
    assert learner.poll() == [9]
