"""Imports that the README of 0.1.0 showed still work, and say what to write."""

import importlib

import pytest

from rmqalloc import evaluation as today


def test_what_the_first_readme_imported_works_with_a_warning():
    with pytest.warns(DeprecationWarning, match=r"is now rmqalloc\.evaluation; take ") as warned:
        from rmqalloc.whatif.plan import PlanSpec, plan_batch
    assert (PlanSpec, plan_batch) == (today.PlanSpec, today.plan_batch)
    assert {warning.filename for warning in warned} == {__file__}


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match=r"no attribute 'Outcomes'; rmqalloc\.evaluation has"):
        _ = importlib.import_module("rmqalloc.whatif.plan").Outcomes
