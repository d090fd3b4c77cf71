"""Why a recursion whose depth depends on a traced value cannot be a loop."""

from __future__ import annotations

_TRACED = "The depth of the recursion of `{name}` depends on a traced value, and "
CALLED_WITHIN = (
    _TRACED + "a recursive call is in a `finally`, in an `except` that uses the exception, or in a "
    "function that gets `{name}` as an argument, such as `map`. Make the call a statement of its "
    "own:\n"
    "    rest = {name}(n - 1)"
)
NOT_SAVED = (
    _TRACED + "after a recursive call it uses {what}. A frame of compiled code holds numbers, "
    "arrays, and lists, tuples and dicts of these. Make the object before the first call, or again "
    "after the recursive call."
)
MANY_VERSIONS = (
    _TRACED + "its calls differ in more than strings, shapes and lengths that are known: each kind "
    "of call is compiled on its own. Use arrays of one shape, and numbers in place of strings."
)
LONG = (
    _TRACED + "its code has more than {count:,} branches and loops so far. Each kind of call is "
    "compiled on its own, with the recursions inside it. Call another recursion before or after "
    "this one, or write one of the two as a loop."
)
MAY_BE_ANOTHER = (
    _TRACED + "an array that changes in place has another name that a frame holds: a view, a part "
    "of a list, or a variable that a branch has set. Pass the whole array and the place of the "
    "part:\n"
    "    {name}(a, low, high)               # not: {name}(a[low:high])"
)
NO_TABLE = (
    _TRACED + "`{name}` is under functools.lru_cache, but has arguments that are not integers. "
    "Compiled code keeps results only by integers, and without them it may take exponentially many "
    "calls. Let the other arguments be variables of an outer function:\n"
    "    def f(n, x):\n"
    "        @lru_cache\n"
    "        def {name}(n): ...             # which uses x\n"
    "        return {name}(n)\n"
    "or leave out the cache."
)
LARGE_STACK = (
    _TRACED + "a stack of its arguments and variables takes more than 256 MB. Arguments that do "
    "not change can be variables of an outer function instead."
)
MANAGED = (
    _TRACED + "a recursive call is in a `with` whose manager may change something. Compiled code "
    "enters such a `with` again after the call. Make the call before it:\n"
    "    rest = {name}(n - 1)\n"
    "    with manager:                      # not: {name}(n - 1) in here\n"
    "        total = rest + n"
)
HANDLED = (
    _TRACED + "a recursive call is in a `try` that handles {what}, which another call may raise. "
    "Compiled code ends the whole recursion by an exception that the call itself does not handle. "
    "Return a value in its place:\n"
    "    return np.nan                      # not: raise ValueError"
)
CHANGED_LIST = (
    _TRACED + "a call of `{name}` changes, returns or stores a list or dict that its caller has "
    "made. A frame of compiled code holds its elements, so the caller would not see the change. "
    "Use an array, or a list from before the first call:\n"
    "    xs = np.array([n, 0.0])            # not: xs = [n, 0.0]"
)
