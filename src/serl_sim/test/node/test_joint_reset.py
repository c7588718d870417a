"""arm/joint_reset of the simulated arm, in lockstep and in real time; joint_states for TF."""

from __future__ import annotations

import numpy as np
import pytest
from probe import Probe
from sensor_msgs.msg import JointState

from serl_controllers.arm import ArmMode
from serl_controllers.ros_arm import state_from_msg
from serl_controllers.ros_qos import STATE
from serl_interfaces.action import JointReset
from serl_sim.sim_node import SimNode

AWAY = np.array((0.1, -0.1, 0.05, 0.1, -0.05, 0.05, 0.1))  # [rad]
VELOCITY = 0.5  # [rad/s]


@pytest.fixture(params=[False, True], ids=["lockstep", "realtime"])
def probe(bench, request):
    bench.add(SimNode, parameters={"realtime": request.param})
    node = bench.add(Probe, bench)
    node.wait_for_sim()
    node.mover = bench.action_client(node, JointReset, "arm/joint_reset")
    node.start = state_from_msg(node.reset().state)
    return node


def send(probe, q, velocity=VELOCITY):
    """A goal's handle and the feedback that it will give."""
    progress = []
    future = probe.mover.send_goal_async(
        JointReset.Goal(q=q, max_velocity=velocity), lambda m: progress.append(m.feedback.progress)
    )
    return probe.bench.wait(lambda: future.done() and future.result(), "an answer"), progress


def result(probe, handle) -> JointReset.Result:
    future = handle.get_result_async()
    return probe.bench.wait(lambda: future.done() and future.result().result, "a result")


def test_it_moves_the_joints_and_holds(probe):
    goal = probe.start.q + AWAY
    handle, progress = send(probe, goal)
    ended = result(probe, handle)
    assert ended.success, ended.message
    np.testing.assert_allclose(ended.q, goal, atol=0.02)
    assert probe.next_state().mode in (ArmMode.HOLD, ArmMode.IMPEDANCE)
    assert np.all(np.diff(progress) >= 0.0)
    assert max(progress) > 0.5
    moving = [s for s in probe.states if s.mode is ArmMode.JOINT_MOVE]
    assert max(np.abs(s.dq).max() for s in moving) < 1.1 * VELOCITY


def test_out_of_limits_is_refused_naming_joint_and_limit(probe):
    goal = probe.start.q.copy()
    goal[3] = 0.3
    ended = result(probe, send(probe, goal)[0])
    assert not ended.success
    assert "fr3_joint4 is 0.3 rad, allowed are -3.0421 .. -0.1518" in ended.message
    np.testing.assert_allclose(ended.q, probe.start.q, atol=1e-3)


def test_too_fast_is_refused(probe):
    ended = result(probe, send(probe, probe.start.q, velocity=3.0)[0])
    assert "max_velocity is 3 rad/s" in ended.message


def test_a_cancel_brakes_and_holds(probe):
    goal = probe.start.q + 5 * AWAY
    handle, _ = send(probe, goal)
    probe.next_state(lambda s: s.mode is ArmMode.JOINT_MOVE and np.abs(s.dq).max() > 0.1)
    second = result(probe, send(probe, goal)[0])
    assert second.message == "another joint reset is under way"
    handle.cancel_goal_async()
    ended = result(probe, handle)
    assert not ended.success
    assert "cancelled" in ended.message
    assert np.abs(np.array(ended.q) - goal).max() > 0.05
    assert probe.next_state().mode is ArmMode.HOLD


def test_joint_states_name_every_joint_of_arm_and_hand(probe):
    heard: list[JointState] = []
    probe.create_subscription(JointState, "joint_states", heard.append, STATE)
    state = probe.bench.wait(lambda: heard and heard[-1], "joint_states")
    assert state.name[:7] == [f"fr3_joint{i}" for i in range(1, 8)]
    assert len(state.name) == len(state.position) == 9
    np.testing.assert_allclose(state.position[:7], probe.start.q, atol=1e-2)
