"""The expert answers every state, repeatably, and inserts through the topics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from probe import FRAME, Probe
from std_msgs.msg import Header

from serl_controllers.geometry import Pose
from serl_controllers.ros_arm import (
    ns_from_time,
    pose_from_msg,
    pose_to_msg,
    state_from_msg,
    state_to_msg,
    time_from_ns,
)
from serl_controllers.ros_parameters import ParameterError
from serl_controllers.ros_qos import STATUS
from serl_interfaces.msg import NodeStatus
from serl_sim.config import SceneConfig
from serl_sim.expert import ExpertConfig, ScriptedExpert
from serl_sim.expert_node import ExpertNode, episode_seed
from serl_sim.sim_node import SimNode


@pytest.fixture
def nodes(bench):
    return [bench.add(SimNode), bench.add(ExpertNode, parameters={"seed": 5})]


@pytest.fixture
def probe(bench, nodes):
    node = bench.add(Probe, bench)
    wait_for_nodes(node)
    return node


def wait_for_nodes(probe):
    probe.wait_for_sim()
    probe.bench.wait(
        lambda: (
            probe.count_publishers("intervention") and probe.count_subscribers("arm/state") >= 2
        ),
        "the expert node",
    )


def answer_to(probe, state):
    """The expert's answer to a state."""
    return probe.bench.wait(
        lambda: next(
            (i for i in probe.interventions if ns_from_time(i.state_stamp) == state.stamp_ns), None
        ),
        "the expert's answer",
    )


def drive(probe, steps):
    """Twists [steps, 6] of one episode that the expert drives."""
    state, twists = state_from_msg(probe.reset(seed=1).state), []
    for seq in range(1, steps + 1):
        twist = np.array(answer_to(probe, state).twist, dtype=np.float64)
        twists.append(twist)
        step = Pose.from_rotation_vector(0.01 * twist[:3], 0.06 * twist[3:])
        state = probe.step(state.tcp_pose @ step, seq)
    return np.array(twists)


def test_every_state_is_answered_by_its_stamp(probe):
    state = state_from_msg(probe.reset(seed=1).state)
    answer = answer_to(probe, state)
    assert answer.active
    assert answer.device == "expert"
    assert answer.header.frame_id == "tcp"
    assert np.abs(answer.twist).max() <= 1.0


def test_repeated_state_gets_the_same_answer(probe):
    state = state_from_msg(probe.reset(seed=1).state)
    first = answer_to(probe, state)
    probe.interventions.clear()
    probe.send(state.tcp_pose, 0)  # asks for the state again
    assert np.array_equal(answer_to(probe, state).twist, first.twist)


def test_episodes_differ_and_a_second_run_repeats_them(bench, probe, nodes):
    runs = [(drive(probe, 15), drive(probe, 15))]
    for node in nodes:
        bench.remove(node)
    bench.wait(
        lambda: (
            not probe.count_publishers("intervention") and not probe.count_publishers("arm/state")
        ),
        "the nodes to leave",
    )
    bench.add(SimNode)
    bench.add(ExpertNode, parameters={"seed": 5})
    wait_for_nodes(probe)
    probe.interventions.clear()
    runs.append((drive(probe, 15), drive(probe, 15)))
    assert not np.array_equal(runs[0][0], runs[0][1])
    assert np.array_equal(runs[0], runs[1])


def test_two_resets_without_a_step_are_two_episodes(probe):
    first = answer_to(probe, state_from_msg(probe.reset(seed=1).state))
    second = answer_to(probe, state_from_msg(probe.reset(seed=1).state))
    assert not np.array_equal(first.twist, second.twist)


def fixture_of(state, pose):
    """What a simulator says about the socket in a state."""
    header = Header(stamp=time_from_ns(state.stamp_ns), frame_id=FRAME)
    return PoseStamped(header=header, pose=pose_to_msg(pose))


def test_it_waits_for_the_socket_of_its_state(bench):
    """Whichever comes first; that of another state does not do."""
    expert = bench.add(ExpertNode, parameters={"seed": 5})
    bench.add(SimNode)
    probe = bench.add(Probe, bench)
    probe.wait_for_sim()
    state = state_from_msg(probe.reset(seed=1).state)
    answers = []
    expert._publish = answers.append
    target = SceneConfig().target
    before, state, after = (
        replace(state, command_seq=i, stamp_ns=(1000 + i) * 100_000_000) for i in range(3)
    )
    expert._on_fixture(fixture_of(before, target))
    expert._on_state(state_to_msg(state, FRAME))
    assert answers == []
    expert._on_fixture(fixture_of(state, target))
    assert [a.stamp_ns for a in answers] == [state.stamp_ns]
    expert._on_fixture(fixture_of(after, target))
    assert len(answers) == 1
    expert._on_state(state_to_msg(after, FRAME))
    assert [a.stamp_ns for a in answers] == [state.stamp_ns, after.stamp_ns]


def test_it_goes_to_where_the_socket_was_moved(bench):
    """As in one process, with the pose that the simulation knows."""
    bench.add(SimNode, parameters={"scene.socket_random_xy": 0.015})
    bench.add(ExpertNode, parameters={"seed": 5})
    probe = bench.add(Probe, bench)
    wait_for_nodes(probe)
    response = probe.reset(seed=1)
    state = state_from_msg(response.state)
    fixture = pose_from_msg(response.fixture)
    assert fixture.distance(SceneConfig().target)[0] > 0.003
    heard = np.array(answer_to(probe, state).twist, np.float32)
    expert = ScriptedExpert(ExpertConfig())
    expert.reset(episode_seed(5, 0), fixture)
    np.testing.assert_array_equal(heard, expert.act(state).astype(np.float32))
    expert.reset(episode_seed(5, 0), SceneConfig().target)
    assert not np.array_equal(heard, expert.act(state).astype(np.float32))


def test_in_training_it_drives_only_when_the_policy_drifts(bench):
    """And as the person does it in one process."""
    bench.add(SimNode)
    parameters = {"seed": 5, "intervene": "when_drifting", "person.patience": (3, 9)}
    expert = bench.add(ExpertNode, parameters=parameters)
    probe = bench.add(Probe, bench)
    wait_for_nodes(probe)
    status = probe.create_publisher(NodeStatus, "status", STATUS)

    def say(node, phase):
        heard = len(said)
        status.publish(NodeStatus(node=node, phase=phase))
        bench.wait(lambda: len(said) > heard, "the status")

    said, hear = [], expert._on_status
    expert.create_subscription(NodeStatus, "status", lambda m: (hear(m), said.append(m)), STATUS)
    bench.wait(lambda: probe.count_subscribers("status") >= 2, "the expert")

    def answers(steps):
        """Whether it drives at each step of an episode in which the arm stands still."""
        response = probe.reset(seed=1)
        state, driven = state_from_msg(response.state), []
        for seq in range(1, steps + 1):
            driven.append(answer_to(probe, state).active)
            state = probe.step(state.tcp_pose, seq)
        return driven

    assert answers(6) == [True] * 6, "nobody has said that a policy drives"
    say("learner", "training")
    say("actor", "demonstrations")
    assert answers(6) == [True] * 6
    say("actor", "training")
    assert answers(6) == [False] * 4 + [True] * 2
    say("actor", "evaluation")
    assert answers(6) == [True] * 6


def test_an_unknown_way_to_intervene_is_refused(bench):
    with pytest.raises(ParameterError, match="intervene is 'always'"):
        bench.add(ExpertNode, parameters={"intervene": "always"})


def test_seeds_of_episodes_differ():
    seeds = {episode_seed(seed, episode) for seed in range(10) for episode in range(100)}
    assert len(seeds) == 1000


def test_case_06_a_simulator_that_begins_anew_begins_an_episode(bench):
    expert = bench.add(ExpertNode, parameters={"seed": 5})
    sim = bench.add(SimNode)

    def hear(command_seq, periods):
        """A state of so many periods since the simulator's start; how many episodes there are."""
        state = replace(first, command_seq=command_seq, stamp_ns=periods * 100_000_000)
        expert._on_fixture(fixture_of(state, Pose.identity()))
        expert._on_state(state_to_msg(state, "fr3_link0"))
        return expert._episodes

    probe = bench.add(Probe, bench)
    probe.wait_for_sim()
    first = state_from_msg(probe.reset(seed=1).state)
    bench.remove(sim)
    known = hear(command_seq=0, periods=1000)
    assert hear(command_seq=0, periods=3) == known + 1
    assert hear(command_seq=1, periods=4) == known + 1
    assert hear(command_seq=5, periods=2) == known + 2, "went back without a reset that was heard"
