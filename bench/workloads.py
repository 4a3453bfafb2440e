"""The workloads; a new one is one line of ``WORKLOADS``."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bench.data import Series, Source, Synthetic, Table


@dataclass(frozen=True)
class Settings:
    """Settings that every library gets, as far as it has them."""

    trees: int = 100
    leaves: int = 31
    depth: int | None = None
    growth: str = "leafwise"
    bins: int = 255
    learning_rate: float = 0.1
    min_child_samples: int = 20
    min_child_weight: float = 1e-3
    reg_lambda: float = 1.0
    threads: int = 2
    seed: int = 0

    @property
    def full_depth(self) -> int:
        """Return the depth of a complete tree with about as many leaves."""
        return self.depth or max(1, round(math.log2(self.leaves)))


@dataclass(frozen=True)
class Workload:
    """One measurement: the rows, the settings, and the measure (a key of ``bench.measures.MEASURES``).

    ``among`` are the only contestants, where not all take part.
    """

    name: str
    data: Source
    settings: Settings = Settings()
    measure: str = "fit"
    size: str = "quick"
    repeat: int = 5
    among: tuple[str, ...] = ()

    def takes(self, contestant: str) -> bool:
        """Return whether a library takes part."""
        return not self.among or contestant in self.among


def levels(depth: int, growth: str = "levelwise", threads: int = 2) -> Settings:
    """Settings for trees that are complete to ``depth``."""
    return Settings(depth=depth, leaves=2**depth, growth=growth, threads=threads)


# For what takes long, or needs a parameter for threads.
QUICKEST = ("sapwood", "lightgbm", "xgboost", "hessboost")
FEW_TREES = Settings(trees=20)

WORKLOADS = [
    Workload("500 x 10", Synthetic(500, 10)),
    Workload("1k x 28", Synthetic(1_000)),
    Workload("1k x 28, 255 leaves", Synthetic(1_000), Settings(leaves=255), size="full"),
    Workload("10k x 28", Synthetic(10_000), repeat=3),
    Workload("10k x 28, 255 leaves", Synthetic(10_000), Settings(leaves=255), repeat=2),
    Workload("100k x 28", Synthetic(100_000), repeat=2),
    Workload("100k x 28, 255 leaves", Synthetic(100_000), Settings(leaves=255), repeat=1),
    Workload("1M x 28", Synthetic(1_000_000), repeat=1),
    Workload("1M x 28, 255 leaves", Synthetic(1_000_000), Settings(leaves=255), size="full", repeat=2),
    Workload("100k x 28, level-wise depth 6", Synthetic(100_000), levels(6), repeat=1),
    Workload("1M x 28, level-wise depth 6", Synthetic(1_000_000), levels(6), size="full", repeat=2),
    Workload("100k x 28, symmetric depth 6", Synthetic(100_000), levels(6, "symmetric"), repeat=2),
    Workload("1M x 28, symmetric depth 6", Synthetic(1_000_000), levels(6, "symmetric"), size="full", repeat=2),
    Workload("100k x 500", Synthetic(100_000, 500), size="full", repeat=2),
    Workload("100k x 28, regression", Synthetic(100_000, task="regression"), repeat=1),
    Workload("covertype, 7 classes", Table("covertype", classes=True), size="full", repeat=1),
    Workload("flights_3m", Table("flights_3m"), size="full", repeat=2),
    Workload("predict 200k rows", Synthetic(10_000, test_rows=200_000), measure="predict"),
    Workload("predict 200k rows, symmetric", Synthetic(10_000, test_rows=200_000), levels(6, "symmetric"), "predict"),
    Workload("predict one row, one thread", Synthetic(10_000), Settings(threads=1), measure="latency"),
    Workload("predict one row, prepared", Synthetic(10_000), Settings(threads=1), measure="prepared"),
    Workload("import", Synthetic(0), measure="import"),
    Workload("new process to first prediction", Synthetic(1_000, 10, test_rows=1), measure="reopen", repeat=3),
    Workload("new process to first fit", Synthetic(1_000, 10, test_rows=1), measure="first", repeat=3),
    Workload("wheel", Synthetic(0), measure="size", repeat=1),
    Workload(
        "peak memory, 1M x 28", Synthetic(1_000_000, test_rows=1), Settings(trees=5), "memory", "quick", 1, QUICKEST
    ),
    Workload("peak memory, flights_3m", Table("flights_3m"), Settings(trees=5), "memory", "full", 1),
    Workload("two threads against one, 100k x 28", Synthetic(100_000), FEW_TREES, "speedup", "quick", 2, QUICKEST),
    Workload("two threads against one, 1M x 28", Synthetic(1_000_000), FEW_TREES, "speedup", "full", 2, QUICKEST),
    Workload(
        "eight threads against two, 100k x 28", Synthetic(100_000), Settings(threads=8), "speedup", "full", 2, QUICKEST
    ),
    Workload(
        "growth of time with rows, 10k to 3M",
        Series.of_rows(10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000),
        FEW_TREES,
        "exponent",
        "full",
        1,
        QUICKEST,
    ),
    Workload(
        "growth of time with features, 10 to 1000",
        Series.of_features(10, 30, 100, 300, 1_000),
        FEW_TREES,
        "exponent",
        "full",
        1,
        QUICKEST,
    ),
    Workload("100k x 28, one thread", Synthetic(100_000), Settings(threads=1), size="full", repeat=3),
    Workload("100k x 28, 63 bins", Synthetic(100_000), Settings(bins=63), size="full", repeat=3),
    Workload("1M x 28, 1000 trees", Synthetic(1_000_000), Settings(trees=1_000), size="full", repeat=1),
    Workload("5M x 28", Synthetic(5_000_000), size="full", repeat=1),
    Workload("credit_default", Table("credit_default", positive=1), size="full", repeat=3),
    Workload("california_housing", Table("california_housing"), size="full", repeat=3),
]


def chosen(full: bool, only: list[str]) -> list[Workload]:
    """Return the workloads whose name contains one of ``only``, else the quick ones, or all with ``full``."""
    if only:
        return [workload for workload in WORKLOADS if any(text in workload.name for text in only)]
    return [workload for workload in WORKLOADS if full or workload.size == "quick"]
