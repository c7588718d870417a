"""The comparison table: counts, intervals and the step at which a method is good enough."""

from __future__ import annotations

import json

import pytest

from serl_franka_bringup import cli
from serl_franka_bringup.comparison import (
    HEADER,
    STATE,
    VISION,
    read_trial,
    steps_to_level,
    table,
)
from serl_franka_bringup.results_table import ROWS


def write(directory, row: str, seed: int, successes: int, curve=None):
    figures = {"successes": successes, "evaluation_episodes": 50}
    if curve is not None:
        figures["curve"] = curve
    content = {"name": row, "seed": seed, "wall_s": 300.4 + seed, "figures": figures}
    (directory / f"{row}-seed{seed}.json").write_text(json.dumps(content))


def curve(failures: int, successes: int):
    """Episodes of 10 steps each: first so many failures, then successes."""
    return [[10 * (i + 1), i >= failures] for i in range(failures + successes)]


@pytest.mark.parametrize(
    ("episodes", "reached"),
    [
        (curve(5, 30), 230),  # 18 of 20 after 23 episodes
        (curve(0, 30), 200),  # not before 20 episodes
        (curve(5, 17), None),
        (curve(0, 19), None),
        ([], None),
    ],
)
def test_the_level_is_that_of_twenty_episodes(episodes, reached):
    assert steps_to_level(episodes) == reached


def test_seeds_are_pooled_with_their_interval(tmp_path):
    for seed, successes in enumerate((50, 49, 48)):
        write(tmp_path, "pcb-rlpd", seed, successes, curve(5, 30) if seed else curve(30, 5))
    write(tmp_path, "pcb-bc", 0, 19)
    header, _, rlpd, cloning = table(tmp_path).splitlines()
    assert [cell.strip() for cell in header.strip("|").split("|")] == list(HEADER)
    cells = [cell.strip() for cell in rlpd.strip("|").split("|")]
    assert cells[1:] == [
        "`./serl results pcb-rlpd --seed N`",
        "50/50, 49/50, 48/50",
        "147/150 = 98% (94%-99%)",
        "never, 230, 230",
        "300, 301, 302",
    ]
    assert "19/50 = 38% (26%-52%) | - |" in cloning


def test_rows_are_those_that_can_be_run():
    assert set(STATE) | set(VISION) <= set(ROWS)


def test_state_rows_learn_from_the_state_and_vision_rows_from_images():
    itself = ("pcb-vision-crops", "pcb-realtime", "pcb-reward-adversarial")  # knows what it sees
    for name in ROWS:
        if not name.startswith("pcb-") or name in itself:
            continue
        words = " ".join(ROWS[name].command)
        images = "observation image" in words or "observation:=image" in words
        assert images == name.startswith("pcb-vision")
        assert images != ("--state" in words or "--observation state" in words)


def test_another_file_is_named(tmp_path):
    path = tmp_path / "pcb-rlpd-seed0.json"
    path.write_text("{}")
    with pytest.raises(ValueError, match=r"pcb-rlpd-seed0.json holds no result"):
        read_trial(path)


def test_the_verb_prints_the_table_of_a_directory(tmp_path, capsys):
    write(tmp_path, "pcb-utd1", 2, 31, curve(5, 5))
    write(tmp_path, "pcb-vision-k1", 1, 47, curve(0, 30))
    assert cli.main(["results", "--table", "--out", str(tmp_path)]) == 0
    state, vision = capsys.readouterr().out.strip().split("\n\n")
    assert "| 31/50 | 31/50 = 62% (48%-74%) | never | 302 |" in state
    assert "`./serl results pcb-vision-k1 --seed N` | 47/50 |" in vision
    assert "vision" not in state
    assert "utd1" not in vision
