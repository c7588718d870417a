"""The crew: episodes on a kinematic arm, records to a learner that answers in this process."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import FakeArm, FakeBoard, FakeLink, action_to_target

from serl_actor.crew import ATTEMPTS
from serl_actor.intervention import Intervention
from serl_actor.job import Cancelled, JobFailed
from serl_actor.reward_judge import Verdict
from serl_actor.robot_client import CommandRefused, ResetRefused, RobotError
from serl_learner.params_codec import ParamsError, encode
from serl_learner.types import Record, Source


def plain(records: list[Record]) -> list[tuple]:
    return [
        (
            r.seq,
            r.episode,
            r.step,
            None if r.action is None else r.action.tobytes(),
            *(r.observation[key].tobytes() for key in sorted(r.observation)),
        )
        for r in records
    ]


def test_same_seed_same_transitions(make_crew):
    """From one seed, random and sampled episodes agree bit for bit."""
    runs = []
    for seed in (3, 3, 4):
        parts = make_crew(seed=seed)
        parts.crew.run(parts.crew.random())
        driver = parts.crew.policy(interventions=False)
        for _ in range(3):
            parts.crew.run(driver)
        runs.append(plain(parts.link.records))
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_a_policy_that_is_being_decoded_is_not_lacking(make_crew, policy):
    parts = make_crew(board=FakeBoard(patience=1))
    parts.source._pending = None
    assert parts.crew.lacks_policy()
    parts.source.arriving = True

    def decoded():
        parts.source.offer(encode(policy.template, 1, 0, policy.layout_hash))
        parts.source.arriving = False

    parts.board.helps = decoded
    assert not parts.crew.lacks_policy()


def test_a_policy_of_another_layout_is_told_with_what_this_actor_observes(make_crew, policy):
    parts = make_crew(board=FakeBoard(patience=0))
    parts.source._pending = None
    with pytest.raises(ParamsError):
        parts.source.offer(encode(policy.template, 2, 0, "of other images"))
    with pytest.raises(Cancelled):
        parts.crew.snapshot()
    (said,) = parts.board.waits
    assert "parameters 2 have layout 'of other images'" in said
    assert "this actor observes state/target_offset [6]" in said
    parts.source.offer(encode(policy.template, 3, 0, policy.layout_hash))
    assert parts.crew.snapshot().version == 3
    assert parts.source.refusal == ""


def test_every_episode_has_another_start(make_crew):
    parts = make_crew()
    for _ in range(4):
        parts.crew.run(parts.crew.random())
    starts = {start.to_vector().tobytes() for start, _ in parts.arm.starts}
    assert len(starts) == 4


def test_a_job_that_goes_on_has_other_starts_than_before(make_crew):
    first, second = make_crew(), make_crew()
    first.crew.run(first.crew.random())
    training = second.crew.remembered()
    training.episodes = 1
    second.crew._memory.recall = lambda: training
    second.crew.remembered()
    second.crew.run(second.crew.random())
    assert first.arm.starts[0][1] != second.arm.starts[0][1]


def test_case_14_in_lockstep_a_record_waits_for_its_credit(make_crew):
    link = FakeLink(credit=3)
    parts = make_crew(link=link, board=FakeBoard(patience=0))
    with pytest.raises(Cancelled):
        parts.crew.run(parts.crew.random())
    assert "credit" in parts.board.waits[0]
    assert [r.seq for r in link.records if not r.last] == [0, 1, 2]


def test_a_real_arm_never_waits_for_credit(make_crew):
    link = FakeLink(credit=0)
    parts = make_crew(link=link, lockstep=False)
    assert parts.crew.run(parts.crew.random()).steps == 5
    assert parts.board.waits == []


def test_demonstrations_pass_on_only_what_succeeded(make_crew, task):
    arm = FakeArm()
    parts = make_crew(arm=arm, steps=100)
    still = Intervention(0, True, np.zeros(6))
    arm.operator = lambda state: still
    parts.crew.run(parts.crew.operator())
    assert parts.link.records == []
    arm.operator = lambda state: Intervention(
        0, True, action_to_target(task, state.tcp_pose), device="expert"
    )
    assert parts.crew.run(parts.crew.operator()).success
    assert {r.source for r in parts.link.records} == {Source.DEMO}


def test_a_real_arm_counts_its_own_demonstrations_while_the_learner_is_away(make_crew, task):
    arm, link = FakeArm(), FakeLink(held=3)
    parts = make_crew(arm=arm, link=link, lockstep=False, steps=100)
    assert parts.crew.demonstrations() == 3
    link.held = None
    arm.operator = lambda state: Intervention(0, True, action_to_target(task, state.tcp_pose))
    parts.crew.run(parts.crew.operator())
    assert parts.crew.demonstrations() == 4
    assert parts.board.waits == []


def test_a_refused_start_is_followed_by_another(make_crew):
    arm = FakeArm(reset_errors=[ResetRefused("inside the fixture")])
    parts = make_crew(arm=arm, board=FakeBoard(patience=5))
    parts.crew.run(parts.crew.random())
    assert "inside the fixture" in parts.board.waits[0]


def test_starts_that_are_always_refused_fail_the_job(make_crew):
    arm = FakeArm(reset_errors=[ResetRefused("no")] * ATTEMPTS)
    parts = make_crew(arm=arm, board=FakeBoard(patience=50))
    with pytest.raises(JobFailed, match=f"{ATTEMPTS} starts"):
        parts.crew.run(parts.crew.random())


def test_an_absent_robot_is_waited_for_and_named(make_crew):
    arm = FakeArm(reset_errors=[RobotError("silence", "the sim")] * 20)
    parts = make_crew(arm=arm, board=FakeBoard(patience=50))
    assert parts.crew.run(parts.crew.random()).steps == 5
    assert parts.board.waits == ["the sim (silence)"] * 20


def test_a_broken_off_episode_says_what_it_waits_for(make_crew):
    arm = FakeArm(errors={2: CommandRefused("rival", "the rival to leave")})
    parts = make_crew(arm=arm, board=FakeBoard(patience=5))
    assert parts.crew.run(parts.crew.random()).aborted == "rival"
    assert parts.board.waits == ["the rival to leave (rival)"]


def test_evaluation_is_recorded_as_such_and_needs_no_credit(make_crew):
    link = FakeLink(credit=0)
    parts = make_crew(link=link)
    driver = parts.crew.evaluated(parts.crew.snapshot(), deterministic=True)
    parts.crew.run(driver, seed=5)
    parts.crew.run(driver, seed=5)
    assert {r.source for r in link.records} == {Source.EVAL}
    first, second = (plain(link.records[i : i + 6]) for i in (0, 6))
    assert [r[3:] for r in first] == [r[3:] for r in second]


def test_others_see_every_observation_and_are_attended_to_between_episodes(make_crew):
    seen, attended = [], []
    parts = make_crew(
        watch=lambda observation, state: seen.append(state.stamp_ns),
        attend=lambda: attended.append(1),
    )
    parts.crew.run(parts.crew.random())
    parts.crew.run(parts.crew.random())
    assert len(seen) == 10
    assert len(attended) == 2


class CountingJudge:
    """Says of nothing that it is solved, and counts what it was asked."""

    def __init__(self):
        self.asked = 0

    def begin(self):
        pass

    def judge(self, observation, state):
        self.asked += 1
        return Verdict(0.0, False)


@pytest.mark.parametrize("judged", [True, False])
def test_demonstrations_are_judged_only_if_they_shall_be(make_crew, judged):
    judge, arm = CountingJudge(), FakeArm()
    arm.operator = lambda state: Intervention(0, True, np.zeros(6))
    parts = make_crew(arm=arm, judge=judge, judge_demonstrations=judged)
    parts.crew.run(parts.crew.operator())
    assert (judge.asked > 0) == judged
    asked = judge.asked
    parts.crew.run(parts.crew.random())
    assert judge.asked > asked
