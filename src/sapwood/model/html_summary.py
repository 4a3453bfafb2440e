"""A model in a notebook: facts and the most important features as HTML."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sapwood.model.model import Model

FEATURES_SHOWN, MAX_NAME = 8, 40
BOX = "border:1px solid #8886;border-radius:6px;padding:10px 14px;margin:6px 0;max-width:640px;font-size:13px"
CELL = "padding:1px 12px 1px 0;text-align:left;background:none;vertical-align:middle"


def html_summary(model: Model, title: str, facts: Mapping[str, Any] | None = None) -> str:
    """Return a box with the facts of a model, those given beside its own, and its most important features."""
    rows = {"model": _size(model), **_training(model), **(facts or {}), "fingerprint": model.fingerprint()[:16] + "…"}
    lines = "".join(
        f'<tr><td style="{CELL};opacity:.7">{_text(name)}</td><td style="{CELL}">{_text(value)}</td></tr>'
        for name, value in rows.items()
        if value not in (None, "")
    )
    return (
        f'<div style="{BOX}"><b>{_text(title)}</b><table style="border:0;margin:4px 0">{lines}</table>'
        f"{_bars(model.feature_names, np.asarray(model.importance(), dtype=np.float64))}</div>"
    )


def _size(model: Model) -> str:
    objective = model.objective.get("name", model.link)
    parts = [f"{objective}", f"{model.n_features:,} columns", f"{model.n_iterations:,} rounds"]
    if model.classes is not None:
        shown = ", ".join(map(str, model.classes[:4].tolist()))
        parts.insert(1, f"classes {shown}{', …' if len(model.classes) > 4 else ''}")
    return ", ".join([*parts, f"{model.ensemble.n_trees:,} trees"])


def _training(model: Model) -> dict[str, Any]:
    info = model.info()
    found: dict[str, Any] = {}
    if info["n_rows"] is not None:
        found["trained on"] = f"{info['n_rows']:,} rows"
    if info.get("best_score") is not None:
        found["best round"] = f"{info['best_iteration']:,}, score {info['best_score']:.5g}"
    return found


def _bars(names: Sequence[str], importances: np.ndarray) -> str:
    total = float(importances.sum())
    if total <= 0.0:
        return ""
    order = np.argsort(-importances, kind="stable")[:FEATURES_SHOWN]
    largest = float(importances[order[0]])
    rows = "".join(
        f'<tr><td style="{CELL}">{_text(_shorten(names[f]))}</td><td style="{CELL};width:220px">'
        f'<div style="background:#0072B2;height:9px;border-radius:2px;width:{100 * importances[f] / largest:.1f}%">'
        f'</div></td><td style="{CELL}">{importances[f] / total:.1%}</td></tr>'
        for f in order.tolist()
    )
    more = len(names) - len(order)
    rest = f'<div style="opacity:.7">and {more:,} more columns</div>' if more else ""
    return (
        f'<table style="border:0;margin:4px 0"><caption style="text-align:left;opacity:.7">importance (fraction of '
        f"the total gain)</caption>{rows}</table>{rest}"
    )


def _shorten(name: str) -> str:
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME // 2]}…{name[1 - MAX_NAME // 2 :]}"


def _text(value: Any) -> str:
    return html.escape(str(value).encode("utf-8", "replace").decode("utf-8"))
