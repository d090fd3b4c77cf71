"""The base class of PyTorch's optimisers: parameter groups, states, steps by ``autojit.optim``."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autojit.dispatch.jit_function import jit
from autojit.optim.optimizer import Optimizer as Rule
from autojit.torch.engine.modes import enable_grad
from autojit.torch.engine.nodes import Handle, add_hook
from autojit.torch.engine.recording import counter_of, wrap
from autojit.torch.engine.rules import MUCH, OFTEN
from autojit.torch.engine.sharing import is_alone, is_fresh
from autojit.torch.engine.tensor import Tensor
from autojit.torch.engine.widening import cast, has_halves, wide
from autojit.tracing.values import is_tracer

Group = dict[str, Any]


#: The most rules that are kept for different settings of the groups.
MOST = 64


class _Steps:
    """The steps of one rule: operation by operation at first, compiled if that is worthwhile."""

    def __init__(self, rule: Rule) -> None:
        self._init = rule.init
        self._update = rule.update
        self._first: Group | None = None
        self._calls = 0
        self._compiled: Any = None

    def init(self, arrays: list[Any]) -> Group:
        """The state of parameters before their first step."""
        if self._first is not None:
            return self._first
        state = self._init(arrays)
        if list(state) == ["step"]:  # no part of the state belongs to a parameter
            self._first = state
        return state

    def update(self, arrays: list[Any], grads: list[Any], state: Group, lr: Any) -> Any:
        """The new parameters, and the new state."""
        # A rule has at least two operations per element.
        if 2 * sum([a.size for a in arrays]) > MUCH and not any(map(is_tracer, arrays)):
            self._calls += 1
            if self._calls > OFTEN:
                if self._compiled is None:
                    self._compiled = jit(self._update)
                return self._compiled(arrays, grads, state, lr=lr)
        return self._update(arrays, grads, state, lr=lr)


class Optimizer:
    """Groups of parameters, each with its own settings, and a state for each parameter.

    Args:
        params: parameters, pairs of names and parameters, or dicts with ``"params"`` and settings.
        defaults: the settings of groups that do not override them.
    """

    def __init__(self, params: Iterable[Any], defaults: Group) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                "but got torch.FloatTensor"
            )
        self.defaults = defaults
        self.state: defaultdict[Any, Group] = defaultdict(dict)
        self.param_groups: list[Group] = []
        self._before: dict[int, Callable[..., Any]] = {}
        self._after: dict[int, Callable[..., Any]] = {}
        self._steps: dict[Any, _Steps] = {}
        if not isinstance(params, Iterable):
            raise TypeError(
                f"the first argument of {type(self).__name__} is the parameters, not "
                f"{params!r:.60}. The optimiser for plain arrays, without modules, has a "
                "lower-case name:\n"
                "    opt = autojit.optim.adam(lr=0.01)"
            )
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters with its own settings."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        listed = [given] if isinstance(given, Tensor) else list(given)
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        params = [p[1] if isinstance(p, tuple) else p for p in listed]
        known = {id(p) for g in self.param_groups for p in g["params"]}
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {type(p)}"
                )
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
            if id(p) in known:
                raise ValueError("some parameters appear in more than one parameter group")
        group = {**self.defaults, **param_group, "params": params}
        self._check(group)
        self.param_groups.append(group)

    def _check(self, group: Group) -> None:
        """Raise if a setting is invalid."""
        if group["lr"] < 0:
            raise ValueError(f"Invalid learning rate: {group['lr']}")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Remove the gradients of all parameters, or set them to zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p._grad = None if set_to_none else wrap(np.zeros_like(p.grad._data))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make a step by the parameters' gradients; return the result of ``closure``, if any."""
        for hook in list(self._before.values()):
            hook(self, (), {})
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._step_group(group)
        for hook in list(self._after.values()):
            hook(self, (), {})
        return loss

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(optimizer, args, kwargs)`` before each step."""
        return add_hook(self._before, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return add_hook(self._after, hook)

    # -- steps ----------------------------------------------------------------

    def _made(self, group: Group) -> Rule:
        """The pure optimiser with the settings of a group."""
        raise NotImplementedError

    #: The settings on which the pure optimiser depends, except the learning rate.
    names: tuple[str, ...] = ()
    #: Whether the state contains the number of steps; if not, it matters only whether there is a
    #: state.
    counts = True

    def _steps_of(self, group: Group) -> _Steps:
        key = tuple([group[name] for name in self.names])
        found = self._steps.get(key)
        if found is None:
            if len(self._steps) >= MOST:  # settings change in each step
                self._steps.clear()
            found = self._steps[key] = _Steps(self._made(group))
        return found

    def __getstate__(self) -> Group:
        """The state for copies and pickles, without the compiled steps, which are made again."""
        return {**self.__dict__, "_steps": {}}

    def _step_group(self, group: Group) -> None:
        by_step: dict[int, list[Any]] = {}
        for p in group["params"]:
            if p.grad is not None:
                by_step.setdefault(self._count(p), []).append(p)
        if by_step:
            steps = self._steps_of(group)
            for step, params in by_step.items():
                self._update(steps, params, step, group)

    def _count(self, p: Tensor) -> int:
        """How many steps a parameter has made."""
        state = self.state.get(p)
        if not state:
            return 0
        return int(state["step"]._data) if self.counts else 1

    def _update(self, steps: _Steps, params: list[Any], step: int, group: Group) -> None:
        arrays = [wide(p._data) for p in params]
        if step == 0:
            state = steps.init(arrays)
            kept = [name for name in state if name != "step"]
        else:
            kept = [name for name in self.state[params[0]] if name != "step"]
            state = {n: [wide(self.state[p][n]._data) for p in params] for n in kept}
            state["step"] = np.int64(step)
        grads = [wide(p.grad._data) for p in params]
        rate = group["lr"]
        rate = rate.item() if isinstance(rate, Tensor) else rate
        made, new = steps.update(arrays, grads, state, rate)
        del arrays
        for k, (p, array) in enumerate(zip(params, made, strict=True)):
            is_half = has_halves([p._data])
            array = cast(array, p._data.dtype) if is_half else array
            if is_fresh(array) and array.dtype == p._data.dtype and is_alone(p):
                p._data = array
            else:
                p._data[...] = array
            counter_of(p)[0] += 1
            slots: Group = {name: wrap(np.asarray(new[name][k])) for name in kept}
            if is_half:  # the state is kept in the parameters' dtype
                slots = {n: wrap(cast(t._data, p._data.dtype)) for n, t in slots.items()}
            if self.counts:
                slots = {"step": wrap(np.asarray(step + 1, np.float32)), **slots}
            if slots:
                self.state[p] = slots

    # -- states ---------------------------------------------------------------

    def state_dict(self) -> Group:
        """The state of each parameter, by its number, and the settings of the groups."""
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            rest = {k: v for k, v in group.items() if k != "params"}
            groups.append({**rest, "params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers[id(p)]: dict(slots) for p, slots in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Group) -> None:
        """Restore the state that ``state_dict`` returned."""
        groups = copy.deepcopy(state_dict["param_groups"])
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(
            len(a["params"]) != len(b["params"])
            for a, b in zip(groups, self.param_groups, strict=True)
        ):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        by_number: dict[int, Any] = {}
        for old, new in zip(self.param_groups, groups, strict=True):
            by_number.update(zip(new["params"], old["params"], strict=True))
            old.update({k: v for k, v in new.items() if k != "params"})
        self.state = defaultdict(dict)
        for number, slots in state_dict["state"].items():
            p = by_number[int(number)]
            self.state[p] = {name: _copied(value, name, p) for name, value in slots.items()}

    def __repr__(self) -> str:
        parts = [
            f"Parameter Group {k}\n"
            + "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
            for k, group in enumerate(self.param_groups)
        ]
        return f"{type(self).__name__} (\n" + "\n".join(parts) + ")"


def _copied(value: Any, name: str, p: Tensor) -> Any:
    if not isinstance(value, Tensor):
        return value
    array = np.array(value._data)
    return wrap(array if name == "step" else cast(array, p._data.dtype))
