"""The nodes as processes: they stop when told to, and say what is wrong with a parameter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from probe import Probe

from serl_controllers.ros_arm import state_from_msg
from serl_interfaces.action import JointReset
from serl_sim.gl_backend import DEBIAN_PACKAGES


@pytest.fixture
def start(domain):
    processes = []

    def _start(module, *arguments, **variables):
        environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), **variables}
        command = [sys.executable, "-m", f"serl_sim.{module}", *arguments]
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        return process

    yield _start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nodes_stop_cleanly_in_the_middle_of_their_work(bench, start, number):
    sim, expert = start("sim_node"), start("expert_node")
    probe = bench.add(Probe, bench)
    probe.wait_for_sim()
    bench.wait(lambda: probe.count_publishers("intervention"), "the expert node")
    state = state_from_msg(probe.reset().state)
    for seq in range(1, 20):
        state = probe.step(state.tcp_pose, seq)
    for seq in range(20, 25):
        probe.send(state.tcp_pose, seq)
    for process in (sim, expert):
        process.send_signal(number)
    for process in (sim, expert):
        _, errors = process.communicate(timeout=15)
        assert process.returncode == 0, errors
        assert "Traceback" not in errors


@pytest.mark.parametrize("realtime", ["false", "true"])
def test_the_process_carries_out_a_joint_reset(bench, start, realtime):
    """By the executor that the process spins, which is another one than a bench has."""
    start("sim_node", "--ros-args", "-p", f"realtime:={realtime}")
    probe = bench.add(Probe, bench)
    probe.wait_for_sim()
    mover = bench.action_client(probe, JointReset, "arm/joint_reset")
    goal = state_from_msg(probe.reset().state).q + 0.05
    sent = mover.send_goal_async(JointReset.Goal(q=goal, max_velocity=0.5))
    handle = bench.wait(lambda: sent.done() and sent.result(), "an answer")
    ended = handle.get_result_async()
    found = bench.wait(lambda: ended.done() and ended.result().result, "a result")
    assert found.success, found.message


def test_wrong_parameter_is_one_line_and_exit_code_one(start):
    process = start("sim_node", "--ros-args", "-p", "scene.clearance:=-1.0")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "clearance is -1.0, expected more than 0" in errors
    assert "Traceback" not in errors


def test_cameras_without_opengl_end_it_with_what_to_install(start):
    """Exit code 1 before it is up: nobody starts it again. Without a display glfw cannot draw."""
    names = ("--ros-args", "-p", "cameras.names:=[side]")
    process = start("sim_node", *names, MUJOCO_GL="glfw", DISPLAY="", WAYLAND_DISPLAY="")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "sim: no OpenGL draws without a window here (glfw: " in errors
    assert DEBIAN_PACKAGES in errors
    assert "Traceback" not in errors
