"""The plan of a kill matrix: complete, spread, repeatable."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from serl_franka_bringup.kill_plan import (
    CHECKPOINT,
    DEMONSTRATIONS,
    LONGEST_DELAY,
    LONGEST_START,
    STARTING,
    Span,
    make_plan,
)

KINDS = ("sim", "expert", "learner", "actor", "metrics_writer")
SPAN = Span(demonstrations=20, training_starts=200, max_steps=3500)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kinds", [KINDS, KINDS[:2]], ids=["five", "two"])
def test_every_kind_equally_often_and_none_twice_in_a_row(kinds, seed):
    plan = make_plan(kinds, 10, SPAN, seed)
    assert Counter(kill.kind for kill in plan) == dict.fromkeys(kinds, 10)
    assert all(a.kind != b.kind for a, b in itertools.pairwise(plan))


def test_a_single_kind_is_killed_in_a_row():
    assert [kill.kind for kill in make_plan(("sim",), 3, SPAN, 0)] == ["sim"] * 3


def test_kills_are_in_every_phase_and_in_order():
    plan = make_plan(KINDS, 10, SPAN, 0)
    early = [kill for kill in plan if kill.trigger in (STARTING, DEMONSTRATIONS)]
    steps = [kill.at for kill in plan if kill not in early]
    assert plan[: len(early)] == tuple(early)
    assert len(early) == 10
    assert [kill.at for kill in early] == sorted(kill.at for kill in early)
    assert all(0 <= kill.at < 20 for kill in early)
    assert steps == sorted(steps)
    assert sum(at <= 200 for at in steps) >= 5
    assert max(steps) <= 0.85 * 3500
    assert all(0.0 <= kill.delay <= LONGEST_DELAY for kill in plan)


def test_the_first_of_several_early_kills_is_while_its_node_starts():
    first, *others = make_plan(KINDS, 10, SPAN, 0)
    assert first.trigger == STARTING
    assert 0.0 <= first.delay <= LONGEST_START
    assert all(kill.trigger != STARTING for kill in others)
    assert make_plan(KINDS, 1, SPAN, 0)[0].trigger == DEMONSTRATIONS


def test_the_learner_is_also_killed_while_it_writes_a_checkpoint():
    plan = make_plan(KINDS, 10, SPAN, 0)
    writes = [kill for kill in plan if kill.trigger == CHECKPOINT]
    assert len(writes) >= 3
    assert all(kill.kind == "learner" and kill.at >= 200 for kill in writes)


def test_one_of_each_kind_is_a_plan_too():
    plan = make_plan(KINDS, 1, Span(1, 20, 150), 0)
    assert {kill.kind for kill in plan} == set(KINDS)


def test_a_seed_repeats_exactly_and_another_differs():
    assert make_plan(KINDS, 10, SPAN, 3) == make_plan(KINDS, 10, SPAN, 3)
    assert make_plan(KINDS, 10, SPAN, 3) != make_plan(KINDS, 10, SPAN, 4)


@pytest.mark.parametrize("kinds", [(), ("sim", "sim")])
def test_no_plan_without_distinct_kinds(kinds):
    with pytest.raises(ValueError, match="make no plan"):
        make_plan(kinds, 1, SPAN, 0)


def test_a_run_too_short_is_refused():
    with pytest.raises(ValueError, match="training_starts 200"):
        Span(1, 200, 200)
