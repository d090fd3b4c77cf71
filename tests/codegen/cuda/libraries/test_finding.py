"""Where libraries are searched for."""

from __future__ import annotations

from typing import Any

import pytest

from autojit.codegen.cuda.libraries import finding
from autojit.codegen.loop_ir.errors import TargetError


def test_libraries_are_found_by_their_file(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without the functions does not count as the library."""
    folder = tmp_path / "nvidia" / "cu13" / "lib"
    folder.mkdir(parents=True)
    (folder / "libcufft.so.12").write_bytes(b"no library")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    assert str(folder / "libcufft.so.12") in list(finding._places("cufft"))
    found = finding.Libraries()
    if "cufft" not in found:
        with pytest.raises(TargetError, match="pip install nvidia-cufft"):
            found["cufft"]
