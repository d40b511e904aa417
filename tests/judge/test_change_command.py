"""`evenhand change`: a published claim has both values, and no interval better than is known."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from judge.cli import main


def change(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["change", *arguments])


SAID = {
    "shares": (
        ("71%", "42%"),
        ["40.8 % relative (71 % → 42 %)", "drop 29.0 points", "No interval"],
    ),
    "apart": (("71 %", "42 %"), ["40.8 % relative (71 % → 42 %)"]),
    "grades": (
        ("6.05", "5.46"),
        ["9.8 % relative (6.05 → 5.46)", "drop 0.59 (same units)", "No interval", "Grades begin"],
    ),
    "nothing before": (
        ("0%", "10%"),
        ["relative reduction not defined: the first value is 0 (0 % → 10 %)", "drop −10.0 points"],
    ),
    "counts": (
        ("71/100", "42/100"),
        ["40.8 % relative (71 % → 42 %), 95 % interval 23.1 to 54.5 % (log risk ratio)",
         "The intervals take the two sets of items as independent."],
    ),
    "all gone": (("20/50", "0/50"), ["100.0 % relative (40 % → 0 %), 95 % interval 81.2 to"]),
    "more counts": (
        ("10/100", "20/100"),
        ["−100.0 % relative (10 % → 20 %), 95 % interval −305.4 to 1.3 % (log risk ratio)",
         "drop −10.0 points, 95 % interval −19.9 to 0.0 (MOVER, from both intervals)"],
    ),
    "as given": (("71.25%", "40.0%"), ["43.9 % relative (71.25 % → 40.0 %)"]),
    "better grades": (("5", "6"), ["−20.0 % relative (5 → 6)", "drop −1.00 (same units)"]),
    "large": (("1234", "1000"), ["19.0 % relative (1234 → 1000)"]),
    "all": (("50/50", "50/50"), ["0.0 % relative (100 % → 100 %), 95 % interval −7.7 to 7.1 %"]),
    "more": (("10%", "20%"), ["−100.0 % relative (10 % → 20 %)"]),
}  # fmt: skip


@pytest.mark.parametrize("case", SAID.values(), ids=SAID)
def test_a_claim_in_words(case: tuple[tuple[str, str], list[str]]) -> None:
    arguments, lines = case
    done = change(*arguments)
    assert done.exit_code == 0, done.output
    for line in lines:
        assert line in done.stdout
    assert "hypothetical" not in done.stdout
    assert ("interval " in done.stdout.replace("No interval", "")) == ("/" in arguments[0])


def test_a_supposed_n_is_called_hypothetical_on_every_line() -> None:
    done = change("71%", "42%", "--suppose-n", "100")
    first, second, last = done.stdout.splitlines()
    # As golden.json has it for 71 and 42 of 100.
    assert first == (
        "40.8 % relative (71 % → 42 %), hypothetical 95 % interval 23.1 to 54.5 % (log risk ratio)"
    )
    assert second.startswith("drop 29.0 points, hypothetical 95 % interval 15.3 to 41.2 (")
    assert last.startswith("The intervals are hypothetical")
    assert "100 items for each value" in last


def test_a_share_that_is_no_whole_count_of_the_supposed_n_stays_as_given() -> None:
    done = change("33.3%", "10%", "--suppose-n", "10")
    assert done.stdout.startswith("70.0 % relative (33.3 % → 10 %)")


MANY = "9" * 400
REFUSED = {
    "no number": (
        ("x", "3"),
        "x: expected a share (71%), a count of its total (71/100), or a grade",
    ),
    "two kinds": (("71%", "42"), "expected two values of one kind"),
    "count and share": (("71/100", "42%"), "expected two values of one kind"),
    "over 100": (("110%", "3%"), "110%: a share is at most 100 %"),
    "more than all": (("7/5", "1/5"), "7/5: expected a count of at most its total"),
    "of none": (("0/0", "1/5"), "0/0: expected a count of at most its total"),
    "halves": (("1.5/5", "1/5"), "1.5/5: expected a count of at most its total"),
    "no sign": (("0.71", "0.42"), "0.71: a share needs its sign (71%)"),
    "counts with n": (
        ("1/5", "1/5", "--suppose-n", "9"),
        "1/5 has its own N; leave the option out",
    ),
    "grades with n": (("6", "5", "--suppose-n", "9"), "needs the single grades"),
    "less than one": (
        ("71%", "0.5%", "--suppose-n", "10"),
        "0.5 % of 10 is less than one item; expected 200 or more",
    ),
    "other digits": (("٧١%", "42%"), "expected a share"),
    "nothing": (("", "42%"), "expected a share"),
    "many digits": ((MANY, "5"), "expected a share"),
    "of many digits": ((f"1/{MANY}", "1/2"), "expected a share"),
    "n of 0": (("71%", "42%", "--suppose-n", "0"), "0 is not in the range"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_is_no_claim_is_refused(case: tuple[tuple[str, ...], str]) -> None:
    arguments, words = case
    done = change(*arguments)
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())
    assert "Traceback" not in done.output
