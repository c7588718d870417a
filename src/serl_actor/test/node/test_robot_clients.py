"""The clients' finer points: which state belongs to which command, clocks, rivals, lost answers."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from fakes import FRAME, PERIOD_NS, FakeSim
from rclpy.node import Node
from rclpy.task import Future

from serl_actor import ros_arm_topics, ros_realtime_client
from serl_actor.reset_motion import ResetMotionConfig
from serl_actor.robot_client import CommandRefused
from serl_actor.ros_arm_topics import ArmTopics
from serl_actor.ros_realtime_client import RealtimeClient
from serl_actor.ros_robot_client import RobotClientConfig, RosRobotClient
from serl_actor.task import TaskConfig
from serl_actor.workspace import Workspace
from serl_controllers.arm import ArmTarget
from serl_controllers.geometry import Pose
from serl_controllers.ros_arm import state_to_msg

TASK = TaskConfig()


def in_thread(call):
    """Runs it beside the test; its result is appended to the list returned."""
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(call()), daemon=True)
    thread.start()
    return thread, results


@pytest.fixture
def sim(bench) -> FakeSim:
    return bench.sim()


@pytest.fixture
def client(bench, sim) -> RealtimeClient:
    node = bench.add(Node, "actor")
    config = RobotClientConfig(state_age=10.0)
    return RealtimeClient(node, config, None, Workspace.of(TASK), 0.02, lambda what: None)


def feed(topics: ArmTopics, sim: FakeSim, stamp_ns: int) -> None:
    """A state arrives."""
    sim._stamp = stamp_ns
    topics._on_state(state_to_msg(sim.state(), FRAME))


def test_after_an_overrun_the_state_is_one_from_after_the_command(bench, client, sim):
    feed(client._topics, sim, PERIOD_NS)  # client._next is long over
    thread, results = in_thread(lambda: client.step(ArmTarget(TASK.target)))
    bench.wait(lambda: client.overruns == 1 and sim.commands, "the command")
    assert results == []
    feed(client._topics, sim, 2 * PERIOD_NS)
    thread.join(10.0)
    assert [state.stamp_ns for state in results] == [2 * PERIOD_NS]


def test_a_command_leaves_in_its_phase_of_the_period_or_as_soon_as_it_is_chosen(
    client, sim, monkeypatch
):
    """However long the choice took; period 20 ms, phase a quarter of it."""
    now, sent = [100.0], []

    def sleep(seconds):
        now[0] += seconds

    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=sleep)
    monkeypatch.setattr(ros_realtime_client, "time", clock)
    monkeypatch.setattr(client._topics, "send", lambda *_: sent.append(round(now[0] - 100.0, 6)))
    monkeypatch.setattr(client._topics, "wait_heard", lambda *_: True)
    feed(client._topics, sim, PERIOD_NS)
    client._next = now[0]
    for took in (0.001, 0.004, 0.012, 0.0):
        now[0] += took
        client.step(ArmTarget(TASK.target))
    assert sent == [0.005, 0.025, 0.052, 0.065]
    assert client.overruns == 0


def test_a_straggler_does_not_answer_a_command(bench, client, sim):
    feed(client._topics, sim, 3 * PERIOD_NS)
    thread, results = in_thread(lambda: client.step(ArmTarget(TASK.target)))
    bench.wait(lambda: sim.commands, "the command")
    feed(client._topics, sim, 2 * PERIOD_NS)
    assert results == []
    feed(client._topics, sim, 4 * PERIOD_NS)
    thread.join(10.0)
    assert [state.stamp_ns for state in results] == [4 * PERIOD_NS]


def test_holding_beside_a_rival_is_no_error(client, sim):
    feed(client._topics, sim, PERIOD_NS)
    client._topics._rivals = "/rival"
    client.hold()
    with pytest.raises(CommandRefused, match="/rival"):
        client.step(ArmTarget(TASK.target))


def test_a_namesake_that_stays_is_a_rival_and_one_that_is_gone_soon_is_none(bench, monkeypatch):
    topics = ArmTopics(bench.add(Node, "actor"), FRAME)
    other = bench.add(Node, "actor")
    ArmTopics(other, FRAME)
    count = topics._node.count_publishers
    bench.wait(lambda: count("arm/command") == 2, "the other publisher")
    topics._watch()
    assert topics._rivals == ""
    monkeypatch.setattr(ros_arm_topics, "LINGER", 0.0)
    topics._watch()
    assert topics._rivals == "another /actor"


def test_on_a_real_arm_the_newcomer_sends_nothing_while_its_namesake_is_there(bench, monkeypatch):
    elder = ArmTopics(bench.add(Node, "actor"), FRAME, exclusive=True)
    monkeypatch.setattr(ros_arm_topics, "DISCOVERY", 0.0)
    elder._watch()  # alone: it was there first
    monkeypatch.undo()
    node = bench.add(Node, "actor")
    sim = bench.sim()
    newcomer = RealtimeClient(
        node,
        RobotClientConfig(),
        ResetMotionConfig(),
        Workspace.of(TASK),
        0.02,
        lambda what: None,
    )
    topics = newcomer._topics
    both = [elder._node.count_publishers, topics._node.count_publishers]
    bench.wait(lambda: [c("arm/command") for c in both] == [2, 2], "both to see each other")
    said: list[str] = []
    monkeypatch.setattr(node.get_logger(), "error", lambda text, **_: said.append(text))
    topics._watch()
    elder._watch()
    with pytest.raises(CommandRefused, match="another /actor"):
        newcomer.step(ArmTarget(TASK.target))
    assert "another /actor" in said[0]
    assert elder._rivals == ""
    elder._node.destroy_publisher(elder._commands)
    bench.wait(lambda: both[1]("arm/command") == 1, "the elder to leave")
    topics._watch()
    topics.send(ArmTarget(TASK.target), 1, 0)
    bench.wait(lambda: sim.commands, "the command")


def test_a_clock_that_goes_back_is_said_and_believed_once_nothing_newer_comes(
    bench, sim, monkeypatch
):
    topics = ArmTopics(bench.add(Node, "actor"), FRAME)
    said: list[str] = []
    monkeypatch.setattr(topics._node.get_logger(), "warning", said.append)
    feed(topics, sim, 100 * PERIOD_NS)
    feed(topics, sim, PERIOD_NS)
    assert topics.heard.state.stamp_ns == 100 * PERIOD_NS
    assert said == []
    monkeypatch.setattr(ros_arm_topics, "CLOCK_STEP_AFTER", 0.0)
    feed(topics, sim, 2 * PERIOD_NS)
    assert topics.heard.state.stamp_ns == 2 * PERIOD_NS
    assert "went back by 9.800 s" in said[0]


def test_a_reset_whose_first_answer_is_lost_is_asked_for_again(bench, monkeypatch):
    sim = bench.sim()
    monkeypatch.setattr("serl_actor.ros_scene.FIRST_TIMEOUT", 0.05)
    node = bench.add(Node, "actor")
    client = RosRobotClient(node, RobotClientConfig(), lambda what: None)
    lost: list[object] = []
    call = client._scene._client.call_async

    def lossy(request):
        if lost:
            return call(request)
        lost.append(request)
        return Future()

    monkeypatch.setattr(client._scene._client, "call_async", lossy)
    start = Pose(np.array((0.4, 0.0, 0.3)), TASK.target.quaternion)
    thread, results = in_thread(lambda: client.reset(start, 7))
    bench.wait(lambda: results, "the second answer")
    thread.join(10.0)
    np.testing.assert_allclose(results[0].tcp_pose.position, start.position)
    assert lost[0].seed == 7
    assert sim.state().stamp_ns == PERIOD_NS
