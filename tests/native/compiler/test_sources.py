"""The files that the library is compiled from, and their hash."""

from __future__ import annotations

from sapwood.native.compiler import sources


def test_the_hash_changes_with_every_source(monkeypatch, tmp_path):
    paths = []
    for name in ("a.py", "b.py"):
        paths.append(tmp_path / name)
        paths[-1].write_text(name)
    monkeypatch.setattr(sources, "PACKAGE", tmp_path)
    monkeypatch.setattr(sources, "source_files", lambda: paths)
    before = sources.source_hash()
    paths[1].write_text("b.py ")
    assert sources.source_hash() != before


def test_the_kernels_are_among_the_sources():
    names = {path.relative_to(sources.PACKAGE).as_posix() for path in sources.source_files()}
    compiler = {"native/compiler/numba.py", "native/runtime/signature.py"}
    assert {"kernels/layout.py", "kernels/grow/histogram_tree.py"} | compiler <= names
