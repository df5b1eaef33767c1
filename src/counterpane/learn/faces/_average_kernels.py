"""Class probabilities of rows under an average of structures that share their faces."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterpane._jit import kernel
from counterpane.learn.faces._face_kernels import BLOCK, locate
from counterpane.typing import Array, Codes, Floats, Ints

TINY = 1e-250  # an average below this may have lost its digits, or all of itself


class Layers(NamedTuple):
    """Faces laid on one another in the order of the climb, and the structures seen on the way.

    Face f has sizes[f] columns and from offsets[f] on two tables of (classes, cells): `values`, φ,
    and `factors`, exp φ over its largest in the cell. A column has one code more than states, the
    last, for what is not known; cells with it are neutral, 0 and 1. Layer t adds the faces
    added[t] … added[t+1]−1. Structure s has the first steps[s] layers and the faces
    extras[extra_offsets[s] … extra_offsets[s+1]−1]; steps rise.
    """

    cards: Ints
    columns: Ints
    sizes: Ints
    offsets: Ints
    values: Floats
    factors: Floats
    added: Ints
    steps: Ints
    extra_offsets: Ints
    extras: Ints
    weights: Floats


@kernel
def add_face(
    layers: Layers, face: int, codes: Codes, start: int, stop: int, where: Array, joint: Floats
) -> None:
    """Add φ of a face to `joint`, (classes, rows of the block)."""
    columns, size = layers.columns[face], layers.sizes[face]
    locate(codes, columns, size, layers.cards, start, stop, where)
    cells = (layers.offsets[face + 1] - layers.offsets[face]) // joint.shape[0]
    for y in range(joint.shape[0]):
        plane = layers.values[layers.offsets[face] + y * cells : layers.offsets[face + 1]]
        own = joint[y]
        for k in range(stop - start):
            own[k] += plane[where[k]]


@kernel
def multiply_face(
    layers: Layers, face: int, codes: Codes, start: int, stop: int, where: Array, proba: Floats
) -> None:
    """Multiply `proba`, (classes, rows of the block), by the factors of a face."""
    columns, size = layers.columns[face], layers.sizes[face]
    locate(codes, columns, size, layers.cards, start, stop, where)
    cells = (layers.offsets[face + 1] - layers.offsets[face]) // proba.shape[0]
    for y in range(proba.shape[0]):
        plane = layers.factors[layers.offsets[face] + y * cells : layers.offsets[face + 1]]
        own = proba[y]
        for k in range(stop - start):
            own[k] *= plane[where[k]]


@kernel
def scale(values: Floats, width: int, totals: Floats, weight: float, out: Floats) -> None:
    """Add weight × the columns of `values`, brought to sum to 1, to `out`; the same shape."""
    for k in range(width):
        totals[k] = 0.0
    for y in range(values.shape[0]):
        own = values[y]
        for k in range(width):
            totals[k] += own[k]
    for k in range(width):
        totals[k] = weight / totals[k]
    for y in range(values.shape[0]):
        own, sums = values[y], out[y]
        for k in range(width):
            sums[k] += own[k] * totals[k]


@kernel
def average(layers: Layers, prior: Floats, codes: Codes, start: int, stop: int, out: Array) -> bool:
    """Fill rows start … stop−1 of `out` with ln Σ_s weight_s P_s(class | row).

    The average is taken of plain numbers; returns whether some came out below TINY, in which case
    `log_average` must be called for these rows.
    """
    classes = prior.size
    where = np.empty(BLOCK, dtype=np.int32)
    totals = np.empty(BLOCK)
    joint = np.empty((classes, BLOCK))
    proba = np.empty((classes, BLOCK))
    own = np.empty((classes, BLOCK))
    mean = np.empty((classes, BLOCK))
    doubtful = False
    for first in range(start, stop, BLOCK):
        last = min(first + BLOCK, stop)
        width = last - first
        for y in range(classes):
            for k in range(width):
                joint[y, k] = prior[y]
                mean[y, k] = 0.0
        s = 0
        for layer in range(layers.added.size):
            if layer:
                for face in range(layers.added[layer - 1], layers.added[layer]):
                    add_face(layers, face, codes, first, last, where, joint)
            if s == layers.steps.size or layers.steps[s] != layer:
                continue
            for k in range(width):
                largest = joint[0, k]
                for y in range(1, classes):
                    largest = max(largest, joint[y, k])
                for y in range(classes):
                    proba[y, k] = math.exp(joint[y, k] - largest)
            while s < layers.steps.size and layers.steps[s] == layer:
                for y in range(classes):
                    for k in range(width):
                        own[y, k] = proba[y, k]
                for k in range(layers.extra_offsets[s], layers.extra_offsets[s + 1]):
                    multiply_face(layers, layers.extras[k], codes, first, last, where, own)
                scale(own, width, totals, layers.weights[s], mean)
                s += 1
        for k in range(width):
            for y in range(classes):
                doubtful |= mean[y, k] < TINY
                out[first + k, y] = math.log(mean[y, k]) if mean[y, k] > 0.0 else -np.inf
    return doubtful


@kernel
def log_average(layers: Layers, prior: Floats, codes: Codes, row: int, out: Array) -> None:
    """Fill one row of `out` as `average` does, in logs throughout."""
    classes = prior.size
    where = np.empty(1, dtype=np.int32)
    joint = np.empty((classes, 1))
    own = np.empty((classes, 1))
    for y in range(classes):
        joint[y, 0] = prior[y]
        out[row, y] = -np.inf
    s = 0
    for layer in range(layers.added.size):
        if layer:
            for face in range(layers.added[layer - 1], layers.added[layer]):
                add_face(layers, face, codes, row, row + 1, where, joint)
        while s < layers.steps.size and layers.steps[s] == layer:
            for y in range(classes):
                own[y, 0] = joint[y, 0]
            for k in range(layers.extra_offsets[s], layers.extra_offsets[s + 1]):
                add_face(layers, layers.extras[k], codes, row, row + 1, where, own)
            largest = -np.inf
            for y in range(classes):
                largest = max(largest, own[y, 0])
            total = 0.0
            for y in range(classes):
                total += math.exp(own[y, 0] - largest)
            shift = math.log(layers.weights[s] / total) - largest
            for y in range(classes):
                a = max(out[row, y], own[y, 0] + shift)
                b = min(out[row, y], own[y, 0] + shift)
                out[row, y] = a + math.log1p(math.exp(b - a))
            s += 1
