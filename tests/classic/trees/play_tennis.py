"""The play-tennis table of Quinlan (1986)."""

from __future__ import annotations

NAMES = ["outlook", "temperature", "humidity", "wind"]
ROWS = [
    line.split()
    for line in """
    sunny    hot  high   weak   no
    sunny    hot  high   strong no
    overcast hot  high   weak   yes
    rain     mild high   weak   yes
    rain     cool normal weak   yes
    rain     cool normal strong no
    overcast cool normal strong yes
    sunny    mild high   weak   no
    sunny    cool normal weak   yes
    rain     mild normal weak   yes
    sunny    mild normal strong yes
    overcast mild high   strong yes
    overcast hot  normal weak   yes
    rain     mild high   strong no
    """.strip().splitlines()
]


def play_tennis() -> tuple[dict[str, list[str]], list[str]]:
    """Return the columns and the target."""
    columns = list(zip(*ROWS, strict=True))
    return dict(zip(NAMES, map(list, columns[:-1]), strict=True)), list(columns[-1])
