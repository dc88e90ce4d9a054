"""Without these, the class that is timed could be one that no course has."""

import random

from p4lab.bench import grading
from p4lab.grading.course import load


def test_the_class_is_the_same_every_time_and_nobody_is_like_another():
    solution = load(grading.LAB).sources["bier/bier.p4"]
    first, second = (
        [grading.variant(solution, chance) for _ in range(30)]
        for chance in (random.Random(1), random.Random(1))
    )
    assert first == second
    assert len({*first, solution}) == 31


def test_a_class_is_graded_and_timed():
    heard: list[str] = []
    took, rate = grading.grading(0, heard.append, submissions=6)
    assert took.goal == 30 and took.at_most and took.value > 0
    assert rate.value == 6 / took.value
    assert heard[-1] == "grading: 6 of 6"
    right = int(took.name.split()[2])
    assert 0 < right < 6
