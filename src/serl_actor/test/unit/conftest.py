"""A kinematic arm: it reaches every target exactly, at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from serl_actor.environment import Environment
from serl_actor.intervention import Intervention
from serl_actor.robot_client import RobotError
from serl_actor.task import TaskConfig
from serl_controllers.arm import ArmMode, ArmState, ArmTarget
from serl_controllers.geometry import Pose

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

    `errors` and `modes` say, by number of the step since construction, what goes wrong there;
    `reset_errors` are raised one per reset.
    """

    errors: dict[int, RobotError] = field(default_factory=dict)
    modes: dict[int, ArmMode] = field(default_factory=dict)
    reset_errors: list[RobotError] = field(default_factory=list)
    operator: object = None
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
        )
        return self.state

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
