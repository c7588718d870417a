"""The simulated arm behind its topics: lockstep, resets, refusals, real time."""

from __future__ import annotations

import numpy as np
import pytest
from probe import FRAME, Probe
from rclpy.node import Node
from std_srvs.srv import Trigger

from serl_controllers.arm import ArmMode, ArmTarget
from serl_controllers.geometry import Pose
from serl_controllers.ros_arm import pose_from_msg, state_from_msg
from serl_controllers.ros_parameters import ParameterError
from serl_controllers.ros_qos import COMMAND
from serl_interfaces.msg import ArmCommand
from serl_sim.compliance import Compliance
from serl_sim.config import SceneConfig
from serl_sim.sim_node import SimNode
from serl_sim.simulation import Simulation

STEP_DOWN = Pose(np.array((0.002, 0.0, 0.004)), np.array((0.0, 0.0, 0.0, 1.0)))


@pytest.fixture
def probe(bench):
    bench.add(SimNode)
    node = bench.add(Probe, bench)
    node.wait_for_sim()
    return node


def same(a, b):
    for name in ("tcp_pose", "commanded_pose"):
        one, other = getattr(a, name), getattr(b, name)
        if not np.array_equal(one.to_vector(), other.to_vector()):
            return False
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in ("q", "dq", "wrench", "tcp_twist", "tau_ext", "command_seq", "mode")
    )


def test_reset_answers_with_the_first_state_and_publishes_it(probe):
    config = SceneConfig()
    start = config.target @ Pose(np.array((0.01, -0.02, -0.03)), np.array((0.0, 0.0, 0.0, 1.0)))
    response = probe.reset(seed=4, start=start)
    assert response.success, response.message
    state = state_from_msg(response.state)
    assert response.state.header.frame_id == FRAME
    assert state.command_seq == 0
    assert state.tcp_pose.distance(start)[0] < 1e-4
    probe.bench.wait(
        lambda: any(s.stamp_ns == state.stamp_ns for s in probe.states), "the state on arm/state"
    )


def test_reset_out_of_reach_says_why(probe):
    response = probe.reset(start=Pose.from_rpy((1.4, 0, 0.1), (np.pi, 0, 0)))
    assert not response.success
    assert "does not reach the start pose" in response.message


def test_commands_advance_as_in_process(probe):
    """Through ROS the same states come, bit for bit, as from the simulation called directly."""
    config = SceneConfig()
    simulation = Simulation(config, Compliance().law_parameters(config.target))
    expected = simulation.reset(3)
    state = state_from_msg(probe.reset(seed=3).state)
    assert same(state, expected)
    for seq in range(1, 12):
        target = state.tcp_pose @ STEP_DOWN
        expected = simulation.step(ArmTarget(target), seq)
        state = probe.step(target, seq)
        assert same(state, expected), seq


def test_same_number_only_answers_again(probe):
    state = state_from_msg(probe.reset().state)
    first = probe.step(state.tcp_pose @ STEP_DOWN, 1)
    again = probe.step(state.tcp_pose @ STEP_DOWN, 1)
    assert again.stamp_ns == first.stamp_ns
    assert same(again, first)
    assert probe.step(state.tcp_pose, 2).stamp_ns > first.stamp_ns


def test_restarted_actor_resets_and_counts_from_one(probe):
    state = state_from_msg(probe.reset().state)
    for seq in (1, 2, 3):
        probe.step(state.tcp_pose, seq)
    probe.send(state.tcp_pose, 1)  # without a reset
    refused = probe.next_state(lambda s: s.rejected_commands == 1)
    assert refused.command_seq == 3
    probe.reset()
    assert probe.step(state.tcp_pose, 1).command_seq == 1


def _bad_commands(pose):
    nan = Pose(np.array((np.nan, 0.0, 0.1)), pose.quaternion)
    long = Pose(pose.position, 2.0 * pose.quaternion)
    return [(nan, FRAME, "not finite"), (long, FRAME, "unit norm"), (pose, "map", "'map'")]


def test_d24_malformed_commands_are_refused_counted_and_reported(probe):
    state = state_from_msg(probe.reset().state)
    for count, (pose, frame, reason) in enumerate(_bad_commands(state.tcp_pose), start=1):
        probe.send(pose, 1, frame)
        after = probe.next_state(lambda s, n=count: s.rejected_commands == n)
        assert after.command_seq == 0
        assert after.stamp_ns == state.stamp_ns  # nothing moved
        probe.wait_for_status(lambda s, r=reason: r in s.detail, f"a status that says {reason!r}")
    assert probe.step(state.tcp_pose, 1).command_seq == 1


def test_second_publisher_is_refused_and_alarmed_until_it_leaves(bench, probe):
    state = state_from_msg(probe.reset().state)
    intruder = bench.add(Node, "intruder")
    publisher = intruder.create_publisher(ArmCommand, "arm/command", COMMAND)
    alarm = probe.wait_for_status(lambda s: "ALARM" in s.detail, "the alarm")
    assert "/intruder" in alarm.detail
    assert "/actor" in alarm.detail
    probe.send(state.tcp_pose, 1)
    refused = probe.next_state(lambda s: s.rejected_commands == 1)
    assert refused.command_seq == 0
    intruder.destroy_publisher(publisher)
    bench.remove(intruder)
    probe.bench.wait(lambda: probe.count_publishers("arm/command") == 1, "the intruder to leave")
    assert probe.step(state.tcp_pose, 1).command_seq == 1
    probe.statuses.clear()
    probe.wait_for_status(lambda s: s.node == "sim" and "ALARM" not in s.detail, "the all-clear")


def test_connector_pose_is_the_truth_for_who_asks(probe):
    probe.listen_to_connector()
    probe.bench.wait(lambda: probe.count_publishers("sim/connector_pose"), "the topic")
    state = state_from_msg(probe.reset(seed=2).state)
    heard = probe.bench.wait(
        lambda: [c for c in probe.connectors if c.header.stamp.nanosec == state.stamp_ns % 10**9],
        "the connector's pose",
    )[-1]
    config = SceneConfig()
    simulation = Simulation(config, Compliance().law_parameters(config.target))
    simulation.reset(2)
    expected = simulation.connector_pose()
    assert pose_from_msg(heard.pose).to_vector() == pytest.approx(expected.to_vector(), abs=1e-12)
    assert expected.distance(state.tcp_pose)[0] > 1e-5


def test_it_says_what_it_waits_for(bench):
    bench.add(SimNode)
    listener = bench.add(Probe, bench, "listener")
    listener.destroy_publisher(listener.commands)
    status = listener.wait_for_status(
        lambda s: s.node == "sim" and s.waiting_for == "a publisher on arm/command", "the status"
    )
    assert status.phase == "lockstep"


def test_state_is_repeated_in_a_lull_for_who_comes_late(probe):
    stamp = state_from_msg(probe.reset().state).stamp_ns
    for _ in range(2):
        assert probe.next_state().stamp_ns == stamp


def test_recover_answers(probe):
    assert probe.call(probe.recovers, Trigger.Request()).success


def test_real_time_goes_on_by_itself_and_holds_without_commands(bench):
    bench.add(SimNode, parameters={"realtime": True, "compliance.command_timeout": 0.2})
    probe = bench.add(Probe, bench)
    probe.wait_for_sim()
    state = state_from_msg(probe.reset().state)
    probe.send(state.tcp_pose, 7)
    probe.next_state(lambda s: s.command_seq == 7 and s.mode is ArmMode.IMPEDANCE)
    held = probe.next_state(lambda s: s.mode is ArmMode.HOLD)
    assert held.stamp_ns > state.stamp_ns
    probe.send(held.tcp_pose, 8)
    assert probe.next_state(lambda s: s.mode is ArmMode.IMPEDANCE).command_seq == 8
    stamps = np.diff([s.stamp_ns for s in probe.states[-20:]])
    assert np.all(stamps >= 10_000_000)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("scene.clearence", 0.001, "clearence"),
        ("scene.clearance", -1.0, "clearance is -1.0"),
        ("scene.clearance", "wide", "'wide'"),
        ("compliance.stiffness", [1.0, 2.0], "stiffness"),
        ("state_rate", 5000.0, "state_rate is 5000.0"),
    ],
)
def test_wrong_parameters_are_named(bench, name, value, shown):
    with pytest.raises((ParameterError, ValueError), match=shown):
        bench.add(SimNode, parameters={name: value})
