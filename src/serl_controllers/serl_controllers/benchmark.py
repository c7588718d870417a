"""What the impedance law costs: a controlled physics step against MuJoCo's bare one."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import mujoco

from serl_controllers.geometry import Pose
from serl_controllers.law_parameters import LawParameters
from serl_controllers.simulated_arm import SimulatedArm


def controlled_step(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    site: str,
    joints: Sequence[str],
    actuators: Sequence[str],
    parameters: LawParameters | None = None,
    *,
    target: Pose | None = None,
    ticks: int = 500,
    rounds: int = 9,
) -> dict[str, str | float]:
    """Times one physics step under the law, and one mj_step from the same state.

    Both go on from the state in `data`, which stays as it is, after the arm has followed
    `target` for `ticks`: once under the law, once with the controls frozen where the law left
    them. Rounds alternate and CPU time of the thread counts, so that what else the machine does
    hits both or none.

    Args:
      site, joints, actuators: as SimulatedArm takes them.
      target: of the site, base frame, for instance behind a surface; None: stay.
      ticks: physics steps a round.
      rounds: of each kind.

    Returns:
      `name`, `value` (median under the law), `unit` (us), `reference` (median bare), `ratio`
      (median of the rounds' ratios).
    """
    work = mujoco.MjData(model)
    mujoco.mj_copyData(work, model, data)
    arm = SimulatedArm(
        model, work, site, list(joints), list(actuators), parameters or LawParameters()
    )

    def follow() -> None:
        if target is not None:
            arm.set_target(target.position, target.quaternion)
        arm.step(ticks)

    follow()
    settled = mujoco.MjData(model)
    mujoco.mj_copyData(settled, model, work)
    controlled, bare = [], []
    for _ in range(rounds):
        mujoco.mj_copyData(work, model, settled)
        bare.append(_time(lambda: mujoco.mj_step(model, work, nstep=ticks)) / ticks)
        mujoco.mj_copyData(work, model, settled)
        controlled.append(_time(follow) / ticks)
    return {
        "name": "controlled physics step",
        "value": 1e6 * statistics.median(controlled),
        "unit": "us",
        "reference": 1e6 * statistics.median(bare),
        "ratio": statistics.median(c / b for c, b in zip(controlled, bare)),
    }


def _time(work: Callable[[], None]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start
