"""A report as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MARKS = {"problem": "!!", "check": " !", "note": "  "}
WIDTH, ROWS_SHOWN = 38, 15


def report_text(content: dict[str, Any]) -> str:
    """Return all sections of a report as text."""
    sections = [
        _heading(content),
        _section("Warnings", _findings(content)),
        _section("Quality", _quality(content)),
        _section("Learning curves", _curves(content)),
        _section("Importances", _importances(content)),
        _section("Strongest effects", _effects(content)),
        _section("Strongest interactions", _interactions(content)),
        _section("Explained rows", _rows(content)),
        _section("Columns", _columns(content)),
        _section("Decisions", [f"{d['what']}: {d['value']} ({d['why']})" for d in content["decisions"]]),
        _section("Parameters that were set", _parameters(content)),
        f"Fingerprint {content['model']['fingerprint']}",
    ]
    return "\n\n".join(section for section in sections if section)


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)]) if lines else ""


def _heading(content: dict[str, Any]) -> str:
    model, data = content["model"], content["data"]
    trained = "" if model["n_rows"] is None else f", trained on {model['n_rows']:,} rows"
    return "\n".join([
        content["title"],
        f"{model['task']} ({model['objective']}), {model['n_features']:,} columns, {model['n_iterations']:,} rounds, "
        f"{model['n_trees']:,} trees{trained}; evaluated on {data['n_rows']:,} rows",
    ])  # fmt: skip


def _findings(content: dict[str, Any]) -> list[str]:
    found = [f"{MARKS[f['level']]} {f['title']}: {f['text']}" for f in content["findings"]]
    return found or ["none"]


def _quality(content: dict[str, Any]) -> list[str]:
    quality = content["quality"]
    if quality is None:
        return []
    columns = ["model", "constant", "linear", "train"]
    shown = [c for c in columns if any(entry.get(c) is not None for entry in quality["metrics"])]
    lines = [" " * 26 + "".join(f"{name:>12}" for name in shown)] if shown else []
    for entry in quality["metrics"]:
        lines.append(f"{entry['title']:<26}" + "".join(f"{_number(entry.get(name)):>12}" for name in shown))
    for name, skill in quality["skill"].items():
        lines.append(f"loss {abs(skill):.1%} {'below' if skill >= 0 else 'above'} that of the {name} model")
    return lines


def _curves(content: dict[str, Any]) -> list[str]:
    lines = []
    for curve in content["curves"]:
        for one, value in zip(curve["sets"], curve["at_best"], strict=True):
            best = "" if value is None else f", {_number(value)} in round {curve['best']}"
            first, last = _number(one["values"][0]), _number(one["values"][-1])
            lines.append(f"{curve['metric']} on {one['name']}: {first} to {last}{best}")
    return lines


def _importances(content: dict[str, Any]) -> list[str]:
    features = content["importances"]["features"]
    largest = max((f["strength"] for f in features), default=0.0) or 1.0
    lines = []
    for f in features[:ROWS_SHOWN]:
        bar = "█" * round(24 * f["strength"] / largest)
        error = "" if f["error"] is None else f" ± {_number(f['error'])}"
        lines.append(f"{_short(f['name']):<{WIDTH}} {_number(f['strength']):>9}{error:<12} {bar}")
    if len(features) > ROWS_SHOWN:
        lines.append(f"and {content['importances']['n_features'] - ROWS_SHOWN} more")
    return lines


def _effects(content: dict[str, Any]) -> list[str]:
    lines = []
    for effect in content["effects"][:5]:
        predicted = [
            (p, b["label"]) for p, b in zip(effect["prediction"], effect["bins"], strict=True) if p is not None
        ]
        if predicted:
            (low, at_low), (high, at_high) = min(predicted), max(predicted)
            lines.append(
                f"{_short(effect['name'])}: mean prediction {_number(low)} ({at_low}) to {_number(high)} ({at_high})"
            )
    return lines


def _interactions(content: dict[str, Any]) -> list[str]:
    return [f"{_short(p['name'], 2 * WIDTH)}: {_number(p['strength'])}" for p in content["interactions"]["pairs"][:5]]


def _rows(content: dict[str, Any]) -> list[str]:
    lines = []
    for row in content["rows"]:
        actual = f", actual {row['target']}" if row["target"] else ""
        lines.append(f"{row['title']} (row {row['row']}): {row['prediction']}{actual}")
        parts = [
            f"{_short(p['name'], 24)} = {_short(p['value'], 20)} {p['contribution']:+.3g}" for p in row["parts"][:4]
        ]
        lines.append(f"    {'; '.join(parts)}")
    return lines


def _columns(content: dict[str, Any]) -> list[str]:
    lines = [f"{'':<{WIDTH}} {'kind':<9}{'missing':>9}{'distinct':>10}{'unseen':>9}{'drift':>8}"]
    for c in content["columns"][: 2 * ROWS_SHOWN]:
        unseen = "" if c["unseen"] is None else f"{c['unseen']:.1%}"
        drift = "" if c["drift"] is None else f"{c['drift']:.2f}"
        lines.append(
            f"{_short(c['name']):<{WIDTH}} {c['kind']:<9}{c['missing']:>9.1%}{c['distinct']:>10,}{unseen:>9}{drift:>8}"
        )
    if len(content["columns"]) > 2 * ROWS_SHOWN:
        lines.append(f"and {len(content['columns']) - 2 * ROWS_SHOWN} more")
    return lines


def _parameters(content: dict[str, Any]) -> list[str]:
    return [f"{p['name']} = {p['value']}" for p in content["parameters"] if p["origin"] == "set"]


def _short(name: str, width: int = WIDTH) -> str:
    text = " ".join(name.split())
    return text if len(text) <= width else f"{text[: width // 2]}…{text[len(text) - (width - 1 - width // 2) :]}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
