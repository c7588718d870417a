"""Episodes become records, as in RLDS."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from conftest import FakeArm, action_to_target, with_steps

from serl_actor.environment import Environment
from serl_actor.intervention import Intervention
from serl_actor.recorder import Recorder
from serl_actor.robot_client import RobotError, StaleState
from serl_actor.rollout import Cancelled, Choice, run_episode
from serl_controllers.arm import ArmState
from serl_learner.segments import SegmentJoiner
from serl_learner.types import Record, Source
from serl_learner.validation import check_record

STILL = np.zeros(6)


@dataclass
class Script:
    """A driver: one action per step from a list, then stillness; None says nothing in time."""

    actions: list = field(default_factory=list)
    source: Source = Source.POLICY
    intervention: Intervention | None = None

    def begin(self) -> None: ...

    def choose(self, observation, state: ArmState) -> Choice:
        action = self.actions.pop(0) if self.actions else STILL
        if action is None:
            raise StaleState("no operator")
        return Choice(action, self.source, 3, self.intervention)


class Guide:
    """A driver that solves the task."""

    def __init__(self, task, source: Source = Source.POLICY) -> None:
        self._task, self._source = task, source

    def begin(self) -> None: ...

    def choose(self, observation, state: ArmState) -> Choice:
        return Choice(action_to_target(self._task, state.tcp_pose), self._source, 3)


@pytest.fixture
def records() -> list[Record]:
    return []


@pytest.fixture
def recorder(records) -> Recorder:
    return Recorder(b"s" * 16, "robot", records.append)


def short(arm: FakeArm, task, steps: int = 4) -> Environment:
    return Environment(arm, with_steps(task, steps))


def transitions(records: list[Record]) -> list[tuple[int, int]]:
    """Numbers of the two records of every transition that the learner would make."""
    joiner = SegmentJoiner()
    joined = [(joiner.add(record), record) for record in records]
    return [(pair[0].seq, record.seq) for pair, record in joined if pair is not None]


def test_case_01_a_truncated_episode(arm, task, recorder, records):
    episode = run_episode(short(arm, task), Script([np.full(6, 0.1)]), recorder, seed=1)
    assert [r.seq for r in records] == [0, 1, 2, 3, 4]
    assert [r.step for r in records] == [0, 1, 2, 3, 4]
    assert [r.truncated for r in records] == [False, False, False, True, False]
    assert not any(r.terminated or r.success or r.aborted for r in records)
    assert [r.last for r in records] == [False] * 4 + [True]
    assert records[-1].action is None
    np.testing.assert_allclose(records[0].action, 0.1, atol=1e-6)
    assert (episode.success, episode.steps, episode.total_reward) == (False, 4, 0.0)
    assert episode.seconds == pytest.approx(0.4)
    assert transitions(records) == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_case_01_a_successful_episode(arm, task, recorder, records):
    episode = run_episode(Environment(arm, task), Guide(task), recorder, seed=1)
    *_, before, last = records
    assert (before.reward, before.terminated, before.truncated) == (1.0, True, False)
    assert (last.last, last.success, last.aborted, last.terminated) == (True, True, False, False)
    assert episode.success
    assert episode.total_reward == 1.0
    assert len(records) == episode.steps + 1


def test_every_record_passes_the_learners_check(arm, task, recorder, records):
    environment = Environment(arm, task)
    run_episode(environment, Guide(task), recorder, seed=1)
    spaces = environment.observation_space.spaces
    spec = {key: (space.shape, space.dtype.name) for key, space in spaces.items()}
    for record in records:
        check_record(record, spec, 6)


def test_what_is_noted_of_each_executed_step_is_in_its_record(arm, task, records):
    count = iter(range(10))
    recorder = Recorder(
        b"s" * 16, "robot", records.append, notes=lambda: {"time/sent": np.asarray(next(count))}
    )
    run_episode(short(arm, task), Script([]), recorder, seed=1)
    assert [int(r.extras["time/sent"]) for r in records[:-1]] == [0, 1, 2, 3]
    assert records[-1].last
    assert not records[-1].extras


def test_a_record_holds_the_observation_that_its_action_answers(arm, task, recorder, records):
    environment = short(arm, task)
    first, _ = environment.reset(seed=5)
    run_episode(environment, Script([np.ones(6)]), recorder, seed=5)
    np.testing.assert_array_equal(records[0].observation["state/tcp_pose"], first["state/tcp_pose"])
    moved = records[1].observation["state/tcp_pose"] - records[0].observation["state/tcp_pose"]
    assert np.abs(moved).max() > 0.05
    assert records[1].stamp_ns - records[0].stamp_ns == 100_000_000


def test_case_02_a_refused_action_leaves_a_gap_that_no_transition_crosses(
    arm, task, recorder, records
):
    nan = np.full(6, math.nan)
    driver = Script([STILL, STILL, nan, STILL, STILL])
    episode = run_episode(short(arm, task, 5), driver, recorder, seed=1)
    assert episode.refused == 1
    assert episode.steps == 4
    assert [(r.episode, r.step, r.last) for r in records] == [
        (0, 0, False),
        (0, 1, False),
        (0, 2, True),
        (1, 0, False),
        (1, 1, False),
        (1, 2, True),
    ]
    assert transitions(records) == [(0, 1), (1, 2), (3, 4), (4, 5)]
    assert not records[2].terminated
    assert not records[2].aborted
    assert all(np.all(np.isfinite(r.action)) for r in records if r.action is not None)


def test_case_02_a_policy_that_only_returns_nan_stores_nothing(arm, task, recorder, records):
    episode = run_episode(short(arm, task), Script([np.full(6, math.nan)] * 4), recorder, seed=1)
    assert records == []
    assert (episode.refused, episode.steps) == (4, 0)


def test_case_04_a_stale_state_aborts_and_no_old_frame_is_stored_as_fresh(task, recorder, records):
    arm = FakeArm(errors={2: StaleState("silent for 0.5 s")})
    episode = run_episode(short(arm, task), Script([np.ones(6)] * 4), recorder, seed=1)
    assert (episode.aborted, episode.waiting_for) == ("silent for 0.5 s", "the arm")
    assert [r.last for r in records] == [False, False, True]
    assert records[-1].aborted
    stamps = [r.stamp_ns for r in records]
    assert stamps == sorted(set(stamps)), "each observation is stored once"
    assert arm.holds >= 1


def test_an_operator_who_falls_silent_aborts(arm, task, recorder, records):
    episode = run_episode(short(arm, task), Script([STILL, None]), recorder, seed=1)
    assert episode.aborted == "no operator"
    assert records[-1].aborted
    assert arm.holds == 1


def test_a_failed_reset_begins_no_episode(task, recorder, records):
    arm = FakeArm(reset_errors=[RobotError("no simulator")])
    with pytest.raises(RobotError, match="no simulator"):
        run_episode(short(arm, task), Script(), recorder)
    assert records == []
    run_episode(short(arm, task), Script(), recorder)
    assert records[0].episode == 0


def test_case_12_an_intervention_beyond_one_is_stored_clipped(arm, task, recorder, records):
    push = Intervention(0, True, np.array((0, 0, 7.0, 0, 0, 0)))
    episode = run_episode(short(arm, task), Script(intervention=push), recorder, seed=1)
    assert records[0].source is Source.INTERVENTION
    np.testing.assert_allclose(records[0].action, (0, 0, 1, 0, 0, 0), atol=1e-6)
    assert episode.intervened == 4


def test_held_records_of_a_failed_demonstration_are_forgotten(arm, task, recorder, records):
    push = Intervention(0, True, np.array((0, 0, -0.5, 0, 0, 0)))
    run_episode(short(arm, task), Script([], Source.DEMO, push), recorder, seed=1, hold=True)
    assert records == []
    run_episode(Environment(arm, task), Guide(task, Source.DEMO), recorder, seed=2, hold=True)
    assert [r.seq for r in records] == list(range(len(records)))
    assert {r.source for r in records} == {Source.DEMO}
    assert records[-1].success


def test_cancelled_in_the_sink_the_last_record_shows_what_the_lost_one_would_have(arm, task):
    taken: list[Record] = []

    def sink(record: Record) -> None:
        if record.step == 2 and not record.last:
            raise Cancelled
        taken.append(record)

    with pytest.raises(Cancelled):
        run_episode(short(arm, task), Script([np.ones(6)] * 4), Recorder(b"", "", sink), seed=1)
    assert [r.seq for r in taken] == [0, 1, 2]
    assert (taken[-1].last, taken[-1].aborted, taken[-1].step) == (True, True, 2)
    assert taken[-1].stamp_ns - taken[-2].stamp_ns == 100_000_000
    assert arm.holds == 1
