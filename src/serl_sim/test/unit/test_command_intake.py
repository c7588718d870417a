"""Command numbers and values: what is carried out, repeated, refused."""

from __future__ import annotations

import numpy as np
import pytest

from serl_controllers.arm import ArmTarget
from serl_controllers.geometry import Pose
from serl_sim.command_intake import UNKNOWN_NODE, CommandIntake, Verdict, rivals


@pytest.fixture
def intake(simulation):
    return CommandIntake(simulation, lockstep=True)


@pytest.fixture
def target(simulation):
    return ArmTarget(simulation.state().tcp_pose)


def test_next_number_is_carried_out_and_the_same_repeated(intake, target, simulation):
    assert intake.accept(target, 1) is Verdict.CARRY_OUT
    assert intake.accept(target, 1) is Verdict.REPEAT
    assert intake.accept(target, 2) is Verdict.CARRY_OUT
    assert simulation.command_seq == 2
    assert intake.refused == 0


def test_zero_asks_for_the_first_state(intake, target):
    assert intake.accept(target, 0) is Verdict.REPEAT


@pytest.mark.parametrize("number", [0, 1, 4, 37])
def test_lockstep_refuses_numbers_out_of_turn(intake, target, simulation, number):
    """Also a late command of the episode before: 37 where 1 is next."""
    for seq in (1, 2):
        intake.accept(target, seq)
    before = simulation.state().rejected_commands
    assert intake.accept(target, number) is Verdict.REFUSE
    assert f"command {number} in lockstep, expected 3" in intake.reason
    assert simulation.command_seq == 2
    assert simulation.state().rejected_commands == before + 1


def test_reset_restarts_the_count(intake, target, simulation):
    intake.accept(target, 1)
    simulation.reset(0)
    assert intake.accept(target, 1) is Verdict.CARRY_OUT


def test_real_time_takes_gaps_and_restarts(simulation, target):
    intake = CommandIntake(simulation, lockstep=False)
    verdicts = [intake.accept(target, seq) for seq in (5, 5, 9, 1)]
    assert verdicts == [Verdict.CARRY_OUT, Verdict.REPEAT, Verdict.CARRY_OUT, Verdict.CARRY_OUT]


@pytest.mark.parametrize(
    ("position", "quaternion"),
    [
        ((np.nan, 0.0, 0.1), (0.0, 0.0, 0.0, 1.0)),
        ((0.5, 0.0, -np.inf), (0.0, 0.0, 0.0, 1.0)),
        ((0.5, 0.0, 0.1), (0.0, np.nan, 0.0, 1.0)),
        ((0.5, 0.0, 0.1), (0.0, 0.0, 0.0, 0.0)),
        ((0.5, 0.0, 0.1), (0.0, 0.0, 0.0, 2.0)),
    ],
)
def test_unusable_pose_is_refused_and_counted_once(intake, simulation, position, quaternion):
    before = simulation.state().rejected_commands
    bad = ArmTarget(Pose(np.array(position), np.array(quaternion)))
    assert intake.accept(bad, 1) is Verdict.REFUSE
    assert "command 1: target" in intake.reason
    assert simulation.command_seq == 0
    assert simulation.state().rejected_commands == before + 1


def test_unusable_gripper_is_refused(intake, target):
    assert intake.accept(ArmTarget(target.pose, np.nan), 1) is Verdict.REFUSE
    assert "gripper is nan" in intake.reason


def test_two_nodes_are_rivals_but_a_restarted_one_is_not():
    assert rivals([("/", "actor"), ("/", "intruder")]) == ("/actor", "/intruder")
    assert rivals([("/left", "actor"), ("/right", "actor")]) == ("/left/actor", "/right/actor")
    assert rivals([("/", "actor"), ("/", "actor")]) == ()
    assert rivals([("/", "actor"), ("?", UNKNOWN_NODE)]) == ()
    assert rivals([]) == ()
