"""What is sealed when: broken-off episodes, refused numbers, leases, restarts, a full disk."""

from __future__ import annotations

import dataclasses
import errno

import pytest
from session_files import Files, Sessions, episode, send
from toy import contents, record

from serl_learner.episode_log import LogConfig
from serl_learner.types import Relabel, Source, entry_bytes

SESSION = b"s" * 16


def pass_time(session, clock, seconds):
    """Time goes on while the learner looks about."""
    for _ in range(seconds):
        clock.now += 1.0
        session.look()


def newest(files):
    """The episode that was written last."""
    return files.kept[max(files.kept)]


def malformed(session, seq):
    session.refuse("actor", SESSION, seq, "nonsense")


def resume(make, files):
    """A restart by a kill: its acknowledgement for the session."""
    return make().acknowledgements()[0]


def test_refused_numbers_are_in_the_metadata_of_the_file_that_covers_them(make, files):
    session = make()
    records = episode(0, 0)
    send(session, records[:2])
    malformed(session, 2)
    send(session, [dataclasses.replace(records[3], action=records[3].action + 2.0)])
    assert send(session, records[4:]).next_seq == 6
    assert newest(files).refused == (2, 3)
    assert [e.seq for e in newest(files).entries] == [0, 1, 4, 5]


def test_a_refused_last_record_is_behind_no_seal_and_no_restart(make, files):
    session = make()
    records = episode(0, 0)
    send(session, records[:5])
    malformed(session, 5)
    assert send(session, episode(1, 6)[:1]).next_seq == 6
    first = newest(files)
    assert (first.refused, first.complete) == ((5,), False)
    ack = resume(make, files)
    assert (ack.next_seq, ack.received_seq) == (6, 6)


def test_numbers_refused_between_two_episodes_belong_to_the_next(make, files):
    session = make()
    send(session, episode(0, 0))
    malformed(session, 6)
    assert session.acknowledgements()[0].next_seq == 6
    assert send(session, episode(1, 7)).next_seq == 13
    assert newest(files).refused == (6,)


def test_nothing_but_refused_numbers_is_sealed_by_the_lease_and_by_their_count(make, files, clock):
    session = make(LogConfig(refused_limit=3))
    malformed(session, 0)
    pass_time(session, clock, 11)
    assert session.acknowledgements()[0].next_seq == 1
    for seq in (1, 2, 3):
        malformed(session, seq)
    assert session.acknowledgements()[0].next_seq == 4
    assert [e.refused for e in files.kept.values()] == [(0,), (1, 2, 3)]
    assert resume(make, files).next_seq == 4


def test_case09_a_silent_actors_episode_is_sealed_as_broken_off(make, files, clock):
    session = make()
    records = episode(0, 0)[:3]
    send(session, records)
    pass_time(session, clock, 10)
    assert not files.kept
    pass_time(session, clock, 1)
    (sealed,) = files.kept.values()
    assert all(a is b for a, b in zip(sealed.entries, records, strict=True))
    assert (sealed.complete, sealed.reason) == (False, "the actor was silent for 10 s")
    assert session.acknowledgements()[0].next_seq == 3


def test_a_duplicate_is_a_sign_of_life(make, files, clock):
    session = make()
    records = episode(0, 0)[:3]
    send(session, records)
    for _ in range(10):
        pass_time(session, clock, 4)
        send(session, records[-1:])
    assert not files.kept


def test_a_learner_that_did_not_listen_blames_no_actor(make, files, clock):
    session = make()
    send(session, episode(0, 0)[:3])
    session.look()
    clock.now += 60.0
    session.look()
    assert not files.kept
    pass_time(session, clock, 11)
    assert len(files.kept) == 1


def test_an_actor_that_was_suspended_goes_on_in_a_further_part(make, files, clock):
    session = make()
    records = episode(0, 0, length=6)
    send(session, records[:3])
    pass_time(session, clock, 11)
    assert send(session, records[3:]).next_seq == 7
    names = [path.name for path in sorted(files.kept)]
    assert names == ["n000001-73737373-000000.mcap", "n000002-73737373-000000-part1.mcap"]
    assert [e.part for e in files.kept.values()] == [0, 1]
    # 0-1, 1-2 | 3-4, 4-5, 5-6: nothing across
    assert session.learner.online_steps == 5
    after = make()
    assert after.learner.online_steps == 5
    assert contents(after.learner.online)["reward"].tolist() == [0.0] * 5
    malformed(after, 7)
    send(after, [record(0, seq=8, episode=0)])
    assert "episode 0 is sealed, the next one is 1" in after.last_rejection


def test_the_parts_go_on_counting_after_a_restart(make, files, clock):
    session = make()
    records = episode(0, 0, length=6)
    send(session, records[:3])
    session.close()
    after = make()
    send(after, records[3:5])
    after.close()
    send(make(), records[5:])
    assert [e.part for e in files.kept.values()] == [0, 1, 2]
    assert [e.complete for e in files.kept.values()] == [False, False, True]
    assert files.kept[min(files.kept)].reason == "the learner stopped"


def test_the_rest_of_a_broken_demonstration_is_none(make, files, clock):
    session = make()
    records = episode(0, 0, source=Source.DEMO, success=True)
    send(session, records[:3])
    pass_time(session, clock, 11)
    ack = send(session, records[3:])
    assert (ack.next_seq, ack.demonstrations) == (6, 0)
    assert make().learner.prior_transitions == 0


def test_after_a_restart_nothing_acked_is_asked_for_again(make, files):
    session = make()
    send(session, episode(0, 0))
    malformed(session, 6)
    acked = send(session, episode(1, 7)).next_seq
    for _ in range(2):
        ack = resume(make, files)
        assert ack.received_seq >= acked


def test_without_a_log_a_running_session_is_taken_up_where_it_stands(make):
    session = make(keeps_log=False)
    send(session, episode(0, 0, source=Source.DEMO, success=True))
    assert send(session, episode(1, 6)).next_seq == 12
    after = make(keeps_log=False)
    ack = send(after, episode(2, 12))
    assert (ack.received_seq, ack.next_seq) == (18, 18)
    assert after.actors.gaps == 0


def test_case11_a_reward_that_targets_are_clipped_away_from_is_refused(make):
    session = make()
    send(session, [record(0), record(1, reward=2.0), record(2, reward=1.0), record(3)])
    assert session.rejected == 1
    assert "reward 2.0 is outside reward_range [0.0, 1.0]" in session.last_rejection
    session.receive(Relabel(SESSION, 4, 0, 3, -1.0, True))
    assert "relabel 4 of actor 'actor': reward -1.0 is outside" in session.last_rejection


def test_an_episode_without_an_end_is_broken_off_at_a_limit(make, files):
    limit = 4 * entry_bytes(record(0))
    session = make(LogConfig(open_bytes=limit))
    ack = send(session, episode(0, 0, length=9))
    assert (ack.received_seq, ack.next_seq) == (10, 10)
    assert [len(e.records) for e in files.kept.values()] == [4, 4, 2]
    assert [e.part for e in files.kept.values()] == [0, 1, 2]
    assert files.kept[min(files.kept)].reason == f"its {limit} bytes reached open_bytes"
    assert session.learner.online_steps == 3 + 3 + 1


class Test_a_full_disk:
    """Nothing is acked, nothing is lost, everything is written once there is room."""

    @pytest.mark.parametrize("kind", ["no space", "quota", "too little left free"])
    def test_is_waited_for(self, make, files: Files, clock, kind):
        session = make()
        if kind == "too little left free":
            files.free = 10
        else:
            number = errno.ENOSPC if kind == "no space" else errno.EDQUOT
            files.failure = OSError(number, "no room")
        ack = send(session, [*episode(0, 0), *episode(1, 6)])
        assert (ack.received_seq, ack.next_seq) == (12, 0)
        assert session.waiting_for.startswith("disk space: ")
        assert session.waiting_for.endswith("needs 0.0 MB")
        assert session.learner.online_steps == 10
        files.free, files.failure = 2**40, None
        pass_time(session, clock, 2)
        assert (session.waiting_for, session.acknowledgements()[0].next_seq) == ("", 12)
        assert [e.number for e in files.kept.values()] == [0, 1]

    def test_takes_no_more_than_its_bound(self, make, files, clock):
        one = 100 + sum(entry_bytes(entry) for entry in episode(0, 0))  # a file takes 100
        session = make(LogConfig(pending_bytes=one + one // 2))
        files.free = 0
        entries = [r for n in range(4) for r in episode(n, 6 * n)]
        ack = send(session, entries)
        assert (ack.received_seq, ack.next_seq) == (12, 0)
        assert send(session, entries[12:]).received_seq == 12
        assert session.actors.gaps == 0
        files.free = 2**40
        pass_time(session, clock, 2)
        assert send(session, entries[12:]).next_seq == 24
        assert [e.number for e in files.kept.values()] == [0, 1, 2, 3]

    def test_is_not_asked_at_every_look(self, make, files, clock):
        session = make()
        files.free = 0
        send(session, episode(0, 0))
        files.free = 2**40
        session.look()
        assert not files.kept
        pass_time(session, clock, 1)
        assert len(files.kept) == 1

    def test_another_error_is_no_full_disk(self, make: Sessions, files):
        session = make()
        files.failure = OSError(errno.EIO, "broken disk")
        with pytest.raises(OSError, match="broken disk"):
            send(session, episode(0, 0))

    def test_at_the_end_leaves_unacked_what_the_actor_sends_again(self, make, files):
        session = make()
        send(session, episode(0, 0))
        files.free = 0
        send(session, episode(1, 6))
        with pytest.raises(OSError, match="disk space"):
            session.close()  # no room for a checkpoint either
        files.free = 2**40
        ack = send(make(), episode(1, 6))
        assert ack.next_seq == 12


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("lease_s", 0.0),
        ("min_free_bytes", -1),
        ("pending_bytes", 0),
        ("open_bytes", 0),
        ("log_bytes", 0),
    ],
)
def test_wrong_limits_are_refused_by_name(field, value):
    with pytest.raises(ValueError, match=f"{field} {value}"):
        LogConfig(**{field: value})
