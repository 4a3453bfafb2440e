"""The exported entry point of a kernel variant, as LLVM IR: it unpacks a block of arguments and calls the kernel."""

from __future__ import annotations

from sapwood.native.runtime.kernel import Kernel
from sapwood.native.runtime.signature import DTYPES, Array, Scalar, flatten


def symbol_of(kernel: Kernel, variant: int) -> str:
    """Return the name under which a variant is exported."""
    return f"sapwood_{kernel.name}_{variant}"


def entry_point(kernel: Kernel, variant: int, target: str) -> str:
    """Return LLVM IR of ``void symbol(i64* block, i64 member, i64 members)``, which calls the function ``target``."""
    slots = _Slots()
    passed: list[str] = ["ptr %result", "ptr %exception"]
    kinds = flatten(kernel.variants[variant])
    if kernel.takes_team:
        passed += ["i64 %member", "i64 %members"]
        kinds = [Array("i64", 1), *kinds]  # sync
    for kind in kinds:
        passed += slots.load_scalar(kind) if isinstance(kind, Scalar) else slots.load_array(kind)
    parameters = ", ".join(text.split(" ")[0] for text in passed)
    return "\n".join(
        [
            f'declare i32 @"{target}"({parameters})',
            f'define void @"{symbol_of(kernel, variant)}"(ptr %block, i64 %member, i64 %members) {{',
            "  %result = alloca ptr",
            "  %exception = alloca ptr",
            *slots.lines,
            f'  %status = call i32 @"{target}"({", ".join(passed)})',
            "  ret void",
            "}",
        ]
    )


class _Slots:
    """Instructions that read the 64-bit slots of a block one after the other."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._n = 0

    def load_scalar(self, kind: Scalar) -> list[str]:
        """Read a number; return it as it is passed on."""
        text = "double" if kind.kind == "f64" else "i64"
        return [f"{text} {self._load(text)}"]

    def load_array(self, kind: Array) -> list[str]:
        """Read an array; return what Numba passes: owner, parent, length, item size, address, shape and strides."""
        address = self._load("ptr")
        shape = [self._load("i64") for _ in range(kind.ndim)]
        size = DTYPES[kind.kind].itemsize
        strides: list[str] = []
        stride = str(size)
        for axis in reversed(range(kind.ndim)):
            strides.insert(0, stride)
            self.lines.append(f"  %s{self._n}_{axis} = mul i64 {stride}, {shape[axis]}")
            stride = f"%s{self._n}_{axis}"
        self.lines.append(f"  %n{self._n} = sdiv i64 {stride}, {size}")
        items = ["ptr null", "ptr null", f"i64 %n{self._n}", f"i64 {size}", f"ptr {address}"]
        return items + [f"i64 {length}" for length in shape] + [f"i64 {stride}" for stride in strides]

    def _load(self, text: str) -> str:
        self.lines.append(f"  %p{self._n} = getelementptr i64, ptr %block, i64 {self._n}")
        self.lines.append(f"  %v{self._n} = load {text}, ptr %p{self._n}")
        self._n += 1
        return f"%v{self._n - 1}"
