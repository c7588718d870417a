"""What the learner node tells of a session."""

from __future__ import annotations

import dataclasses

from session_files import CONFIG, episode, finish_compiling, send, train

from serl_learner.cloning import WarmStartConfig
from serl_learner.learner_report import Meter, lacking, overfull, phase
from serl_learner.replay import transition_bytes
from serl_learner.types import Source, spec_of


def demonstration(number: int, first_seq: int):
    """Five transitions."""
    return episode(number, first_seq, source=Source.DEMO, success=True)


def test_demonstrations_that_find_no_room_are_told(make):
    """Room for seven transitions: three of ten are overwritten."""
    each = transition_bytes(spec_of(demonstration(0, 0)[0].observation), 2)
    session = make(config=dataclasses.replace(CONFIG, prior_bytes=8 * each - 1))
    meter = Meter(0.0)
    send(session, demonstration(0, 0))
    assert overfull(session) == ""
    assert meter.read(session, 1.0)["prior_dropped"] == 0
    send(session, demonstration(1, 6))
    assert "room for 7 demonstrated" in overfull(session)
    assert "3 so far; raise prior_bytes" in overfull(session)
    assert meter.read(session, 2.0)["prior_dropped"] == 3


def test_a_warm_start_says_what_it_waits_for_and_what_it_does(make):
    start = WarmStartConfig(enabled=True, updates=60, demonstrations=2)
    session = make(config=dataclasses.replace(CONFIG, warm_start=start))
    assert lacking(session) == "records on transitions"
    send(session, demonstration(0, 0))
    finish_compiling(session)
    assert lacking(session) == "demonstrations for the warm start: 1 of 2"
    assert phase(session) == "demonstrations"
    send(session, demonstration(1, 6))
    assert (lacking(session), phase(session)) == ("", "warm start")
    train(session)
    assert Meter(0.0).read(session, 1.0)["cloning_updates"] == 60
    assert (lacking(session), phase(session)) == ("records on transitions", "demonstrations")
