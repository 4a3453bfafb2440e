"""Format results: a text table per workload, and the short table of the README."""

from __future__ import annotations

from pathlib import Path

from bench.run import Record

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


def amount(value: float, unit: str) -> str:
    """Format a measured value with three digits and a suitable unit."""
    if unit == "s" and value < 1:
        value, unit = (value * 1e3, "ms") if value >= 1e-3 else (value * 1e6, "µs")
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {unit}"


def times(ratio: float | None) -> str:
    """Format a ratio with two or three digits."""
    return "" if ratio is None else f"{ratio:.{0 if ratio >= 100 else 1 if ratio >= 10 else 2}f}×"


def text_table(record: Record) -> str:
    """Format one workload: a line per library, in their order."""
    lines = [f"\n{record['name']}", f"  {'':<22}{'best':>10}{'spread':>9}{'ratio':>9}{'test loss':>12}"]
    for result in record["results"]:
        loss = "" if result["loss"] is None else f"{result['loss']:.6g}"
        lines.append(
            f"  {result['contestant']:<22}{amount(result['best'], record['unit']):>10}"
            f"{result['spread']:>9.1%}{times(result['ratio']):>9}{loss:>12}"
        )
    if record["results"] and "data_mb" in record["results"][0]:
        lines.append(f"  above a process that holds the rows alone, {record['results'][0]['data_mb']:.0f} MB")
    lines += [f"  {name} failed: {message}" for name, message in record["errors"].items()]
    return "\n".join(lines)


def markdown(run: Record) -> str:
    """Format Sapwood's figures and, for each library, the ratio of its fastest variant."""
    families = dict.fromkeys(
        result["family"] for record in run["workloads"] for result in record["results"] if result["family"] != "sapwood"
    )
    lines = ["| | sapwood | " + " | ".join(families) + " |", "|---|---:|" + "---:|" * len(families)]
    for record in run["workloads"]:
        own = [result["best"] for result in record["results"] if result["family"] == "sapwood"]
        if not own:
            continue
        cells = [amount(own[0], record["unit"])]
        for family in families:
            of_family = [result for result in record["results"] if result["family"] == family]
            best = min(of_family, key=lambda result: result["best"], default=None)
            if best is None:
                cells.append("")
            else:
                cells.append(amount(best["best"], record["unit"]) if best["ratio"] is None else times(best["ratio"]))
        lines.append(f"| {record['name']} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", caption(run)])


def caption(run: Record) -> str:
    """Describe how the table was made."""
    machine = run["machine"]
    versions = ", ".join(f"{package} {version}" for package, version in run["versions"].items())
    return (
        "Sapwood's own figure, and each library's as a multiple of it (above 1: Sapwood is quicker or smaller; of a "
        "library's variants the best one counts). Fits are from raw NumPy arrays, binning included, with equal "
        f"trees, leaves, bins, learning rate and threads; best of several interleaved rounds. {machine['processor']}, "
        f"{machine['cores']} cores, Python {machine['python']}; {versions}. Raw values and test losses: "
        "[bench/results/latest.json](bench/results/latest.json); to repeat: `make bench`."
    )


def write_readme(run: Record, readme: Path) -> None:
    """Replace the text between the markers in the README by the short table."""
    text = readme.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"{readme} must hold {BEGIN} once and {END} once after it: add them where the table goes")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    readme.write_text(f"{before}{BEGIN}\n{markdown(run)}\n{END}{after}", encoding="utf-8")
