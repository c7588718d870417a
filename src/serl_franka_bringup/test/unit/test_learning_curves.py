"""Learning curves: the running success rate, and where it is found."""

import json

import numpy as np
import pytest

from serl_franka_bringup.learning_curves import draw, find_curve, running_success


def test_rate_is_taken_over_the_episodes_there_are_and_at_most_20():
    curve = [(10 * (i + 1), i >= 20) for i in range(40)]

    steps, rate = running_success(curve)

    assert steps[-1] == 400
    assert rate[19] == 0.0
    assert rate[24] == pytest.approx(5 / 20)
    assert rate[-1] == 1.0
    assert running_success([(7, True)])[1] == np.array([1.0])


def test_a_wrapped_result_is_found_and_drawn(tmp_path):
    file = tmp_path / "pcb-seed0.json"
    file.write_text(json.dumps({"figures": {"curve": [[100, False], [150, True]]}}))

    draw([file], tmp_path / "curve.png", level=0.5)

    assert (tmp_path / "curve.png").stat().st_size > 1000
    with pytest.raises(KeyError):
        find_curve({"figures": {}})


def test_seeds_of_a_row_share_their_place_in_the_legend(tmp_path, monkeypatch):
    files = [tmp_path / f"{row}-seed{seed}.json" for row in ("a", "b-c") for seed in (0, 1)]
    for file in files:
        file.write_text(json.dumps({"curve": [[100, False], [150, True]]}))
    labels = []
    monkeypatch.setattr(
        "matplotlib.axes.Axes.legend",
        lambda axes: labels.extend(axes.get_legend_handles_labels()[1]),
    )

    draw(files, tmp_path / "curve.png", level=None)

    assert labels == ["a", "b-c"]
