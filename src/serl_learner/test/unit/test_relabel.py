"""Late verdicts: logged, acked, and applied to what replay holds, also when it is rebuilt."""

from __future__ import annotations

import dataclasses
import errno

import numpy as np
import pytest
from session_files import CONFIG, episode, send, train
from toy import contents, record, same, transition

from serl_learner.replay import transition_bytes
from serl_learner.replay_half import ReplayHalf
from serl_learner.types import Relabel, Source

SESSION = b"s" * 16
SPEC = {"state/a": ((2,), "float32"), "state/b": ((1,), "float32")}


def relabel(seq, first, last, reward=1.0, terminated=True, **fields):
    return Relabel(fields.pop("session", SESSION), seq, first, last, reward, terminated, **fields)


def labels(ring):
    """Reward and termination of every transition that a ring holds."""
    held = contents(ring)
    return list(zip(held["reward"].tolist(), held["terminated"].tolist(), strict=True))


def only(index, length=5):
    """Labels of which one is a success."""
    return [(1.0, True) if i == index else (0.0, False) for i in range(length)]


def no_room():
    raise OSError(errno.ENOSPC, "disk full")


def restarted(make):
    """The session after a restart, when it has taken in all that the log holds."""
    session = make()
    train(session)
    return session


@pytest.fixture
def half():
    return ReplayHalf(SPEC, 2, 4 * transition_bytes(SPEC, 2))


def test_slots_are_found_by_session_and_number_after_wrapping(half):
    for seq in range(6):
        half.insert(record(seq), transition(seq))
    assert half.relabel(relabel(9, 0, 1)) == 0  # overwritten
    assert half.relabel(relabel(9, 1, 3, reward=0.5)) == 2
    held = contents(half.ring)
    changed = held["reward"] == 0.5
    np.testing.assert_allclose(held["observation"]["state/b"][changed][:, 0], [0.002, 0.003])
    assert half.relabel(relabel(9, 0, 9, session=b"t" * 16)) == 0


def test_a_turned_ring_is_one_that_had_seen_what_was_forgotten(half):
    straight = ReplayHalf(SPEC, 2, 4 * transition_bytes(SPEC, 2))
    for seq in range(11):
        straight.insert(record(seq), transition(seq))
    for seq in range(5, 11):
        half.insert(record(seq), transition(seq))
    half.turn_by(5)
    for each in (half, straight):
        each.insert(record(11), transition(11))
        each.relabel(relabel(20, 9, 9))
    assert same(half.ring, straight.ring)
    assert half.inserted == straight.inserted


def test_it_changes_replay_and_its_own_file_and_no_other(make, files, tmp_path):
    session = make()
    records = episode(0, 0)
    send(session, records)
    ack = send(session, [relabel(6, 4, 4)])
    assert (ack.received_seq, ack.next_seq) == (7, 7)
    assert labels(session.learner.online) == only(4)
    assert session.learner.relabelled == 1
    names = list(files.in_log(tmp_path / "log"))
    assert names == ["n000001-73737373-000000.mcap", "n000002-73737373-seq6.mcap"]
    assert all(a is b for a, b in zip(files.kept[min(files.kept)].entries, records, strict=True))
    after = restarted(make)
    assert same(after.learner.online, session.learner.online)
    assert after.acknowledgements()[0].next_seq == 7


def test_while_an_episode_is_open_it_is_logged_there(make, files):
    session = make()
    send(session, episode(0, 0))
    second = [dataclasses.replace(r, seq=r.seq + (r.seq > 8)) for r in episode(1, 6)]
    assert send(session, [*second[:3], relabel(9, 3, 4)]).next_seq == 6
    assert send(session, second[3:]).next_seq == 13
    assert [e.seq for e in files.kept[max(files.kept)].entries] == list(range(6, 13))
    assert labels(session.learner.online)[:5] == [(0.0, False)] * 3 + [(1.0, True)] * 2
    assert session.learner.online_steps == 10
    assert same(restarted(make).learner.online, session.learner.online)


def test_the_record_that_waits_for_its_successor_is_changed_too(make):
    session = make()
    records = [dataclasses.replace(r, seq=r.seq + (r.seq > 2)) for r in episode(0, 0)]
    send(session, [*records[:3], relabel(3, 2, 2), *records[3:]])
    assert labels(session.learner.online) == only(2)
    assert same(restarted(make).learner.online, session.learner.online)


@pytest.mark.parametrize("when", ["during", "after"])
def test_a_demonstration_is_changed_during_and_after_it(make, when):
    session = make()
    shift = {"during": 2, "after": 5}[when]
    records = [
        dataclasses.replace(r, seq=r.seq + (r.seq > shift))
        for r in episode(0, 0, source=Source.DEMO, success=True)
    ]
    send(session, [*records[: shift + 1], relabel(shift + 1, 1, 1), *records[shift + 1 :]])
    assert labels(session.learner.prior) == only(1)
    assert same(restarted(make).learner.prior, session.learner.prior)


@pytest.mark.parametrize("moment", ["at once", "in the middle of the next episode"])
def test_of_a_demonstration_counts_for_other_runs_and_when_the_log_is_gone(make, tmp_path, moment):
    session = make()
    send(session, episode(0, 0, source=Source.DEMO, success=True))
    if moment == "at once":
        send(session, [relabel(6, 1, 1)])
    else:
        following = [dataclasses.replace(r, seq=r.seq + (r.seq > 7)) for r in episode(1, 6)]
        send(session, [*following[:2], relabel(8, 1, 1), *following[2:]])
    same_run = restarted(make)
    assert same(same_run.learner.prior, session.learner.prior)
    assert same_run.actors.positions() == session.actors.positions()
    assert labels(restarted(lambda: make(keeps_log=False)).learner.prior) == only(1)
    for path in (tmp_path / "log").glob("*.mcap"):
        path.unlink()
    assert labels(restarted(make).learner.prior) == only(1)


def test_of_no_demonstration_is_kept_in_the_log_only(make, tmp_path):
    session = make()
    send(session, [*episode(0, 0), relabel(6, 1, 1)])
    assert not (tmp_path / "demos").exists()


def test_a_disk_that_is_full_between_a_relabel_and_its_copy_is_waited_for(make, files, clock):
    session = make()
    send(session, episode(0, 0, source=Source.DEMO, success=True))
    writes = files.write
    session._store.space._write = lambda path, content: (
        writes(path, content) if path.parent.name == "relabels" else no_room()
    )
    assert send(session, [relabel(6, 1, 1)]).next_seq == 6
    session._store.space._write = writes
    clock.now += 2.0
    session.look()
    assert session.acknowledgements()[0].next_seq == 7
    assert labels(restarted(make).learner.prior) == only(1)
    assert len(files.kept) == 3


def test_said_during_a_demonstration_of_an_episode_before_it(make):
    """The file of the demonstration is in another directory; its order counts."""
    session = make()
    send(session, episode(0, 0))
    demonstration = [
        dataclasses.replace(r, seq=r.seq + (r.seq > 7))
        for r in episode(1, 6, source=Source.DEMO, success=True)
    ]
    send(session, [*demonstration[:2], relabel(8, 3, 3), *demonstration[2:]])
    assert labels(session.learner.online) == only(3)
    after = restarted(make)
    assert same(after.learner.online, session.learner.online)
    assert same(after.learner.prior, session.learner.prior)


def test_an_intervention_is_changed_in_both_halves(make):
    session = make()
    send(session, episode(0, 0, source=Source.INTERVENTION))
    send(session, [relabel(6, 4, 4)])
    assert labels(session.learner.online) == labels(session.learner.prior) == only(4)


def test_the_last_word_counts(make):
    session = make()
    send(
        session, [*episode(0, 0), relabel(6, 0, 4), relabel(7, 0, 3, reward=0.0, terminated=False)]
    )
    assert labels(session.learner.online) == only(4)
    assert same(restarted(make).learner.online, session.learner.online)


def test_one_that_is_refused_is_accounted_for(make, files):
    session = make()
    send(session, episode(0, 0))
    session.receive(relabel(6, 5, 6))
    assert "records 5..6 are no range below it" in session.last_rejection
    assert send(session, episode(1, 7)).next_seq == 13
    assert files.kept[max(files.kept)].refused == (6,)


def test_a_duplicate_changes_nothing(make, files):
    session = make()
    send(session, [*episode(0, 0), relabel(6, 4, 4)])
    session.receive(relabel(6, 0, 0))
    assert labels(session.learner.online) == only(4)
    assert len(files.kept) == 2


def test_before_any_learner_it_is_only_logged(make, files):
    session = make(config=CONFIG)
    session.refuse("actor", SESSION, 0, "nonsense")
    assert send(session, [relabel(1, 0, 0)]).next_seq == 2
    assert session.learner is None
    assert make().acknowledgements()[0].next_seq == 2
