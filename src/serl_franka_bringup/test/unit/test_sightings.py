"""What the witness of a kill matrix concludes from messages."""

from __future__ import annotations

from serl_franka_bringup.sightings import InFlight, Sightings

A, B = "aa" * 16, "bb" * 16


def send(seen: Sightings, session: str, seq: int, now: float, is_step: bool = True):
    seen.add_record("actor", session, seq, is_step, now)


def answer(seen: Sightings, session: str, received: int, durable: int, updates=0, now=0.0):
    seen.add_ack("actor", session, received, durable, updates, updates > 0, now)


def test_what_is_in_flight_is_of_the_newest_session():
    seen = Sightings()
    assert seen.in_flight() == InFlight(0, 0)
    for seq in range(5):
        send(seen, A, seq, 0.0)
    answer(seen, A, received=3, durable=2)
    assert seen.in_flight() == InFlight(unreceived=2, unacknowledged=3)
    send(seen, B, 0, 1.0)
    assert seen.in_flight() == InFlight(unreceived=1, unacknowledged=1)


def test_the_highest_acknowledgement_counts_and_a_step_back_is_told():
    seen = Sightings()
    answer(seen, A, 8, 8)
    answer(seen, A, 9, 8)
    assert seen.withdrawn() == ()
    answer(seen, A, 6, 5)
    assert seen.acknowledged() == {A: 8}
    assert len(seen.withdrawn()) == 1
    assert "below 8, then below 5" in seen.withdrawn()[0]


def test_an_answer_to_nobody_is_no_session():
    seen = Sightings()
    answer(seen, "00" * 16, 0, 0)
    assert seen.acknowledged() == {}


def test_a_record_sent_again_is_no_new_step():
    seen = Sightings()
    send(seen, A, 0, 1.0)
    send(seen, A, 1, 2.0)
    send(seen, A, 1, 5.0)  # again
    send(seen, A, 2, 6.0, is_step=False)
    assert seen.first_step(3.0) is None
    send(seen, A, 3, 7.0)
    assert seen.first_step(3.0) == 7.0
    assert seen.first_step(0.0) == 1.0


def test_an_update_is_new_against_what_a_restarted_learner_restored():
    seen = Sightings()
    answer(seen, A, 1, 1, updates=800, now=1.0)
    for now, updates in ((5.0, 640), (6.0, 640), (7.0, 648)):  # restarted at 4.0
        answer(seen, A, 1, 1, updates=updates, now=now)
    assert seen.first_update(4.0) == 7.0
    assert seen.first_update(6.5) is None
