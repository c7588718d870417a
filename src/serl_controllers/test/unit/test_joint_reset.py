"""A joint reset ends when the arm's states say so, and says how."""

from __future__ import annotations

import numpy as np
import pytest

from serl_controllers.arm import ArmMode, ArmState
from serl_controllers.geometry import Pose
from serl_controllers.joint_reset import START_TIMEOUT, Ending, JointReset

TARGET = np.full(7, 1.0)


def state(mode: ArmMode, q: float) -> ArmState:
    return ArmState(
        stamp_ns=0,
        command_seq=0,
        tcp_pose=Pose.identity(),
        tcp_twist=np.zeros(6),
        wrench=np.zeros(6),
        q=np.full(7, q),
        dq=np.zeros(7),
        tau_ext=np.zeros(7),
        gripper=0.0,
        mode=mode,
        commanded_pose=Pose.identity(),
        error_clipped=np.zeros(6, dtype=bool),
        target_clipped=False,
        torque_saturated=False,
        rejected_commands=0,
    )


def watch(*seen: tuple[ArmMode, float, float], cancel: bool = False):
    """The outcome after states (mode, q, time), None before the last one."""
    reset = JointReset(TARGET, 0.5, 0.0)
    if cancel:
        reset.cancel()
    outcomes = [reset.observe(state(mode, q), now) for mode, q, now in seen]
    assert outcomes[:-1] == [None] * (len(seen) - 1)
    return reset, outcomes[-1]


def test_it_arrives_when_the_arm_holds_at_the_target():
    reset, outcome = watch(
        (ArmMode.HOLD, 0.0, 0.1), (ArmMode.JOINT_MOVE, 0.25, 0.2), (ArmMode.HOLD, 0.99, 4.0)
    )
    assert outcome.ending is Ending.ARRIVED
    assert reset.progress == 1.0


def test_progress_is_the_share_of_the_way():
    reset, _ = watch((ArmMode.HOLD, 0.0, 0.1), (ArmMode.JOINT_MOVE, 0.25, 0.2))
    assert reset.progress == pytest.approx(0.25)


def test_an_arm_that_is_there_already_has_arrived():
    assert watch((ArmMode.HOLD, 1.0, 0.05))[1].ending is Ending.ARRIVED


def test_a_blocked_arm_is_told_with_joint_and_distance():
    _, outcome = watch((ArmMode.JOINT_MOVE, 0.0, 0.1), (ArmMode.HOLD, 0.6, 4.0))
    assert outcome.ending is Ending.FAILED
    assert "joint 1 stopped 0.400 rad from the target" in outcome.message


def test_a_cancelled_motion_ends_where_the_arm_holds():
    seen = (ArmMode.JOINT_MOVE, 0.3, 1.0), (ArmMode.JOINT_MOVE, 0.4, 1.1), (ArmMode.HOLD, 0.5, 1.4)
    assert watch(*seen, cancel=True)[1].ending is Ending.CANCELLED


@pytest.mark.parametrize("mode", [ArmMode.REFLEX, ArmMode.FAULT, ArmMode.IDLE])
def test_a_broken_arm_ends_it(mode):
    _, outcome = watch((ArmMode.JOINT_MOVE, 0.1, 0.5), (mode, 0.2, 0.6))
    assert outcome.ending is Ending.FAILED
    assert mode.name in outcome.message


def test_an_arm_that_does_not_begin_is_told():
    seen = (ArmMode.HOLD, 0.0, 0.5), (ArmMode.HOLD, 0.0, START_TIMEOUT + 0.1)
    assert "did not begin" in watch(*seen)[1].message


def test_a_motion_without_end_is_told():
    """1 rad at 0.5 rad/s takes 3.75 s; a margin is allowed."""
    seen = (ArmMode.JOINT_MOVE, 0.0, 0.1), (ArmMode.JOINT_MOVE, 0.9, 4.0)
    _, outcome = watch(*seen, (ArmMode.JOINT_MOVE, 0.9, 7.0))
    assert "not over after 6.8 s" in outcome.message
