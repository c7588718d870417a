"""Published parameters: newer ones are swapped in between steps, bad ones refused."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
import pytest

from serl_actor.drivers import CorrectedDriver, EvaluationDriver, OperatorDriver, PolicyDriver
from serl_actor.intervention import Intervention
from serl_actor.job_memory import BEST, COUNTS, JobMemory
from serl_actor.policy_source import PolicySource
from serl_actor.robot_client import StaleState
from serl_actor.rollout import Episode
from serl_actor.training import Training
from serl_learner.agents.config import SACConfig
from serl_learner.params_codec import CorruptParams, LayoutMismatch, encode
from serl_learner.policy import Policy
from serl_learner.types import Source

SPEC = {"state/tcp_pose": ((6,), "float32")}
OBSERVATION = {"state/tcp_pose": np.zeros(6, np.float32)}


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy(SPEC, 6, SACConfig(hidden=(8,)))


@pytest.fixture
def source(policy) -> PolicySource:
    return PolicySource(policy, Clock())


def published(policy: Policy, version: int):
    return encode(policy.template, version, 10 * version, policy.layout_hash)


def test_nothing_changes_before_swap(policy, source):
    assert source.swap() is None
    assert source.offer(published(policy, 1))
    assert source.current is None
    assert source.swap().version == 1
    source.offer(published(policy, 2))
    assert source.current.version == 1
    assert source.swap().version == 2


def test_only_newer_versions_are_taken(policy, source):
    source.offer(published(policy, 3))
    assert not source.offer(published(policy, 3))
    assert not source.offer(published(policy, 2))
    assert source.swap().version == 3
    assert not source.offer(published(policy, 1))


def test_damaged_parameters_are_refused_and_counted(policy, source):
    good = published(policy, 1)
    with pytest.raises(CorruptParams):
        source.offer(replace(good, data=good.data[:-1] + b"\x01"))
    assert source.refused == 1
    assert source.swap() is None
    assert source.offer(good), "the same version may come again, whole"


def test_another_layout_is_refused(policy, source):
    with pytest.raises(LayoutMismatch):
        source.offer(replace(published(policy, 1), layout_hash="other"))
    assert source.swap() is None


def test_age_counts_from_the_arrival(policy):
    clock = Clock()
    source = PolicySource(policy, clock)
    assert source.age() is None
    source.offer(published(policy, 1))
    source.swap()
    clock.now = 102.5
    assert source.age() == 2.5


def test_the_policy_driver_uses_what_came_last_and_says_so(policy, source):
    driver = PolicyDriver(policy, source, seed=0)
    with pytest.raises(StaleState):
        driver.choose(OBSERVATION, None)
    source.offer(published(policy, 4))
    choice = driver.choose(OBSERVATION, None)
    assert (choice.source, choice.policy_version) == (Source.POLICY, 4)
    assert choice.action.shape == (6,)


def test_sampled_actions_repeat_for_a_seed_and_vary_within_it(policy, source):
    source.offer(published(policy, 1))
    first, second = (PolicyDriver(policy, source, seed=5) for _ in range(2))
    a = [first.choose(OBSERVATION, None).action for _ in range(3)]
    b = [second.choose(OBSERVATION, None).action for _ in range(3)]
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a[0], a[1])


def test_a_deterministic_evaluation_repeats_itself(policy, source):
    source.offer(published(policy, 1))
    driver = EvaluationDriver(policy, source.swap(), deterministic=True, seed=0)
    a, b = (driver.choose(OBSERVATION, None) for _ in range(2))
    np.testing.assert_array_equal(a.action, b.action)
    assert a.source is Source.EVAL


class Operator:
    """A robot whose operator says what it is given."""

    def __init__(self, said: Intervention | None) -> None:
        self.said = said

    def intervention(self, state):
        return self.said


def test_a_correction_rides_along_with_the_policys_choice(policy, source):
    source.offer(published(policy, 1))
    said = Intervention(0, True, np.ones(6))
    driver = CorrectedDriver(PolicyDriver(policy, source, 0), Operator(said))
    choice = driver.choose(OBSERVATION, None)
    assert choice.intervention is said
    assert choice.source is Source.POLICY


def test_who_waits_for_a_silent_operator_goes_on_when_they_speak():
    robot, waits = Operator(None), []

    def waiting() -> None:
        waits.append(1)
        if len(waits) == 3:
            robot.said = Intervention(0, True, np.ones(6), device="expert")

    names: list[str] = []
    choice = OperatorDriver(robot, 6, names.append, waiting).choose(OBSERVATION, None)
    assert choice.intervention is robot.said
    assert (choice.source, len(waits), names) == (Source.DEMO, 3, ["expert"])


def test_a_real_arm_keeps_its_pose_while_the_operator_is_silent():
    choice = OperatorDriver(Operator(None), 6).choose(OBSERVATION, None)
    assert choice.intervention is None
    np.testing.assert_array_equal(choice.action, np.zeros(6))


def test_a_job_is_remembered(policy, source, tmp_path):
    memory = JobMemory(tmp_path, source)
    assert memory.recall().episodes == 0
    best = source.decode(published(policy, 7))
    training = Training(300, 4, deque([Episode(True, 12, 1.0, 0, 1.2)], maxlen=20), 1, best)
    memory.keep_best(best)
    memory.keep(training)
    again = JobMemory(tmp_path, source).recall()
    assert again.to_plain() == training.to_plain()
    assert again.best.encoded == best.encoded


def test_a_damaged_memory_is_not_used(policy, source, tmp_path, caplog):
    (tmp_path / COUNTS).write_text('{"env_steps": 3}')
    assert JobMemory(tmp_path, source).recall().env_steps == 0
    assert "is not used" in caplog.text


def test_without_its_best_policy_the_search_for_one_begins_anew(source, tmp_path):
    memory = JobMemory(tmp_path, source)
    memory.keep(Training(300, 4, best_successes=15))
    (tmp_path / BEST).write_bytes(b"rubbish")
    again = memory.recall()
    assert (again.best, again.best_successes, again.env_steps) == (None, 0, 300)
