"""Write the pages that come from declarations: ``python docs/generate.py``."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from sapwood.objectives.base import Objective
from sapwood.objectives.registry import losses
from sapwood.params.aliases import ALIASES, CATBOOST, LIGHTGBM, XGBOOST
from sapwood.params.declaration import FIELDS, GROUPS
from sapwood.params.presets import PRESETS

DOCS = Path(__file__).parent


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(cells) + " |" for cells in [header, ("---",) * len(header), *rows]]
    return "\n".join(lines) + "\n"


def shown(value: Any) -> str:
    """A value as it would be typed."""
    return f"`{value!r}`"


def sentence(text: str) -> str:
    """The text with a capital letter."""
    return text[:1].upper() + text[1:]


def parameters_page() -> str:
    """Every parameter with its range, default and text, and what the presets change."""
    parts = [
        "# Parameters\n",
        "Written by `python docs/generate.py` from `src/sapwood/params/declaration.py`.\n",
        'Unset is `"auto"`: the value then comes from the preset, or else is the default below.\n',
    ]
    for group in GROUPS.values():
        parts.append(f"## {(group.__doc__ or '').rstrip('.')}\n")
        rows = [
            (f"`{f.name}`", shown(f.default), sentence(f.metadata["validator"].allowed), f.metadata["description"])
            for f in dataclasses.fields(group)
        ]
        parts.append(table(("Parameter", "Default", "Allowed", "Meaning"), rows))
    changed = [name for name in FIELDS if any(name in preset for preset in PRESETS.values())]
    rows = [
        (f"`{name}`", *(shown(preset.get(name, FIELDS[name].default)) for preset in PRESETS.values()))
        for name in changed
    ]
    parts.append("## What the presets set\n")
    parts.append(table(("Parameter", *(f'`"{preset}"`' for preset in PRESETS)), rows))
    return "\n".join(parts)


def peers_page() -> str:
    """The parameters of other libraries, in our words."""
    parts = [
        "# Coming from XGBoost, LightGBM or CatBoost\n",
        "Written by `python docs/generate.py` from `src/sapwood/params/aliases.py`. A dash: Sapwood has no counterpart.\n",
        "`SapwoodClassifier(num_leaves=63)` is refused with the name to use instead, and so is every name below.\n",
    ]
    for library in (XGBOOST, LIGHTGBM, CATBOOST):
        rows = []
        for row in ALIASES:
            if row.library == library:
                names = ", ".join(f"`{name}`" for name in row.names)
                has_counterpart = row.ours in FIELDS
                note = row.note if has_counterpart or row.ours is None else ""
                rows.append((names, f"`{row.ours}`" if has_counterpart else "–", note))
        parts.append(f"## {library}\n")
        parts.append(table((library, "Sapwood", "Translation"), rows))
    return "\n".join(parts)


VECTOR_LEAVES = """\
### A tree per class, or one for all

By default every class has its own tree in each round. With `Softmax(vector_leaves=True)` one tree serves all classes:
its splits are those that help all of them together, its leaves answer a value for each. A round of K trees of 31 leaves
has 31 K leaves, a vector tree as many as it is given: with 31 as well it learns less in a round, with 31 K more. So
`max_leaves`, unless set, is 31 per class here, up to 127; compare the two at equal rounds with that, not with 31 for
both.

Covertype, 435,759 rows, 15 rounds, two cores (log loss on other rows, the faster of two fits):

| Trees | Leaves of a round | Log loss | Fit |
| --- | --- | --- | --- |
| a tree per class, 31 leaves | 217 | 0.559 | 1.6 s |
| vector leaves, 31 | 31 | 0.646 | 1.2 s |
| vector leaves, 70 | 70 | 0.576 | 1.2 s |
| vector leaves, 127 (unset) | 127 | 0.519 | 1.3 s |
| LightGBM, a tree per class, 31 leaves | 217 | 0.575 | 2.2 s |

On smaller tables, 50 rounds: wine_quality 0.931 with a tree of 31 leaves per class, 0.969, 0.930 and 0.904 with 31, 64
and 127 vector leaves; 20,000 rows of covertype 0.475, and 0.510, 0.462 and 0.419. Vector leaves need a loss with
several outputs, and no monotone constraints.
"""


def objectives_page() -> str:
    """Every loss with its other names, its settings and what its hessian is."""
    parts = [
        "# Objectives\n",
        "Written by `python docs/generate.py` from the classes in `src/sapwood/objectives/`.\n",
        'Give a name, `objective="poisson"`, or an object with its settings, `objective=Quantile(0.9)`; they are in\n'
        "`sapwood.objectives`. F is the score, y the target, s is y written as -1 or 1.\n",
        "A hessian that is not exact is kept above 0 (floored) or replaced by a stand-in (surrogate).\n",
    ]
    unique = sorted(set(losses().values()), key=lambda loss: loss.name)
    for task in ("regression", "binary", "multiclass"):
        rows = [objective_row(loss) for loss in unique if loss.task == task]
        parts.append(f"## {sentence(task)}\n")
        parts.append(table(("Name", "Also", "Object", "Loss", "Hessian"), rows))
    parts.append(VECTOR_LEAVES)
    return "\n".join(parts)


def objective_row(loss: type[Objective]) -> tuple[str, ...]:
    """One loss as a line of the table."""
    aliases = ", ".join(f"`{alias}`" for alias in loss.aliases)
    first_line = (loss.__doc__ or "").partition("\n")[0].replace("|", "\\|")
    settings = ", ".join(f"{name}={value!r}" for name, value in loss().settings().items() if name != "n_classes")
    return f"`{loss.name}`", aliases, f"`{loss.__name__}({settings})`", first_line, loss().curvature


PAGES = {"parameters.md": parameters_page, "peers.md": peers_page, "objectives.md": objectives_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
