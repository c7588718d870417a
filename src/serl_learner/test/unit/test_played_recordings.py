"""A recording that is played into the learner: nobody fills its gaps, and nobody hears answers."""

from __future__ import annotations

import pytest
from session_files import episode, send

from serl_learner.episode_log import LogConfig
from serl_learner.types import Source

PLAYED, LIVING = b"p" * 16, b"l" * 16


def wait(session, clock, seconds):
    """Time goes on, and the learner looks about."""
    for _ in range(seconds):
        clock.now += 1.0
        session.look()


def demonstration(number, first_seq, session=PLAYED, **fields):
    return episode(number, first_seq, source=Source.DEMO, success=True, session=session, **fields)


def test_it_may_begin_in_the_middle_of_a_session(make, files, clock):
    session = make()
    send(session, demonstration(7, 500))
    wait(session, clock, 10)
    assert session.learner is None
    assert not files.kept
    wait(session, clock, 1)
    assert session.learner.demonstrations == 1
    assert session.learner.prior_transitions == 5
    (kept,) = files.kept.values()
    assert [e.seq for e in kept.entries] == list(range(500, 506))
    assert (kept.unsent, kept.complete, kept.number) == (500, True, 7)
    assert any("records 0..499 never came" in text for text in session.notices)


def test_its_next_gaps_are_not_waited_for_as_long(make, files, clock):
    session = make()
    send(session, demonstration(7, 500))
    wait(session, clock, 11)
    send(session, demonstration(9, 700))
    wait(session, clock, 2)
    assert session.learner.demonstrations == 2
    assert [e.unsent for e in files.kept.values()] == [500, 194]


def test_no_transition_reaches_over_its_gaps(make, files, clock):
    session = make()
    records = episode(0, 300, session=PLAYED)
    send(session, [*records[:2], *records[3:]])
    wait(session, clock, 11)  # a lease: it begins at 300
    wait(session, clock, 2)  # and 302 is not waited for
    assert session.learner.online_steps == 1 + 2
    first, second = files.kept.values()
    assert (first.complete, first.reason) == (False, "records 302..302 never came")
    assert (second.part, second.unsent) == (1, 1)


def test_a_living_actor_fills_its_gap_and_nothing_is_taken_twice(make, clock):
    session = make()
    records = episode(0, 0)
    send(session, [records[0], *records[2:]])
    wait(session, clock, 8)
    ack = send(session, records[1:])
    assert ack.next_seq == 6
    wait(session, clock, 20)
    assert session.learner.online_steps == 5
    assert not session.notices


def test_a_learner_that_did_not_listen_takes_no_actor_for_a_recording(make, clock):
    session = make()
    records = episode(0, 0)
    send(session, [records[0], *records[2:]])
    session.look()
    clock.now += 60.0
    session.look()
    assert send(session, records[1:]).next_seq == 6
    assert not session.notices


def test_nobody_is_answered_and_the_living_actor_stays_the_newest(make, clock):
    session = make()
    send(session, episode(0, 0, session=LIVING))
    session.acknowledgements()
    for entry in demonstration(3, 40):
        session.receive(entry)
    wait(session, clock, 11)
    session.acknowledgements()  # of before it was known to be a recording
    for entry in demonstration(4, 46):
        session.receive(entry)
    (ack,) = session.acknowledgements()
    assert ack.session == LIVING
    assert session.learner.demonstrations == 2


def test_it_breaks_off_a_living_actors_episode_once_at_most(make, files, clock):
    """By its name it could be the same actor, started again."""
    session = make()
    living, played = episode(0, 0, session=LIVING, length=8), demonstration(0, 0, length=8)
    for mine, other in zip(living, played, strict=True):
        session.receive(mine)
        session.receive(other)
    parts = [e for e in files.kept.values() if e.session == LIVING]
    assert [len(e.records) for e in parts] == [1, 8]
    assert [e.part for e in parts] == [0, 1]
    assert session.learner.demonstrations == 1


def test_who_sends_again_is_answered_after_all(make, clock):
    session = make()
    records = episode(0, 100, session=PLAYED)
    send(session, records)
    wait(session, clock, 11)
    session.acknowledgements()
    (ack,) = [a for a in [send(session, records[-1:])] if a.session == PLAYED]
    assert ack.next_seq == 106


def test_what_is_kept_beyond_a_gap_is_bounded(make, clock):
    session = make(LogConfig(open_bytes=4000))
    send(session, episode(0, 10, length=90, session=PLAYED))
    wait(session, clock, 11)
    assert session.actors.find("actor", PLAYED).received_seq in range(12, 16)


def test_after_a_restart_nothing_is_missing(make, clock):
    session = make()
    send(session, demonstration(7, 500))
    send(session, episode(0, 0, session=LIVING))
    wait(session, clock, 11)
    send(session, episode(8, 900, session=PLAYED))
    wait(session, clock, 2)
    session.close()
    after = make()
    assert not [text for text in after.notices if "lacks entries" in text]
    assert after.learner.demonstrations == 1
    assert after.learner.online_steps == 10
    assert after.actors.find("actor", PLAYED).received_seq == 906


@pytest.mark.parametrize("keeps_log", [True, False])
def test_it_feeds_a_learner_without_a_log_too(make, clock, keeps_log):
    session = make(keeps_log=keeps_log)
    send(session, demonstration(7, 500))
    wait(session, clock, 11)
    assert session.learner.demonstrations == 1
