"""A kinematic arm, which reaches every target exactly, at once; a crew over it and a learner that
answers in this process."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from serl_actor.crew import ActorCrew
from serl_actor.environment import Environment
from serl_actor.frames import Frame
from serl_actor.intervention import Intervention
from serl_actor.job import Cancelled, Phase
from serl_actor.job_memory import JobMemory
from serl_actor.policy_source import PolicySource
from serl_actor.robot_client import RobotError
from serl_actor.task import TaskConfig
from serl_actor.transition_sender import SenderConfig, TransitionSender
from serl_controllers.arm import ArmMode, ArmState, ArmTarget
from serl_controllers.geometry import Pose
from serl_learner.agents.config import SACConfig
from serl_learner.params_codec import encode
from serl_learner.policy import Policy
from serl_learner.types import Record

PERIOD_NS = 100_000_000


def make_state(pose: Pose, stamp_ns: int = 0, command_seq: int = 0, **fields: object) -> ArmState:
    """A state at rest at `pose`."""
    values: dict[str, object] = {
        "stamp_ns": stamp_ns,
        "command_seq": command_seq,
        "tcp_pose": pose,
        "tcp_twist": np.zeros(6),
        "wrench": np.zeros(6),
        "q": np.zeros(7),
        "dq": np.zeros(7),
        "tau_ext": np.zeros(7),
        "gripper": 0.0,
        "mode": ArmMode.IMPEDANCE,
        "commanded_pose": pose,
        "error_clipped": np.zeros(6, bool),
        "target_clipped": False,
        "torque_saturated": False,
        "rejected_commands": 0,
    }
    return ArmState(**{**values, **fields})  # type: ignore[arg-type]


@dataclass
class FakeArm:
    """RobotClient of an arm without inertia.

    `camera` makes the pictures of a state, `socket` is where the fixture is, `block` where the
    object. The gripper is where it was told to be, at once. `errors` and `modes`
    say, by number of the step since construction, what goes wrong there; `reset_errors` are raised
    one per reset.
    """

    errors: dict[int, RobotError] = field(default_factory=dict)
    modes: dict[int, ArmMode] = field(default_factory=dict)
    reset_errors: list[RobotError] = field(default_factory=list)
    operator: object = None
    camera: object = None
    socket: Pose | None = None
    block: Pose | None = None
    targets: list[ArmTarget] = field(default_factory=list)
    starts: list[tuple[Pose, int]] = field(default_factory=list)
    holds: int = 0
    asked: int = 0
    state: ArmState = field(default_factory=lambda: make_state(Pose.identity()))

    def reset(self, start: Pose, seed: int) -> ArmState:
        if self.reset_errors:
            raise self.reset_errors.pop(0)
        self.starts.append((start, seed))
        self.state = make_state(start, self.state.stamp_ns + PERIOD_NS)
        return self.state

    def step(self, target: ArmTarget) -> ArmState:
        step = self.asked
        self.asked += 1
        if step in self.errors:
            raise self.errors[step]
        self.targets.append(target)
        self.state = make_state(
            target.pose,
            self.state.stamp_ns + PERIOD_NS,
            self.state.command_seq + 1,
            mode=self.modes.get(step, ArmMode.IMPEDANCE),
            gripper=self.state.gripper if target.gripper is None else target.gripper,
        )
        return self.state

    def images(self) -> dict[str, Frame]:
        return {} if self.camera is None else self.camera(self.state)

    def fixture(self) -> Pose | None:
        return self.socket

    def object(self) -> Pose | None:
        return self.block

    def hold(self) -> None:
        self.holds += 1

    def intervention(self, state: ArmState) -> Intervention | None:
        return None if self.operator is None else self.operator(state)

    def close(self) -> None:
        self.hold()


def action_to_target(task: TaskConfig, pose: Pose) -> np.ndarray:
    """The action that goes straight to the task's target as fast as it may."""
    step = pose.inverse() @ task.target
    action = np.concatenate(
        (step.position / task.translation_scale, step.rotation_vector / task.rotation_scale)
    )
    return action / max(1.0, np.abs(action).max())


@pytest.fixture
def task() -> TaskConfig:
    return TaskConfig()


@pytest.fixture
def arm() -> FakeArm:
    return FakeArm()


@pytest.fixture
def environment(arm: FakeArm, task: TaskConfig) -> Environment:
    return Environment(arm, task)


def with_steps(task: TaskConfig, steps: int) -> TaskConfig:
    return replace(task, episode_steps=steps)


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
    def pause(self, seconds: float = 0.5) -> None: ...
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
def make_crew(policy, task):
    def build(
        seed=0, lockstep=True, steps=5, arm=None, link=None, board=None, judge=None, **kwargs
    ) -> Parts:
        arm, link, board = arm or FakeArm(), link or FakeLink(), board or FakeBoard()
        board.link = link
        source = PolicySource(policy, lambda: 0.0)
        source.offer(encode(policy.template, 1, 0, policy.layout_hash))
        environment = Environment(arm, with_steps(task, steps), judge=judge)
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
