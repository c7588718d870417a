"""What a control period of the simulation costs in this process."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from serl_controllers import benchmark as controllers
from serl_controllers.arm import ArmTarget
from serl_controllers.geometry import Pose
from serl_sim import scene
from serl_sim.camera_rig import CameraRig
from serl_sim.compliance import Compliance
from serl_sim.config import CamerasConfig, SceneConfig
from serl_sim.gl_backend import GLError
from serl_sim.simulation import Simulation
from serl_sim.tool import TCP_SITE

REFERENCE = 200.0
"""Environment steps/s in lockstep that the workspace aims for, also through ROS."""

EPISODE_STEPS = 100

CAMERAS = ("wrist", "side")


def lockstep_steps(steps: int = 500) -> dict[str, Any]:
    """Control periods per second, resets included, against REFERENCE.

    The tool goes down onto the fixture and is pushed against it, so that contacts are paid for.
    """
    stepping, _ = _drive(_simulation(), steps, lambda: None)
    return _row("lockstep steps in process", steps / stepping, "1/s", REFERENCE)


def lockstep_steps_with_images(steps: int = 500) -> list[dict[str, Any]]:
    """The same with images of two cameras after each step.

    Returns:
      Steps/s against REFERENCE, and what the images cost against what the step itself does, of
      one run.

    Raises:
      GLError: nothing here can draw.
    """
    simulation = _simulation()
    rig = CameraRig(simulation.model, CamerasConfig(names=CAMERAS))
    stepping, drawing = _drive(simulation, steps, lambda: rig.render(simulation.data))
    rig.close()
    rate = steps / (stepping + drawing)
    cost, reference = (1e3 * seconds / steps for seconds in (drawing, stepping))
    return [
        _row("lockstep steps in process, two images each", rate, "1/s", REFERENCE),
        _row("two images of 128 x 128 against a step", cost, "ms", reference),
    ]


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


def run() -> Iterator[dict[str, Any]]:
    """Every benchmark of this package; those that draw only where something can."""
    yield lockstep_steps()
    yield controlled_step()
    try:
        yield from lockstep_steps_with_images()
    except GLError as error:
        print(f"no images: {error}", file=sys.stderr)


def _drive(simulation: Simulation, steps: int, after: Callable[[], object]) -> tuple[float, float]:
    """Time of so many control periods, and of what is called after each [s]."""
    state = simulation.reset(0)
    push = Pose.from_rotation_vector((0.001, 0.0, 0.005), np.zeros(3))
    calling = 0.0
    start = time.perf_counter()
    for i in range(steps):
        if i % EPISODE_STEPS == 0:
            state = simulation.reset(i)
        state = simulation.step(ArmTarget(state.tcp_pose @ push))
        called = time.perf_counter()
        after()
        calling += time.perf_counter() - called
    return time.perf_counter() - start - calling, calling


def _row(name: str, value: float, unit: str, reference: float) -> dict[str, Any]:
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "reference": reference,
        "ratio": value / reference,
    }


def _simulation() -> Simulation:
    config = SceneConfig()
    return Simulation(config, Compliance().law_parameters(config.target))
