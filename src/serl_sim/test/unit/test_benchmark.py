"""Benchmarks run and say what they measured; how fast it was is not asserted."""

from __future__ import annotations

import pytest

from serl_sim import benchmark
from serl_sim.gl_backend import GLError


@pytest.mark.parametrize(
    "measure", [lambda: benchmark.lockstep_steps(20), benchmark.controlled_step]
)
def test_figures_are_complete(measure):
    check(measure())


def test_figures_of_images_are_complete(draws):
    if not draws:
        return
    rate, cost = benchmark.lockstep_steps_with_images(20)
    check(rate)
    check(cost)
    assert cost["unit"] == "ms"


def test_without_opengl_the_rest_is_measured(monkeypatch, capsys):
    def refuse(steps=0):
        raise GLError("nothing draws")

    row = {"name": "a"}
    monkeypatch.setattr(benchmark, "lockstep_steps", lambda: row)
    monkeypatch.setattr(benchmark, "controlled_step", lambda: row)
    monkeypatch.setattr(benchmark, "lockstep_steps_with_images", refuse)
    assert list(benchmark.run()) == [row, row]
    assert "no images: nothing draws" in capsys.readouterr().err


def check(row):
    assert set(row) == {"name", "value", "unit", "reference", "ratio"}
    assert row["value"] > 0.0
    assert row["reference"] > 0.0
    assert row["ratio"] > 0.0
