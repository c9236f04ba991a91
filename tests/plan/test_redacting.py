"""Redaction of tables: reading, plans, releases, and what hostile tables meet."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage import report
from seepage.errors import DomainError, InvalidInputError, SeepageError, TableError
from seepage.example import example_sequence_path
from seepage.plan.redacting import redact_table
from seepage.plan.redaction_comparison import available, compare_mechanisms, influence_table
from seepage.plan.redaction_files import (
    plans_text,
    read_chain,
    read_plans,
    table_bytes,
    write_plans,
)
from seepage.plan.redaction_fit import fit_table
from seepage.sequence import redact
from seepage.sequence.attack import simulate_attack
from seepage.sequence.chain import MarkovChain
from seepage.sequence.influence import influence
from seepage.tables.sequences import read_sequences

CHAIN = MarkovChain(np.array([[0.9, 0.1], [0.4, 0.6]]), states=("in", "out"))


def long_table(lengths=(6, 4, 6), position=2, seed=0):
    """Rows of several sequences, shuffled; one marked record in each."""
    rng = np.random.default_rng(seed)
    rows = []
    for i, n in enumerate(lengths):
        states = rng.choice(["in", "out"], n)
        rows += [(f"p{i}", t, str(states[t]), int(t == position), t * 1.5) for t in range(n)]
    order = rng.permutation(len(rows))
    columns = ("who", "time", "place", "protect", "other")
    return {name: [rows[i][j] for i in order] for j, name in enumerate(columns)}


def read_long(table, protect="auto", **options):
    return read_sequences(
        table, protect, sequence_id="who", order="time", state="place", **options
    )  # fmt: skip


def test_long_table_is_put_in_order():
    table = long_table()
    found = read_long(table)
    for name, values, hidden, rows in zip(
        found.ids, found.values, found.hidden, found.rows, strict=True
    ):
        mine = sorted(
            (t, s)
            for w, t, s in zip(table["who"], table["time"], table["place"], strict=True)
            if w == name
        )
        assert [s for _, s in mine] == list(values)
        assert hidden == (2,)
        assert found.frame["time"].gather(rows).to_list() == [t for t, _ in mine]
    assert found.frame["who"].is_sorted()
    assert any("sorted" in note for note in found.notes)
    assert any("'other'" in note for note in found.notes)
    assert found.frame.columns == ["who", "time", "place", "protect"]


def test_redacted_table_differs_in_the_redacted_records_only():
    table = long_table()
    result = redact_table(
        table, 1.0, chain=CHAIN, rng=1, sequence_id="who", order="time", state="place",
        keep=["other"],
    )  # fmt: skip
    frame = result.frame()
    before = pl.DataFrame(table).sort("who", "time")
    assert frame.drop("place").equals(before.select(frame.columns).drop("place"))
    gone = frame["place"].is_null()
    assert (frame["place"] == before["place"]).filter(~gone).all()
    assert gone.sum() == result.table.size - result.released
    assert frame.filter(pl.col("protect") == 1)["place"].is_null().all()
    assert [len(g.members) for g in result.groups] == [2, 1]
    assert sum(g.released for g in result.groups) == result.released
    assert result.keeps_promise


def test_plans_are_those_of_the_mechanism():
    for mechanism in ("certified", "optimal", "quilt", "data-independent", "published"):
        result = redact_table(
            {"place": ["in", "out", "in", "in", "out", "in", "in"]}, 0.8, protect=3, chain=CHAIN,
            mechanism=mechanism, apply=False,
        )  # fmt: skip
        expected = getattr(redact, mechanism.replace("-", "_"))(CHAIN, 7, 3, 0.8)
        assert np.array_equal(result.plans[0].redact_probability, expected.redact_probability)
        assert result.leakage == expected.leakage
        assert result.released is None
        with pytest.raises(InvalidInputError, match="plan only"):
            result.frame()


def test_wide_table_with_sequences_of_different_lengths():
    table = {
        "name": ["a", "b", "c"],
        "mon": ["in", "out", "in"],
        "tue": ["in", "in", "out"],
        "wed": ["out", None, "in"],
    }
    result = redact_table(
        table, 2.0, protect="tue", chain=CHAIN, sequence_id="name", state=["mon", "tue", "wed"],
        rng=3,
    )  # fmt: skip
    assert result.table.values == (("in", "in", "out"), ("out", "in"), ("in", "out", "in"))
    assert result.table.hidden == ((1,), (1,), (1,))
    assert sorted(len(g.members) for g in result.groups) == [1, 2]
    assert result.frame()["tue"].null_count() == 3
    assert result.frame().columns == list(table)
    named = read_sequences(
        {**table, "protect": ["wed", None, "mon"]}, "auto", sequence_id="name", wide=True
    )
    assert named.hidden == ((2,), (), (0,))
    chosen = read_sequences(
        {**table, "which": ["0", None, "2"]}, "which", state=["mon", "tue", "wed"],
        sequence_id="name",
    )  # fmt: skip
    assert chosen.hidden == ((0,), (), (2,))
    with pytest.raises(DomainError, match="'tue' of row 1"):
        read_sequences({"a": ["x"], "tue": [None], "c": ["x"]}, 0, wide=True)


def test_a_time_goes_before_a_position_of_the_same_name():
    wide = {"1": ["x"], "2": ["y"], "3": ["x"]}
    assert read_sequences(wide, "1", state=["1", "2", "3"]).hidden == ((0,),)
    assert read_sequences(wide, 1, wide=True).hidden == ((1,),)


def test_several_positions():
    assert read_sequences({"s": list("abab")}, "0,3").hidden == ((0, 3),)
    result = redact_table({"s": list("abababbaabaab")}, 1.0, protect=[2, 7], apply=False)
    assert result.columns()["position"] == [2, 7]
    assert any("together is not bounded" in note for note in result.notes)
    assert all(leak <= 1.0 for leak in result.columns()["leakage"])


def test_text_files_hold_texts_and_meet_typed_chains(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("day,wet\n2024-01-03,1\n2024-01-01, 0\n2024-01-02,1\n", encoding="utf-8")
    found = read_sequences(path, 1, order="day", state="wet")
    assert found.values == (("0", "1", "1"),)
    result = redact_table(
        path, 1.0, protect=1, chain=MarkovChain.binary(0.3, 0.4), order="day", state="wet", rng=0
    )
    assert result.keeps_promise
    written = result.frame()["wet"].to_list()
    assert written[2] is None
    assert {x for x in written if x is not None} <= {"0", "1"}


def test_plans_return_from_a_file(tmp_path):
    table = long_table()
    options = {"sequence_id": "who", "order": "time", "state": "place"}
    first = redact_table(table, 0.7, mechanism="certified", chain=CHAIN, apply=False, **options)
    write_plans(first.plans, tmp_path / "plans.json")
    again = redact_table(table, plan=tmp_path / "plans.json", protect="auto", rng=5, **options)
    assert again.leakage == first.leakage
    assert again.mechanism == "certified"
    same = redact_table(table, plan=first.plans, rng=5, **options)
    assert same.frame()["place"].equals(again.frame()["place"])
    assert len(read_plans(tmp_path / "plans.json")) == 2
    chain = read_chain(tmp_path / "plans.json")
    assert np.array_equal(chain.transition, CHAIN.transition)
    assert chain.states == CHAIN.states
    with pytest.raises(InvalidInputError, match="got no plan"):
        redact_table(long_table((5,)), plan=first.plans, rng=5, **options)
    judged = redact_table(table, 0.1, plan=first.plans, rng=5, **options)
    assert (judged.keeps_promise, first.keeps_promise) == (False, True)
    with pytest.raises(InvalidInputError, match="no chain with a plan"):
        redact_table(table, plan=first.plans, chain=CHAIN, **options)


def test_infinite_epsilon_returns_from_a_file(tmp_path):
    result = redact_table({"s": list("abbaabba")}, np.inf, protect=2, apply=False)
    write_plans(result.plans, tmp_path / "p.json")
    assert read_plans(tmp_path / "p.json")[0].epsilons == (np.inf,)


def test_plan_over_a_confidence_set_is_an_upper_bound_for_the_chain():
    values = CHAIN.simulate(2000, rng=4)
    table = {"s": [CHAIN.states[c] for c in values]}
    result = redact_table(table, 1.0, protect=1000, confidence=0.95, apply=False)
    assert result.standing == "upper"
    assert result.leakage <= 1.0
    plan = result.plans[0]
    from seepage.sequence.leakage import redaction_leakage

    assert redaction_leakage(CHAIN, plan.redact_probability, 1000).value <= result.leakage
    assert any("95%" in text for text in result.assumptions)


def test_second_order_data_are_told():
    rng = np.random.default_rng(1)
    states = [0, 0]
    for _ in range(1500):
        states.append(int(rng.random() < (0.9 if states[-2] else 0.1)))
    result = redact_table({"s": states}, 1.0, protect=700, apply=False)
    assert any("order 1 against 2" in note for note in result.notes)
    assert any("fit a chain to other data" in note for note in result.notes)
    assert any("order 1 against 2" in note for note in result.plans[0].notes)


def test_without_seed_draws_differ_and_say_release():
    result = redact_table(example_sequence_path(), 0.2, state="place", order="hour")
    other = redact_table(example_sequence_path(), 0.2, state="place", order="hour")
    assert not result.simulation
    hidden = [np.concatenate(r.hide).sum() for r in (result, other)]
    assert min(hidden) >= 1
    first, second = (redact_table(example_sequence_path(), 0.2, state="place", order="hour", rng=9)
                     for _ in range(2))  # fmt: skip
    assert first.simulation
    assert first.frame().equals(second.frame())


def test_many_sequences_have_draws_of_their_own():
    values = [["in", "out", "in", "in"] for _ in range(200)]
    table = {
        "who": [i for i in range(200) for _ in range(4)],
        "place": list(itertools.chain.from_iterable(values)),
    }
    # Redaction of a record with probability 1/2: 200 equal draws would have chance 2^-199.
    plan = redact.from_probabilities(CHAIN, [[1, 1], [0.5, 0.5], [0, 0], [0, 0]], 0)
    result = redact_table(table, plan=plan, rng=2, sequence_id="who")
    gone = sum(mask[1] for mask in result.hide)
    assert 60 < gone < 140  # 5.6 standard deviations: false alarm 2e-8
    assert result.keeps_promise is None


@settings(max_examples=15)
@given(
    st.lists(st.sampled_from("xyz"), min_size=3, max_size=14),
    st.data(),
    st.sampled_from([0.0, 0.1, 1.0, 3.0, np.inf]),
)
def test_every_plan_keeps_its_promise(states, data, epsilon):
    position = data.draw(st.integers(0, len(states) - 1))
    result = redact_table(
        {"s": states}, epsilon, protect=position, smoothing=0.5, states=["x", "y", "z"], rng=0
    )
    assert result.leakage <= epsilon
    assert result.frame()["s"][position] is None
    assert result.released + sum(mask.sum() for mask in result.hide) == len(states)


def test_limits_of_epsilon():
    states = {"s": list("aababbabaabbaaba")}
    nothing = redact_table(states, 0, protect=8, rng=1)
    assert nothing.leakage == 0
    assert nothing.released == 0  # dependent records: each tells something
    everything = redact_table(states, np.inf, protect=8, rng=1)
    assert everything.released == 15
    independent = MarkovChain(np.full((2, 2), 0.5), states=("a", "b"))
    free = redact_table(states, 0, protect=8, chain=independent, rng=1)
    assert (free.leakage, free.released) == (0, 15)


def test_zero_transition_and_length_one():
    chain = MarkovChain(np.array([[0.0, 1.0], [0.5, 0.5]]), states=("a", "b"))
    result = redact_table({"s": list("abbab")}, 1.0, protect=2, chain=chain, rng=1)
    assert result.leakage <= 1.0
    one = redact_table({"s": ["a"]}, 1.0, protect=0, chain=chain, rng=1)
    assert (one.leakage, one.released) == (0.0, 0)
    assert one.frame()["s"].to_list() == [None]
    with pytest.raises(InvalidInputError, match="two records or more"):
        redact_table({"s": ["a"]}, 1.0, protect=0)


def test_unprotected_sequences_are_released_whole():
    table = long_table((5, 5))
    table["protect"] = [
        int(p and w == "p0") for p, w in zip(table["protect"], table["who"], strict=True)
    ]
    result = redact_table(
        table, 1.0, chain=CHAIN, rng=0, sequence_id="who", order="time", state="place"
    )
    assert result.frame().filter(pl.col("who") == "p1")["place"].null_count() == 0
    assert any("released whole" in note for note in result.notes)
    assert result.expected == pytest.approx(5 + 5 * result.plans[0].utility)


ABA, OLD, BAD = {"s": ["a", "b", "a"]}, {"mechanism": "published"}, InvalidInputError


@pytest.mark.parametrize(
    ("table", "options", "error", "text"),
    [
        ({"s": []}, {"protect": 0}, TableError, "no record"),
        ({"s": ["a", None, "b"]}, {"protect": 0}, DomainError, "record 2"),
        ({"s": ["a", "b", "c"]}, {"protect": 0, "chain": CHAIN}, DomainError, "got 'a'"),
        ({"s": ["in", "ouT"]}, {"protect": 0, "chain": CHAIN}, DomainError, "mean 'out'"),
        (ABA, {"protect": 3}, BAD, "from 0 to 2"),
        (ABA, {"protect": -1}, BAD, "got -1"),
        (ABA, {"protect": True}, BAD, "got True"),
        (ABA, {"protect": []}, BAD, "got none"),
        (ABA, {"protect": "s"}, TableError, "none is left"),
        (ABA, {"protect": "t"}, TableError, "got 't'"),
        (ABA, {}, TableError, "name the column"),
        (ABA, {"protect": 0, "order": "x"}, TableError, "got 'x'"),
        ({"s": ["a", "b"], "t": [1, 1]}, {"protect": 0, "order": "t"}, TableError, "1 and 2"),
        ({"s": ["a", "b"], "t": [1, None]}, {"protect": 0, "order": "t"}, DomainError, "record 2"),
        ({"s": ["a", "b"], "t": [1, np.nan]}, {"protect": 0, "order": "t"}, DomainError, "ord 2"),
        ({"s": ["a", "b"], "t": ["x", "y"]}, {"protect": 0, "order": "t"}, TableError, "numbers"),
        ({"s": ["a", "b"], "private": [2, 0]}, {}, DomainError, "got 2"),
        ({"s": ["a", "b"], "private": [0, 0]}, {}, TableError, "got none"),
        ({"s": ["a", "b"], "u": ["a", "b"]}, {"protect": 0}, TableError, "--state"),
        ({"s": [["a"], ["b"]]}, {"protect": 0}, TableError, "'s'"),
        ({"s": ["a", 1]}, {"protect": 0}, TableError, "one type"),
        (ABA, {"protect": 0, "mechanism": "best"}, BAD, "'best'"),
        (ABA, {"protect": 0, "epsilon": -1.0}, BAD, "epsilon"),
        (ABA, {"protect": 0, "epsilon": np.nan}, BAD, "epsilon"),
        (ABA, {"protect": 0, "epsilon": [1.0, 2.0]}, BAD, "one epsilon"),
        (ABA, {"protect": 0, "smoothing": -1}, BAD, "smoothing"),
        ({"s": list("baba")}, {"protect": 0, "states": ["a", "b", "c"]}, BAD, "'c'"),
        ({"s": list("abbb")}, {"protect": 0}, DomainError, "got 'a' at position 0"),
        ({"s": list("aabab")}, {"protect": 0}, DomainError, "positions 0 to 1: take"),
        (ABA, {"protect": 0, "states": ["a"]}, DomainError, "got 'b'"),
        ({"s": ["in", "out"]}, {"protect": 0, "chain": CHAIN, "confidence": 0.9}, BAD, "conf"),
        ({"s": list("abaab")}, {"protect": 0, "confidence": 2.0}, BAD, "confidence"),
        ({"s": list("abaab")}, {"protect": 0, "confidence": 0.9} | OLD, BAD, "a set"),
        ({"s": list("abcab")}, {"protect": 0, "mechanism": "published"}, BAD, "two states"),
        (ABA, {"protect": 0, "plan": 3}, BAD, "got 3"),
        (17, {"protect": 0}, TableError, "got"),
    ],
)  # fmt: skip
def test_hostile_input_gets_a_typed_error(table, options, error, text):
    with pytest.raises(error, match=text.replace("(", "\\(")):
        redact_table(table, **options)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"transition": 3}', '{"transition": [[1, 2], [0, 1]]}', "nonsense",
     '{"chain": {"transition": [[0.5, 0.5], [0.5, 0.5]], "states": "ab"}}',
     '{"format": "seepage.redaction_plans", "version": 1, "plans": []}'],
)  # fmt: skip
def test_hostile_files(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    for read in (read_chain, read_plans):
        with pytest.raises(SeepageError):
            read(path)
    with pytest.raises(TableError):
        read_chain(tmp_path / "absent.json")


@pytest.mark.parametrize(
    "change",
    [
        {"redact_probability": [{"first": 0, "count": -1, "probability": [1, 1]}]},
        {"redact_probability": [{"first": 0, "count": 10**15, "probability": [1, 1]}]},
        {"redact_probability": [{"first": 0, "count": 8, "probability": 1}]},
        {"redact_probability": [{"first": 0, "count": 8, "probability": ["a", "b"]}]},
        {"redact_probability": [{"first": 0, "count": 8, "probability": [2, 0]}]},
        {"redact_probability": 3},
        {"n": 7},
        {"positions": [9]},
        {"positions": "a"},
        {"epsilons": ["x"]},
        {"epsilons": 1},
        {"chain": {"states": ["a", "b"], "transition": [[1], [0.5, 0.5]], "initial": None}},
        {"chain": 3},
        {"notes": None},
        {"chain_set": {"lower": 1}},
        {"unit": "bits"},
        {"epsilons": "1"},
        {"epsilons": [True]},
        {"epsilons": ["1"]},
        {"mechanism": None},
        {"version": True},
        {"notes": [1]},
        {"positions": [2.0]},
        {"chain": {"states": ["a", "b"], "transition": 0.5, "initial": None}},
        {"chain": {"states": "ab", "transition": [[0.5, 0.5], [0.5, 0.5]], "initial": None}},
    ],
)
def test_hostile_plans(tmp_path, change):
    result = redact_table({"s": list("abbaabba")}, 1.0, protect=2, apply=False)
    content = json.loads(result.plans[0].to_json())
    path = tmp_path / "p.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert read_plans(path)[0].leakage == result.leakage
    path.write_text(json.dumps(content | change), encoding="utf-8")
    with pytest.raises(SeepageError, match=r"^expected ") as caught:
        read_plans(path)
    assert "object is not" not in str(caught.value)  # no words of the interpreter


def test_entries_of_a_chain_file_are_known(tmp_path):
    path = tmp_path / "chain.json"
    P = [[0.5, 0.5], [0.5, 0.5]]
    path.write_text(json.dumps({"transition": P, "intial": [1, 0]}), encoding="utf-8")
    with pytest.raises(TableError, match=r"got 'intial'\. Did you mean 'initial'"):
        read_chain(path)
    path.write_text(json.dumps({"transitions": P}), encoding="utf-8")
    with pytest.raises(TableError, match="'transition'"):
        read_chain(path)
    path.write_text(json.dumps({"transition": P, "initial": None, "states": None}), "utf-8")
    assert read_chain(path).is_stationary


@pytest.mark.parametrize("how", ["chain", "plan"])
@pytest.mark.parametrize("also", [{"smoothing": 0.5}, {"mechanism": "optimal"}])
def test_what_would_be_ignored_is_refused(how, also):
    given = {"chain": CHAIN} if how == "chain" else {"plan": redact.certified(CHAIN, 5, 2, 1.0)}
    table = {"s": ["in", "out", "in", "in", "out"]}
    redact_table(table, protect=2, apply=False, smoothing=0.0, **given)
    if how == "chain" and "mechanism" in also:
        assert redact_table(table, protect=2, apply=False, **also, **given).mechanism == "optimal"
        return
    with pytest.raises(InvalidInputError, match=f"expected no {next(iter(also))} with a {how}"):
        redact_table(table, protect=2, **also, **given)


def test_minus_zero_is_zero():
    result = redact_table({"s": list("abbaabba")}, -0.0, protect=2, apply=False)
    assert "-0" not in result.verdict
    assert str(result.plans[0].epsilons) == "(0.0,)"
    judged = redact_table({"s": list("abbaabba")}, -0.0, plan=result.plans, apply=False)
    assert str(judged.plans[0].epsilons) == "(0.0,)"
    assert str(compare_mechanisms(CHAIN, 5, 2, [-0.0], ["certified"]).epsilons) == "(0.0,)"


@pytest.mark.parametrize(
    ("times", "told"),
    [
        (["2024-01-01", "2024-01-02", "2024-03-01", "2024-03-02"], "(1 to 59 days)"),
        (["2024/01/01", "2024/01/02", "2024/01/03", "2024/01/04"], None),
        (["2024-02-28", "2024-02-29", "2024-03-01", "2024-03-02"], None),  # a leap year
        (["2023-02-28", "2023-03-01", "2023-03-02", "2023-03-04"], "(1 to 2 days)"),
        (["2024-01-01 22:00", "2024-01-01 23:00", "2024-01-01 24:00", "2024-01-02 01:00"], None),
        (["2024-01-01 22:00", "2024-01-01 23:00", "2024-01-02 00:30", "2024-01-02 01:30"],
         "(1 to 1.5 hours)"),
        (["2024-01-01T00:00:00.25", "2024-01-01T00:00:00.50", "2024-01-01T00:00:00.75",
          "2024-01-01T00:00:01.50"], "(0.25 to 0.75 seconds)"),
        (["1", "2", "5", "6"], "(1 to 3)"),
    ],
)  # fmt: skip
def test_gaps_in_time_are_told(tmp_path, times, told):
    path = tmp_path / "days.csv"
    rows = [f"{t},{s}" for t, s in zip(times, "abab", strict=True)]
    path.write_text("\n".join(["t,s", *reversed(rows)]) + "\n", encoding="utf-8")
    found = read_sequences(path, 1, order="t", state="s")
    assert found.values == (tuple("abab"),)
    notes = [note for note in found.notes if note.startswith("Steps in column 't' differ ")]
    assert len(notes) == (told is not None)
    assert told is None or told in notes[0]


def test_gaps_are_those_of_a_typed_column(tmp_path):
    dates = ["2024-01-01", "2024-01-02", "2024-03-01", "2024-03-02"]
    frame = pl.DataFrame({"t": dates, "s": list("abab")})
    frame.write_csv(tmp_path / "x.csv")
    typed = frame.with_columns(pl.col("t").str.to_date())
    typed.write_parquet(tmp_path / "x.parquet")
    typed.with_columns(pl.col("t").cast(pl.Datetime("us"))).write_parquet(tmp_path / "y.parquet")
    notes = [
        read_sequences(tmp_path / name, 1, order="t", state="s").notes
        for name in ("x.csv", "x.parquet", "y.parquet")
    ]
    assert notes[0] == notes[1] == notes[2]
    assert any("(1 to 59 days)" in note for note in notes[0])


@pytest.mark.parametrize(
    "wrong", ["2024-02-30", "2024-31-05", "2024-01-01 24:01", "2024-01-01 10:75", "0000-01-01"]
)
def test_dates_must_exist(tmp_path, wrong):
    first = "2024-01-01 10:00"[: len(wrong)]
    path = tmp_path / "x.csv"
    path.write_text(f"t,s\n{first},a\n{wrong},b\n", encoding="utf-8")
    with pytest.raises(TableError, match=f"that exist, .* column 't', got '{wrong}'"):
        read_sequences(path, 1, order="t", state="s")
    digits = "0" * 19
    path.write_text(f"t,s\n{first[:10]} 10:00:00.{digits},a\n{first[:10]} 10:00:01.{digits},b\n")
    with pytest.raises(TableError, match="fewer digits"):
        read_sequences(path, 1, order="t", state="s")


@pytest.mark.parametrize(
    "options",
    [{"chain": 3}, {"states": "ab"}, {"states": []}, {"states": [["a"], "b"]}, {"rng": "x"},
     {"states": ["a", "a", "b"]}, {"confidence": "x"}, {"smoothing": "x"}, {"plan": []},
     {"epsilon": "x"}, {"epsilon": None, "mechanism": 3}, {"sequence_id": "s"}],
)  # fmt: skip
def test_hostile_parameters(options):
    with pytest.raises(SeepageError):
        redact_table({"s": list("abbaabba")}, protect=2, **options)


def test_example_is_what_the_script_says():
    frame = pl.read_csv(example_sequence_path())
    chain = MarkovChain(np.array([[0.88, 0.12], [0.3, 0.7]]), states=("home", "away"))
    codes = chain.simulate(336, rng=7)
    assert frame["place"].to_list() == [chain.states[c] for c in codes]
    assert frame["hour"].to_list() == list(range(336))
    assert np.flatnonzero(frame["opt_out"].to_numpy()).tolist() == [200]


def test_bytes_of_each_format():
    frame = pl.DataFrame({"s": ["a", None, "b"]})
    text = table_bytes(frame, ["s"], ".csv", kind="x, not y", marker="*").decode()
    assert text.splitlines()[1:] == [f'{s},"x, not y"' for s in ("a", "*", "b")]
    assert table_bytes(frame, ["s"], ".csv", kind="release").decode().splitlines() == [
        "s,(redaction)", "a,release", ",release", "b,release",
    ]  # fmt: skip
    with pytest.raises(InvalidInputError, match="no state"):
        table_bytes(frame, ["s"], ".csv", kind="release", marker="a")
    with pytest.raises(InvalidInputError, match="the chain has"):
        table_bytes(frame, ["s"], ".csv", kind="release", marker="c", labels=["a", "b", "c"])
    binary = table_bytes(frame, ["s"], ".parquet", kind="release")
    assert pl.read_parquet(binary).equals(frame)
    assert pl.read_parquet_metadata(binary)["seepage.kind"] == "release"
    assert pl.read_ipc(table_bytes(frame, ["s"], ".arrow", kind="release")).width == 2


def test_json_holds_no_records():
    result = redact_table(example_sequence_path(), 1.0, state="place", order="hour", rng=1)
    content = json.loads(result.to_json())
    assert content["released"] == result.released
    assert content["simulation"] is True
    assert content["groups"][0]["plan"]["positions"] == [200]
    assert len(result.to_json()) < 6000


def test_comparison_finds_the_goldens_of_the_published_mechanism():
    found = compare_mechanisms(MarkovChain.binary(0.01, 0.8), 10, 0, [2, 0.5, 1])
    assert found.epsilons == (0.5, 1, 2)
    assert found.leakages["published"] == pytest.approx((0.654546, 0.894507, 2.509670), abs=5e-7)
    assert found.utilities["published"] == pytest.approx((0.7437, 0.7777, 0.8854), abs=5e-5)
    assert found.utilities["data-independent"] == pytest.approx((0.7, 0.7, 0.8))
    assert found.broken == ("published",)
    for low, high in itertools.pairwise(("data-independent", "certified", "optimal")):
        assert all(
            a <= b + 1e-12 for a, b in zip(found.utilities[low], found.utilities[high], strict=True)
        )
    assert "31% more" in found.verdict
    assert len(found.to_frame()) == 15


def test_comparison_of_three_states_leaves_out_what_is_not_defined():
    chain = MarkovChain(np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]]))
    assert "published" not in available(chain)
    with pytest.raises(InvalidInputError, match="Did you mean 'quilt'"):
        compare_mechanisms(chain, 5, 0, [1.0], ["quilts"])
    with pytest.raises(InvalidInputError, match="got none"):
        compare_mechanisms(chain, 5, 0, [])
    found = compare_mechanisms(chain, 5, 2, [np.inf, 0.0], "certified")
    assert found.leakages["certified"][0] == 0
    assert found.broken == ()


def test_influence_of_a_part_is_that_of_the_whole():
    chain = MarkovChain(np.array([[0.8, 0.2], [0.3, 0.7]]), initial=[0.1, 0.9])
    first, part = influence_table(chain, 40, 20, 5)
    assert first == 15
    assert part == pytest.approx(influence(chain, 40, 20)[15:26], rel=1e-9)


def read_column(path: Path, name: str) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


@pytest.mark.parametrize("which", ["occupancy", "adl", "weather"])
def test_real_sequences(which, data_dir):
    """Fit, plan at three ε, apply, and attack: the attacker stays within the bound."""
    if which == "occupancy":
        with (data_dir / "occupancy" / "datatraining.txt").open(encoding="utf-8") as file:
            states = [row[-1] for row in csv.reader(file)][1:]
        mechanism, position = "certified", 4000
    elif which == "adl":
        states = read_column(data_dir / "adl" / "home_a_minutes.csv", "Bed_Pressure_Bedroom")
        mechanism, position = "data-independent", 10_000  # certified where it is fast
    else:
        rain = read_column(data_dir / "weather" / "seattle-weather.csv", "precipitation")
        states = ["wet" if float(x) > 0 else "dry" for x in rain]
        mechanism, position = "optimal", 700
    utilities = []
    for epsilon in (0.5, 1, 2):
        if which == "adl" and epsilon == 2:
            mechanism = "certified"
        result = redact_table(
            {"state": states}, epsilon, protect=position, mechanism=mechanism, rng=1
        )
        assert result.keeps_promise
        assert result.leakage <= epsilon
        assert result.frame()["state"][position] is None
        assert result.released < len(states)
        attack = simulate_attack(result.plans[0], 60, rng=2)
        assert attack.worst <= result.leakage + 1e-9
        utilities.append(result.plans[0].utility)
    assert utilities == sorted(utilities)
    rejected = any("order 1 against 2" in note for note in result.notes)
    assert rejected is (which != "adl")


def test_no_number_depends_on_the_protected_record():
    """Everything that is written is the same whatever the protected records were."""
    states = [CHAIN.states[c] for c in CHAIN.simulate(40, rng=6)]
    for positions in ([0], [20, 39]):
        found = set()
        for values in itertools.product(CHAIN.states, repeat=len(positions)):
            table = list(states)
            for t, value in zip(positions, values, strict=True):
                table[t] = value
            result = redact_table({"s": table}, 1.0, protect=positions, apply=False)
            found.add((result.to_json(), plans_text(result.plans), report.html(result, date="x")))
        assert len(found) == 1
        (texts,) = found
        for text in texts:
            assert "Keep this with the table" in text
        assert "transitions" not in (json.loads(texts[0])["fitted"] or {})


def test_fit_leaves_out_transitions_of_protected_records():
    table = read_sequences({"s": list("abbaababba")}, [3, 6])
    fitted, changing, _ = fit_table(table, None, 0.0)
    pairs = [(t, t + 1) for t in range(9) if not {t, t + 1} & {3, 6}]
    counts = [[sum(("abbaababba"[a], "abbaababba"[b]) == (x, y) for a, b in pairs) for y in "ab"]
              for x in "ab"]  # fmt: skip
    assert fitted.transitions.tolist() == counts
    free = read_sequences({"s": list("abbaababbaabbbabaabb")})
    whole, halves, _ = fit_table(free, None, 0.0)
    expected = whole.stationarity_test()
    assert halves.statistic == pytest.approx(expected.statistic, rel=1e-12)
    assert (halves.degrees, changing.hypothesis) == (expected.degrees, expected.hypothesis)


def test_marks_of_the_table_must_agree_with_a_plan():
    plan = redact.certified(CHAIN, 6, 2, 1.0)
    states = ["in", "out", "in", "in", "out", "in"]
    good = {"s": states, "opt_out": [0, 0, 1, 0, 0, 0]}
    assert redact_table(good, plan=plan, rng=1).table.hidden == ((2,),)
    with pytest.raises(InvalidInputError, match="got no plan"):
        redact_table(good | {"opt_out": [0, 0, 0, 0, 1, 0]}, plan=plan)
    with pytest.raises(InvalidInputError, match="what is protected"):
        redact_table(read_sequences({"s": states}), 1.0, chain=CHAIN)
    unmarked = redact_table({"s": states}, plan=plan, rng=1)
    assert any("No column marks" in note for note in unmarked.notes)
    assert unmarked.frame()["s"][2] is None


def test_rows_are_written_in_the_order_of_time_whatever_their_order_was():
    table = long_table((5, 7))
    options = {"sequence_id": "who", "order": "time", "state": "place", "chain": CHAIN, "rng": 4}
    frame = pl.DataFrame(table)
    written = [
        redact_table(rows, 0.3, **options).frame()
        for rows in (frame, frame.sort("place"), frame.sort("place", descending=True))
    ]
    assert written[0].equals(written[1])
    assert written[0].equals(written[2])
    numbers = {"who": [10, 2, 10, 2], "t": [1, 1, 0, 0], "s": ["a", "b", "a", "b"]}
    found = read_sequences(numbers, sequence_id="who", order="t", state="s")
    assert found.frame["who"].to_list() == [2, 2, 10, 10]


def test_protected_column_of_a_wide_table_is_no_time_unless_listed():
    wide = {"a": ["x", "y"], "b": ["y", "y"], "c": ["x", "x"]}
    found = read_sequences(wide | {"who": ["b", "c"]}, "who", wide=True)
    assert found.state_columns == ("a", "b", "c")
    assert found.hidden == ((1,), (2,))
    assert read_sequences(wide | {"private": ["2", "0"]}, wide=True, protect="auto").hidden == (
        (2,), (0,),
    )  # fmt: skip
    with pytest.raises(DomainError, match="--state A,B"):
        read_sequences(wide, "b", wide=True)
    with pytest.raises(DomainError, match="--state A,B"):
        read_sequences({"a": [3, 2], "b": [2, 2], "c": [2, 2]}, "a", wide=True)


@pytest.mark.parametrize("flags", [["1", "0"], [1, 1], [0, None]])
def test_flags_of_a_wide_table_are_no_positions(flags):
    wide = {"a": ["x", "y"], "b": ["y", "y"], "opt_out": flags}
    with pytest.raises(DomainError, match="may be flags"):
        read_sequences(wide, "auto", wide=True)


def test_impossible_sequences_are_refused_and_unseen_transitions_told():
    chain = MarkovChain(np.array([[0.0, 1.0], [0.5, 0.5]]), states=("a", "b"))
    with pytest.raises(DomainError, match="at positions 1 to 2, 2 to 3: "):
        redact_table({"s": list("baaab")}, 1.0, protect=0, chain=chain)
    start = MarkovChain(chain.transition, [0.0, 1.0], ("a", "b"))
    with pytest.raises(DomainError, match="'a' as its first record"):
        redact_table({"s": list("abb")}, 1.0, protect=0, chain=start)
    told = redact_table({"s": list("abababab")}, 1.0, protect=4, apply=False)
    assert any("2 of 4 transitions were never seen" in note for note in told.notes)
    told = redact_table({"s": list("abababab")}, 1.0, protect=4, smoothing=1, apply=False)
    assert not any("never seen" in note for note in told.notes)


def test_kind_says_what_a_release_is():
    values = {"s": ["in", "out", "in", "in", "out", "in", "in", "out", "out", "in"]}
    assert redact_table(values, 1.0, protect=4, chain=CHAIN).kind == "release"
    fitted = redact_table(values, 1.0, protect=4, apply=True)
    assert fitted.kind == "release, chain fitted to this table"
    again = redact_table(values, plan=fitted.plans)
    assert again.kind == "release, chain fitted to the table of the plan"
    loose = redact.from_probabilities(CHAIN, np.eye(10)[:, [4, 4]], 4)
    assert redact_table(values, plan=loose).kind == "release without an ε"
    assert redact_table(values, 0.1, plan=loose).kind == "release above ε"
    assert redact_table(values, 0.1, plan=loose, rng=1).kind == "simulation, not a release"
    assert redact_table(values, 0.1, plan=loose, apply=False).kind == "plan only, nothing drawn"
