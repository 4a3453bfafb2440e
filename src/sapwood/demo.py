"""Train a classifier on census data, show how good it is and what it learned: ``python -m sapwood.demo``."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sapwood
from sapwood.boost.progress_display import BLOCKS, encodable
from sapwood.datasets import Adult, load_adult
from sapwood.estimators.classifier import SapwoodClassifier
from sapwood.metrics.registry import resolve_metric
from sapwood.reports.report import report

BAR_WIDTH = 40
METRICS = {"AUC": "auc", "log loss": "log_loss", "accuracy": "accuracy", "F1": "f1", "calibration error": "ece"}
TREE_LINES = 15
LINE_WIDTH = 116


def main(folder: Path = Path("demo-output")) -> None:
    """Run the demo and write the model, the first tree, a bar chart and a report to ``folder``."""
    adult = load_adult()
    n_test, n_columns = len(adult.y) - adult.n_train, len(adult.names)
    show(f"Sapwood {sapwood.__version__} on UCI Adult: does a person earn more than 50,000 dollars a year?")
    show(f"{adult.n_train:,} people to learn from, {n_test:,} to test on, {n_columns} columns with categories\n")
    classifier, seconds = train(adult)
    plain, plain_seconds = train(adult, effort="fast")
    y, ours = _test_predictions(adult, classifier)
    columns = {"Sapwood": ours, "plain fit": _test_predictions(adult, plain)[1]}
    show(scores_table(y, columns | {"constant": np.full(len(y), adult.train[1].mean())}))
    show(f"  Sapwood, with default parameters: {classifier.model_.ensemble.n_trees} trees in {seconds:.2f} s")
    show(f"  plain fit, with effort='fast': {plain.model_.ensemble.n_trees} trees in {plain_seconds:.2f} s\n")
    show("What the default fit decided on rows that it set aside")
    show("\n".join(decisions(classifier)) + "\n")
    show("Feature importances (fraction of the total gain)")
    show(bar_chart(adult.names, classifier.feature_importances_))
    tree = classifier.model_[:1].to_text()
    show("\nBeginning of the first tree")
    show("\n".join("  " + short(line) for line in tree.splitlines()[3 : 3 + TREE_LINES]))
    show("\nFiles")
    for file in write_files(folder, adult, classifier, tree):
        show(f"  {file} ({file.stat().st_size / 1000:,.0f} kB)")
    show(f"\nEverything on one page: open {write_report(folder, adult, classifier).resolve()} in a browser")


def write_report(folder: Path, adult: Adult, classifier: SapwoodClassifier) -> Path:
    """Write the report on the test rows and return its path."""
    path = folder / "report.html"
    X_train, y_train = adult.train
    title = "UCI Adult: who earns more than 50,000 dollars a year?"
    report(classifier, *adult.test, X_train=X_train, y_train=y_train, title=title, path=path)
    return path


def train(adult: Adult, **params: Any) -> tuple[SapwoodClassifier, float]:
    """Return a fitted classifier and the seconds that its training took; a terminal shows progress."""
    start = time.perf_counter()
    is_shown = sys.stderr is not None and sys.stderr.isatty()
    classifier = SapwoodClassifier(verbose=is_shown, **params).fit(*adult.train)
    seconds = time.perf_counter() - start
    if classifier.model_.schema.names is None:  # without pandas and polars, X is an array
        schema = dataclasses.replace(classifier.model_.schema, names=tuple(adult.names))
        classifier.model_ = dataclasses.replace(classifier.model_, schema=schema)
    return classifier, seconds


def write_files(folder: Path, adult: Adult, classifier: SapwoodClassifier, tree: str) -> list[Path]:
    """Write what there is to look at and return the paths; check that the saved model is the trained one."""
    folder.mkdir(parents=True, exist_ok=True)
    model, text = folder / "adult.sapwood", folder / "first-tree.txt"
    classifier.save(model)
    if sapwood.load(model).fingerprint() != classifier.model_.fingerprint():
        raise SystemExit("the fingerprint of the loaded model differs from that of the saved one")
    text.write_text(tree + "\n", encoding="utf-8")
    return [model, draw_importance(folder, adult.names, classifier.feature_importances_), text]


def show(text: str) -> None:
    """Print text with the characters that standard output has; the bars of charts become ``#``."""
    if encodable(BLOCKS, sys.stdout) != BLOCKS:
        text = text.replace(BLOCKS[0], "#")
    print(encodable(text, sys.stdout))


def short(line: str) -> str:
    """Return a line that fits a terminal."""
    return line if len(line) <= LINE_WIDTH else line[: LINE_WIDTH - 3] + "..."


def _test_predictions(adult: Adult, classifier: SapwoodClassifier) -> tuple[np.ndarray, np.ndarray]:
    X, y = adult.test
    return y, classifier.predict_proba(X)[:, 1]


def scores_table(y: np.ndarray, predictions: dict[str, np.ndarray]) -> str:
    """Return the metrics of several predictions of the test rows, one column each."""
    lines = [f"{'Scores on the test rows':<26}" + "".join(f" {title:>9}" for title in predictions)]
    for title, name in METRICS.items():
        metric = resolve_metric(name)
        lines.append(f"  {title:<24}" + "".join(f" {metric(y, p):>9.4f}" for p in predictions.values()))
    return "\n".join(lines)


def decisions(classifier: SapwoodClassifier) -> list[str]:
    """Return the decisions of a fit, one line each."""
    return [f"  {one['choice']}: {one['why']}" for one in classifier.model_.decisions]


def bar_chart(names: list[str], importances: np.ndarray) -> str:
    """Return the importances as bars of text, the longest first."""
    lines = []
    for f in np.argsort(-importances, kind="stable"):
        bar = "█" * max(1, round(BAR_WIDTH * importances[f] / importances.max()))
        lines.append(f"  {names[f]:<15} {100 * importances[f]:4.1f} %  {bar}")
    return "\n".join(lines)


def draw_importance(folder: Path, names: list[str], importances: np.ndarray) -> Path:
    """Write a bar chart of the importances: a PNG if matplotlib is installed, else an SVG."""
    ordered = [(names[f], float(importances[f])) for f in np.argsort(-importances, kind="stable")]
    if importlib.util.find_spec("matplotlib") is None:
        path = folder / "importance.svg"
        path.write_text(importance_svg(ordered), encoding="utf-8")
        return path
    from matplotlib.figure import Figure

    path = folder / "importance.png"
    axes = (figure := Figure(figsize=(6, 0.8 + 0.25 * len(names)), layout="constrained")).subplots()
    axes.barh([name for name, _ in ordered], [importance for _, importance in ordered], color="#7a5c3e")
    axes.invert_yaxis()
    axes.set_xlabel("fraction of the total gain")
    figure.savefig(path, dpi=120)
    return path


def importance_svg(ordered: list[tuple[str, float]]) -> str:
    """Return a bar chart as an SVG, for machines without matplotlib."""
    longest = max(importance for _, importance in ordered)
    bars = []
    for k, (name, importance) in enumerate(ordered):
        y, width = 10 + 28 * k, 380 * importance / longest
        bars.append(f'<text x="140" y="{y + 15}" text-anchor="end">{name}</text>')
        bars.append(f'<rect x="150" y="{y}" width="{width:.1f}" height="20" fill="#7a5c3e"/>')
        bars.append(f'<text x="{156 + width:.1f}" y="{y + 15}">{100 * importance:.1f} %</text>')
    size = f'width="620" height="{20 + 28 * len(ordered)}"'
    body = "\n".join(bars)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">\n{body}\n</svg>\n'


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the demo from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m sapwood.demo",
        description="Train a classifier on census data that come with Sapwood (UCI Adult), show its scores on test "
        "rows, its feature importances and its first tree, and write the model and pictures to a folder.",
    )
    parser.add_argument(
        "--output", type=Path, default=Path("demo-output"), metavar="FOLDER", help="folder to write to (%(default)s)"
    )
    main(parser.parse_args(arguments).output)


if __name__ == "__main__":
    run()
