"""Command line: run workloads, or write the README's table from the last run."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from bench import machine
from bench.chart import draw
from bench.contestants import present
from bench.data import ROOT, UnavailableError
from bench.report import text_table, write_readme
from bench.run import begin, run
from bench.workloads import WORKLOADS, chosen

RESULTS = ROOT / "bench" / "results"


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser("python -m bench", description="Time Sapwood beside its peers.")
    parser.add_argument("--full", action="store_true", help="all workloads, not only the quick ones")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="workloads with NAME in their name")
    parser.add_argument("--against", action="append", default=[], metavar="PEER", help="sapwood and this one alone")
    parser.add_argument("--repeat", type=int, metavar="K", help="rounds, instead of each workload's own number")
    parser.add_argument("--out", type=Path, help="where to write JSON; latest.json, or partial.json for a selection")
    parser.add_argument("--readme", action="store_true", help="write the README's table from latest.json and stop")
    parser.add_argument("--list", action="store_true", help="list the workloads and stop")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    args = arguments(argv)
    if args.list:
        print("\n".join(f"{workload.size:<6} {workload.name}" for workload in WORKLOADS))
        return 0
    selection = args.only or args.against
    out: Path = args.out or RESULTS / ("partial.json" if selection and not args.readme else "latest.json")
    if args.readme:
        write_readme(json.loads(out.read_text(encoding="utf-8")), ROOT / "README.md")
        return 0
    workloads = chosen(args.full, args.only)
    if not workloads:
        print(f"no workload's name contains any of {args.only}; --list shows them")
        return 1
    machine.warn_if_busy(max(workload.settings.threads for workload in workloads))
    contestants = present(args.against)
    record = begin(contestants)
    out.parent.mkdir(parents=True, exist_ok=True)
    for workload in workloads:
        try:
            record["workloads"].append(run(workload, contestants, args.repeat))
        except UnavailableError as reason:
            print(f"\n{workload.name} is skipped: {reason}")
            continue
        print(text_table(record["workloads"][-1]), flush=True)
        out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    draw(record, out.with_suffix(".png"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
