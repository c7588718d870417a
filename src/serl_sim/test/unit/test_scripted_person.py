"""When the scripted person takes over, for how long, and how their trust grows; by table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from serl_controllers.geometry import Pose
from serl_sim.expert import ExpertConfig, ScriptedExpert
from serl_sim.scripted_person import LEVER, PersonConfig, ScriptedPerson

CONFIG = PersonConfig(
    patience=(2, 6),
    progress=0.001,
    away=0.02,
    force=20.0,
    hold=(3, 3),
    finish=0.01,
    memory=4,
    solved=0.003,
)
SEAT = Pose.identity()


@pytest.fixture
def person():
    return begun(CONFIG)


def begun(config, seed=0):
    made = ScriptedPerson(ScriptedExpert(ExpertConfig()), config)
    made.reset(seed, SEAT)
    return made


@pytest.fixture
def at(simulation):
    """A state so many millimetres from the seat, the tool pressed by so many newtons."""
    state = simulation.state()

    def make(mm, force=0.0):
        pose = Pose((0.0, 0.0, -0.001 * mm), SEAT.quaternion)
        return replace(state, tcp_pose=pose, wrench=np.array((0.0, 0.0, force, 0.0, 0.0, 0.0)))

    return make


def drives(person, states):
    """A mark for each state: D where the person drives, . where the policy goes on."""
    return "".join("D" if person.answer(s, policy_drives=True).drives else "." for s in states)


@pytest.mark.parametrize(
    ("distances", "expected"),
    [
        ((50, 40, 30, 20, 10, 5, 3, 1), "........"),  # it gets on: they let it
        ((50, 50, 50, 50), "...D"),  # two steps without progress are borne, the third is not
        ((50, 49.5, 49.4, 49.3), "...D"),  # less than a millimetre is no progress
        ((50, 50, 48, 48, 48, 48), ".....D"),  # progress is taken up
        ((50, 50, 50, 50, 45, 40, 35), "...DDD."),  # three steps, then they let go
        ((50, 40, 61), "..D"),  # 21 mm farther than the closest
        ((50, 40, 59), "..."),
        # halfway in they drive on
        ((50, 50, 50, 50, 11, 10, 8, 6, 4, 2), "...DDDDDDD"),
        # after they let go, what counts is from there
        ((50, 50, 50, 50, 45, 40, 40, 40, 40), "...DDD..D"),
    ],
)
def test_they_take_over_without_progress_and_let_go(person, at, distances, expected):
    assert drives(person, [at(mm) for mm in distances]) == expected


def test_they_take_over_at_once_when_it_presses_hard(person, at):
    assert drives(person, [at(50), at(40, force=19.0), at(30, force=-21.0)]) == "..D"


def test_a_turn_counts_at_the_end_of_a_lever(simulation):
    expert = ScriptedExpert(ExpertConfig())
    expert.reset(0, SEAT)
    pose = Pose.from_rotation_vector((0.003, 0.0, 0.0), (0.0, 0.0, 0.04))
    state = replace(simulation.state(), tcp_pose=pose)
    assert expert.distance(state, LEVER) == pytest.approx(0.005)  # hypot(3 mm, 0.1 x 40 mrad)


def episode(person, at, *, ends_at, helped=False):
    """An episode of the policy that ends so many millimetres from the seat."""
    person.reset(1, SEAT)
    states = [at(50)] * 8 if helped else [at(50), at(30)]
    drives(person, states)
    person.see(at(ends_at))


def test_trust_is_the_share_of_the_last_episodes_that_the_policy_solved_alone(person, at):
    seen = []
    for ends_at, helped in ((1, False), (1, True), (9, False), (2, False), (1, False), (1, False)):
        episode(person, at, ends_at=ends_at, helped=helped)
        person.reset(2, SEAT)
        seen.append((person.trust, person.patience))
    # of four: alone; helped; failed; alone; then the oldest are forgotten
    assert seen == [(0.25, 3), (0.25, 3), (0.25, 3), (0.5, 4), (0.5, 4), (0.75, 5)]


def test_with_trust_they_bear_more(person, at):
    for _ in range(4):
        episode(person, at, ends_at=1)
    person.reset(3, SEAT)
    assert person.trust == 1.0
    assert drives(person, [at(50)] * 8) == ".......D"


def test_what_they_demonstrate_or_do_not_watch_changes_no_trust(person, at):
    assert person.answer(at(50), policy_drives=False).drives
    person.see(at(1))
    person.reset(1, SEAT)
    person.see(at(1))
    person.reset(2, SEAT)
    assert person.trust == 0.0


def test_a_demonstration_is_the_experts(at):
    person, expert = begun(CONFIG, seed=4), ScriptedExpert(ExpertConfig())
    expert.reset(4, SEAT)
    for mm in (40, 35, 30):
        said = person.answer(at(mm), policy_drives=False)
        np.testing.assert_array_equal(said.action, expert.act(at(mm)))


def test_the_same_seed_takes_over_alike_and_another_for_another_time(at):
    config = replace(CONFIG, hold=(1, 12))
    states = [at(50)] * 40
    first, again = (drives(begun(config, seed=1), states) for _ in range(2))
    assert first == again
    assert first != drives(begun(config, seed=2), states)


def test_they_help_a_policy_that_does_nothing_to_the_seat(insertion):
    """Interventions alone solve it, from where the policy left the arm."""
    person = begun(PersonConfig(hold=(20, 30)))
    solved = 0
    for seed in range(5):

        def act(state):
            said = person.answer(state, policy_drives=True)
            return said.action if said.drives else np.zeros(6)

        state = insertion.simulation.reset(seed, insertion.random_start(seed))
        person.reset(seed, insertion.simulation.fixture)
        for _ in range(150):
            state = insertion.simulation.step(insertion.target(state, act(state)))
            if insertion.succeeded(state):
                person.see(state)
                solved += 1
                break
    assert solved >= 4


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"patience": (5, 2)}, r"person.patience is \(5, 2\)"),
        ({"hold": (0, 2)}, r"person.hold is \(0, 2\)"),
        ({"force": 0.0}, "person.force is 0.0"),
        ({"memory": 0}, "person.memory is 0"),
    ],
)
def test_bad_configuration_is_named(bad, message):
    with pytest.raises(ValueError, match=message):
        PersonConfig(**bad)
