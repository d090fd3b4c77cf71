"""Shapes and devices of tensors."""

from __future__ import annotations


class Size(tuple[int, ...]):
    """A shape."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def numel(self) -> int:
        """The number of elements."""
        n = 1
        for k in self:
            n *= k
        return n


class Device:
    """The device of a tensor, which is always the CPU."""

    def __init__(self, type: str = "cpu", index: int | None = None) -> None:
        self.type: str = str(type).split(":")[0]
        self.index = index
        if self.type != "cpu":
            raise RuntimeError(
                f"device {type!r} is not supported by eager tensors. Compile for it instead:\n"
                '    autojit.jit(f, device="cuda")'
            )

    def __repr__(self) -> str:
        return f"device(type='{self.type}')"

    def __str__(self) -> str:
        return self.type

    def __eq__(self, other: object) -> bool:
        return str(other).split(":")[0] == self.type

    def __hash__(self) -> int:
        return hash(self.type)
