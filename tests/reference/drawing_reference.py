"""What a drawing must be, checked slowly: boxes apart, edges that cross, edges through boxes."""

from __future__ import annotations

from itertools import combinations, pairwise


def overlapping(positions, sizes):
    """Pairs of nodes whose boxes overlap."""
    return [
        (a, b)
        for a, b in combinations(positions, 2)
        if all(
            abs(positions[a][k] - positions[b][k]) < (sizes[a][k] + sizes[b][k]) / 2 - 1e-6
            for k in (0, 1)
        )
    ]


def outside(positions, sizes, size):
    """Nodes whose boxes leave the drawing."""
    return [
        name
        for name, center in positions.items()
        if any(
            center[k] - sizes[name][k] / 2 < -1e-6
            or center[k] + sizes[name][k] / 2 > size[k] + 1e-6
            for k in (0, 1)
        )
    ]


def on_border(point, center, size):
    """Whether a point is on the border of a box."""
    width, height = size
    dx, dy = abs(point[0] - center[0]), abs(point[1] - center[1])
    inside = dx <= width / 2 + 1e-6 and dy <= height / 2 + 1e-6
    return inside and (abs(dx - width / 2) < 1e-6 or abs(dy - height / 2) < 1e-6)


def _turn(p, q, r):
    value = (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
    return int(value > 1e-9) - int(value < -1e-9)


def _cross(a, b, c, d):
    return _turn(a, b, c) * _turn(a, b, d) < 0 and _turn(c, d, a) * _turn(c, d, b) < 0


def crossings(lines):
    """Pairs of lines, each through its points, that cross."""
    return sum(
        any(_cross(a, b, c, d) for a, b in pairwise(one) for c, d in pairwise(other))
        for one, other in combinations(lines, 2)
    )


def cut_boxes(routes, positions, sizes):
    """(edge, node) where the edge's line runs through the box of a node that is not its end."""
    found = []
    for edge, points in routes.items():
        for name, (x, y) in positions.items():
            if name in edge:
                continue
            width, height = sizes[name]
            left, right = x - width / 2 + 1e-6, x + width / 2 - 1e-6
            top, bottom = y - height / 2 + 1e-6, y + height / 2 - 1e-6
            corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
            sides = [*pairwise(corners), (corners[-1], corners[0])]
            inside = any(left < px < right and top < py < bottom for px, py in points)
            if inside or any(_cross(p, q, a, b) for p, q in pairwise(points) for a, b in sides):
                found.append((edge, name))
    return found
