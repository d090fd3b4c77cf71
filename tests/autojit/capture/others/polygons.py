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
