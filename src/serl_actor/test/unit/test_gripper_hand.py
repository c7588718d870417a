"""A gripper that the policy moves: toggles, observation keys, and a task that an object solves."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import action_to_target, make_state

from serl_actor.camera_views import CamerasConfig
from serl_actor.environment import Environment
from serl_actor.frames import Frame
from serl_actor.intervention import BASE_FRAME, Intervention
from serl_actor.observation import OBJECT, ObservationScale, observe_object
from serl_actor.observer import observation_spec
from serl_actor.reward_judge import Verdict
from serl_actor.robot_client import StaleState
from serl_actor.task import TaskConfig
from serl_controllers.geometry import Pose
from serl_learner.gripper_hand import GRIPPER, GripperHand

PICK = TaskConfig(gripper="learned", solved_by="object")
CAMERAS = CamerasConfig(names=("wrist_1",), image_size=32)


def act(gripper: float = 0.0, x: float = 0.0) -> np.ndarray:
    """An action of a gripper, and of the arm along x."""
    return np.array((x, 0, 0, 0, 0, 0, gripper))


@pytest.fixture
def block(task) -> Pose:
    """Away from where it is to be."""
    return task.target @ Pose.from_rotation_vector((0.02, 0.0, 0.0), (0.0, 0.0, 0.0))


@pytest.fixture
def pick(arm, block) -> Environment:
    arm.block = block
    return Environment(arm, PICK)


def run(environment: Environment, wishes) -> list[float]:
    """What is stored as the gripper's part of each step."""
    return [environment.step(act(w))[-1]["executed_action"][6] for w in wishes]


def test_an_action_has_as_many_dimensions_as_the_task_moves():
    assert [TaskConfig(gripper=g).action_dim for g in ("fixed", "binary", "learned")] == [6, 7, 7]
    with pytest.raises(ValueError, match=r"gripper is 'soft'.*'?fixed"):
        TaskConfig(gripper="soft")
    with pytest.raises(ValueError, match="solved_by is 'luck'"):
        TaskConfig(solved_by="luck")
    with pytest.raises(ValueError, match="released is 1"):
        TaskConfig(released=1.0)


def test_the_toggle_that_happened_is_stored_and_the_opening_is_sent_with_every_target(pick, arm):
    pick.reset(seed=0)
    wishes = (0.4, -0.5, -0.51, -1.0, 0.3, 0.0, 0.6, 1.0, -0.9)
    assert run(pick, wishes) == [0, 0, -1, 0, 0, 0, 1, 0, -1]
    assert [target.gripper for target in arm.targets] == [1, 1, 0, 0, 0, 0, 1, 1, 0]


def test_an_episode_begins_with_the_gripper_open(pick):
    pick.reset(seed=0)
    pick.step(act(-1.0))
    seen, _ = pick.reset(seed=1)
    assert seen[GRIPPER][1] == 1.0
    assert run(pick, (-1.0,)) == [-1.0]


def test_a_fixed_gripper_is_not_told_anything(environment, arm):
    environment.reset(seed=0)
    *_, info = environment.step(np.zeros(6))
    environment.step(np.full(6, math.nan))
    assert info["executed_action"].shape == (6,)
    assert [target.gripper for target in arm.targets] == [None, None]


def test_an_operators_button_held_for_several_steps_gives_one_toggle(pick, arm):
    pick.reset(seed=0)
    closes = Intervention(0, True, np.zeros(6), gripper=-1.0)
    stored = [pick.step(act(1.0), closes)[-1]["executed_action"][6] for _ in range(4)]
    assert stored == [-1, 0, 0, 0]
    lets_it_be = Intervention(0, True, np.zeros(6))
    assert pick.step(act(1.0), lets_it_be)[-1]["executed_action"][6] == 0
    assert arm.targets[-1].gripper == 0.0


def test_a_takeover_toggles_as_well(pick):
    """The first step of an operator goes on from the commanded pose; the gripper is no part of
    that."""
    pick.reset(seed=0)
    pick.step(act())
    closes = Intervention(0, True, np.array((0.2, 0, 0, 0, 0, 0)), BASE_FRAME, gripper=-1.0)
    *_, info = pick.step(act(), closes)
    assert info["executed_action"][6] == -1.0


@pytest.mark.parametrize("broken", [act(math.nan), act(-1.0, x=math.inf)])
def test_case_02_an_action_that_is_not_finite_moves_no_gripper(pick, arm, broken):
    pick.reset(seed=0)
    *_, info = pick.step(broken)
    assert info["refused"]
    assert arm.targets[-1].gripper == 1.0
    nobody = Intervention(0, True, np.zeros(6), gripper=math.nan)
    assert pick.step(act(), nobody)[-1]["refused"]


def test_holding_keeps_the_gripper_closed(pick, arm):
    pick.reset(seed=0)
    pick.step(act(-1.0))
    looks = iter((True, True, False))
    seen, _ = pick.hold_while(lambda: next(looks))
    assert [target.gripper for target in arm.targets] == [0, 0, 0]
    assert seen[GRIPPER][1] == -1.0
    assert run(pick, (0.0,)) == [0]


def test_waiting_for_a_camera_keeps_the_gripper_closed(arm, block):
    arm.block = block
    blind = iter((False, False, True, True, False, False))

    def camera(state):
        stamp = 0 if next(blind) else state.stamp_ns
        return {"wrist_1": Frame(stamp, np.zeros((32, 32, 3), np.uint8))}

    arm.camera = camera
    environment = Environment(arm, PICK, cameras=CAMERAS)
    environment.reset(seed=0)
    environment.step(act(-1.0))
    *_, info = environment.step(act())
    assert info["interrupted"]
    assert [target.gripper for target in arm.targets] == [0, 0, 0, 0]


def test_the_gripper_is_observed_as_measured_and_as_commanded(pick, arm):
    pick.reset(seed=0)
    arm.state = replace(arm.state, gripper=0.25)
    seen, *_ = pick.step(act(-1.0))
    np.testing.assert_array_equal(seen[GRIPPER], np.float32((-1.0, -1.0)))
    half = make_state(PICK.target, gripper=0.25)
    observed = pick._observer.observe(half, 1.0)[GRIPPER]
    np.testing.assert_allclose(observed, (-0.5, 1.0))


def test_the_object_is_seen_from_the_tool_and_in_the_tasks_frame():
    """The fixture is 0.1 m along x; the tool, turned by a quarter about z, above the object."""
    fixture = Pose((0.1, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    tool = Pose.from_rotation_vector((0.0, 0.0, 0.3), (0.0, 0.0, math.pi / 2))
    block = Pose((0.05, 0.0, 0.2), (0.0, 0.0, 0.0, 1.0))
    seen = observe_object(tool, block, fixture, ObservationScale(position=0.1))
    np.testing.assert_allclose(seen, (0.0, -0.5, -1.0, -0.5, 0.0, 2.0), atol=1e-6)


@pytest.mark.parametrize("gripper", ["fixed", "binary", "learned"])
@pytest.mark.parametrize("solved_by", ["tool", "object"])
@pytest.mark.parametrize("cameras", [CamerasConfig(), CAMERAS])
def test_the_spec_is_what_is_observed(arm, block, gripper, solved_by, cameras):
    task = TaskConfig(gripper=gripper, solved_by=solved_by)
    arm.block = block
    arm.camera = lambda s: {"wrist_1": Frame(s.stamp_ns, np.zeros((32, 32, 3), np.uint8))}
    seen, _ = Environment(arm, task, cameras=cameras).reset(seed=0)
    spec = observation_spec(cameras, task)
    assert {k: (v.shape, str(v.dtype)) for k, v in seen.items()} == spec
    assert (GRIPPER in spec) == (gripper != "fixed")
    assert (OBJECT in spec) == (solved_by == "object" and not cameras.names)


def test_an_object_solves_the_task_where_it_belongs_and_once_it_is_let_go(pick, arm):
    pick.reset(seed=0)
    assert not pick.step(act(-1.0))[-1]["success"]
    arm.block = PICK.target
    assert not pick.step(act())[-1]["success"]  # still held
    _, reward, terminated, _, info = pick.step(act(1.0))
    assert (reward, terminated, info["success"]) == (1.0, True, True)


def test_the_tool_does_not_solve_what_an_object_has_to(pick, arm):
    pick.reset(seed=0)
    for _ in range(20):
        arm_action = action_to_target(PICK, pick.state.tcp_pose)
        *_, info = pick.step(np.append(arm_action, 0.0))
    assert PICK.is_solved(pick.state.tcp_pose)
    assert not info["success"]


class _Judge:
    missing = 0

    def begin(self) -> None: ...

    def judge(self, observation, state):
        return Verdict(success=False, probability=0.1)


@pytest.mark.parametrize("known", [True, False])
def test_with_a_judge_the_object_says_what_is_true_if_anybody_knows(arm, known):
    arm.socket = PICK.target
    arm.block = PICK.target if known else None
    arm.camera = lambda s: {"wrist_1": Frame(s.stamp_ns, np.zeros((32, 32, 3), np.uint8))}
    environment = Environment(arm, PICK, cameras=CAMERAS, judge=_Judge())
    environment.reset(seed=0)
    *_, info = environment.step(act())
    assert not info["success"]
    *_, info = environment.step(act(-1.0))
    *_, info = environment.step(act(1.0))
    assert info["true_success"] is (True if known else None)


def test_without_a_judge_an_object_that_nobody_knows_solves_nothing(arm):
    arm.camera = lambda s: {"wrist_1": Frame(s.stamp_ns, np.zeros((32, 32, 3), np.uint8))}
    environment = Environment(arm, PICK, cameras=CAMERAS)
    environment.reset(seed=0)
    _, reward, terminated, _, info = environment.step(act())
    assert (reward, terminated, info["true_success"]) == (0.0, False, False)


def test_an_object_that_is_to_be_observed_and_is_not_known_holds_the_arm(arm):
    environment = Environment(arm, PICK)
    with pytest.raises(StaleState, match="state/object"):
        environment.reset(seed=0)
    assert arm.holds == 1


def test_a_hand_does_not_move_for_a_wish_that_is_no_number():
    hand = GripperHand(True)
    assert hand.command(math.nan) == 0.0
    assert hand.opening == 1.0
