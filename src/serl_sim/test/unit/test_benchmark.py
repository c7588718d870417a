"""Benchmarks run and say what they measured; how fast it was is not asserted."""

from __future__ import annotations

import pytest

from serl_sim import benchmark


@pytest.mark.parametrize(
    "measure", [lambda: benchmark.lockstep_steps(20), benchmark.controlled_step]
)
def test_figures_are_complete(measure):
    result = measure()
    assert set(result) == {"name", "value", "unit", "reference", "ratio"}
    assert result["value"] > 0.0
    assert result["reference"] > 0.0
    assert result["ratio"] > 0.0
