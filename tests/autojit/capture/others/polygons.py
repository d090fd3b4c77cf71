"""Polygons: lists of points that grow inside of branches, inside of loops."""

from __future__ import annotations

import numpy as np

from .program import program

_CORNERS = np.array(
    [
        (51.0, 150.3), (201.5, 52.2), (355.1, 153.8), (354.4, 307.7), (258.1, 307.5),
        (211.0, 263.4), (167.6, 363.3), (119.8, 268.6), (127.2, 222.1),
    ]
)  # fmt: skip
_SQUARE = [(100.0, 100.0), (300.0, 100.0), (300.0, 300.0), (100.0, 300.0)]


def clip(subject, clipper):
    """Sutherland and Hodgman's algorithm."""

    def inside(p, a, b):
        return (b[0] - a[0]) * (p[1] - a[1]) > (b[1] - a[1]) * (p[0] - a[0])

    def intersection(s, e, a, b):
        dc = (a[0] - b[0], a[1] - b[1])
        dp = (s[0] - e[0], s[1] - e[1])
        n1 = a[0] * b[1] - a[1] * b[0]
        n2 = s[0] * e[1] - s[1] * e[0]
        n3 = 1.0 / (dc[0] * dp[1] - dc[1] * dp[0])
        return ((n1 * dp[0] - n2 * dc[0]) * n3, (n1 * dp[1] - n2 * dc[1]) * n3)

    output = subject
    a = clipper[-1]
    for b in clipper:
        points = output
        output = []
        s = points[-1]
        for e in points:
            if inside(e, a, b):
                if not inside(s, a, b):
                    output.append(intersection(s, e, a, b))
                output.append(e)
            elif inside(s, a, b):
                output.append(intersection(s, e, a, b))
            s = e
        a = b
    return output


@program((_CORNERS,))
def clipped_area(corners):
    """The area of a polygon inside of a square."""
    subject = [(corners[i, 0], corners[i, 1]) for i in range(len(corners))]
    polygon = clip(subject, _SQUARE)
    total = 0.0
    before = polygon[-1]
    for point in polygon:
        total += before[0] * point[1] - before[1] * point[0]
        before = point
    return 0.5 * total


@program((_CORNERS,), (_CORNERS[::-1] * 0.5,))
def hull_by_monotone_chains(corners):
    """The area of the convex hull, by Andrew's algorithm."""
    points = sorted([(corners[i, 0], corners[i, 1]) for i in range(len(corners))])

    def cross(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    lower = []
    for p in points:
        while len(lower) >= 2 and cross(lower[-2], lower[-1], p) <= 0:
            lower.pop()
        lower.append(p)
    upper = []
    for p in reversed(points):
        while len(upper) >= 2 and cross(upper[-2], upper[-1], p) <= 0:
            upper.pop()
        upper.append(p)
    hull = lower[:-1] + upper[:-1]
    total = 0.0
    for i in range(len(hull)):
        j = (i + 1) % len(hull)
        total += hull[i][0] * hull[j][1] - hull[j][0] * hull[i][1]
    return total / 2


@program((np.array([5.0, 3.0, 8.0, 1.0, 2.0]),))
def merge_sort(values):
    """Return the elements weighted by rank, after merging sorted lists by index."""

    def merged(xs):
        if len(xs) <= 1:
            return xs
        m = len(xs) // 2
        a, b = merged(xs[:m]), merged(xs[m:])
        out = []
        i = j = 0
        while i < len(a) and j < len(b):
            if a[i] <= b[j]:
                out.append(a[i])
                i += 1
            else:
                out.append(b[j])
                j += 1
        return out + a[i:] + b[j:]

    return sum((i + 1) * v for i, v in enumerate(merged(list(values))))
