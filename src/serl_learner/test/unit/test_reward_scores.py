"""Rates worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from serl_learner.rewards.scores import BadScores, area, choose_threshold, count, roc, sweep

#                      solved: 1    1    0    1    0    0    0    0
PROBABILITY = np.array([0.95, 0.9, 0.8, 0.6, 0.6, 0.3, 0.2, 0.1])
SOLVED = np.array([1, 1, 0, 1, 0, 0, 0, 0], bool)


def test_counts_and_rates_at_a_threshold():
    counts = count(PROBABILITY, SOLVED, 0.7)
    assert (counts.true_positives, counts.false_positives) == (2, 1)
    assert (counts.false_negatives, counts.true_negatives) == (1, 4)
    assert counts.precision == pytest.approx(2 / 3)
    assert counts.recall == pytest.approx(2 / 3)
    assert counts.false_positive_rate == pytest.approx(1 / 5)


def test_a_probability_at_the_threshold_is_over_it():
    assert count(PROBABILITY, SOLVED, 0.6).true_positives == 3


def test_rates_that_do_not_exist_are_absent():
    assert count(PROBABILITY, SOLVED, 0.99).precision is None
    assert count(PROBABILITY, np.zeros(8, bool), 0.5).recall is None
    assert count(PROBABILITY, np.ones(8, bool), 0.5).false_positive_rate is None


def test_roc_by_hand():
    false, true = roc(PROBABILITY, SOLVED)
    np.testing.assert_allclose(false, [0, 0, 0, 0.2, 0.4, 0.6, 0.8, 1])
    np.testing.assert_allclose(true, np.array([0, 1, 2, 2, 3, 3, 3, 3]) / 3)
    # Of 15 pairs 13 are in order and one is tied.
    assert area(false, true) == pytest.approx(13.5 / 15)


def test_roc_of_perfect_and_of_no_information():
    assert area(*roc(SOLVED.astype(float), SOLVED)) == 1.0
    assert area(*roc(np.full(8, 0.5), SOLVED)) == pytest.approx(0.5)


def test_the_threshold_is_in_the_middle_of_those_that_find_most_and_keep_the_rate():
    assert choose_threshold(PROBABILITY, SOLVED, 0.2) == (0.75, True)  # 0.61 to 0.9 find two
    assert choose_threshold(PROBABILITY, SOLVED, 0.1) == (0.85, True)  # 0.81 to 0.9
    assert choose_threshold(PROBABILITY, SOLVED, 0.9) == (0.55, True)  # 0.5 to 0.6 find all three


def test_a_rate_that_cannot_be_kept_is_said():
    assert choose_threshold(np.array([1.0, 1.0]), np.array([True, False]), 0.1) == (0.99, False)


def test_one_sided_scores_are_refused():
    with pytest.raises(BadScores, match="8 positives and 0 negatives"):
        roc(PROBABILITY, np.ones(8, bool))
    with pytest.raises(BadScores, match="no negatives"):
        choose_threshold(PROBABILITY, np.ones(8, bool), 0.1)


def test_the_sweep_loses_recall_as_it_rises():
    recalls = [row.recall for row in sweep(PROBABILITY, SOLVED)]
    assert recalls == sorted(recalls, reverse=True)
