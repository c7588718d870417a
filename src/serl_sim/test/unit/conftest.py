"""Insertion and picking as tasks: random starts, actions and success, on one simulation each."""

from __future__ import annotations

import math

import numpy as np
import pytest

from serl_controllers.arm import ArmTarget
from serl_controllers.geometry import Pose, quaternion_product
from serl_sim.compliance import Compliance
from serl_sim.config import SceneConfig
from serl_sim.gl_backend import DEBIAN_PACKAGES, GLError, use_backend
from serl_sim.simulation import Simulation

EPISODE_STEPS = 100
THRESHOLD_M = np.array((0.003, 0.003, 0.001))
THRESHOLD_RAD = 0.1

TRANSLATION_SCALE, ROTATION_SCALE = 0.02, 0.06
PICKED_M = np.array((0.02, 0.02, 0.008))
RELEASED = 0.6


class Insertion:
    """What an environment adds to the simulation, as short as it gets."""

    def __init__(self, config: SceneConfig) -> None:
        self.config = config
        self.law = Compliance().law_parameters(config.target)
        self.simulation = Simulation(config, self.law)

    def random_start(self, seed: int) -> Pose:
        rng = np.random.default_rng(seed)
        nominal = self.config.nominal_start
        x, y = rng.uniform(-0.05, 0.05, 2)
        yaw = rng.uniform(-1.0, 1.0) * math.radians(20.0)
        turn = Pose.from_rotation_vector((x, y, 0.0), (0.0, 0.0, yaw))
        return Pose(
            nominal.position + turn.position,
            quaternion_product(turn.quaternion, nominal.quaternion),
        )

    def tool_in_fixture(self, state) -> Pose:
        return self.simulation.fixture.inverse() @ state.tcp_pose

    def succeeded(self, state) -> bool:
        tool = self.tool_in_fixture(state)
        near = np.all(np.abs(tool.position) < THRESHOLD_M)
        return bool(near and np.all(np.abs(tool.rotation_vector) < THRESHOLD_RAD))

    def target(self, state, action) -> ArmTarget:
        step = Pose.from_rotation_vector(0.01 * action[:3], 0.06 * action[3:])
        pose, _ = self.law.box.clip(state.tcp_pose @ step)
        return ArmTarget(pose)

    def episode(self, seed: int, policy) -> tuple[bool, int]:
        """Success and length of one episode; `policy` maps a state to an action [6]."""
        state = self.simulation.reset(seed, self.random_start(seed))
        for length in range(1, EPISODE_STEPS + 1):
            state = self.simulation.step(self.target(state, policy(state)))
            if self.succeeded(state):
                return True, length
        return False, EPISODE_STEPS


class Picking:
    """The same for a block that is to be put onto a pad and let go."""

    def __init__(self, config: SceneConfig) -> None:
        self.config = config
        self.law = Compliance(
            stiffness=(1500.0,) * 3 + (75.0,) * 3,
            damping=(90.0,) * 3 + (7.0,) * 3,
            clip_positive=(0.02,) * 3 + (0.1,) * 3,
            clip_negative=(0.02,) * 3 + (0.1,) * 3,
            target_time_constant=0.05,
            box_lower=(-0.06, -0.15, -0.025, -0.05, -0.05, -0.35),
            box_upper=(0.06, 0.06, 0.08, 0.05, 0.05, 0.35),
        ).law_parameters(config.target)
        self.simulation = Simulation(config, self.law)

    def random_start(self, seed: int) -> Pose:
        rng = np.random.default_rng(seed)
        x, y = rng.uniform(-0.03, 0.03, 2)
        turn = Pose.from_rotation_vector((x, y, 0.0), (0.0, 0.0, rng.uniform(-0.2, 0.2)))
        return self.config.nominal_start @ turn

    def solved(self, state) -> bool:
        block = self.simulation.fixture.inverse() @ self.simulation.object
        return bool(np.all(np.abs(block.position) < PICKED_M) and state.gripper > RELEASED)

    def target(self, state, action, gripper=None) -> ArmTarget:
        step = Pose.from_rotation_vector(
            TRANSLATION_SCALE * action[:3], ROTATION_SCALE * action[3:]
        )
        pose, _ = self.law.box.clip(state.tcp_pose @ step)
        return ArmTarget(pose, gripper)


@pytest.fixture(scope="session")
def picking() -> Picking:
    return Picking(SceneConfig(kind="pick", target_rpy=(math.pi, 0.0, 0.0), start_height=0.06))


@pytest.fixture(scope="session")
def insertion() -> Insertion:
    return Insertion(SceneConfig())


@pytest.fixture(scope="session")
def moved() -> Insertion:
    """The socket is somewhere else in every episode."""
    return Insertion(SceneConfig(socket_random_xy=0.015))


@pytest.fixture
def simulation(insertion) -> Simulation:
    """At its nominal start, without hidden offsets."""
    insertion.simulation.reset(0, randomise=False)
    return insertion.simulation


@pytest.fixture(scope="session")
def draws() -> bool:
    """Whether pictures can be drawn here; where not, the error must say what to install."""
    reason = ""
    try:
        use_backend()
    except GLError as error:
        reason = str(error)
    assert not reason or DEBIAN_PACKAGES in reason
    return not reason
