"""The benchmark runs and leaves the data alone; what it measures is not judged here."""

from __future__ import annotations

import numpy as np
from conftest import JOINTS, MOTORS

from serl_controllers import tick_benchmark
from serl_controllers.benchmark import controlled_step


def test_controlled_step_reports_both_times(bench):
    before = bench.data.qpos.copy()
    result = controlled_step(
        bench.model, bench.data, "tcp", JOINTS, MOTORS, target=bench.tcp, ticks=20, rounds=3
    )
    assert set(result) == {"name", "value", "unit", "reference", "ratio"}
    assert min(result["value"], result["reference"], result["ratio"]) > 0
    np.testing.assert_array_equal(bench.data.qpos, before)


def test_the_law_has_its_figures_and_does_not_allocate():
    rows = {row["name"]: row for row in tick_benchmark.run()}
    median, tail = rows["controller/law_median"], rows["controller/law_p999"]
    assert 0 < median["value"] <= tail["value"]
    assert median["ratio"] == median["value"] / tick_benchmark.LAW_LIMIT
    assert rows["controller/law_allocations"]["value"] == 0
