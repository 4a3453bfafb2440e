"""The recipes of CONTRIBUTING.md work as they are written."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tests.processes import PYTHONPATH, ROOT

DATA = """
import numpy as np
X = np.random.default_rng(0).normal(size=(120, 3))
y = X[:, 0] + X[:, 1] ** 2
settings = {"n_estimators": 3, "max_leaves": 4, "min_child_samples": 5}
from sapwood import SapwoodRegressor
"""


def recipe(heading: str) -> str:
    """Return the Python code of a section."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return "\n\n".join(re.findall(r"^ *```python\n(.*?)^ *```", section, re.DOTALL | re.MULTILINE))


def run(code: str, tmp_path, **environment: str) -> str:
    """Run code in a process of its own: what it registers stays there."""
    script = tmp_path / "recipe.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True, text=True, timeout=300, env=os.environ | {"PYTHONPATH": PYTHONPATH} | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def test_a_loss_is_one_module(tmp_path):
    (tmp_path / "fair.py").write_text(recipe("Add a loss"), encoding="utf-8")
    use = """
import fair, sapwood.objectives
y = np.ones(20) * np.arange(20)
pairs = np.empty((1, 20, 2), dtype=np.float32)
loss = sapwood.objectives.resolve("fair")
loss.pairs(y, np.zeros((1, 20)), pairs)
print(pairs[0, 3].tolist(), loss.best_constant(y).round(6).tolist())
"""
    assert run(DATA + use, tmp_path, SAPWOOD_KERNELS="python") == "[-0.75, 0.0625] [9.5]"


def test_a_metric_is_a_function(tmp_path):
    use = """
model = SapwoodRegressor(eval_metric="canberra_distance", **settings).fit(X, y, eval_set=(X, y))
print(*model.evals_result_["validation"])
"""
    assert run(recipe("Add a metric") + DATA + use, tmp_path) == "canberra"


def test_a_sampler_is_one_module(tmp_path):
    (tmp_path / "rotating.py").write_text(recipe("Add a sampler"), encoding="utf-8")
    use = """
import sapwood.boost.sampling, rotating
named, made = (SapwoodRegressor(sampling=s, **settings).fit(X, y) for s in ("rotating", rotating.Rotating(2)))
assert named.model_.fingerprint() == made.model_.fingerprint()
print(named.model_.ensemble[0].count[0], "rows")
"""
    assert run(DATA + use, tmp_path) == "60 rows"


def test_an_encoding_is_a_class_and_a_function(tmp_path):
    use = """
import sapwood.data.categories.encoders as encoders
from sapwood.params.encodings import register_encoding
exec(CODE, vars(encoders) | {"register_encoding": register_encoding})
X = np.column_stack([X, X[:, 0].round() % 3])
model = SapwoodRegressor(category_encoding="ordinal", categorical_features=[3], **settings).fit(X, y)
print(model.model_.encodings)
"""
    assert "ordinal" in run(f"CODE = {recipe('Add an encoding')!r}\n" + DATA + use, tmp_path)


def test_a_kernel_is_a_function_with_types(tmp_path):
    use = """
import numpy as np
out = np.empty(3)
scale_values(np.arange(3.0), 2.0, out)
print(out.tolist())
"""
    assert run(recipe("Add a kernel") + use, tmp_path, SAPWOOD_KERNELS="python") == "[0.0, 2.0, 4.0]"
