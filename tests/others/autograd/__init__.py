"""HIPS autograd's own tests and examples, run on autojit.

``python -m tests.others.autograd --checkout PATH [NAME…]`` takes them from a clone of
https://github.com/HIPS/autograd.  Their files are unchanged: a module of the name ``autograd``
(:mod:`.stand_in`) takes its derivatives from autojit, and NumPy and SciPy stand for its wrappers of
them.  The examples do a few iterations, plots are drawn nowhere, and what they would download is
random.  A failure that is not listed in :mod:`.known`, and a success of one that is, is an error.
"""
