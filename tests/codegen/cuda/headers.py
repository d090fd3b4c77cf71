"""Reads functions, kinds of types, enumerators and structures from NVIDIA's headers.

    python -m tests.codegen.cuda.headers FOLDER...

compares the headers below each folder with ``declared.py``, and prints the differences.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.codegen.cuda import declared

FILES = (
    "cuda.h", "cublasLt.h", "cublas_api.h", "cusolverDn.h", "cusolver_common.h", "cufft.h",
    "library_types.h", "driver_types.h",
)  # fmt: skip


def read(folders: Iterable[Path]) -> str | None:
    """The headers below the folders, without comments; None if one is missing."""
    found: dict[str, str] = {}
    for folder in folders:
        for path in sorted(folder.glob("**/include/*.h")):
            if path.name in FILES:
                found.setdefault(path.name, path.read_text(encoding="utf-8", errors="replace"))
    if set(found) != set(FILES):
        return None
    text = "\n".join(found[name] for name in FILES)
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


def function(text: str, name: str) -> tuple[str, ...]:
    """The types of a function's parameters.

    >>> function("CUresult CUDAAPI cuF(const char *name, int a[], CUstream);", "cuF")
    ('char *', 'int *', 'CUstream')
    """
    # The name in the library: a macro in the header may replace the name by another.
    alias = re.search(rf"#define (\w+)\s+(?:__CUDA_API_PT[SD][ZS]\()?{name}\b", text)
    plain = alias[1] if alias and name.startswith("cu") and not name.startswith("cub") else name
    found = re.search(rf"\b{plain}\s*\(([^;{{()]*)\)\s*;", text, flags=re.S)
    assert found is not None, name
    return tuple(_type(each) for each in found[1].split(",") if each.strip() != "void")


def _type(parameter: str) -> str:
    stars = "*" * (parameter.count("*") + len(re.findall(r"\[\d*\]", parameter)))
    words = re.sub(r"\bconst\b|\bstruct\b|\*|\[\d*\]", " ", parameter).split()
    if len(words) > 1 and words[-1] not in ("int", "char", "long", "double", "float"):
        words = words[:-1]  # its name
    return " ".join([*words, stars] if stars else words)


def kind(text: str, word: str) -> str:
    """What a type is: a pointer, an enumeration, or the type that it stands for.

    >>> kind("typedef struct S *H;  typedef enum e_enum { A } E;", "H")
    'pointer'
    """
    if re.search(rf"typedef\s+[\w\s]+\*\s*{word}\s*;", text):
        return "pointer"
    if re.search(rf"typedef\s+enum\s*\w*\s*\{{[^}}]*\}}\s*{word}\s*;", text) or re.search(
        rf"typedef\s+enum\s+\w+\s+{word}\s*;", text
    ):
        return "enum"
    plain = re.search(rf"typedef\s+([\w ]+?)\s+{word}\s*;", text)
    assert plain is not None, word
    return kind(text, plain[1]) if re.search(rf"\b{plain[1]}\s*;", text) else plain[1]


def enumerator(text: str, name: str) -> int:
    """The number of an enumerator, or of a name that the preprocessor replaces.

    >>> enumerator("enum { A = 1, B, C = 0x10, D = A | C }; ", "D")
    17
    """
    for body in re.findall(r"\benum\b\s*\w*\s*\{([^}]*)\}", text):
        if not re.search(rf"\b{name}\b\s*(?:=|,|$)", body):
            continue
        body = re.sub(r"^\s*#[^\n]*", "", body, flags=re.M)
        values: dict[str, int] = {}
        last = -1
        for item in filter(str.strip, body.split(",")):
            word, _, value = (each.strip() for each in item.partition("="))
            if value:
                names = re.sub(r"(0x[0-9a-fA-F]+|\d+)[uUlL]*", r"\1", value)
                last = int(eval(names, {"__builtins__": {}}, values))
            else:
                last += 1
            values[word] = last
        if name in values:
            return values[name]
    found = re.search(rf"#define\s+{name}\s+\(?(?:\(\w+\))?\s*(-?(?:0x[0-9a-fA-F]+|\d+))", text)
    assert found is not None, name
    return int(found[1], 0)


def structure(text: str, name: str) -> tuple[str, ...]:
    """The types of a structure's members, with the lengths of arrays.

    >>> structure("typedef struct { size_t a; int b[4]; } S;", "S")
    ('size_t', 'int[4]')
    """
    found = re.search(rf"typedef\s+struct\s*\w*\s*\{{([^}}]*)\}}\s*{name}\s*;", text)
    assert found is not None, name
    members = []
    for member in filter(str.strip, found[1].split(";")):
        length = re.search(r"\[(\d+)\]", member)
        plain = re.sub(r"\[\d+\]", "", member)
        members.append(_type(plain) + (f"[{length[1]}]" if length else ""))
    return tuple(members)


def differences(text: str) -> list[str]:
    """The entries of ``declared.py`` that differ from the headers."""
    found = []
    for name, types in declared.FUNCTIONS.items():
        if name in declared.NEWER and not re.search(rf"\b{name}\s*\(", text):
            continue
        if (here := function(text, name)) != types:
            found.append(f"{name}{here}")
    for word, what in declared.KINDS.items():
        if (is_ := kind(text, word)) != what:
            found.append(f"{word} is {is_}")
    for name, value in declared.ENUMERATORS.items():
        if (number := enumerator(text, name)) != value:
            found.append(f"{name} = {number}")
    for name, members in declared.STRUCTURES.items():
        if (laid := structure(text, name)) != members:
            found.append(f"{name} {laid}")
    return found


def main() -> int:
    """Compare the folders given on the command line."""
    wrong = 0
    for folder in sys.argv[1:]:
        text = read([Path(folder)])
        if text is None:
            print(f"{folder}: not all of {', '.join(FILES)}")
            wrong += 1
            continue
        said = differences(text)
        print(f"{folder}: {', '.join(said) or 'as declared'}")
        wrong += len(said)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
