"""Which records count, what is safe on disk, how far actors may go."""

from __future__ import annotations

import dataclasses
import errno

import pytest
from session_files import CONFIG, episode, send, train
from toy import record, same

from serl_learner.actor_sessions import REORDERED
from serl_learner.disk_space import NoSpace
from serl_learner.episodes import EpisodeError, stretch
from serl_learner.learner_session import UNLIMITED
from serl_learner.params_codec import read_params
from serl_learner.published_params import NOT_KEPT, STRIDE
from serl_learner.types import Relabel, Source


def test_nobody_yet(make):
    (ack,) = make().acknowledgements()
    assert (ack.actor_id, ack.received_seq, ack.next_seq, ack.credit) == ("", 0, 0, 4 + 3)


def test_ack_means_sealed(make, files, tmp_path):
    session = make()
    records = episode(0, 0)
    ack = send(session, records[:-1])
    assert (ack.received_seq, ack.next_seq) == (5, 0)
    assert files.in_log(tmp_path / "log") == {}
    ack = send(session, records[-1:])
    assert (ack.received_seq, ack.next_seq) == (6, 6)
    assert files.in_log(tmp_path / "log") == {"n000001-73737373-000000.mcap": 6}


def test_duplicates_and_gaps_change_nothing(make):
    session = make()
    records = episode(0, 0)
    send(session, records[:3])
    ack = send(session, [*records[:3], records[4], records[5]])
    assert ack.received_seq == 3
    assert session.learner.online_steps == 2
    assert (session.actors.duplicates, session.actors.gaps) == (3, 2)
    assert send(session, records[3:]).next_seq == 6
    assert session.learner.online_steps == 5


def test_what_comes_a_little_early_waits_for_its_turn(make, files):
    """Relabels have a topic of their own, and overtake records or are overtaken."""
    session = make()
    records = [dataclasses.replace(r, seq=r.seq + (r.seq > 2)) for r in episode(0, 0)]
    relabel = Relabel(b"s" * 16, 3, 1, 1, 1.0, True)
    assert send(session, [relabel, *records[2:], records[1]]).received_seq == 0
    assert send(session, records[:1]).next_seq == 7
    (kept,) = files.kept.values()
    assert [e.seq for e in kept.entries] == list(range(7))
    assert session.learner.relabelled == 1


def test_a_number_that_is_used_up_ends_a_gap_too(make):
    session = make()
    records = episode(0, 0)
    send(session, [*records[:2], *records[3:]])
    session.refuse("actor", b"s" * 16, 2, "nonsense")
    assert session.acknowledgements()[0].next_seq == 6


def test_what_comes_far_too_early_is_not_kept(make):
    session = make()
    records = episode(0, 0, length=REORDERED + 5)
    send(session, records[1:])
    assert send(session, records[:1]).received_seq == REORDERED + 1
    assert session.actors.newest.early == {}


def test_case11_refused_record_is_counted_and_the_session_goes_on(make):
    session = make()
    records = episode(0, 0)
    records[2] = dataclasses.replace(records[2], action=records[2].action + 2.0)
    ack = send(session, records)
    assert (ack.next_seq, session.rejected) == (6, 1)
    assert "not in [-1, 1]" in session.last_rejection
    assert session.learner.online_steps == 3  # not 1 -> 2, not 2 -> 3


def test_message_that_cannot_be_decoded_uses_up_its_number(make):
    session = make()
    send(session, episode(0, 0))
    session.refuse("actor", b"s" * 16, 6, "nonsense")
    session.refuse("actor", b"s" * 16, 9, "nonsense far ahead")
    assert send(session, episode(1, 7)).next_seq == 13
    assert session.rejected == 2


def test_first_record_that_is_refused_fixes_no_layout(make):
    session = make()
    session.receive(record(0, reward=float("nan")))
    assert session.trainer.spec is None
    assert send(session, episode(0, 1)).next_seq == 7


def test_demonstrations_are_learned_from_only_if_they_succeed(make, files, tmp_path):
    session = make()
    failed = episode(0, 0, source=Source.DEMO)
    succeeded = episode(1, 6, source=Source.DEMO, success=True)
    assert send(session, failed).demonstrations == 0
    assert session.learner.prior_transitions == 0
    assert send(session, succeeded).demonstrations == 1
    assert session.learner.prior_transitions == 5
    assert session.learner.online_steps == 0
    assert list(files.in_log(tmp_path / "demos")) == ["n000002-73737373-000001.mcap"]
    assert list(files.in_log(tmp_path / "log")) == ["n000001-73737373-000000.mcap"]


def test_evaluation_is_logged_and_not_learned_from(make, files, tmp_path):
    session = make()
    assert send(session, episode(0, 0, source=Source.EVAL)).next_seq == 6
    assert session.learner.online_steps == 0
    assert files.in_log(tmp_path / "log") == {"n000001-73737373-000000.mcap": 6}


def test_case06_new_session_of_an_actor_closes_the_old_one(make, files):
    session = make()
    records = episode(0, 0)[:3]
    send(session, records)
    ack = send(session, episode(0, 0, session=b"t" * 16))
    assert (ack.session, ack.next_seq) == (b"t" * 16, 6)
    (old,) = [e for e in files.kept.values() if e.session == b"s" * 16]
    assert all(a is b for a, b in zip(old.entries, records, strict=True))  # as received
    assert (old.complete, old.reason) == (False, "the actor began a new session")


def test_missing_last_record_does_not_join_two_episodes(make, files, tmp_path):
    session = make()
    ack = send(session, [*episode(0, 0)[:3], *episode(1, 3)[:2]])
    assert (ack.next_seq, ack.received_seq) == (3, 5)
    assert session.learner.online_steps == 2 + 1
    assert files.in_log(tmp_path / "log") == {"n000001-73737373-000000.mcap": 3}


def test_sealed_episode_is_not_written_over(make, files):
    session = make()
    send(session, episode(0, 0))
    before = dict(files.kept)
    send(session, episode(0, 6))
    assert files.kept == before
    assert "episode 0 is sealed, the next one is 1" in session.last_rejection


def test_case14_credit_keeps_the_ratio_exact(make):
    """However greedy the actor: 2 critic updates for every step after the first 4."""
    session = make()
    seq = number = 0
    while seq < 60:
        for r in episode(number, seq):
            (ack,) = session.acknowledgements()
            if r.seq >= ack.credit:
                due = session.learner.blocks_due
                assert due > 0  # nothing is allowed: then there is something to do
                train(session)
                (ack,) = session.acknowledgements()
                assert ack.credit == ack.received_seq + CONFIG.max_lag
            session.receive(r)
            learner = session.learner
            assert learner.online_steps <= learner.allowed_steps()
        seq, number = seq + 6, number + 1
    train(session)
    assert session.learner.updates == 2 * (session.learner.online_steps - 4)


def test_versions_are_published_from_1_on(make):
    session = make()
    assert session.take_unpublished() is None
    send(session, episode(0, 0))
    first = session.take_unpublished()
    assert (first.version, first.learner_step) == (1, 0)
    assert session.take_unpublished() is None
    send(session, episode(1, 6))
    train(session)  # 6 blocks: 2, 4 and 6 are published
    assert (session.newest_params.version, session.newest_params.learner_step) == (4, 12)
    assert session.take_unpublished().version == 4


def test_version_above_what_an_actor_has_seen(make):
    session = make()
    send(session, episode(0, 0, policy_version=70))
    send(session, episode(1, 6))
    train(session)
    assert session.newest_params.version > 70


def test_best_policy_is_a_published_version(make, tmp_path):
    session = make()
    with pytest.raises(LookupError, match="no agent yet"):
        session.save_checkpoint("best")
    send(session, episode(0, 0))
    first = session.take_unpublished()
    send(session, episode(1, 6))
    train(session)
    path = session.save_checkpoint("best", version=1)
    assert read_params(path) == first
    with pytest.raises(LookupError, match=rf"version 9 is {NOT_KEPT}; kept are 1\.\.4"):
        session.save_checkpoint("best", version=9)
    with pytest.raises(LookupError, match="'worst' is unknown"):
        session.save_checkpoint("worst")


@pytest.mark.parametrize("kind", ["no space", "too little left free", "broken disk"])
def test_a_best_policy_that_finds_no_room_is_not_said_to_be_gone(
    make, files, tmp_path, monkeypatch, kind
):
    session = make()
    send(session, episode(0, 0))
    path = session.save_checkpoint("best")
    before = path.read_bytes()
    if kind == "too little left free":
        files.free = 10
    else:
        number = errno.ENOSPC if kind == "no space" else errno.EIO
        monkeypatch.setattr("os.fsync", lambda _: exec(f"raise OSError({number}, 'no')"))
    with pytest.raises(OSError) as caught:
        session.save_checkpoint("best")
    assert NOT_KEPT not in str(caught.value)
    assert isinstance(caught.value, NoSpace) == (kind != "broken disk")
    assert path.read_bytes() == before


def test_restart_goes_on_from_the_files(make):
    before = make()
    send(before, episode(0, 0, source=Source.DEMO, success=True))
    send(before, episode(1, 6))
    send(before, episode(2, 12))
    train(before)
    before.save_checkpoint()
    send(before, episode(3, 18)[:3])  # not sealed: the actor will send it again

    after = make()
    (ack,) = after.acknowledgements()
    assert (ack.session, ack.received_seq, ack.next_seq) == (b"s" * 16, 18, 18)
    assert (ack.demonstrations, ack.updates) == (1, before.learner.updates)
    assert after.learner.online_steps == 10
    assert same(after.learner.agent, before.learner.agent)
    assert same(after.learner.prior, before.learner.prior)
    assert after.take_unpublished().version == before.trainer.published.version + STRIDE + 1
    send(after, episode(3, 18))
    train(after)
    assert after.learner.updates == 2 * (15 - 4)


def test_demonstrations_alone_start_a_learner(make):
    send(make(), episode(0, 0, source=Source.DEMO, success=True))
    after = make()
    assert after.acknowledgements()[0].demonstrations == 1
    assert after.take_unpublished().version == 1


def test_case08_demonstration_of_another_layout_is_refused(make, files, tmp_path):
    send(make(), episode(0, 0, source=Source.DEMO, success=True))
    other = episode(1, 6, source=Source.DEMO, success=True)
    for r in other:
        r.observation["state/c"] = r.observation.pop("state/a")
    stray = stretch("actor", other[0].session, other)
    files.write(tmp_path / "demos" / "n000009-zz.mcap", files.encode(stray))
    with pytest.raises(EpisodeError, match=r"zz.mcap.*'state/a' is missing"):
        make()


def serve(make, **fields):
    """A session that gives out the best policy of one before."""
    session = make()
    send(session, episode(0, 0))
    encoded = read_params(session.save_checkpoint("best"))
    served = make(restore=False, **fields)
    served.serve(encoded)
    served.restore()
    return served, encoded


def test_served_policy_is_all_there_is(make):
    served, encoded = serve(make, keeps_log=False)
    ack = send(served, episode(0, 0, source=Source.EVAL))
    assert (ack.next_seq, ack.credit) == (6, 6 + UNLIMITED)
    assert served.take_unpublished() == encoded
    assert (served.learner, served.work()) == (None, False)


def test_a_served_session_is_taken_up_where_it_stands(make):
    """Its actor is never told that something durable is gone."""
    served, _ = serve(make, keeps_log=False)
    ack = send(served, episode(7, 40, source=Source.EVAL))
    assert (ack.received_seq, ack.next_seq) == (46, 46)
    assert served.actors.gaps == 0


def test_with_a_log_a_served_session_goes_on_in_it(make, files, tmp_path):
    served, _ = serve(make)
    ack = send(served, episode(1, 6, source=Source.EVAL))
    assert (ack.received_seq, ack.next_seq) == (12, 12)
    assert list(files.in_log(tmp_path / "log").values()) == [6, 6]


def test_without_training_nothing_is_updated(make):
    session = make(training=False)
    ack = send(session, episode(0, 0) + episode(1, 6))
    assert (session.work(), ack.training, session.learner.online_steps) == (False, False, 10)
    assert ack.credit == 12 + UNLIMITED
