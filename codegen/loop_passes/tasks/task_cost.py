"""The cost of threads: how many tasks pay for some work, and how large their copies may be."""

from __future__ import annotations

from autojit.ir.core.machine import LAST, current

#: The least work of a kernel that is cut into tasks, in launches of threads. Two threads then save
#: as much as two launches cost, as measured on an idle machine.
WORTH_TRYING = 4
#: The work, in launches, from which threads are always used; below, both ways are timed at run
#: time. On a busy machine a launch takes a scheduler tick of some milliseconds.
WORTH_THREADS = 400
#: The least work of a task, in launches, if there are more than FEW_TASKS.
WORK_OF_TASK = 16
FEW_TASKS, MOST_TASKS = 4, 64
#: The part of the last level of the caches that tasks' own copies of buffers may take together.
MOST_PRIVATE = 1 / 4


def launches(count: float) -> int:
    """The work, in additions, that takes as long as so many launches of threads."""
    machine = current()
    return machine.additions(count * machine.costs.launch)


def least_work() -> int:
    """The least work, in additions, that is cut into tasks."""
    return launches(WORTH_TRYING)


def task_count(work: int) -> int:
    """The number of tasks for an amount of work; 0 if tasks do not pay."""
    if work < least_work():
        return 0
    return min(MOST_TASKS, max(FEW_TASKS, work // max(1, launches(WORK_OF_TASK))))


def is_measured(work: int) -> bool:
    """Whether threads may be slower for so little work, so that both ways are timed at run time."""
    return work < launches(WORTH_THREADS)


def scalars_of_line() -> int:
    """Scalars of eight bytes in a line of the caches; tasks write to lines of their own."""
    return current().line // 8


def most_private() -> int:
    """Scalars that tasks' own copies of buffers may have together."""
    return current().cache(LAST, MOST_PRIVATE) // 8
