"""Who drives: takeovers and their record, pause and stop, and several devices at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import FakeArm, FakeBoard, make_state, with_steps

from serl_actor.drivers import CorrectedDriver, OperatorDriver
from serl_actor.environment import Environment
from serl_actor.hold_switch import HoldGate, HoldSwitch, Stopped
from serl_actor.intervention import Intervention
from serl_actor.job import Cancelled
from serl_actor.operator_keys import OperatorKeys
from serl_actor.recorder import Recorder
from serl_actor.rollout import Choice, Episode, run_episode
from serl_actor.speakers import Speakers
from serl_actor.training import intervention_metrics
from serl_controllers.arm import ArmTarget
from serl_controllers.geometry import Pose
from serl_learner.segments import SegmentJoiner
from serl_learner.types import Record, Source

SIDE = np.array((0.5, 0.0, 0.0, 0.0, 0.0, 0.0))


def said(active: bool = True, twist=SIDE, device: str = "spacemouse", **fields) -> Intervention:
    return Intervention(0, active, np.asarray(twist, float), device=device, **fields)


class LaggingArm(FakeArm):
    """An arm that stays where it is while its target goes where it is told."""

    def step(self, target: ArmTarget):
        before = self.state.tcp_pose
        state = super().step(target)
        self.state = replace(state, tcp_pose=before, commanded_pose=target.pose)
        return self.state


@pytest.fixture
def lagging(task):
    arm = LaggingArm()
    environment = Environment(arm, task)
    environment.reset(seed=0)
    return arm, environment


def test_who_takes_over_begins_at_the_commanded_pose_and_what_is_stored_is_that(lagging, task):
    arm, environment = lagging
    policy = np.array((0.4, 0.0, 0.0, 0.0, 0.0, 0.2))
    environment.step(policy)
    before = arm.targets[-1].pose
    still = environment.step(policy, said(twist=np.zeros(6)))[-1]
    metres, angle = arm.targets[-1].pose.distance(before)
    assert metres < 1e-9  # the target did not jump back to the arm
    assert angle < 1e-9
    np.testing.assert_allclose(still["executed_action"], policy, atol=1e-6)
    moved = environment.step(policy, said(twist=SIDE))[-1]
    np.testing.assert_allclose(moved["executed_action"], SIDE, atol=1e-6)  # then about the arm
    reached = environment.state.tcp_pose
    expected = reached @ Pose.from_rotation_vector(task.translation_scale * SIDE[:3], np.zeros(3))
    assert arm.targets[-1].pose.distance(expected)[0] < 1e-9


def test_case_12_a_takeover_far_from_the_arm_is_executed_and_stored_within_one(lagging):
    _, environment = lagging
    environment.step(np.array((0.8, 0.0, 0.0, 0.0, 0.0, 0.0)))
    info = environment.step(np.zeros(6), said(twist=SIDE))[-1]
    np.testing.assert_allclose(info["executed_action"], (1.0, 0, 0, 0, 0, 0), atol=1e-6)
    assert info["source"] is Source.INTERVENTION


def test_the_policy_takes_back_with_its_own_action(lagging):
    _, environment = lagging
    action = np.array((0.0, 0.3, 0.0, 0.0, 0.0, 0.0))
    environment.step(np.zeros(6), said(twist=SIDE))
    info = environment.step(action, said(active=False))[-1]
    np.testing.assert_allclose(info["executed_action"], action, atol=1e-6)
    assert info["source"] is Source.POLICY


def test_the_first_step_of_an_episode_is_no_takeover(lagging):
    arm, environment = lagging
    arm.state = replace(arm.state, commanded_pose=Pose.identity())
    environment._state = arm.state
    info = environment.step(np.zeros(6), said(twist=SIDE))[-1]
    np.testing.assert_allclose(info["executed_action"], SIDE, atol=1e-6)


class Script:
    """The policy stands still; the operator speaks at some steps. Calls back at each."""

    def __init__(self, spoken=(), at=lambda step: None) -> None:
        self.spoken, self.at, self.step, self.begun = spoken, at, 0, 0

    def begin(self) -> None:
        self.begun += 1

    def choose(self, observation, state) -> Choice:
        step = self.step
        self.step += 1
        self.at(step)
        return Choice(np.zeros(6), Source.POLICY, intervention=said(step in self.spoken))


def test_interventions_are_counted_as_they_begin(task):
    environment = Environment(FakeArm(), with_steps(task, 8))
    recorder = Recorder(b"s" * 16, "actor", lambda record: None)
    episode = run_episode(environment, Script({1, 2, 5, 7}), recorder, 0)
    assert (episode.intervened, episode.interventions, episode.steps) == (4, 3, 8)
    quiet = Episode(True, 12, 1.0, 0, 1.2)
    assert intervention_metrics([episode, quiet]) == {
        "interventions": 0,
        "intervention_rate": 0.0,
        "interventions_last_20": 3,
        "intervened_last_20": 4,
        "intervention_rate_last_20": 0.2,
    }
    assert intervention_metrics([episode])["intervention_rate"] == 0.5


def test_d03_a_takeover_and_its_end_pair_no_step_with_a_frame_of_elsewhere(task):
    """Every transition goes from one observation to the very next; those that the operator drove,
    and no others, are corrections."""
    records = []
    environment = Environment(FakeArm(), with_steps(task, 8))
    recorder = Recorder(b"s" * 16, "actor", records.append)
    run_episode(environment, Script({1, 2, 5, 7}), recorder, 0)
    joiner = SegmentJoiner()
    joined = [j for j in map(joiner.add, records) if j is not None]
    assert len(joined) == 8
    for index, (first, transition, _, _) in enumerate(joined):
        assert first.source is (Source.INTERVENTION if index in {1, 2, 5, 7} else Source.POLICY)
        for key, value in records[index].observation.items():
            np.testing.assert_array_equal(transition["observation"][key], value)
            following = records[index + 1].observation[key]
            np.testing.assert_array_equal(transition["next_observation"][key], following)
        assert np.any(transition["action"]) == (index in {1, 2, 5, 7})


def play(task, driver, switch, board, steps=6):
    arm, records = FakeArm(), []
    environment = Environment(arm, with_steps(task, steps))
    recorder = Recorder(b"s" * 16, "actor", records.append)
    gate = HoldGate(switch, board)
    episode = run_episode(environment, driver, recorder, 0, held=gate.held)
    return episode, records, arm


def segments(records: list[Record]) -> list[int]:
    """Steps of each segment."""
    numbers = sorted({record.episode for record in records})
    return [sum(not r.last for r in records if r.episode == number) for number in numbers]


def test_d3_a_pause_keeps_the_pose_says_so_and_cuts_the_record(task):
    switch, stills = HoldSwitch(), []
    board = FakeBoard(patience=3)
    driver = Script(at=lambda step: step == 1 and switch.pause("spacemouse"))

    def helps() -> None:
        stills.append(1)
        if len(stills) == 3:
            switch.release()

    board.helps = helps
    episode, records, arm = play(task, driver, switch, board)
    assert (episode.steps, episode.aborted) == (6, "")
    assert segments(records) == [2, 4]
    assert [record.last for record in records] == [False, False, True, *4 * [False], True]
    assert driver.begun == 2
    assert len(board.waits) == 3
    assert "paused by spacemouse" in board.waits[0]
    assert len(arm.targets) == 6 + 2  # the pause took two control periods
    held = [target.pose for target in arm.targets[2:4]]
    assert all(pose.distance(arm.targets[1].pose)[0] < 1e-9 for pose in held)


def test_a_stop_ends_the_episode_and_what_was_executed_is_kept(task):
    switch = HoldSwitch()
    driver = Script(at=lambda step: step == 2 and switch.stop("keyboard"))
    episode, records, arm = play(task, driver, switch, FakeBoard())
    assert episode.steps == 3
    assert "stopped by keyboard" in episode.aborted
    assert "service hold" in episode.waiting_for
    assert records[-1].aborted
    assert arm.holds == 1


def test_a_held_arm_begins_no_episode_until_it_is_released(make_crew):
    keys = OperatorKeys()
    keys.hold.stop("gamepad")
    parts = make_crew(keys=keys)
    with pytest.raises(Cancelled):
        parts.crew.run(parts.crew.random())
    assert "stopped by gamepad" in parts.board.waits[0]
    assert parts.arm.starts == []
    keys.hold.release()
    assert parts.crew.run(parts.crew.random()).steps == 5


def test_the_switch_counts_and_a_pause_after_a_stop_releases():
    switch = HoldSwitch()
    switch.toggle("spacemouse")
    assert (switch.why, switch.stopped) == ("paused by spacemouse", False)
    switch.stop("keyboard")
    switch.pause("gamepad")
    assert (switch.why, switch.stopped, switch.uses) == ("stopped by keyboard", True, 2)
    with pytest.raises(Stopped):
        HoldGate(switch, FakeBoard()).held()
    switch.toggle("spacemouse")
    assert (switch.why, switch.stopped) == ("", False)
    assert not HoldGate(switch, FakeBoard()).held()


def test_a_person_goes_before_an_expert_and_the_first_person_before_others():
    speakers = Speakers()
    assert speakers.heeded(0.2, 0.0) is None
    speakers.hear(said(device="expert"), 0.0)
    speakers.hear(said(active=False), 0.0)
    assert speakers.heeded(0.2, 0.1).device == "expert"
    assert speakers.driving_person(0.2, 0.1) is None
    speakers.hear(said(), 0.1)
    speakers.hear(said(device="keyboard"), 0.15)
    assert speakers.heeded(0.2, 0.2).device == "spacemouse"
    assert speakers.driving_person(0.2, 0.2).device == "spacemouse"


def test_d25_what_was_said_long_ago_is_not_heeded():
    speakers = Speakers()
    speakers.hear(said(), 0.0)
    assert speakers.heeded(0.2, 0.2).active
    assert speakers.heeded(0.2, 0.21) is None
    assert speakers.driving_person(0.2, 0.21) is None


def test_only_those_who_are_waited_for_answer_a_state():
    speakers = Speakers()
    speakers.hear(replace(said(), state_stamp_ns=7), 0.0)
    assert speakers.answer(7) is None
    speakers.hear(replace(said(device="expert"), state_stamp_ns=7), 0.0)
    assert speakers.answer(7).device == "expert"
    assert speakers.answer(8) is None


class Operator:
    """A robot whose operator says one thing after the other."""

    def __init__(self, *spoken: Intervention | None) -> None:
        self.spoken = list(spoken)

    def intervention(self, state) -> Intervention | None:
        return self.spoken.pop(0)


def test_who_drives_is_reported_at_every_step():
    robot, names = Operator(None, said(), said(active=False)), []
    driver = CorrectedDriver(Script(), robot, names.append)
    for _ in range(3):
        driver.choose({}, make_state(Pose.identity()))
    assert names == ["policy", "spacemouse", "policy"]


def test_a_demonstration_waits_until_the_operator_drives_or_presses_a_button():
    idle, pressed = said(active=False), said(active=False, buttons=("success",))
    robot, waits = Operator(None, idle, pressed, idle, said()), []
    driver = OperatorDriver(robot, 6, waiting=lambda: waits.append(1))
    first = driver.choose({}, make_state(Pose.identity()))
    assert (first.intervention, len(waits)) == (pressed, 2)
    assert driver.choose({}, make_state(Pose.identity())).intervention.active
    assert len(waits) == 3
