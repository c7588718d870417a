"""The crew: episodes on a kinematic arm, records to a learner that answers in this process."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from conftest import FakeArm, action_to_target, with_steps

from serl_actor.crew import ATTEMPTS, ActorCrew
from serl_actor.entry_queue import size_of
from serl_actor.environment import Environment
from serl_actor.intervention import Intervention
from serl_actor.job import Cancelled, JobFailed, Phase
from serl_actor.job_memory import JobMemory
from serl_actor.policy_source import PolicySource
from serl_actor.robot_client import CommandRefused, ResetRefused, RobotError
from serl_actor.task import TaskConfig
from serl_actor.transition_sender import LearnerForgot, SenderConfig, TransitionSender
from serl_learner.agents.sac import SACConfig
from serl_learner.params_codec import encode
from serl_learner.policy import Policy
from serl_learner.types import Record, Source

SPACES = Environment(FakeArm(), TaskConfig()).observation_space.spaces


@dataclass
class FakeLink:
    """A learner that acks every record at once, and holds what it is told to hold."""

    credit: int = 10**6
    memory_bytes: int = 2**30
    acks: bool = True
    held: int | None = 0
    training: bool = False
    records: list[Record] = field(default_factory=list)
    saved: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        config = SenderConfig(window=100, memory_bytes=self.memory_bytes, retry_period=1.0)
        self.sender = TransitionSender(config, self._take, lambda: 0.0)

    @property
    def demonstrations(self) -> int | None:
        return self.held

    def _take(self, record: Record) -> None:
        self.records.append(record)

    def ack(self) -> None:
        done = len(self.records)
        self.sender.acknowledge(done, done, self.credit)

    def wait(self, predicate, timeout) -> bool:
        return predicate()

    def save_best(self, version: int) -> None:
        self.saved.append(version)


@dataclass
class FakeBoard:
    """Lets a number of waits pass, then cancels; `helps` is called at each."""

    patience: int = 0
    helps: object = None
    waits: list[str] = field(default_factory=list)
    link: FakeLink | None = None

    def status(self, phase: Phase, driver: str, detail: str) -> None: ...
    def check(self) -> None: ...
    def pause(self) -> None: ...
    def progress(self, training) -> None: ...

    def step(self, record: Record) -> None:
        if self.link is not None and self.link.acks:
            self.link.ack()

    def waiting(self, what: str) -> None:
        self.waits.append(what)
        if self.helps is not None:
            self.helps()
        if len(self.waits) > self.patience:
            raise Cancelled


@pytest.fixture(scope="module")
def policy() -> Policy:
    spec = {key: (s.shape, "float32") for key, s in SPACES.items()}
    return Policy(spec, 6, SACConfig(hidden=(8,)))


@dataclass
class Parts:
    crew: ActorCrew
    link: FakeLink
    board: FakeBoard
    arm: FakeArm
    source: PolicySource


@pytest.fixture
def make(policy, task):
    def build(seed=0, lockstep=True, steps=5, arm=None, link=None, board=None, **kwargs) -> Parts:
        arm, link, board = arm or FakeArm(), link or FakeLink(), board or FakeBoard()
        board.link = link
        source = PolicySource(policy, lambda: 0.0)
        source.offer(encode(policy.template, 1, 0, policy.layout_hash))
        environment = Environment(arm, with_steps(task, steps))
        memory = JobMemory(None, source)
        session = b"s" * 16
        crew = ActorCrew(
            environment,
            policy,
            source,
            link,
            board,
            session,
            "actor",
            seed,
            lockstep,
            memory,
            **kwargs,
        )
        return Parts(crew, link, board, arm, source)

    return build


def plain(records: list[Record]) -> list[tuple]:
    return [
        (
            r.seq,
            r.episode,
            r.step,
            None if r.action is None else r.action.tobytes(),
            *(r.observation[key].tobytes() for key in sorted(r.observation)),
        )
        for r in records
    ]


def test_same_seed_same_transitions(make):
    """From one seed, random and sampled episodes agree bit for bit."""
    runs = []
    for seed in (3, 3, 4):
        parts = make(seed=seed)
        parts.crew.run(parts.crew.random())
        driver = parts.crew.policy(interventions=False)
        for _ in range(3):
            parts.crew.run(driver)
        runs.append(plain(parts.link.records))
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_every_episode_has_another_start(make):
    parts = make()
    for _ in range(4):
        parts.crew.run(parts.crew.random())
    starts = {start.to_vector().tobytes() for start, _ in parts.arm.starts}
    assert len(starts) == 4


def test_a_job_that_goes_on_has_other_starts_than_before(make):
    first, second = make(), make()
    first.crew.run(first.crew.random())
    training = second.crew.remembered()
    training.episodes = 1
    second.crew._memory.recall = lambda: training
    second.crew.remembered()
    second.crew.run(second.crew.random())
    assert first.arm.starts[0][1] != second.arm.starts[0][1]


def test_case_14_in_lockstep_a_record_waits_for_its_credit(make):
    link = FakeLink(credit=3)
    parts = make(link=link, board=FakeBoard(patience=0))
    with pytest.raises(Cancelled):
        parts.crew.run(parts.crew.random())
    assert "credit" in parts.board.waits[0]
    assert [r.seq for r in link.records if not r.last] == [0, 1, 2]


def test_a_real_arm_never_waits_for_credit(make):
    link = FakeLink(credit=0)
    parts = make(link=link, lockstep=False)
    assert parts.crew.run(parts.crew.random()).steps == 5
    assert parts.board.waits == []


SIZE = size_of(
    Record(b"s" * 16, 0, 0, 0, {k: np.zeros(6, np.float32) for k in SPACES}, np.zeros(6))
)


def test_a_full_queue_holds_the_arm_and_says_so_until_there_is_room(make):
    link = FakeLink(memory_bytes=4 * SIZE, acks=False)
    board = FakeBoard(patience=1, helps=lambda: link.ack())
    parts = make(link=link, board=board, steps=5)
    link.sender.acknowledge(0, 0, credit=100)
    parts.crew.run(parts.crew.random())
    assert "4 records are not durable there, no room for 1 more" in board.waits[0]
    assert parts.arm.holds == 1
    assert [r.seq for r in link.records] == list(range(6))


def test_a_real_arm_does_not_begin_an_episode_without_room_for_all_of_it(make):
    link = FakeLink(memory_bytes=14 * SIZE, acks=False)
    starts: list[int] = []
    board = FakeBoard(patience=1)
    parts = make(link=link, board=board, lockstep=False, steps=5)
    board.helps = lambda: (starts.append(len(parts.arm.starts)), link.ack())
    parts.crew.run(parts.crew.random())
    assert board.waits == []
    parts.crew.run(parts.crew.random())
    assert "no room for 12 more" in board.waits[0]
    assert starts == [1], "the arm waits before the reset"
    assert parts.arm.holds == 1
    assert link.records[-1].last


def test_a_real_arm_without_room_in_spite_of_the_reservation_ends_the_episode(make):
    link = FakeLink(acks=False)
    board = FakeBoard(patience=1)
    parts = make(link=link, board=board, lockstep=False, steps=5)

    def refuse(entry):
        if not refused and entry.step == 2:
            refused.append(entry.seq)
            raise OSError(28, "No space left on device")

    refused: list[int] = []
    link.sender._witness = refuse
    parts.crew.run(parts.crew.random())
    assert "record 2 cannot be kept" in board.waits[0]
    assert (link.records[2].last, link.records[2].aborted) == (True, True)


def test_settling_notices_that_the_learner_forgot(make):
    link = FakeLink(acks=False)
    parts = make(link=link)
    link.sender.acknowledge(0, 0, credit=100)
    parts.crew.run(parts.crew.random())
    link.sender.acknowledge(5, 5, 100)
    link.sender.acknowledge(0, 0, 100)
    with pytest.raises(LearnerForgot):
        parts.crew.settle()


def test_demonstrations_pass_on_only_what_succeeded(make, task):
    arm = FakeArm()
    parts = make(arm=arm, steps=100)
    still = Intervention(0, True, np.zeros(6))
    arm.operator = lambda state: still
    parts.crew.run(parts.crew.operator())
    assert parts.link.records == []
    arm.operator = lambda state: Intervention(
        0, True, action_to_target(task, state.tcp_pose), device="expert"
    )
    assert parts.crew.run(parts.crew.operator()).success
    assert {r.source for r in parts.link.records} == {Source.DEMO}


def test_a_real_arm_counts_its_own_demonstrations_while_the_learner_is_away(make, task):
    arm, link = FakeArm(), FakeLink(held=3)
    parts = make(arm=arm, link=link, lockstep=False, steps=100)
    assert parts.crew.demonstrations() == 3
    link.held = None
    arm.operator = lambda state: Intervention(0, True, action_to_target(task, state.tcp_pose))
    parts.crew.run(parts.crew.operator())
    assert parts.crew.demonstrations() == 4
    assert parts.board.waits == []


def test_a_refused_start_is_followed_by_another(make):
    arm = FakeArm(reset_errors=[ResetRefused("inside the fixture")])
    parts = make(arm=arm, board=FakeBoard(patience=5))
    parts.crew.run(parts.crew.random())
    assert "inside the fixture" in parts.board.waits[0]


def test_starts_that_are_always_refused_fail_the_job(make):
    arm = FakeArm(reset_errors=[ResetRefused("no")] * ATTEMPTS)
    parts = make(arm=arm, board=FakeBoard(patience=50))
    with pytest.raises(JobFailed, match=f"{ATTEMPTS} starts"):
        parts.crew.run(parts.crew.random())


def test_an_absent_robot_is_waited_for_and_named(make):
    arm = FakeArm(reset_errors=[RobotError("silence", "the sim")] * 20)
    parts = make(arm=arm, board=FakeBoard(patience=50))
    assert parts.crew.run(parts.crew.random()).steps == 5
    assert parts.board.waits == ["the sim (silence)"] * 20


def test_a_broken_off_episode_says_what_it_waits_for(make):
    arm = FakeArm(errors={2: CommandRefused("rival", "the rival to leave")})
    parts = make(arm=arm, board=FakeBoard(patience=5))
    assert parts.crew.run(parts.crew.random()).aborted == "rival"
    assert parts.board.waits == ["the rival to leave (rival)"]


def test_evaluation_is_recorded_as_such_and_needs_no_credit(make):
    link = FakeLink(credit=0)
    parts = make(link=link)
    driver = parts.crew.evaluated(parts.crew.snapshot(), deterministic=True)
    parts.crew.run(driver, seed=5)
    parts.crew.run(driver, seed=5)
    assert {r.source for r in link.records} == {Source.EVAL}
    first, second = (plain(link.records[i : i + 6]) for i in (0, 6))
    assert [r[3:] for r in first] == [r[3:] for r in second]


def test_the_best_policy_is_kept_at_the_learner_too(make):
    parts = make()
    parts.crew.keep_best(parts.crew.snapshot())
    assert parts.link.saved == [1]


def test_others_see_every_observation_and_are_attended_to_between_episodes(make):
    seen, attended = [], []
    parts = make(
        watch=lambda observation, state: seen.append(state.stamp_ns),
        attend=lambda: attended.append(1),
    )
    parts.crew.run(parts.crew.random())
    parts.crew.run(parts.crew.random())
    assert len(seen) == 10
    assert len(attended) == 2
