"""The clients of a task with a gripper and an object: what belongs to a state, and what is sent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fakes import FRAME, FakeLearner, FakeSim
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from std_msgs.msg import Header
from test_robot_clients import TASK, in_thread

from serl_actor.camera_views import CamerasConfig
from serl_actor.job import JobConfig
from serl_actor.observer import observation_spec
from serl_actor.reset_motion import ResetMotionConfig
from serl_actor.reward_judge import RewardConfig
from serl_actor.robot_client import RobotError, StaleState
from serl_actor.ros_actor_config import ActorNodeConfig
from serl_actor.ros_object import ObjectTopic
from serl_actor.ros_realtime_client import RealtimeClient
from serl_actor.ros_robot_client import RobotClientConfig, RosRobotClient
from serl_actor.task import TaskConfig
from serl_actor.workspace import Workspace
from serl_controllers.arm import ArmTarget
from serl_controllers.geometry import Pose
from serl_controllers.ros_arm import pose_to_msg, target_from_msg, time_from_ns
from serl_controllers.ros_parameters import ParameterError
from serl_controllers.ros_qos import STATE
from serl_learner.agents.config import GraspConfig, SACConfig
from serl_learner.policy import Policy
from serl_learner.types import Source

PICK = TaskConfig(gripper="learned", solved_by="object")
AGENT = SACConfig(hidden=(8,), grasp=GraspConfig(enabled=True))
BLOCK = Pose((0.5, 0.1, 0.02), TASK.target.quaternion)
QUICK = ResetMotionConfig(speed=1.0, turn_speed=6.0, settle_time=0.2)


class PickSim(FakeSim):
    """A sim with a gripper, which is at once where it is told to be unless it is `stuck`, and an
    object at `block`, T_base_object; None: without one."""

    def __init__(self, block: Pose | None = None, stuck: bool = False, **kwargs) -> None:
        self.block, self.stuck, self.gripper = block, stuck, 0.0
        self.openings: list[float | None] = []
        super().__init__(**kwargs)
        self._objects = self.create_publisher(PoseStamped, "scene/object", STATE)

    def state(self):
        return replace(super().state(), gripper=self.gripper)

    def _publish(self):
        if self.block is not None:
            header = Header(stamp=time_from_ns(self._stamp), frame_id=FRAME)
            self._objects.publish(PoseStamped(header=header, pose=pose_to_msg(self.block)))
        return super()._publish()

    def _on_command(self, message) -> None:
        self.openings.append(target_from_msg(message, FRAME).gripper)
        if self.openings[-1] is not None and not self.stuck:
            self.gripper = self.openings[-1]
        super()._on_command(message)


def realtime(bench, motion, state_age=10.0, **kwargs) -> RealtimeClient:
    """Of a task whose gripper is moved."""
    config = RobotClientConfig(state_age=state_age)
    place = Workspace.of(TASK)
    node = bench.add(Node, "actor")
    return RealtimeClient(node, config, motion, place, 0.02, lambda what: None, **kwargs)


def failed_reset(bench, client, kind):
    """The error of this kind that a reset ends with."""
    failures = []

    def play():
        try:
            client.reset(TASK.target, 0)
        except kind as error:
            failures.append(error)
        return True

    thread, done = in_thread(play)
    bench.wait(lambda: done, "the failure")
    thread.join(10.0)
    return failures[0]


def test_in_lockstep_a_state_comes_with_its_object(bench):
    sim = bench.add(PickSim, block=BLOCK)
    client = RosRobotClient(
        bench.add(Node, "actor"),
        RobotClientConfig(retry_period=0.1),
        lambda what: None,
        wants_object=True,
    )
    found = []

    def play():
        client.reset(TASK.target, 0)
        found.append(client.object())
        sim.block = TASK.target
        client.step(ArmTarget(TASK.target, 0.0))
        found.append(client.object())
        return True

    thread, done = in_thread(play)
    bench.wait(lambda: done, "two states with their objects")
    thread.join(10.0)
    assert [pose.distance(at)[0] < 1e-9 for pose, at in zip(found, (BLOCK, TASK.target))] == [
        True
    ] * 2
    assert sim.gripper == 0.0


def test_a_state_without_its_object_is_stale_and_what_lacks_is_named(bench):
    bench.add(PickSim)
    config = RobotClientConfig(retry_period=0.02, state_timeout=0.1)
    node = bench.add(Node, "actor")
    client = RosRobotClient(node, config, lambda what: None, wants_object=True)
    assert "scene/object" in str(failed_reset(bench, client, StaleState))


def test_who_does_not_want_an_object_does_not_listen(bench):
    node = bench.add(Node, "actor")
    topic = ObjectTopic(node, wanted=False)
    assert topic.wait_stamp(5, 0.0)
    assert topic.at_stamp(5) is None
    assert "/scene/object" not in dict(node.get_subscriber_names_and_types_by_node("actor", "/"))


def test_in_real_time_an_object_that_is_a_little_newer_will_do(bench):
    sim = bench.add(PickSim, block=BLOCK, realtime=True)
    client = realtime(bench, None, wants_object=True)
    thread, done = in_thread(lambda: (client.reset(TASK.target, 0), client.object()))
    bench.wait(lambda: done, "an object")
    thread.join(10.0)
    assert done[0][1].distance(BLOCK)[0] < 1e-9
    sim.block = None
    client._stamp_ns += 10**12
    client._config = RobotClientConfig(state_age=0.01)
    with pytest.raises(StaleState, match="scene/object"):
        client.object()


def test_a_real_arm_opens_its_gripper_before_it_moves(bench):
    sim = bench.add(PickSim, realtime=True)
    client = realtime(bench, QUICK, released=0.6)
    start = Workspace.of(TASK).clip(
        TASK.target @ Pose.from_rotation_vector((0.01, 0, 0), (0, 0, 0))
    )
    sim._pose = TASK.target
    bench.wait(lambda: client._topics.heard is not None, "a state")
    thread, done = in_thread(lambda: client.reset(start, 0))
    bench.wait(lambda: done, "the reset")
    thread.join(10.0)
    assert sim.openings[0] == 1.0
    assert sim.commands[0][1].distance(TASK.target)[0] < 1e-6
    assert set(sim.openings) == {1.0}
    assert done[0].gripper == 1.0
    client.hold()
    bench.wait(lambda: len(sim.openings) > client._command_seq - 1, "the command to hold")
    assert sim.openings[-1] == 1.0


def test_where_a_simulator_begins_with_an_open_gripper_it_is_held_open(bench):
    sim = bench.add(PickSim, realtime=True)
    client = realtime(bench, None, released=0.6)

    def play():
        client.reset(TASK.target, 0)
        client.step(ArmTarget(TASK.target, 0.0))
        client.reset(TASK.target, 1)
        client.hold()
        return True

    thread, done = in_thread(play)
    bench.wait(lambda: done and len(sim.openings) > 1, "the command to hold")
    thread.join(10.0)
    assert sim.openings == [0.0, 1.0]


def test_a_gripper_that_does_not_open_is_waited_for_and_named(bench):
    sim = bench.add(PickSim, realtime=True, stuck=True)
    client = realtime(bench, QUICK, released=0.6)
    sim._pose = TASK.target
    bench.wait(lambda: client._topics.heard is not None, "a state")
    failure = failed_reset(bench, client, RobotError)
    assert "is at 0.00, expected more than 0.6" in str(failure)
    assert failure.waiting_for == "the gripper to open"


def test_the_node_acts_with_a_gripper_and_sends_what_it_did(bench):
    """The learner's policy is of the layout that the actor's parameters give, and its records have
    seven dimensions."""
    policy = Policy(observation_spec(CamerasConfig(), PICK), 7, AGENT)
    learner: FakeLearner = bench.learner(policy=policy)
    bench.add(PickSim, block=BLOCK)
    bench.actor(task__gripper="learned", task__solved_by="object", agent__grasp__enabled=True)
    bench.wait_phase(learner, "done")
    acted = learner.of(Source.POLICY)
    steps = [record for record in acted if not record.last]
    assert steps
    assert {record.action.shape for record in steps} == {(7,)}
    assert {float(record.action[6]) for record in steps} <= {-1.0, 0.0, 1.0}
    np.testing.assert_allclose(steps[0].observation["state/gripper"][1], 1.0)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"task.gripper": "learned"}, "agent.grasp.enabled is False and task.gripper is 'learned'"),
        ({"agent.grasp.enabled": True}, "agent.grasp.enabled is True and task.gripper is 'fixed'"),
    ],
)
def test_a_grasp_critic_and_a_learned_gripper_go_together(bench, values, named):
    with pytest.raises((ParameterError, ValueError), match=named):
        bench.actor(**{name.replace(".", "__"): value for name, value in values.items()})


@pytest.mark.parametrize(
    ("cameras", "source", "lacks"),
    [((), "classifier", "no cameras"), (("wrist",), "sparse", "reward.source is 'sparse'")],
)
def test_a_real_arm_needs_pictures_to_see_an_object(cameras, source, lacks):
    def config(source, **kwargs):
        return ActorNodeConfig(
            simulated=False,
            lockstep=False,
            task=TaskConfig(solved_by="object"),
            cameras=CamerasConfig(cameras),
            reward=RewardConfig(source),
            **kwargs,
        )

    with pytest.raises(ValueError, match=f"solved_by is 'object'.*{lacks}"):
        config(source)
    if cameras:
        config("classifier")
        config("sparse", job=JobConfig(kind="label"))  # a person says what they see
