"""Joint moves of the MuJoCo arm: they arrive, keep their velocity, brake, and end in HOLD."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import START_Q

from serl_controllers.arm import ArmMode

GOAL = START_Q + np.array((0.3, -0.2, 0.1, 0.3, -0.2, 0.1, -0.4))
VELOCITY = 0.5  # [rad/s]


def run(bench, seconds: float):
    """Joint positions and velocities every 10 ms until the move is over."""
    seen = []
    for _ in range(round(100 * seconds)):
        bench.arm.step(10)
        seen.append((bench.arm.q, bench.arm.dq))
        if bench.arm.mode is not ArmMode.JOINT_MOVE:
            break
    return [np.array(values) for values in zip(*seen)]


def test_it_arrives_holds_and_keeps_its_velocity(bench):
    assert bench.arm.start_joint_move(GOAL, VELOCITY)
    _, dq = run(bench, 5.0)
    assert bench.arm.mode is ArmMode.HOLD
    np.testing.assert_allclose(bench.arm.q, GOAL, atol=5e-3)
    assert np.abs(dq).max() == pytest.approx(VELOCITY, rel=0.1)
    bench.arm.step(1000)
    np.testing.assert_allclose(bench.arm.q, GOAL, atol=1e-2)


def test_commands_are_refused_meanwhile_and_followed_afterwards(bench):
    bench.arm.start_joint_move(GOAL, VELOCITY)
    bench.arm.step(100)
    assert not bench.arm.set_target(bench.tcp.position, bench.tcp.quaternion)
    assert bench.arm.mode is ArmMode.JOINT_MOVE
    run(bench, 5.0)
    assert bench.arm.set_target(bench.tcp.position, bench.tcp.quaternion)


def test_a_cancel_brakes_smoothly_and_holds(bench):
    bench.arm.start_joint_move(GOAL, VELOCITY)
    bench.arm.step(700)
    before = bench.arm.q
    bench.arm.cancel_joint_move()
    _, dq = run(bench, 1.0)
    assert bench.arm.mode is ArmMode.HOLD
    assert np.abs(bench.arm.q - before).max() < VELOCITY * 0.3
    assert np.abs(np.diff(dq, axis=0)).max() < 0.05  # [rad/s] in 10 ms


@pytest.mark.parametrize(
    ("q", "velocity"),
    [
        (START_Q + np.array((0, 0, 0, 3.0, 0, 0, 0)), VELOCITY),
        (np.full(7, np.nan), VELOCITY),
        (GOAL, 0.0),
        (GOAL, np.inf),
    ],
)
def test_what_cannot_be_followed_is_refused_and_the_arm_stays(bench, q, velocity):
    before = bench.arm.q
    assert not bench.arm.start_joint_move(q, velocity)
    bench.arm.step(100)
    np.testing.assert_allclose(bench.arm.q, before, atol=1e-6)
    assert bench.arm.mode is ArmMode.IMPEDANCE


def test_a_blocked_arm_pushes_with_bounded_torque(bench):
    """Down into the table: the error that pulls is clipped to 0.05 rad."""
    down = START_Q + np.array((0, 0.6, 0, 0, 0, 0, 0))
    bench.arm.start_joint_move(down, VELOCITY)
    run(bench, 5.0)
    assert bench.arm.q[1] < down[1] - 0.1
    assert bench.arm.peak_force < 150.0


def test_torque_changes_by_no_more_than_its_rate_limit(bench):
    torques = []
    bench.arm.start_joint_move(GOAL, VELOCITY)
    for tick in range(1200):
        bench.arm.step(1)
        torques.append(bench.arm.torque)
        if tick == 600:
            bench.arm.cancel_joint_move()
    assert np.abs(np.diff(torques, axis=0)).max() <= 1.0 + 1e-9
