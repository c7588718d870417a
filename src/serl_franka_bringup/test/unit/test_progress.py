"""What a session concludes from metrics and statuses."""

from __future__ import annotations

from serl_franka_bringup.progress import Progress, Status


def test_work_grows_only_beyond_what_was_reached_before():
    progress = Progress(0.0)
    progress.add_metrics("learner", {"learner/updates": 80.0, "learner/q": 0.3})
    first = progress.work
    assert first > 0
    for again in (80.0, 0.0, 64.0, 80.0):  # a restart falls back to its checkpoint
        progress.add_metrics("learner", {"learner/updates": again})
    assert progress.work == first
    progress.add_metrics("learner", {"updates": 88.0})
    assert progress.work > first


def test_other_metrics_are_no_work():
    progress = Progress(0.0)
    for value in (1.0, 2.0, 3.0):
        progress.add_metrics("actor", {"actor/policy_age": value, "actor/unacknowledged": value})
    assert progress.work == 0


def test_a_node_is_up_when_it_spoke_since_it_was_started():
    progress = Progress(0.0)
    assert not progress.is_up("sim", 0.0)
    progress.add_status("sim", Status("running", received_at=5.0))
    assert progress.is_up("sim", 4.0)
    assert not progress.is_up("sim", 6.0)
    progress.add_status("sim", Status("failed", received_at=7.0))
    assert not progress.is_up("sim", 6.0)
