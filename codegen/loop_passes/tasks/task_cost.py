"""What threads cost: into how many tasks work is worth cutting, and what copies they may have."""

from __future__ import annotations

from autojit.ir.core.machine import LAST, current

#: Launches of threads that a kernel takes as long as, at least, to be cut into tasks.  Two threads
#: then save as much as two launches take, as measured on an idle machine.
WORTH_TRYING = 4
#: Launches from which on threads are used; below, both ways are timed as the code runs.  On a busy
#: machine a launch takes a tick of the scheduler, some milliseconds.
WORTH_THREADS = 400
#: Launches that a task takes as long as, at least, where there are more than a few; the number of
#: tasks.
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
    """How many tasks are cut of so much work; 0 where that is not worth it."""
    if work < least_work():
        return 0
    return min(MOST_TASKS, max(FEW_TASKS, work // max(1, launches(WORK_OF_TASK))))


def is_measured(work: int) -> bool:
    """Whether work is so little that threads may be slower, which is seen as the code runs."""
    return work < launches(WORTH_THREADS)


def scalars_of_line() -> int:
    """Scalars of eight bytes in a line of the caches; tasks write to lines of their own."""
    return current().line // 8


def most_private() -> int:
    """Scalars that tasks' own copies of buffers may have together."""
    return current().cache(LAST, MOST_PRIVATE) // 8
