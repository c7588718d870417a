from __future__ import annotations

import io

from rich.console import Console

from serl_franka_bringup import view
from serl_franka_bringup.progress import Progress, Status


def progress() -> Progress:
    known = Progress(0.0)
    known.add_metrics("actor", {"actor/env_steps": 1234.0, "success_last_20": 0.95})
    known.add_metrics("learner", {"updates": 4936.0})
    known.add_status("actor", Status("training", driver="policy"))
    known.add_status("learner", Status("training", waiting_for="transitions"))
    return known


def test_the_line_says_phase_driver_figures_and_who_waits():
    text = view.line(progress(), 61.0)
    assert text.startswith("[   61 s] training, policy drives | env steps 1,234")
    assert "success of last 20 95%" in text
    assert "updates 4,936" in text
    assert text.endswith("learner waits for transitions")


def test_what_is_not_known_yet_is_not_shown():
    assert view.line(Progress(0.0), 0.0) == "[    0 s] starting"


def test_newer_metrics_replace_older_ones_and_keep_the_others():
    known = progress()
    known.add_metrics("actor", {"env_steps": 1300.0})
    assert known.value("actor/env_steps") == 1300.0
    assert known.value("actor/success_last_20") == 0.95
    assert known.value("actor/nothing") is None


def test_the_panel_shows_the_same_on_a_terminal():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120)
    with view.LiveView(progress(), console) as live:
        live.say("sim died [bold]")
    text = stream.getvalue()
    for part in ("1,234", "95%", "waits for transitions", "sim died [bold]"):
        assert part in text


def test_the_panel_keeps_the_result_of_a_job_for_afterwards():
    stream = io.StringIO()
    known = progress()
    known.add_status("actor", Status("done", detail='{"success": 1.0}'))
    with view.LiveView(known, Console(file=stream, force_terminal=True, width=120)):
        pass
    assert "success" in stream.getvalue()  # of the last 20
    assert '{"success"' not in stream.getvalue()


def test_a_stream_that_is_no_terminal_gets_plain_lines():
    stream = io.StringIO()
    with view.open_view(progress(), stream) as plain:
        plain.update()
        plain.update()  # too soon for another
    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()
