"""Compiled code from disk: which program finds which entry, in this process and in others."""

from __future__ import annotations

import gc
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autojit
from autojit.codegen.cpu.abi.abi import Convention
from autojit.codegen.cpu.entry_point import key as keys
from autojit.codegen.cpu.host import engine
from autojit.codegen.driver.cache import Cache, digest
from autojit.codegen.driver.executable import Executable
from autojit.errors import CacheWarning, CorruptCacheWarning

ROOT = Path(__file__).resolve().parents[3]
X = np.linspace(0.1, 1.0, 5)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@contextmanager
def no_compilation() -> Iterator[None]:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("compiled anew")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "Compiled", refuse)
        yield


# -- keys -----------------------------------------------------------------------------


def key_of(f: Callable[..., Any], *args: Any) -> dict[str, Any]:
    key = autojit.jit(f).cache_key(*args)
    assert key is not None
    return key


def test_key_is_the_structure_of_the_program() -> None:
    def named(x: Any) -> Any:
        return np.sin(x) * table

    table = np.arange(5.0)
    key = key_of(named, X)
    table = np.ones(5)  # a captured array is an input
    assert key_of(named, 2 * X) == key
    assert key_of(lambda y: np.sin(y) * table, X) == key
    assert key_of(eval("lambda x: np.sin(x) * t", {"np": np, "t": table}), X) == key
    for other in (
        lambda x: np.cos(x) * table,
        lambda x: np.sin(x) * table.astype(complex),
        lambda x: (np.sin(x) * table,),
        lambda x: np.sin(x) * 1.0,
    ):
        assert digest(key_of(other, X)) != digest(key)
    assert key_of(named, X[:, None]) != key
    assert key_of(lambda x: x * 0.0, 1.0) != key_of(lambda x: x * -0.0, 1.0)
    assert key_of(np.sin, 1.0) != key_of(np.sin, np.float64(1.0))  # another calling convention


def test_key_is_the_machine_and_the_translators(monkeypatch: pytest.MonkeyPatch) -> None:
    program = autojit.trace(np.sin)(X)
    convention = Convention((None,), 0, as_tuple=False)
    key = keys.key(program, convention, "1")
    assert key is not None
    import llvmlite
    import llvmlite.binding as llvm
    import numba

    assert key["numba"] == numba.__version__
    assert key["llvmlite"].startswith(llvmlite.__version__)
    assert key["processor"] == llvm.get_host_cpu_name()
    assert "AUTOJIT" not in str(key)
    assert keys.key(program, convention, "2") != key
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    assert keys.key(program, convention, "1") == key
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert keys.key(program, convention, "1") != key


@pytest.mark.parametrize("before_the_first_key", [True, False])
def test_nothing_is_kept_when_sources_changed_under_a_running_process(
    before_the_first_key: bool, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys.sources()
    monkeypatch.setattr(keys, "LOADED", 0.0)
    if before_the_first_key:
        keys.sources.cache_clear()
    executable = Executable(autojit.trace(np.sin)(X), cache)
    np.testing.assert_allclose(executable.call([X])[0], np.sin(X))
    keys.sources.cache_clear()
    assert files(cache.folder) == []


# -- programs ------------------------------------------------------------------------


def both_ways(cache: Cache, f: Callable[..., Any], *args: Any) -> tuple[Any, Any]:
    """The results of code compiled here, and of the same code loaded from disk."""
    program = autojit.trace(f)(*args)
    arrays = [*args, *program.captured]
    compiled = Executable(program, cache).call(arrays)
    with no_compilation():
        executable = Executable(program, cache)
        loaded = executable.call(arrays)
    assert executable.loaded == 1
    assert "loops" not in vars(executable)  # nothing was lowered
    return compiled, loaded


RNG = np.random.default_rng(0)
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "loop": (lambda x: np.exp(np.sin(x)) * x, (RNG.normal(size=(7, 9)),)),
    "scalar": (lambda x: np.sum(np.tanh(x)), (RNG.normal(size=100),)),
    "several": (lambda x, y: (x + y, x * y, np.max(x)), (X, X.astype(np.float32))),
    "captured": (lambda x: x @ np.arange(25.0).reshape(5, 5), (X,)),
    "BLAS": (lambda x, y: np.tanh(x @ y) @ y.T, (RNG.normal(size=(40, 30)),) * 1
             + (RNG.normal(size=(30, 20)),)),
    "complex": (lambda x: np.abs(x @ x) * 1j, (RNG.normal(size=(20, 20)) + 0j,)),
    "pool": (lambda x: (x + 1, 2 * x), (RNG.normal(size=40_000),)),
    "arena": (lambda x: np.sum(np.tanh(x @ x) @ x), (RNG.normal(size=(120, 120)),)),
    "threads": (lambda x: np.sum(np.exp(np.sin(x))), (RNG.normal(size=1_000_000),)),
    "remainder": (lambda x: np.fmod(x, 0.3), (RNG.normal(size=50),)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_loaded_code_computes_the_same(name: str, cache: Cache) -> None:
    f, args = PROGRAMS[name]
    compiled, loaded = both_ways(cache, f, *args)
    for a, b in zip(compiled, loaded, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


def test_loaded_code_raises(cache: Cache) -> None:
    f, i = autojit.trace(lambda x, i: x[i])(X, np.array([0])), np.array([7])
    Executable(f, cache).call([X, np.array([0])])
    with no_compilation(), pytest.raises(IndexError, match="out of bounds"):
        Executable(f, cache).call([X, i])


def test_each_convention_has_an_entry(cache: Cache) -> None:
    program = autojit.trace(lambda x, y: x * y)(2.0, X)
    for weak in ((float, None), (None, None)):
        made = Executable(program, cache).direct(weak, (), as_tuple=False)
        with no_compilation():
            loaded = Executable(program, cache).direct(weak, (), as_tuple=False)
        first = 2.0 if weak[0] else np.float64(2.0)
        assert made is not None
        assert loaded is not None
        np.testing.assert_array_equal(made(first, X), loaded(first, X))
    assert len(files(cache.folder)) == 2


@pytest.mark.slow
def test_loaded_code_lives_as_long_as_its_function(cache: Cache) -> None:
    program = autojit.trace(np.sin)(X)
    Executable(program, cache).direct([None], (), as_tuple=False)
    functions = [Executable(program, cache).direct([None], (), as_tuple=False) for _ in range(20)]
    del functions[::2]
    gc.collect()
    for function in functions:
        assert function is not None
        np.testing.assert_allclose(function(X), np.sin(X))


def test_texts_of_loaded_code_are_made_when_asked_for(cache: Cache) -> None:
    program = autojit.trace(np.sin)(X)
    Executable(program, cache).call([X])
    executable = Executable(program, cache)
    executable.call([X])
    assert executable.loaded == 1
    assert "define" in executable.llvm()
    assert "autojit_entry" in executable.assembly()
    assert "sin" in str(executable.loops)
    assert len(files(cache.folder)) == 1


@pytest.mark.parametrize("code", [b"", b"no object at all"])
@pytest.mark.parametrize("entry", [["f", [], [], False], ["f"], []])
def test_what_is_no_code_is_compiled_anew(code: bytes, entry: list[Any], cache: Cache) -> None:
    program = autojit.trace(np.sin)(X)
    key = keys.key(program, Convention((None,), 0, as_tuple=True), "")
    assert key is not None
    cache.store(key, {"entry": entry}, code)
    with pytest.warns(CorruptCacheWarning, match=digest(key)):
        np.testing.assert_allclose(Executable(program, cache).call([X])[0], np.sin(X))
    with no_compilation():
        Executable(program, cache).call([X])


def test_code_for_another_processor_is_not_used(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = autojit.trace(np.sin)(X)
    Executable(program, cache).call([X])
    machine = {**keys.machine(), "processor": "another"}
    monkeypatch.setattr(keys, "machine", lambda: machine)
    executable = Executable(program, cache)
    executable.call([X])
    assert executable.loaded == 0
    assert len(files(cache.folder)) == 2


# -- processes -------------------------------------------------------------------------

SCRIPT = """
import sys
import numpy as np
import autojit

table = np.full(3, float(sys.argv[1]))
f = autojit.jit(autojit.grad(lambda x: np.sum(np.sin(x) * table)))
print(f(np.zeros(3)), f.cache_info().loaded, "numba" in sys.modules)
"""


def environment_of(folder: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "AUTOJIT_CACHE_DIR": str(folder), **more}


def in_a_process(folder: Path, script: str = SCRIPT, number: float = 1.0, **more: str) -> Any:
    return subprocess.run(
        [sys.executable, "-W", "always::UserWarning", "-", str(number)],
        input=script,
        env=environment_of(folder, **more),
        cwd=folder.parent,
        capture_output=True,
        text=True,
    )


def test_a_second_process_compiles_nothing_and_neither_loads_numba(tmp_path: Path) -> None:
    first, second = (in_a_process(tmp_path / "cache", number=n) for n in (1.0, 2.0))
    assert (first.stdout, first.stderr) == ("[1. 1. 1.] 0 False\n", "")
    assert (second.stdout, second.stderr) == ("[2. 2. 2.] 1 False\n", "")


@pytest.mark.slow
def test_without_a_cache_each_process_compiles(tmp_path: Path) -> None:
    for _ in range(2):
        done = in_a_process(tmp_path / "xdg", AUTOJIT_CACHE_DIR="", XDG_CACHE_HOME=str(tmp_path))
        assert (done.stdout, done.stderr) == ("[1. 1. 1.] 0 False\n", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_processes_that_write_one_entry_at_a_time(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", SCRIPT, "1.0"]
    running = [
        subprocess.Popen(
            command,
            env=environment_of(tmp_path / "cache"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in running:
        out, err = process.communicate(timeout=120)
        assert (out[:10], err) == ("[1. 1. 1.]", "")
    assert len(files(tmp_path / "cache")) == 1


def test_readers_see_whole_entries_while_others_write_them(cache: Cache) -> None:
    script = (
        "import sys; from autojit.codegen.driver.cache import Cache\n"
        "for n in range(300): Cache(sys.argv[1]).store({}, {'n': n}, bytes([n % 256]) * 50_000)"
    )
    command = [sys.executable, "-W", "error", "-c", script, str(cache.folder)]
    running = [subprocess.Popen(command, env=environment_of(cache.folder)) for _ in range(2)]
    seen = set()
    while any(process.poll() is None for process in running):
        entry = cache.load({})  # a warning would be an error
        if entry is not None:
            assert entry.code == bytes([entry.about["n"] % 256]) * 50_000
            seen.add(entry.about["n"])
    assert [process.returncode for process in running] == [0, 0]
    assert len(seen) > 1
    assert len(files(cache.folder)) == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and limits")
def test_killed_writer_leaves_no_entry_and_its_rest_is_removed(tmp_path: Path) -> None:
    killed = "import os, signal\nos.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
    cache = Cache(tmp_path / "cache")
    assert in_a_process(cache.folder, killed + SCRIPT).returncode == -9
    (rest,) = files(cache.folder)
    assert rest.endswith(".aside")
    assert list(cache.entries()) == []
    done = in_a_process(cache.folder)
    assert (done.stdout, done.stderr) == ("[1. 1. 1.] 0 False\n", "")
    assert rest in files(cache.folder)  # another process may still be writing it
    long_ago = time.time() - 7200
    os.utime(cache.folder / rest, (long_ago, long_ago))
    Cache(cache.folder).store({}, {}, b"code")
    assert rest not in files(cache.folder)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and limits")
def test_disk_that_fills_up_costs_a_warning_and_no_result(tmp_path: Path) -> None:
    limited = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    script = limited + SCRIPT + "print(autojit.jit(np.cos)(0.0))"
    done = in_a_process(tmp_path / "cache", script, PYTHONDONTWRITEBYTECODE="1")
    assert done.stdout == "[1. 1. 1.] 0 False\n1.0\n"
    assert done.stderr.count("CacheWarning: compiled code cannot be kept in ") == 1
    assert "File too large" in done.stderr
    assert files(tmp_path / "cache") == []


def test_folder_that_cannot_be_written_costs_a_warning_and_no_result(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = str(tmp_path / "file" / "cache")
    script = SCRIPT + "print(autojit.jit(np.cos)(0.0))"
    done = in_a_process(tmp_path / "any", script, AUTOJIT_CACHE_DIR=folder)
    assert done.stdout == "[1. 1. 1.] 0 False\n1.0\n"
    assert done.stderr.count("CacheWarning") == 1


@pytest.mark.slow
def test_changed_sources_find_nothing(tmp_path: Path) -> None:
    tree, folder = tmp_path / "tree", tmp_path / "cache"
    shutil.copytree(ROOT / "autojit", tree / "autojit", symlinks=False)
    assert in_a_process(folder, PYTHONPATH=str(tree)).stdout == "[1. 1. 1.] 0 False\n"
    assert in_a_process(folder, PYTHONPATH=str(tree)).stdout == "[1. 1. 1.] 1 False\n"
    with (tree / "autojit" / "codegen" / "blocks.py").open("a") as file:
        file.write("# changed\n")
    assert in_a_process(folder, PYTHONPATH=str(tree)).stdout == "[1. 1. 1.] 0 False\n"
    assert len(files(folder)) == 2


def test_a_warning_that_is_an_error_leaves_the_function_usable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AUTOJIT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    f = autojit.jit(lambda x: np.sin(x) - 0.123)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CacheWarning):
            f(X)
        np.testing.assert_allclose(f(X), np.sin(X) - 0.123)


PROCESSOR = """
import re
import sys
import numpy as np
import autojit

lowered = autojit.jit(lambda x: x * 2.0).lower(np.ones(1000))
print(int(bool(re.search("ymm|zmm", lowered.text("asm")))))
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="x86 only")
def test_numbas_settings_of_the_processor_hold(tmp_path: Path) -> None:
    def uses_avx(**settings: str) -> bool:
        done = in_a_process(tmp_path / "cache", PROCESSOR, **settings)
        assert done.stderr == ""
        return bool(int(done.stdout))

    assert not uses_avx(NUMBA_CPU_NAME="nocona", NUMBA_CPU_FEATURES="+sse2")
    assert not uses_avx(NUMBA_OPT="0")


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="x86 only")
def test_settings_that_change_within_a_process_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of an entry and its code use the same settings."""
    monkeypatch.setenv("NUMBA_CPU_NAME", "nocona")
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "+sse2")
    lowered = autojit.jit(lambda x: x * 2.625).lower(np.ones(1000))
    assert not re.search("ymm|zmm", lowered.text("asm"))
