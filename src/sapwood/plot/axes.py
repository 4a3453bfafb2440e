"""Axes, colours and labels that all plots share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sapwood.errors import InputTypeError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which people with any kind of colour blindness can tell apart.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C6D31", "#7F7F7F")
BLUE, VERMILION, GREEN, GREY = COLORS[0], COLORS[1], COLORS[2], "#8A8A8A"
LOW, HIGH = BLUE, VERMILION  # of diverging values: below and above zero
MAX_LABEL = 40


def get_axes(ax: Axes | None, size: tuple[float, float], caller: str) -> Axes:
    """Return ``ax``, or the axes of a new figure of ``size`` inches."""
    if ax is None:
        _, ax = _pyplot(caller).subplots(figsize=size, layout="constrained")
    elif not hasattr(ax, "plot") or not hasattr(ax, "transData"):
        remedy = ": pass one of them, as in ax=axes[0]" if hasattr(ax, "__len__") else ""
        raise InputTypeError(f"{caller}: ax must be matplotlib axes or None, got {type(ax).__name__}{remedy}")
    assert ax is not None
    return ax


def _pyplot(caller: str) -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise ImportError(f"{caller} needs matplotlib: pip install 'sapwood[plot]'") from error
    return pyplot


def color_map(diverging: bool) -> Any:
    """Return a colour map that colour-blind people can read: blue to vermilion, or light to dark blue."""
    from matplotlib.colors import LinearSegmentedColormap

    if diverging:
        return LinearSegmentedColormap.from_list("sapwood_diverging", [LOW, "#9CC4DE", "#EFEFEF", "#F0B48C", HIGH])
    return LinearSegmentedColormap.from_list("sapwood_sequential", ["#F4F8FB", "#A6CCE3", "#4393C3", "#0B4A7A"])


def rank_map() -> Any:
    """Return a colour map from blue over grey to vermilion, whose colours can all be seen on white and on black."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("sapwood_ranks", [LOW, "#6FA0C0", "#A8A8A8", "#D99A72", HIGH])


def clean(ax: Axes, grid: str = "both") -> None:
    """Remove the upper and right borders and draw a light grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(axis=grid, color="#808080", alpha=0.2, linewidth=0.8)  # type: ignore[arg-type]


def label(name: str, width: int = MAX_LABEL) -> str:
    """Return a name as a label: one line, shortened in the middle, and with nothing that matplotlib interprets."""
    return escape(shorten(name, width))


def shorten(name: str, width: int) -> str:
    """Return a name as one line of at most ``width`` letters, with an ellipsis in the middle if it is longer."""
    text = " ".join(name.split()) or repr(name)
    if len(text) <= width:
        return text
    head = width // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def escape(text: str) -> str:
    """Return text that matplotlib shows as it is: without formulas between dollar signs and hidden legend entries."""
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def labels(names: Sequence[str], width: int = MAX_LABEL) -> list[str]:
    """Return the labels of several names; equal ones are numbered."""
    shortened = [label(name, width) for name in names]
    seen: dict[str, int] = {}
    unique = []
    for text in shortened:
        seen[text] = seen.get(text, 0) + 1
        unique.append(text if shortened.count(text) == 1 else f"{text} ({seen[text]})")
    return unique


def number(value: float) -> str:
    """Return a number with about four significant digits, thousands separated."""
    size = abs(value)
    if value == 0.0 or 1e-3 <= size < 1e4:
        return f"{value:.4g}"
    return f"{value:,.0f}" if 1e4 <= size < 1e9 else f"{value:.3g}"
