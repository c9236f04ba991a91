"""Real files, with the facts that are known about them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from seepage.errors import DomainError, TableError
from seepage.tables import domain_from_yaml, domain_to_yaml, load

ADULT = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status"),
    *("occupation", "relationship", "race", "sex", "capital-gain", "capital-loss"),
    *("hours-per-week", "native-country", "income"),
)


def adult(data_dir, **options):
    files = [data_dir / "adult" / "adult.data", data_dir / "adult" / "adult.test"]
    options = {"null_values": ["?"]} | options
    return load(files, header=False, names=ADULT, strip=".", **options)


def test_adult(data_dir):
    table = adult(data_dir)
    assert table.codes.shape == (48_842, 15)
    assert table.domain["income"].categories == ("<=50K", ">50K")
    assert table.source == "adult.data + adult.test"
    counts = table.counts()
    frames = [
        pd.read_csv(data_dir / "adult" / name, names=ADULT, skipinitialspace=True, na_values="?")
        for name in ("adult.data", "adult.test")
    ]
    frame = pd.concat(frames, ignore_index=True)
    frame["income"] = frame["income"].str.rstrip(".")
    for first, second in [("sex", "relationship"), ("race", "native-country")]:
        expected = pd.crosstab(
            frame[first].fillna("(missing)"), frame[second].fillna("(missing)")
        ).loc[list(table.domain[first].categories), list(table.domain[second].categories)]
        assert np.array_equal(counts.table(first, second), expected.to_numpy())
    ages, _ = np.histogram(frame["age"], 10)
    assert counts.single("age").values.tolist() == ages.tolist()
    weights, _ = np.histogram(frame["fnlwgt"], 10)
    assert counts.single("fnlwgt").values.tolist() == weights.tolist()


def test_adult_complete_rows_and_weights(data_dir):
    complete = adult(data_dir, missing="drop")
    assert complete.size == 45_222
    assert (complete.counts().table("sex", "relationship") == 1).sum() == 2
    assert (complete.counts().table("race", "native-country") == 0).sum() == 84
    weighted = adult(data_dir, weights="fnlwgt")
    assert "fnlwgt" not in weighted.domain
    assert weighted.counts().total == int(weighted.weights.sum())
    declared = domain_from_yaml(domain_to_yaml(complete.domain))
    assert adult(data_dir, missing="drop", domain=declared).counts() == complete.counts()
    with pytest.raises(DomainError, match="'workclass', got 2,799"):
        adult(data_dir, domain=declared)
    assert any("'?' often means missing" in note for note in adult(data_dir, null_values=()).notes)


def test_acs(data_dir):
    path = data_dir / "acs" / "national2019.csv"
    table = load(path, null_values=["N"], weights="PWGTP", bins={"INDP": "none", "DENSITY": "none"})
    assert table.codes.shape == (27_253, 23)
    determined = table.counts().table("INDP", "INDP_CAT")
    assert ((determined > 0).sum(axis=1) <= 1).all()
    density = table.counts().table("PUMA", "DENSITY")
    assert ((density > 0).sum(axis=1) <= 1).all()
    assert table.domain["MSP"].missing == "(missing)"


def test_nursery(data_dir):
    table = load(data_dir / "nursery" / "nursery.data", header=False)
    assert table.codes.shape == (12_960, 9)
    assert table.domain.names[0] == "column_1"
    inputs = table.domain.names[:8]
    counts = table.counts()
    for i, first in enumerate(inputs):
        for second in inputs[:i]:
            assert len(np.unique(counts.table(first, second))) == 1


def test_acs_employment(data_dir):
    path = data_dir / "acs_employment" / "acs_employment.csv"
    names = pd.read_csv(path, nrows=0).columns
    table = load(path, bins=dict.fromkeys(names, "none"))
    assert table.codes.shape == (10_336, 18)
    assert (min(table.domain.shape), max(table.domain.shape)) == (2, 92)


def test_occupancy(data_dir):
    folder = data_dir / "occupancy"
    with pytest.raises(TableError, match=r"7 fields, as in the header.*got 8 in line 2.*8 column"):
        load(folder / "datatest2.txt")
    names = ["id", "date", "Temperature", "Humidity", "Light", "CO2", "HumidityRatio", "Occupancy"]
    second = load(folder / "datatest2.txt", names=names, exclude=["id", "date"])
    assert second.codes.shape == (9_752, 6)
    first = load(folder / "datatraining.txt", exclude=["id", "date"])
    assert first.size == 8_143
    assert first.domain["Occupancy"].categories == (0, 1)


def test_weather(data_dir):
    table = load(
        data_dir / "weather" / "seattle-weather.csv",
        exclude=["date"],
        bins={"precipitation": [0, 1e-9, float("inf")]},
    )
    wet = table.codes[:, table.domain.position("precipitation")]
    chain = np.zeros((2, 2), dtype=int)
    np.add.at(chain, (wet[:-1], wet[1:]), 1)
    assert chain.tolist() == [[633, 204], [204, 419]]
