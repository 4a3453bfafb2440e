"""Compare test losses at equal settings on real numeric tables: ``python -m bench.equal_settings``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import numpy as np

from bench import machine
from bench.contestants import Contestant, LightGBM, Sapwood, ScikitLearn, XGBoost
from bench.data import ROOT, Table, UnavailableError
from bench.measures import held_out_loss
from bench.run import Record
from bench.workloads import Settings

MAX_ROWS = 60_000
SEEDS = (0, 1, 2)
CONTESTANTS: list[type[Contestant]] = [LightGBM, Sapwood, XGBoost, ScikitLearn]

TABLES = [
    Table("higgs_7k", positive=1),
    Table("credit_default", positive=1),
    Table("bank_marketing", positive="yes"),
    Table("adult", positive=">50K"),
    Table("covertype", positive=2, max_rows=MAX_ROWS),
    Table("california_housing"),
    Table("diamonds"),
    Table("wine_quality"),
    Table("abalone"),
    Table("bike_sharing"),
    Table("nyc_flights", max_rows=MAX_ROWS),
]


def losses(table: Table, contestants: list[type[Contestant]], settings: Settings, seeds: Sequence[int]) -> Record:
    """Fit each library on each split and return its losses, in the order of the seeds."""
    found: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    for seed in seeds:
        split = table.load(seed)
        for contestant in contestants:
            model = contestant(settings, table.task)
            model.fit(split.X, split.y)
            found[contestant.name].append(held_out_loss(split.y_test, model.predict(split.X_test), table.task))
    metric = "log loss" if table.task == "binary" else "rmse"
    return {"table": table.name, "metric": metric, "losses": found, "differences": differences(found)}


def differences(found: dict[str, list[float]]) -> dict[str, Record]:
    """Compare with LightGBM split by split, in per cent: mean and standard error; negative is better than LightGBM."""
    reference = np.array(found[LightGBM.name])
    compared = {}
    for name, values in found.items():
        percent = 100 * (np.array(values) / reference - 1)
        error = percent.std(ddof=1) / np.sqrt(len(percent)) if len(percent) > 1 else 0.0
        compared[name] = {"mean": float(percent.mean()), "standard_error": float(error)}
    return compared


def line(record: Record) -> str:
    """Format one table: LightGBM's loss, and the difference of every library from it."""
    cells = [f"{record['table']:<20}{record['metric']:<10}{mean(record['losses'][LightGBM.name]):>12.6g}"]
    for name, difference in record["differences"].items():
        if name != LightGBM.name:
            cells.append(f"{difference['mean']:>+9.2f} ±{difference['standard_error']:.2f}%")
    return "".join(cells)


def main(argv: Sequence[str] | None = None) -> int:
    """Run all tables, print and save."""
    parser = argparse.ArgumentParser("python -m bench.equal_settings", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="tables whose name contains NAME")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "equal_settings.json")
    args = parser.parse_args(argv)
    contestants = [contestant for contestant in CONTESTANTS if contestant.installed()]
    if LightGBM not in contestants:
        print("LightGBM is the measure of this comparison and is not installed: pip install lightgbm")
        return 1
    others = "".join(f"{contestant.name:>16}" for contestant in contestants if contestant is not LightGBM)
    print(f"{'':<30}{LightGBM.name:>12}{others}")
    records = []
    for table in TABLES:
        if args.only and not any(text in table.name for text in args.only):
            continue
        try:
            records.append(losses(table, contestants, Settings(), SEEDS))
        except UnavailableError as reason:
            print(f"{table.name} is skipped: {reason}")
            continue
        print(line(records[-1]), flush=True)
    save(records, contestants, args.out)
    return 0


def save(records: list[Record], contestants: list[type[Contestant]], out: Path) -> None:
    """Print the mean over tables and write everything as JSON."""
    for contestant in contestants:
        if records and contestant is not LightGBM:
            average = mean(record["differences"][contestant.name]["mean"] for record in records)
            print(f"{contestant.name}: {average:+.3f}% on average over {len(records)} tables")
    versions = {contestant.package: contestant.version() for contestant in contestants}
    run = {"machine": machine.describe(), "versions": versions, "tables": records}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
