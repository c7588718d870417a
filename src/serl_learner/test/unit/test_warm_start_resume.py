"""A warm start is repeated or gone on from exactly, whenever the learner is killed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from session_files import (
    CONFIG,
    Clock,
    Files,
    Sessions,
    episode,
    finish_compiling,
    go_on,
    lockstep,
    send,
    state,
    train,
)
from toy import same

from serl_learner.cloning import WarmStartConfig
from serl_learner.types import Source

START = WarmStartConfig(enabled=True, updates=110, demonstrations=2, policy_rests=2)
WARM = dataclasses.replace(CONFIG, warm_start=START)
LENGTH = 5


def course():
    """Two demonstrations, then a policy that is corrected."""
    rng = np.random.default_rng(0)
    entries = []
    for number in range(5):
        source = Source.DEMO if number < 2 else Source.POLICY
        for made in episode(number, len(entries), LENGTH, source=source, success=number < 2):
            corrected = number >= 2 and made.step == 1
            action = None if made.last else rng.uniform(-1, 1, 2).astype(np.float32)
            changed = Source.INTERVENTION if corrected else made.source
            entries.append(dataclasses.replace(made, action=action, source=changed))
    return entries


ALL = course()
FIRST_ONLINE = 2 * (LENGTH + 1)


def whole(session):
    """All that goes on from here, the count of the warm start with it."""
    return (*state(session), np.array(session.learner.warm_start.cloned))


@pytest.fixture
def make_warm(make):
    return lambda **fields: make(config=WARM, **fields)


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """The state at the end of a run that nothing interrupted."""
    session = Sessions(tmp_path_factory.mktemp("straight"), Files(), Clock())(config=WARM)
    lockstep(session, ALL)
    assert session.learner.blocks == session.learner.online_steps - 4 > 2
    return whole(session)


@pytest.mark.parametrize("killed", [8, FIRST_ONLINE, 16, 22, len(ALL)])
def test_killed_without_a_checkpoint_it_repeats_the_warm_start(make_warm, straight, killed):
    lockstep(make_warm(), ALL[:killed])
    after = make_warm()
    go_on(after, ALL)
    assert same(whole(after), straight)


@pytest.mark.parametrize("parts", [0, 1, 2, 3])
def test_a_checkpoint_amid_the_warm_start_is_gone_on_from(make_warm, straight, parts):
    """It takes three parts: of 50, 50 and 10 updates."""
    before = make_warm()
    for entry in ALL[:FIRST_ONLINE]:
        before.receive(entry)
    finish_compiling(before)
    for _ in range(parts):
        assert before.work()
    before.save_checkpoint()
    after = make_warm()
    assert after.learner.warm_start.cloned == min(50 * parts, 110)
    go_on(after, ALL)
    assert same(whole(after), straight)


def test_a_checkpoint_after_it_is_gone_on_from(make_warm, straight):
    before = make_warm()
    lockstep(before, ALL[:16])
    before.save_checkpoint()
    lockstep(before, ALL[16:20])
    after = make_warm()
    go_on(after, ALL)
    assert same(whole(after), straight)


def test_what_comes_during_the_warm_start_waits_behind_it(make_warm, straight):
    session = make_warm()
    send(session, ALL[:18])
    assert session.trainer.behind
    assert session.learner.online_steps == 0
    assert session.trainer.received_steps == LENGTH
    lockstep(session, ALL[18:])
    assert same(whole(session), straight)


def test_no_policy_is_given_out_before_it_is_cloned(make_warm):
    session = make_warm()
    for entry in ALL[:FIRST_ONLINE]:
        session.receive(entry)
    assert session.take_unpublished() is None
    assert session.newest_params is None
    train(session)
    first = session.take_unpublished()
    assert (first.version, first.learner_step) == (1, 0)
    again = make_warm()
    assert again.newest_params is None, "the warm start is to be repeated"
    train(again)
    assert again.newest_params.data == first.data


def test_a_run_that_does_not_train_is_not_kept_waiting(make_warm):
    session = make_warm(training=False)
    for entry in ALL[:FIRST_ONLINE]:
        session.receive(entry)
    assert session.take_unpublished() is not None
    assert not session.work()
