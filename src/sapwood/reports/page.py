"""A report as an HTML page that contains everything it needs: content, style and scripts."""

from __future__ import annotations

import html
import json
from functools import cache
from importlib import resources
from typing import Any

from sapwood.reports.text import report_text

SCRIPTS = ("dom.js", "charts.js", "tree.js", "sections.js", "report.js")
# Nothing can be loaded, whatever the content is.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def page(content: dict[str, Any]) -> str:
    """Return the page; all strings of the user reach it as JSON or escaped text."""
    scripts = "\n".join(_asset(name) for name in SCRIPTS)
    title = _text(content["title"])
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{_asset("report.css")}
</style>
</head>
<body>
<a class="skip" href="#main">Skip to the report</a>
<div id="app"></div>
<noscript><pre>{_text(report_text(content))}</pre></noscript>
<script type="application/json" id="content">{script_json(content)}</script>
<script>
"use strict";
{scripts}
</script>
</body>
</html>
"""


def script_json(content: dict[str, Any]) -> str:
    """Return JSON that can stand in a script element: no string in it can end the element or open a comment."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\u2028", "\\u2028"),
                               ("\u2029", "\\u2029")):  # fmt: skip
        text = text.replace(character, escaped)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def frame(document: str, title: str) -> str:
    """Return an element that shows a page inside of a notebook, apart from the notebook's own style and scripts."""
    return (
        f'<iframe title="{_text(title)}" srcdoc="{html.escape(document, quote=True)}" '
        'sandbox="allow-scripts" style="width:100%;height:760px;border:1px solid #8884;border-radius:8px"></iframe>'
    )


def _text(text: str) -> str:
    """Return text as HTML; what UTF-8 cannot hold becomes a question mark."""
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"))


@cache
def _asset(name: str) -> str:
    return (resources.files("sapwood.reports") / "assets" / name).read_text(encoding="utf-8")
