"""The sim node films episodes, with words from the actor's topics; one number, one state still."""

from __future__ import annotations

import subprocess
import sys

import av
import pytest
import rclpy
from probe import Probe
from rclpy.parameter import Parameter

from serl_controllers.ros_qos import STATUS, TRANSITIONS
from serl_interfaces.msg import NodeStatus, Transition
from serl_sim.gl_backend import DEBIAN_PACKAGES
from serl_sim.sim_node import SimNode

STEPS = 5
END = 2


def parameters(folder):
    return {
        "video.directory": str(folder),
        "video.width": 320,
        "video.height": 240,
        "video.end_s": END / 20,
    }


def play(probe):
    """One episode: every command is answered once, also when it is sent again."""
    state = probe.reset().state
    pose = probe.states[-1].tcp_pose
    for seq in range(1, STEPS + 1):
        state = probe.step(pose, seq)
    assert probe.step(pose, STEPS).stamp_ns == state.stamp_ns
    return state


def test_episodes_are_filmed_in_lockstep(bench, draws, tmp_path):
    folder = tmp_path / "films"
    if not draws:
        return  # see the next test
    sim = bench.add(SimNode, parameters=parameters(folder))
    probe = bench.add(Probe, bench)
    probe.wait_for_sim()
    statuses = probe.create_publisher(NodeStatus, "status", STATUS)
    transitions = probe.create_publisher(Transition, "transitions", TRANSITIONS)
    bench.wait(lambda: transitions.get_subscription_count(), "the sim to listen")
    statuses.publish(NodeStatus(node="actor", driver="sampled policy", detail="0 of 0 solved"))
    probe.wait_for_status(lambda s: s.driver == "sampled policy", "the actor's status")
    state = play(probe)
    record = Transition(last=True, success=True)
    record.header.stamp.sec, record.header.stamp.nanosec = divmod(state.stamp_ns, 1_000_000_000)
    transitions.publish(record)
    play(probe)
    first = folder / "001_sampled_policy_success.mp4"
    bench.wait(first.exists, "the film of the first episode")
    bench.remove(sim)
    names = sorted(path.name for path in folder.iterdir())
    assert names == [first.name, "002_sampled_policy.mp4"]
    for name in names:
        with av.open(str(folder / name)) as film:
            assert len(list(film.decode(video=0))) == 1 + 2 * STEPS + END


def test_a_film_that_cannot_be_made_is_said_at_once(domain, tmp_path, draws):
    """Where nothing draws the packages are named; a bad figure is, too."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    given = parameters(tmp_path) | ({"video.fps": 7} if draws else {})
    overrides = [Parameter(name, value=value) for name, value in given.items()]
    expected = "one picture in 142.857 physics ticks" if draws else DEBIAN_PACKAGES
    with pytest.raises(ValueError, match=expected):
        SimNode(context=context, parameter_overrides=overrides)
    rclpy.shutdown(context=context)


def test_without_a_folder_nothing_is_loaded_for_it():

    code = "import sys, serl_sim.sim_node; sys.exit(any(m in sys.modules for m in ('av', 'PIL')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
