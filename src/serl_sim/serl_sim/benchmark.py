"""What a control period of the simulation costs in this process."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from serl_controllers import benchmark as controllers
from serl_controllers.arm import ArmTarget
from serl_controllers.geometry import Pose
from serl_sim import scene
from serl_sim.compliance import Compliance
from serl_sim.config import SceneConfig
from serl_sim.simulation import Simulation
from serl_sim.tool import TCP_SITE

REFERENCE = 200.0
"""Environment steps/s in lockstep that the workspace aims for, also through ROS."""

EPISODE_STEPS = 100


def lockstep_steps(steps: int = 500) -> dict[str, Any]:
    """Control periods per second, resets included, against REFERENCE.

    The tool goes down onto the fixture and is pushed against it, so that contacts are paid for.
    """
    simulation = _simulation()
    state = simulation.reset(0)
    push = Pose.from_rotation_vector((0.001, 0.0, 0.005), np.zeros(3))
    start = time.perf_counter()
    for i in range(steps):
        if i % EPISODE_STEPS == 0:
            state = simulation.reset(i)
        state = simulation.step(ArmTarget(state.tcp_pose @ push))
    rate = steps / (time.perf_counter() - start)
    return {
        "name": "lockstep steps in process",
        "value": rate,
        "unit": "1/s",
        "reference": REFERENCE,
        "ratio": rate / REFERENCE,
    }


def controlled_step() -> dict[str, Any]:
    """One physics step under the law, pushed against the fixture, against bare mj_step."""
    simulation = _simulation()
    config = simulation.config
    rim = config.slot_depth + 0.0005
    beside = config.target @ Pose(np.array((0.002, 0.001, -rim)), np.array((0.0, 0.0, 0.0, 1.0)))
    simulation.reset(0, beside, randomise=False)
    return controllers.controlled_step(
        simulation.model,
        simulation.data,
        TCP_SITE,
        scene.JOINTS,
        scene.ACTUATORS,
        Compliance().law_parameters(config.target),
        target=config.target,
    )


def run() -> list[dict[str, Any]]:
    """Every benchmark of this package."""
    return [lockstep_steps(), controlled_step()]


def _simulation() -> Simulation:
    config = SceneConfig()
    return Simulation(config, Compliance().law_parameters(config.target))
