"""A learner that only records: everything is logged and acked, nothing is learned."""

from __future__ import annotations

from session_files import episode, send

from serl_learner.learner_report import phase
from serl_learner.learner_session import UNLIMITED
from serl_learner.types import Source


def test_it_counts_demonstrations_and_has_no_learner(make, files, tmp_path):
    session = make(learning=False)
    good = episode(0, 0, source=Source.DEMO, success=True)
    bad = episode(1, 6, source=Source.DEMO)
    ack = send(session, [*good, *bad])
    assert (ack.next_seq, ack.demonstrations, ack.training) == (12, 1, False)
    assert ack.credit == 12 + UNLIMITED
    assert session.learner is None
    assert not session.work()
    assert phase(session) == "recording"
    assert list(files.in_log(tmp_path / "demos").values()) == [6]
    assert list(files.in_log(tmp_path / "log").values()) == [6]


def test_it_goes_on_counting_after_a_restart(make):
    send(make(learning=False), episode(0, 0, source=Source.DEMO, success=True))
    after = make(learning=False)
    assert after.acknowledgements()[0].demonstrations == 1
    assert send(after, episode(1, 6, source=Source.DEMO, success=True)).demonstrations == 2
    learns = make()
    assert learns.learner.demonstrations == 2
