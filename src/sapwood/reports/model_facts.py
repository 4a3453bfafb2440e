"""What a model is, and what was decided in its training and why."""

from __future__ import annotations

from typing import Any

import sapwood
from sapwood.explain.fitted_model import FittedModel
from sapwood.explain.tree_layout import layout

STOPPED = {
    "n_estimators": "all rounds of n_estimators were trained",
    "early_stopping": "the metric on the validation rows had stopped improving",
    "time_limit": "the time limit was reached",
    "callback": "a callback asked to stop",
    "interrupted": "training was interrupted",
}
TREES_SHOWN, MAX_DEPTH = 4, 5


def model_facts(fitted: FittedModel) -> dict[str, Any]:
    """Return the size, objective, classes and fingerprint of the model."""
    info = fitted.model.info()
    kept = ("objective", "objective_settings", "link", "n_rows", "n_features", "n_outputs", "n_iterations", "n_trees",
            "n_leaves", "base_scores", "stopped", "best_iteration", "best_score", "monitored", "eval_sets",
            "fingerprint", "trained_with")  # fmt: skip
    facts = {name: info.get(name) for name in kept}
    facts |= {
        "estimator": fitted.name,
        "task": fitted.task,
        "classes": fitted.class_names,
        "n_categorical": len(fitted.model.schema.categorical_columns),
        "reported_with": sapwood.__version__,
    }
    return facts


def decisions(fitted: FittedModel) -> list[dict[str, str]]:
    """Return what was decided, by whom and why: the end of training, encodings, then parameters that were set."""
    info = fitted.model.info()
    found = []
    if info.get("stopped"):
        rounds = f"{info['n_iterations']} rounds"
        found.append(_decision("end of training", rounds, STOPPED.get(info["stopped"], str(info["stopped"]))))
    found += [_choice(entry) for entry in fitted.model.decisions]
    for column, encoding in info["encodings"].items():
        value = ", ".join(map(str, encoding.get("encoding", ())))
        found.append(_decision(f"encoding of {column}", value, str(encoding.get("reason", ""))))
    return found


def parameters(fitted: FittedModel) -> list[dict[str, str]]:
    """Return every parameter in force and where its value comes from."""
    values = dict(getattr(fitted.estimator, "params_", None) or fitted.model.info()["params"])
    given = fitted.estimator.get_params(deep=False) if hasattr(fitted.estimator, "get_params") else {}
    rows = []
    for name, value in values.items():
        was_set = name in given and not (isinstance(given[name], str) and given[name] == "auto")
        origin = "set" if was_set else "preset, data or default" if given else ""
        rows.append({"name": name, "value": repr(value)[:200], "origin": origin})
    return sorted(rows, key=lambda row: row["origin"] != "set")


def drawn_trees(fitted: FittedModel) -> list[dict[str, Any]]:
    """Return the first trees and the last one, down to a depth, as nodes of a drawing."""
    ensemble = fitted.model.ensemble
    last = ensemble.n_trees - 1
    chosen = sorted({*range(min(TREES_SHOWN - 1, ensemble.n_trees)), last} - {-1})
    drawn = []
    for k in chosen:
        nodes = [
            {
                "parent": node.parent,
                "is_left": node.is_left,
                "depth": node.depth,
                "position": node.position,
                "value": list(node.value),
                "rows": node.count,
                "condition": None if node.condition is None else node.condition.describe(True),
                "name": "" if node.condition is None else node.condition.name,
                "test": "" if node.condition is None else node.condition.left,
                "left_categories": [] if node.condition is None else list(node.condition.left_categories[:50]),
                "missing_left": None if node.condition is None else node.condition.missing_left,
                "formula": node.formula,
                "hidden_leaves": node.hidden_leaves,
            }
            for node in layout(fitted.model, ensemble[k], MAX_DEPTH)
        ]
        output = int(ensemble.tree_output[k])
        names = fitted.class_names if fitted.class_names and ensemble.n_outputs == len(fitted.class_names) else []
        for_class = names[output] if ensemble.width == 1 and names else ""
        drawn.append({"index": k, "round": int(ensemble.tree_round[k]) + 1, "class": for_class, "nodes": nodes})
    return drawn


def _choice(entry: dict[str, Any]) -> dict[str, str]:
    """Return a choice between candidates: what was chosen, why, and the loss of each candidate."""
    chosen, losses = entry.get("chosen", ""), entry.get("losses", {})
    value = " + ".join(f"{weight:g} {name}" for name, weight in chosen.items()) if isinstance(chosen, dict) else chosen
    compared = ", ".join(f"{name} {loss:.5g}" for name, loss in losses.items())
    why = f"{entry.get('why', '')}{f' (candidates: {compared})' if compared else ''}"
    return _decision(str(entry.get("choice", "choice")), str(value), why)


def _decision(what: str, value: str, why: str) -> dict[str, str]:
    return {"what": what, "value": value, "why": why}
