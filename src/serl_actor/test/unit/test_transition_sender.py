"""Window, retransmission and credit, against a learner and a wire that lose things."""

from __future__ import annotations

import random
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serl_actor.entry_queue import size_of
from serl_actor.spill import Codec, Spill
from serl_actor.transition_sender import LearnerForgot, QueueFull, SenderConfig, TransitionSender
from serl_controllers.ros_qos import TRANSITIONS_DEPTH
from serl_learner.types import Entry, Record, Relabel


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class FakeWitness:
    """Has room for all; writes what it is told to."""

    def __init__(self, write: Callable[[Entry], None]) -> None:
        self.write = write

    def require(self, count: int) -> None: ...


def record(seq: int) -> Record:
    return Record(b"s" * 16, seq, 0, seq, {}, np.zeros(6, np.float32))


SIZE = size_of(record(0))


def make(window: int = 4, capacity: int = 100) -> tuple[TransitionSender, list[int], Clock]:
    """`capacity`: records that memory has room for; there is no spill."""
    sent: list[int] = []
    clock = Clock()
    config = SenderConfig(
        window=window, memory_bytes=capacity * SIZE, retry_period=1.0, keep_alive_period=1e9
    )
    return TransitionSender(config, lambda r: sent.append(r.seq), clock), sent, clock


def test_the_default_window_is_below_the_depth_of_the_topic():
    assert SenderConfig().window < TRANSITIONS_DEPTH


def test_no_more_than_the_window_is_under_way():
    sender, sent, _ = make(window=4)
    for seq in range(10):
        sender.put(record(seq))
    assert sent == [0, 1, 2, 3]
    sender.acknowledge(received_seq=3, next_seq=0, credit=100)
    assert sent == [0, 1, 2, 3, 4, 5, 6]


def test_received_is_kept_until_it_is_durable():
    sender, _, _ = make()
    for seq in range(3):
        sender.put(record(seq))
    sender.acknowledge(3, 0, 100)
    assert sender.unacknowledged == 3
    sender.acknowledge(3, 3, 100)
    assert sender.unacknowledged == 0


def test_a_lost_last_record_makes_no_gap_and_is_sent_again_in_time():
    sender, sent, clock = make()
    sender.put(record(0))
    sender.put(record(1))
    sender.acknowledge(1, 0, 100)  # record 1 was lost
    sender.poll()
    assert sent == [0, 1]
    clock.now = 1.1
    sender.poll()
    assert sent == [0, 1, 1]
    assert sender.retransmitted == 1


def test_a_record_put_after_a_pause_is_not_taken_for_lost():
    sender, sent, clock = make()
    sender.put(record(0))
    sender.acknowledge(1, 1, 100)
    clock.now = 60.0
    sender.put(record(1))
    clock.now = 60.5
    sender.poll()
    assert sent == [0, 1]


def test_records_kept_for_durability_do_not_make_a_new_one_look_lost():
    sender, sent, clock = make()
    sender.put(record(0))
    sender.acknowledge(1, 0, 100)  # received, not durable: the episode is open
    clock.now = 60.0
    sender.put(record(1))
    clock.now = 60.5
    sender.poll()
    assert sent == [0, 1]


def test_case_07_a_restarted_learner_gets_again_what_it_lost():
    """It had received 3, and has nothing of it on disk: everything undurable comes again."""
    sender, sent, _ = make(window=10)
    for seq in range(5):
        sender.put(record(seq))
    sender.acknowledge(3, 2, 100)
    sent.clear()
    sender.acknowledge(2, 2, 100)
    assert sent == [2, 3, 4]


def test_a_learner_that_lost_what_it_called_durable_ends_the_session():
    sender, _, _ = make()
    for seq in range(4):
        sender.put(record(seq))
    sender.acknowledge(4, 4, 100)
    sender.acknowledge(0, 0, 100)
    with pytest.raises(LearnerForgot, match=r"record 0.*below 4"):
        sender.put(record(4))


def test_a_full_queue_is_an_error_that_shows_the_limit():
    sender, _, _ = make(capacity=5)
    for seq in range(5):
        sender.put(record(seq))
    with pytest.raises(QueueFull, match=r"5 records are not durable.*no directory"):
        sender.put(record(5))
    assert sender.unacknowledged == 5
    sender.acknowledge(5, 2, 100)
    sender.put(record(5))


def test_room_for_a_whole_episode_is_reserved_and_a_relabel_leaves_it():
    sender, _, _ = make(capacity=5)
    sender.put(record(0))
    assert not sender.wait_for_room(0.0, count=5)
    assert "no room for 5 more" in sender.shortage
    assert sender.wait_for_room(0.0, count=4)
    with pytest.raises(QueueFull):
        sender.put(Relabel(b"s" * 16, 1, 0, 0, 1.0, True))
    for seq in range(1, 5):
        sender.put(record(seq))


def test_room_wakes_who_waits_for_it():
    sender, _, _ = make(capacity=2)
    sender.put(record(0))
    sender.put(record(1))
    timer = threading.Timer(0.05, lambda: sender.acknowledge(2, 2, 100))
    timer.start()
    assert sender.wait_for_room(10.0)


def test_an_idle_actor_shows_that_it_is_there_by_its_newest_record():
    sender, sent, clock = make()
    sender._config = replace(sender._config, keep_alive_period=2.0)
    clock.now = 5.0
    sender.poll()
    assert sent == [], "nothing was sent yet"
    sender.put(record(0))
    sender.put(record(1))
    sender.acknowledge(2, 2, 100)
    clock.now = 6.9
    sender.poll()
    assert sent == [0, 1]
    clock.now = 7.1
    sender.poll()
    sender.poll()
    assert sent == [0, 1, 1]
    assert sender.retransmitted == 0


def test_nothing_is_sent_while_nobody_listens_and_all_of_it_once_somebody_does():
    heard: list[bool] = []
    sent: list[int] = []
    clock = Clock()
    sender = TransitionSender(
        SenderConfig(window=10),
        lambda entry: sent.append(entry.seq),
        clock,
        reachable=lambda: bool(heard),
    )
    for seq in range(3):
        sender.put(record(seq))
        clock.now += 60.0
        sender.poll()
    assert sent == []
    heard.append(True)
    sender.poll()
    assert (sent, sender.retransmitted) == ([0, 1, 2], 0)


def test_a_learner_that_takes_nothing_is_sent_less_and_less_until_it_does():
    sender, sent, clock = make()
    sender.put(record(0))
    times = []
    for tick in range(140):
        clock.now = 0.25 * tick
        before = len(sent)
        sender.poll()
        times += [clock.now] * (len(sent) - before)
    assert times == [1.25, 3.5, 7.75, 16.0, 24.25, 32.5]
    sender.acknowledge(1, 1, 100)
    sender.put(record(1))
    del sent[:]
    clock.now += 1.1
    sender.poll()
    assert sent == [1]


def test_a_large_backlog_goes_out_a_moment_at_a_time_and_without_the_lock():
    """Each entry takes 4 ms to send; the thread is given back after a hundredth of a second."""
    sent: list[int] = []
    free: list[bool] = []
    clock = Clock()

    def send(entry):
        sent.append(entry.seq)
        clock.now += 0.004
        other = threading.Thread(target=lambda: free.append(try_lock(sender)))
        other.start()
        other.join()

    def try_lock(sender):
        taken = sender._changed.acquire(timeout=5.0)
        if taken:
            sender._changed.release()
        return taken

    heard: list[bool] = []
    sender = TransitionSender(SenderConfig(window=100), send, clock, reachable=lambda: bool(heard))
    for seq in range(20):
        sender.put(record(seq))
    heard.append(True)
    sender.poll()
    assert sent == [0, 1, 2]
    sender.poll()
    sender.acknowledge(6, 0, 100)
    assert sent == list(range(9))
    assert all(free)


def test_what_is_put_while_another_thread_sends_is_sent_by_that_one_in_order():
    sent: list[int] = []

    def send(entry):
        sent.append(entry.seq)
        if entry.seq < 3:
            thread = threading.Thread(target=lambda: sender.put(record(entry.seq + 1)))
            thread.start()
            thread.join(5.0)
            assert not thread.is_alive()

    sender = TransitionSender(SenderConfig(), send, Clock())
    sender.put(record(0))
    assert sent == [0, 1, 2, 3]


def test_relabels_go_the_way_of_records():
    sender, sent, _ = make()
    sender.put(record(0))
    sender.put(Relabel(b"s" * 16, 1, 0, 0, 1.0, True))
    sender.put(record(2))
    assert sent == [0, 1, 2]
    sender.acknowledge(1, 1, 100)
    assert sender.unacknowledged == 2


def test_the_witness_sees_an_entry_before_it_leaves_and_none_that_is_not_taken():
    events: list[tuple[str, int]] = []
    config = SenderConfig(memory_bytes=2 * SIZE)
    sender = TransitionSender(
        config,
        lambda entry: events.append(("sent", entry.seq)),
        Clock(),
        witness=FakeWitness(lambda entry: events.append(("seen", entry.seq))),
    )
    for seq in range(2):
        sender.put(record(seq))
    with pytest.raises(QueueFull):
        sender.put(record(2))
    assert events == [("seen", 0), ("sent", 0), ("seen", 1), ("sent", 1)]


def test_without_a_witness_nothing_is_taken():
    def refuse(entry):
        raise OSError(28, "No space left on device", "journal")

    sender = TransitionSender(
        SenderConfig(), lambda entry: None, Clock(), witness=FakeWitness(refuse)
    )
    with pytest.raises(QueueFull, match=r"record 0 .*No space left"):
        sender.put(record(0))
    assert sender.unacknowledged == 0


def test_case_14_credit_lets_the_actor_go_on_exactly_so_far():
    sender, _, _ = make()
    assert sender.wait_for_credit(0, timeout=0.0), "or the learner would never hear of it"
    assert not sender.wait_for_credit(1, timeout=0.0)
    sender.acknowledge(0, 0, credit=3)
    assert sender.wait_for_credit(2, timeout=0.0)
    assert not sender.wait_for_credit(3, timeout=0.0)


def test_credit_wakes_who_waits_for_it():
    sender, _, _ = make()
    timer = threading.Timer(0.05, lambda: sender.acknowledge(0, 0, 2))
    timer.start()
    assert sender.wait_for_credit(1, timeout=10.0)


@pytest.mark.parametrize("wait", ["wait_for_credit", "wait_until_received"])
def test_who_waits_hears_that_the_learner_forgot(wait):
    sender, _, _ = make()
    for seq in range(4):
        sender.put(record(seq))
    sender.acknowledge(4, 4, 4)
    timer = threading.Timer(0.05, lambda: sender.acknowledge(0, 0, 4))
    timer.start()
    with pytest.raises(LearnerForgot):
        getattr(sender, wait)(10, timeout=10.0)


CODEC = Codec(lambda entry: b"%4d" % entry.seq, lambda data: record(int(data)))


def run_lossy(
    directory: Path, seed: int, loss: float, count: int, send_down: Callable[[], bool]
) -> list[int]:
    """What a learner keeps that takes records in order, seals every third, and sometimes restarts
    without what it had not sealed. The actor has memory for four records, and a spill."""
    rng = random.Random(seed)
    clock, wire = Clock(), []
    spill = Spill(directory, "actor", 10**5, CODEC, segment_bytes=3 * SIZE)
    sender = TransitionSender(
        SenderConfig(window=5, memory_bytes=4 * SIZE, retry_period=1.0), wire.append, clock, spill
    )
    kept: list[int] = []
    put = 0
    for _ in range(40 * count):
        if put < count and rng.random() < 0.5:
            sender.put(record(put))
            put += 1
        clock.now += 0.3
        sender.poll()
        arrived, wire[:] = list(wire), []
        for message in arrived:
            if rng.random() >= loss and message.seq == len(kept):
                kept.append(message.seq)
        sealed = len(kept) - len(kept) % 3 if put < count or len(kept) < count else len(kept)
        if send_down() and rng.random() < 0.05:
            del kept[sealed:]
        if rng.random() >= loss:
            sender.acknowledge(len(kept), sealed, 10**6)
        if len(kept) == count and sender.unacknowledged == 0:
            break
    assert sender.disk_bytes <= 3 * SIZE
    spill.close()
    return kept


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.0, 0.6), st.booleans())
def test_exactly_once_over_a_lossy_wire_and_a_learner_that_restarts(seed, loss, restarts):
    with tempfile.TemporaryDirectory() as directory:
        kept = run_lossy(Path(directory), seed, loss, 20, lambda: restarts)
    assert kept == list(range(20))
