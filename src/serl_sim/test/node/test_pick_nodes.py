"""Picking through the topics: where the block is, how far the gripper is open, what is asked."""

from __future__ import annotations

import math

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from probe import Probe
from sensor_msgs.msg import JointState

from serl_controllers.arm import ArmTarget
from serl_controllers.geometry import Pose
from serl_controllers.ros_arm import ns_from_time, pose_from_msg, state_from_msg, target_to_msg
from serl_controllers.ros_qos import STATE
from serl_sim.expert_node import ExpertNode, episode_seed
from serl_sim.pick_expert import PickExpert
from serl_sim.sim_node import SimNode
from serl_sim.simulation import Simulation

SCENE = {
    "scene.kind": "pick",
    "scene.target_rpy": (math.pi, 0.0, 0.0),
    "scene.start_height": 0.06,
    "compliance.target_time_constant": 0.05,
    "compliance.clip_positive": (0.02,) * 6,
    "compliance.clip_negative": (0.02,) * 6,
    "compliance.box_lower": (-0.06, -0.15, -0.025, -0.05, -0.05, -0.35),
    "compliance.box_upper": (0.06, 0.06, 0.08, 0.05, 0.05, 0.35),
}


@pytest.fixture
def probe(bench):
    config = bench.add(SimNode, parameters=SCENE)._config
    node = bench.add(Probe, bench)
    node.wait_for_sim()
    law = config.compliance.law_parameters(config.scene.target)
    node.twin = Simulation(config.scene, law)  # in this process, as the node's own
    node.heard = []  # of objects and states, in the order in which they came
    node.create_subscription(PoseStamped, "scene/object", node.heard.append, STATE)
    bench.wait(lambda: node.count_publishers("scene/object"), "scene/object")
    return node


def command(probe, pose, seq, gripper):
    """The state that answers a command that moves the gripper too."""
    probe.commands.publish(target_to_msg(ArmTarget(pose, gripper), seq, 0, "fr3_link0"))
    return probe.next_state(lambda state: state.command_seq == seq)


def object_of(probe, state):
    """T_base_object of the state, once it is heard."""
    return probe.bench.wait(
        lambda: next(
            (
                pose_from_msg(m.pose)
                for m in probe.heard
                if ns_from_time(m.header.stamp) == state.stamp_ns
            ),
            None,
        ),
        "the object of the state",
    )


def test_every_state_has_its_object_as_in_process(probe):
    simulation = probe.twin
    expected = simulation.reset(3)
    state = state_from_msg(probe.reset(seed=3).state)
    down = Pose.from_rotation_vector((0.0, 0.0, 0.004), np.zeros(3))
    for seq in range(1, 5):
        seen = object_of(probe, state)
        np.testing.assert_array_equal(seen.to_vector(), simulation.object.to_vector())
        assert state.gripper == pytest.approx(expected.gripper, abs=1e-6)
        pose = state.tcp_pose @ down
        expected = simulation.step(ArmTarget(pose, 0.0), seq)
        state = command(probe, pose, seq, 0.0)
    assert expected.gripper < 0.3


def test_the_fingers_follow_in_joint_states(probe):
    joints = []
    probe.create_subscription(JointState, "joint_states", joints.append, STATE)
    probe.bench.wait(lambda: probe.count_publishers("joint_states"), "joint_states")
    state = state_from_msg(probe.reset(seed=1).state)
    for seq in range(1, 4):
        state = command(probe, state.tcp_pose, seq, 0.4)
    finger = probe.bench.wait(
        lambda: joints and abs(joints[-1].position[-1] - 0.04 * state.gripper) < 1e-6, "fingers"
    )
    assert finger
    assert joints[-1].name[-2:] == ["fr3_finger_joint1", "fr3_finger_joint2"]
    assert 0.4 <= state.gripper < 0.6


def test_an_insertion_has_no_object(bench):
    bench.add(SimNode)
    probe = bench.add(Probe, bench)
    probe.wait_for_sim()
    assert probe.count_publishers("scene/object") == 0


def test_the_expert_asks_for_the_gripper_as_in_process(bench, probe):
    """It waits for the object, then says what the person in one process says."""
    expert = bench.add(ExpertNode, parameters={"seed": 5, "expert.kind": "pick"})
    bench.wait(
        lambda: (
            probe.count_publishers("intervention")
            and probe.count_subscribers("scene/object") >= 2
            and probe.count_subscribers("scene/fixture") >= 1
            and probe.count_subscribers("arm/state") >= 2
        ),
        "the expert node",
    )
    response = probe.reset(seed=1)
    state = state_from_msg(response.state)
    person = PickExpert(expert._config.expert)
    person.reset(episode_seed(5, 0), pose_from_msg(response.fixture))
    opening, asked = 1.0, []
    for seq in range(1, 50):
        answer = bench.wait(
            lambda s=state: next(
                (i for i in probe.interventions if ns_from_time(i.state_stamp) == s.stamp_ns), None
            ),
            "the expert's answer",
        )
        person.see_object(object_of(probe, state))
        action = person.act(state).astype(np.float32)
        np.testing.assert_array_equal(np.array(answer.twist, np.float32), action)
        assert answer.gripper == person.gripper
        asked.append(answer.gripper)
        if answer.gripper:
            opening = 0.5 + 0.5 * answer.gripper
        step = Pose.from_rotation_vector(0.02 * action[:3], 0.06 * action[3:])
        state = command(probe, state.tcp_pose @ step, seq, opening)
        if -1.0 in asked:
            break
    assert -1.0 in asked


def test_without_the_object_it_waits_and_says_so(bench):
    """The simulator's scene is of another kind."""
    bench.add(SimNode)
    bench.add(ExpertNode, parameters={"expert.kind": "pick"})
    probe = bench.add(Probe, bench)
    probe.wait_for_sim()
    probe.reset(seed=1)
    probe.wait_for_status(
        lambda s: s.node == "expert" and s.waiting_for == "scene/object", "what it waits for"
    )
    assert probe.interventions == []
