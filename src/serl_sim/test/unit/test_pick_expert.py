"""The person who picks and places: willing, imperfect, and at hand when a policy does nothing."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import ROTATION_SCALE, TRANSLATION_SCALE

from serl_sim.expert import ExpertConfig
from serl_sim.experts import make_expert
from serl_sim.pick_config import PickConfig
from serl_sim.pick_expert import PickExpert
from serl_sim.scripted_person import LEVER, PersonConfig, ScriptedPerson

STEPS = 80
PERSON = PersonConfig(progress=0.003, away=0.03, hold=(15, 25), finish=0.09, solved=0.03)


def made(picking, **pick):
    config = picking.config
    return make_expert(
        ExpertConfig(
            kind="pick",
            target_position=config.target_position,
            target_rpy=config.target_rpy,
            translation_scale=TRANSLATION_SCALE,
            rotation_scale=ROTATION_SCALE,
            pick=PickConfig(**pick),
        )
    )


def episode(picking, expert, seed, look=lambda state, action: None):
    """Whether it was solved, and in how many steps."""
    simulation, gripper = picking.simulation, 1.0
    state = simulation.reset(seed, picking.random_start(seed))
    expert.reset(seed, simulation.fixture)
    for length in range(1, STEPS + 1):
        expert.see_object(simulation.object)
        action = expert.act(state)
        look(state, action)
        if expert.gripper:
            gripper = 0.5 + 0.5 * expert.gripper
        state = simulation.step(picking.target(state, action, gripper))
        if picking.solved(state):
            return True, length
    return False, STEPS


def test_it_solves_most_episodes_as_a_person_would(picking):
    """On 60 seeds: 90 % within 70 steps, all within 80, 53 steps on average."""
    solved, lengths = zip(*(episode(picking, made(picking), s) for s in range(10)), strict=True)
    assert sum(solved) >= 8
    assert 40.0 <= np.mean(lengths) <= 65.0


def test_who_closes_too_early_tries_again(picking):
    """Then all it did is done again, and it takes longer."""
    expert, phases = made(picking, hasty=1.0), []

    def look(_state, _action):
        if not phases or phases[-1] is not expert.phase:
            phases.append(expert.phase.value)

    episode(picking, expert, 1, look)
    assert "carry" not in phases[: phases.index("lift") + 2]
    assert phases.count("close") >= 2


def test_it_repeats_and_stays_in_bounds(picking):
    seen = []

    def look(state, action):
        seen.append((state, picking.simulation.object, action, expert.gripper))

    expert = made(picking)
    assert episode(picking, expert, 3, look)[0]
    again = made(picking)
    again.reset(3, picking.simulation.fixture)
    for state, block, action, gripper in seen:
        again.see_object(block)
        np.testing.assert_array_equal(again.act(state), action)
        assert again.gripper == gripper
        assert action.shape == (6,)
        assert np.abs(action).max() <= 1.0
    assert {gripper for *_, gripper in seen} == {-1.0, 0.0, 1.0}


def test_what_is_left_to_do_gets_less(picking):
    """From step to step by and large, and at once where the block is let go in its place."""
    distances, expert = [], made(picking, hasty=0.0)
    episode(picking, expert, 5, lambda state, _: distances.append(expert.distance(state, LEVER)))
    closest = np.minimum.accumulate(distances)
    assert np.max(distances - closest) < PERSON.away, "a person would take over"
    expert.see_object(picking.simulation.object)
    assert distances[-1] > PERSON.solved
    assert expert.distance(picking.simulation.state(), LEVER) < PERSON.solved


def test_without_the_block_it_says_what_is_missing(picking):
    state = picking.simulation.reset(0)
    with pytest.raises(ValueError, match="see_object comes first"):
        made(picking).act(state)


def help_out(picking, seed, policy, first_gripper=1.0):
    """Steps until a person who watches `policy` has solved it with it; None: never.

    `policy` maps a step to an action [6] and what it tells the gripper, or None.
    """
    simulation, gripper = picking.simulation, first_gripper
    person = ScriptedPerson(made(picking), PERSON)
    state = simulation.reset(seed, picking.random_start(seed))
    person.reset(seed, simulation.fixture)
    for step in range(200):
        person.see_object(simulation.object)
        said = person.answer(state, policy_drives=True)
        action, told = (said.action, said.gripper) if said.drives else policy(step)
        if told:
            gripper = 0.5 + 0.5 * told
        state = simulation.step(picking.target(state, action, gripper))
        if picking.solved(state):
            return step
    return None


def still(_step):
    return np.zeros(6), 0.0


def test_a_person_helps_a_policy_that_does_nothing(picking):
    solved = [help_out(picking, seed, still) for seed in range(4)]
    assert sum(step is not None for step in solved) >= 3
    assert min(step for step in solved if step is not None) > PERSON.patience[0]


def test_a_person_helps_a_policy_that_closes_the_gripper(picking):
    """They open it first."""

    def closes(_step):
        return np.zeros(6), -1.0

    assert help_out(picking, 1, closes) is not None


def test_taking_over_with_the_block_in_hand_it_is_not_let_go(picking):
    expert = made(picking, hasty=0.0)
    phases = []

    def look(_state, _action):
        phases.append(expert.phase.value)
        if phases[-2:] == ["carry", "carry"]:
            expert.begin_again()

    assert episode(picking, expert, 2, look)[0]
    after = phases[phases.index("carry") :]
    assert "close" not in after
    assert "approach" not in after


def test_the_kind_says_who_acts():
    assert isinstance(make_expert(ExpertConfig(kind="pick")), PickExpert)
    assert not isinstance(make_expert(ExpertConfig()), PickExpert)
    with pytest.raises(ValueError, match="kind is 'sort', expected insertion or pick"):
        ExpertConfig(kind="sort")
    with pytest.raises(ValueError, match=r"pick.travel is \(0\.05, 0\.03\)"):
        PickConfig(travel=(0.05, 0.03))
    with pytest.raises(ValueError, match=r"pick.hasty is 1\.2"):
        PickConfig(hasty=1.2)
