"""What corrections are worth: when the level is kept, and how much of it a person drove."""

from __future__ import annotations

import json

import numpy as np
import pytest

from serl_franka_bringup import correction_curves
from serl_franka_bringup.correction_curves import COMPARED, read_course, read_courses, table
from serl_franka_bringup.results_table import ROWS


def write(directory, row, seed, rates, driven=None, steps=10):
    """A result with an evaluation every 250 steps, and episodes of `steps` steps."""
    episodes = 30 if driven is None else len(driven)
    figures = {
        "successes": 48,
        "evaluation_episodes": 50,
        "curve": [[steps * (i + 1), True] for i in range(episodes)],
        "evaluations": [
            {"env_steps": 250 * (i + 1), "success_sampled": rate} for i, rate in enumerate(rates)
        ],
    }
    if driven is not None:
        figures["corrections"] = [[int(count > 0), count] for count in driven]
    path = directory / f"{row}-seed{seed}.json"
    path.write_text(json.dumps({"seed": seed, "figures": figures}))
    return path


@pytest.mark.parametrize(
    ("rates", "reached"),
    [
        ((0.0, 0.5, 0.9, 1.0), 750),
        ((0.9, 0.85, 0.9, 0.95), 750),  # once is luck
        ((0.0, 0.5, 0.85, 0.9), 1000),  # the last has no next one
        ((0.0, 0.5), None),
        ((), None),
    ],
)
def test_the_level_is_reached_where_it_is_kept(tmp_path, rates, reached):
    assert read_course(write(tmp_path, "pcb-hil", 0, rates)).reached == reached


def test_the_persons_share_is_that_of_the_last_twenty_episodes(tmp_path):
    course = read_course(write(tmp_path, "pcb-hil", 0, (1.0,), driven=[8] * 10 + [2] * 20))
    ends, share = course.share()
    assert ends[-1] == 300
    np.testing.assert_allclose(share[[0, 9, 19, 29]], [0.8, 0.8, 0.5, 0.2])


def test_seeds_stand_in_order_and_rows_that_were_not_measured_are_left_out(tmp_path):
    write(tmp_path, "pcb-hil", 10, (0.5, 0.5), driven=[5] * 40)
    write(tmp_path, "pcb-hil", 2, (0.9, 0.9), driven=[8] * 20 + [0] * 20)
    write(tmp_path, "pcb-hil-none", 2, (0.0, 0.95))
    write(tmp_path, "pcb-hil-warm-start", 2, (1.0, 1.0), driven=[0] * 20)
    lines = [line.strip("| ").split(" | ") for line in table(read_courses(tmp_path)).splitlines()]
    assert lines[2][1:] == ["`pcb-hil-none`", "500", "48/50", "-"]
    assert lines[3][1:] == ["`pcb-hil`", "250, never", "48/50, 48/50", "80% -> 0%, 50% -> 50%"]
    assert [line[1] for line in lines[2:]] == [
        "`pcb-hil-none`",
        "`pcb-hil`",
        "`pcb-hil-warm-start`",
    ]


def test_what_is_compared_are_rows():
    assert COMPARED.keys() <= ROWS.keys()


def test_it_draws_and_prints(tmp_path, monkeypatch, capsys):
    write(tmp_path, "pcb-hil", 0, (0.2, 0.9), driven=[8] * 20 + [0] * 20)
    write(tmp_path, "pcb-hil-none", 0, (0.0, 0.1))
    out = tmp_path / "out" / "hil.png"
    monkeypatch.setattr("sys.argv", ["correction_curves", str(tmp_path), "--out", str(out)])
    correction_curves.main()
    assert out.stat().st_size > 1000
    assert "RLPD with corrections" in capsys.readouterr().out


def test_what_is_none_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "pcb-hil-seed0.json").write_text('{"seed": 0, "figures": {"curve": []}}')
    with pytest.raises(ValueError, match=r"pcb-hil-seed0.json .*evaluations"):
        read_courses(tmp_path)
    monkeypatch.setattr("sys.argv", ["correction_curves", str(tmp_path / "x"), "--out", "y"])
    with pytest.raises(SystemExit):
        correction_curves.main()
    assert "holds no result of pcb-hil-none" in capsys.readouterr().err
