"""The attributes that a twin keeps of its function, and the functions without a twin."""

from __future__ import annotations

import functools
import inspect
import linecache
import re
import traceback
from typing import Any

import pytest

from autojit.capture.rewriting import PlainRuntime, is_twin_code, reason_against, twin_of


def twin(function: Any) -> Any:
    made = twin_of(function, PlainRuntime)
    assert made is not None, reason_against(function)
    return made


def call(function: Any, *args: Any, **kwargs: Any) -> Any:
    return PlainRuntime(()).call(function, *args, **kwargs)


def sign(x, *, zero=0):
    """The sign."""
    if x > 0:
        return 1
    if x < 0:
        return -1
    return zero


def test_it_looks_like_its_function() -> None:
    made = twin(sign)
    assert (made.__name__, made.__qualname__, made.__doc__) == ("sign", "sign", "The sign.")
    assert inspect.signature(made) == inspect.signature(sign)
    assert made.__dict__ is sign.__dict__
    assert is_twin_code(made.__code__)
    assert not is_twin_code(sign.__code__)
    assert [made(x) for x in (2, -3, 0)] == [1, -1, 0]
    assert made(0, zero=7) == 7
    assert twin_of(sign, PlainRuntime) is made


def fails(x):
    if x:
        for _ in range(2):
            raise ValueError("here")
    return x


def test_traceback_shows_the_line_of_the_user() -> None:
    with pytest.raises(ValueError, match="here") as caught:
        twin(fails)(1)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.filename == __file__
    assert last.line == 'raise ValueError("here")'
    assert last.name == "fails"


def test_message_of_missing_argument_names_the_function() -> None:
    with pytest.raises(TypeError, match=r"^sign\(\) missing 1 required positional argument: 'x'$"):
        twin(sign)()


def test_each_function_of_a_factory_has_its_cells() -> None:
    def factory(k):
        def times(x):
            return k * x if x > 0 else k

        return times

    two, three = factory(2), factory(3)
    assert (twin(two)(5), twin(three)(5)) == (10, 15)
    assert twin(two).__code__ is twin(three).__code__


def test_closure_changes_after_the_twin_was_made() -> None:
    k = 2

    def times(x):
        return k * x if x > 0 else 0

    made = twin(times)
    assert made(3) == 6
    k = 5
    assert made(3) == 15


def test_counter_of_closure_is_shared() -> None:
    count = 0

    def step(x):
        nonlocal count
        if x:
            count += 1
        return count

    assert (twin(step)(1), step(1), twin(step)(0)) == (1, 2, 2)


def test_defaults_that_change() -> None:
    def add(x, y=1):
        return x + y if x else 0

    assert twin(add)(1) == 2
    add.__defaults__ = (10,)
    assert twin(add)(1) == 11


def test_lambdas_on_one_line() -> None:
    up, down = (lambda x: x + 1 if x > 0 else 0), (lambda x: x - 1 if x > 0 else 0)
    assert (twin(up)(5), twin(down)(5)) == (6, 4)
    several = [
        lambda x, k=k: (
            max(x, k)
        ) for k in range(3)
    ]  # fmt: skip
    assert twin(several[2])(1) == 2


class Base:
    def __init__(self, x):
        self.__x = abs(x)

    def value(self):
        return self.__x if self.__x > 1 else -1


class Derived(Base):
    def __init__(self, x):
        super().__init__(x)
        if x:
            self.__y = __class__.__name__

    def value(self):
        if True:
            found = super().value()
            return (found, self.__y) if found > 0 else found

    @staticmethod
    def double(x):
        return 2 * x if x > 0 else 0

    @classmethod
    def name(cls, x):
        return cls.__name__ if x else ""

    def __call__(self, x):
        return self.value() if x else None


def test_methods() -> None:
    made = call(Derived, -3)
    assert type(made) is Derived
    assert vars(made) == vars(Derived(-3)) == {"_Base__x": 3, "_Derived__y": "Derived"}
    assert call(made.value) == made.value() == (3, "Derived")
    assert call(Derived.double, 4) == 8
    assert call(made.double, 4) == 8
    assert call(Derived.name, 1) == "Derived"
    assert call(made, 1) == (3, "Derived")


def test_wrapper_is_what_is_converted() -> None:
    def twice(f):
        @functools.wraps(f)
        def wrapper(x):
            return 2 * f(x) if x > 1 else 0

        return wrapper

    decorated = twice(sign)
    assert twin(decorated)(4) == 2
    assert twin(decorated)(1) == 0
    assert call(functools.partial(sign, zero=4), 0) == 4


def factorial(n):
    return n * factorial(n - 1) if n > 1 else 1


def test_recursion() -> None:
    def fib(n):
        if n < 2:
            return n
        return fib(n - 1) + fib(n - 2)

    assert twin(factorial)(6) == 720
    assert twin(fib)(10) == 55


def test_names_of_inner_functions_and_classes() -> None:
    def outer(x):
        if x:

            def inner():
                class Local:
                    pass

                return Local

            return inner

    made, plain = twin(outer)(1), outer(1)
    assert made.__qualname__ == plain.__qualname__
    assert made().__qualname__ == plain().__qualname__
    assert is_twin_code(made.__code__)


def test_returns_that_are_taken_back() -> None:
    class Suppress:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            return True

    def f(x):
        with Suppress():
            try:
                return 1
            finally:
                x[0]
        return 2

    assert (twin(f)([]), twin(f)([1])) == (f([]), f([1])) == (2, 1)


def generator(x):
    with x:
        yield x


def with_locals(x):
    return locals() if x else 0


def with_finally(x):
    for _ in x:
        try:
            pass
        finally:
            break  # noqa: B012


def nothing(x):
    return x + 1


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (generator, "it is a generator with a yield in with, or in a try with finally"),
        (with_locals, r"line \d+ calls locals\(\)"),
        (with_finally, r"line \d+ has break in a finally"),
        (nothing, "there is nothing to rewrite in it"),
        (eval("lambda x: max(x, 1)"), "its source is not available"),
    ],
)
def test_reasons(function: Any, words: str) -> None:
    assert twin_of(function, PlainRuntime) is None
    assert re.fullmatch(words, reason_against(function) or "")


def test_source_that_has_changed() -> None:
    text = "def f(x):\n    return max(x, 1)\n"
    space: dict[str, Any] = {}
    exec(compile(text, "<changed>", "exec"), space)
    changed = text.replace("1", "2")
    linecache.cache["<changed>"] = (len(text), None, changed.splitlines(True), "<changed>")
    assert "is not the source that it was compiled from" in (reason_against(space["f"]) or "")


def test_what_a_runtime_sees() -> None:
    def f(x, n):
        s = 0
        for i in range(n):
            if x[i] > 0:
                s = s + x[i]
                t = 2 * s  # noqa: F841
        return s

    made = twin(f)
    runtime = inspect.getclosurevars(made).nonlocals["__autojit__"]
    loop, inner = runtime.sites
    assert (loop.kind, loop.text, loop.names) == ("for", "range(n)", ("i", "s", "t"))
    assert (loop.live_in, loop.live_out) == ({"s"}, {"s"})
    assert (inner.kind, inner.text, inner.names) == ("if", "x[i] > 0", ("s", "t"))
    assert (inner.live_in, inner.live_out) == ({"s"}, {"s"})
    assert inner.reads == ("i", "s", "x")
    assert loop.file == __file__
