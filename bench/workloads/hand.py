"""A Jacobian in forward mode: ADBench's hand tracking, without the points' own parameters.

F. Srajer, Z. Kukelova and A. Fitzgibbon, "A Benchmark of Selected Algorithmic Differentiation
Tools on Some Problems in Computer Vision and Machine Learning", 2018. A turn and a shift of the
hand and four angles per finger pose a skeleton; its bones' transformations are blended at each
vertex, and the residuals are the points minus their vertices. ADBench's model of a hand is
replaced by a random one with the same number of bones, vertices, correspondences and parameters.
The third Euler angle, which is zero in every bone, is left out.
"""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload

# A wrist, five fingers of four bones, and a forearm.
FINGERS, FINGER_BONES, BONES = 5, 4, 22
PARENTS = (-1, *(bone - 1 if bone % FINGER_BONES != 1 else 0 for bone in range(1, 21)), 0)
PARAMETERS = 6 + 4 * FINGERS
VERTICES, CORRESPONDENCES = 544, 100
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def primal(np: Any, special: Any) -> Function:
    def pose(fingers):
        """The bend and spread of each bone: a finger's first bone has neither, its second both."""
        still, only_bent = np.zeros((FINGERS, 1)), np.zeros((FINGERS, 2))
        bends = np.concatenate((still, fingers[:, :1], fingers[:, 2:]), axis=1)
        spreads = np.concatenate((still, fingers[:, 1:2], only_bent), axis=1)
        end = np.zeros(1)
        return (
            np.concatenate((end, bends.reshape(-1), end)),
            np.concatenate((end, spreads.reshape(-1), end)),
        )

    def euler_rotations(bends, spreads):
        zero, one = np.zeros_like(bends), np.ones_like(bends)
        c, s = np.cos(bends), np.sin(bends)
        about_x = np.stack((one, zero, zero, zero, c, -s, zero, s, c)).T.reshape(BONES, 3, 3)
        c, s = np.cos(spreads), np.sin(spreads)
        about_z = np.stack((c, -s, zero, s, c, zero, zero, zero, one)).T.reshape(BONES, 3, 3)
        return about_z @ about_x

    def rotation_matrix(rotation):
        angle = np.sqrt(np.sum(rotation**2))
        x, y, z = rotation[0] / angle, rotation[1] / angle, rotation[2] / angle
        c, s = np.cos(angle), np.sin(angle)
        entries = (
            x * x + (1.0 - x * x) * c, x * y * (1.0 - c) - z * s, x * z * (1.0 - c) + y * s,
            x * y * (1.0 - c) + z * s, y * y + (1.0 - y * y) * c, y * z * (1.0 - c) - x * s,
            x * z * (1.0 - c) - y * s, z * y * (1.0 - c) + x * s, z * z + (1.0 - z * z) * c,
        )  # fmt: skip
        return np.stack(entries).reshape(3, 3)

    def residuals(theta, base_relatives, inverse_bases, base_positions, weights, points, matches):
        bends, spreads = pose(theta[6:].reshape(FINGERS, 4))
        turned = base_relatives[:, :, :3] @ euler_rotations(bends, spreads)
        relatives = np.concatenate((turned, base_relatives[:, :, 3:]), axis=2)
        absolutes = []
        for bone, parent in enumerate(PARENTS):
            relative = relatives[bone]
            absolutes.append(relative if parent < 0 else absolutes[parent] @ relative)
        transforms = np.stack(absolutes) @ inverse_bases
        blended = np.tensordot(weights, transforms, 1)
        vertices = np.einsum("vij,vj->vi", blended[:, :3], base_positions)
        posed = vertices @ rotation_matrix(theta[:3]).T + theta[3:6]
        return points - posed[matches]

    return residuals


def torch_primal(torch: Any) -> Function:
    return primal(torch, None)


def numpy_jacobian(np: Any) -> Function:
    """Each angle's derivative is carried along the chain of bones as a matrix.

    The derivative of a rotated vector by the rotation is that of G. Gallego and A. Yezzi, "A
    Compact Formula for the Derivative of a 3-D Rotation in Exponential Coordinates", 2015.
    """

    def rotation(axis, angle, slope=False):
        """A 4 x 4 rotation about a coordinate axis, or its derivative."""
        i, j = (axis + 1) % 3, (axis + 2) % 3
        result = np.zeros((4, 4)) if slope else np.eye(4)
        c, s = (-np.sin(angle), np.cos(angle)) if slope else (np.cos(angle), np.sin(angle))
        result[i, i], result[i, j], result[j, i], result[j, j] = c, -s, s, c
        return result

    def chained(fingers, base_relatives):
        """The bones' frames and, for each angle, their derivatives."""
        absolutes = np.empty((BONES, 4, 4))
        slopes = np.zeros((4 * FINGERS, BONES, 4, 4))
        for bone, parent in enumerate(PARENTS):
            finger, place = divmod(bone - 1, FINGER_BONES)
            relative = base_relatives[bone]
            if finger in range(FINGERS) and place > 0:
                angle = 4 * finger + (0 if place == 1 else place)
                bend, spread = fingers[angle], fingers[angle + 1] if place == 1 else 0.0
                frame = absolutes[parent] @ relative
                about_x, about_z = rotation(0, bend), rotation(2, spread)
                relative = relative @ about_z @ about_x
                slopes[angle, bone] += frame @ about_z @ rotation(0, bend, slope=True)
                if place == 1:
                    slopes[angle + 1, bone] += frame @ rotation(2, spread, slope=True) @ about_x
            absolutes[bone] = relative if parent < 0 else absolutes[parent] @ relative
            if parent >= 0:
                slopes[:, bone] += slopes[:, parent] @ relative
        return absolutes, slopes

    def turned(r):
        """The rotation, its axis times angle as a matrix, and the rest of the formula."""
        square = np.sum(r**2)
        x, y, z = r
        across = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        angle = np.sqrt(square)
        matrix = np.eye(3) + np.sin(angle) / angle * across
        matrix += (1.0 - np.cos(angle)) / square * (across @ across)
        return matrix, (np.outer(r, r) + (matrix.T - np.eye(3)) @ across) / square

    def jacobian(theta, base_relatives, inverse_bases, base_positions, weights, points, matches):
        absolutes, slopes = chained(theta[6:], base_relatives)
        matrix, rest = turned(theta[:3])
        mixed, at = weights[matches], base_positions[matches]
        skinned = "vb,bij,vj->vi"
        vertices = np.einsum(skinned, mixed, absolutes @ inverse_bases, at, optimize=True)[:, :3]
        result = np.empty((CORRESPONDENCES, 3, PARAMETERS))
        # A cross product with each column of the formula's last factor.
        result[:, :, :3] = matrix @ np.cross(vertices[:, None, :], rest.T[None]).transpose(0, 2, 1)
        result[:, :, 3:6] = -np.eye(3)
        for angle, slope in enumerate(slopes):
            moved = np.einsum(skinned, mixed, slope @ inverse_bases, at, optimize=True)[:, :3]
            result[:, :, 6 + angle] = -moved @ matrix.T
        return result

    return jacobian


def numba_turn(numba: Any) -> Function:
    @numba.njit(**OPTIONS)
    def turn_of(theta):
        """The hand's rotation; in the columns, the angular velocities of its parameters."""
        r0, r1, r2 = theta[0], theta[1], theta[2]
        angle = numpy.sqrt(r0 * r0 + r1 * r1 + r2 * r2)
        axis = x, y, z = r0 / angle, r1 / angle, r2 / angle
        across = numpy.array(((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)))
        c, s = numpy.cos(angle), numpy.sin(angle)
        even = s / angle
        turn, rates = numpy.empty((3, 3)), numpy.empty((3, 3))
        for i in range(3):
            for j in range(3):
                outer, same = axis[i] * axis[j], 1.0 if i == j else 0.0
                turn[i, j] = same * c + outer * (1.0 - c) + across[i, j] * s
                bent = across[i, j] * (1.0 - c) / angle
                rates[i, j] = same * even + outer * (1.0 - even) + bent
        return turn, rates

    return turn_of


def numba_skeleton(numba: Any) -> Function:
    njit = numba.njit(**OPTIONS)

    @njit
    def product(a, b, result):
        """The product of two affine transformations, without the last row."""
        for i in range(3):
            for j in range(4):
                result[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]
            result[i, 3] += a[i, 3]

    @njit
    def bend_and_spread(frame, bend, spread):
        """Turn a frame about its z axis, then about its new x axis."""
        cx, sx, cz, sz = numpy.cos(bend), numpy.sin(bend), numpy.cos(spread), numpy.sin(spread)
        for i in range(3):
            x, y, z = frame[i, 0], frame[i, 1], frame[i, 2]
            aside = cz * y - sz * x
            frame[i, 0] = cz * x + sz * y
            frame[i, 1], frame[i, 2] = cx * aside + sx * z, cx * z - sx * aside

    @njit
    def skeleton(theta, turn, base_relatives, inverse_bases):
        """The bones' transformations; the origins of the fingers' joints and their axes."""
        frames, transforms = numpy.empty((BONES, 3, 4)), numpy.empty((BONES, 3, 4))
        origins, axes = numpy.empty((4 * FINGERS, 3)), numpy.empty((4 * FINGERS, 3))
        root = numpy.zeros((3, 4))
        root[:, :3] = turn
        for bone in range(BONES):
            parent = PARENTS[bone]
            frame = frames[bone]
            product(root if parent < 0 else frames[parent], base_relatives[bone], frame)
            finger, place = (bone - 1) // FINGER_BONES, (bone - 1) % FINGER_BONES
            if bone > 0 and finger < FINGERS and place > 0:
                angle = 4 * finger + (0 if place == 1 else place)
                spread = 0.0
                if place == 1:
                    spread = theta[7 + angle]
                    axes[angle + 1], origins[angle + 1] = frame[:, 2], frame[:, 3]
                bend_and_spread(frame, theta[6 + angle], spread)
                axes[angle], origins[angle] = frame[:, 0], frame[:, 3]
            product(frame, inverse_bases[bone], transforms[bone])
        return transforms, origins, axes

    return skeleton


def numba_bones(numba: Any) -> tuple[Function, Function]:
    njit = numba.njit(**OPTIONS)

    @njit
    def carried(transform, weight, at, total):
        """Add a bone's share of a vertex."""
        for i in range(3):
            moved = transform[i, 0] * at[0] + transform[i, 1] * at[1] + transform[i, 2] * at[2]
            total[i] += weight * (moved + transform[i, 3])

    @njit
    def column(result, which, axis, x, y, z):
        """Subtract the velocity of a place that turns about an axis."""
        result[0, which] = axis[2] * y - axis[1] * z
        result[1, which] = axis[0] * z - axis[2] * x
        result[2, which] = axis[1] * x - axis[0] * y

    return carried, column


def numba_vertex(numba: Any) -> Function:
    carried, column = numba_bones(numba)

    @numba.njit(**OPTIONS)
    def vertex(transforms, origins, axes, rates, at, weights, total, result):
        """Add up from the fingertips: a joint moves what its own bone and later ones carry."""
        total[:] = 0.0
        carried(transforms[0], weights[0], at, total)
        carried(transforms[BONES - 1], weights[BONES - 1], at, total)
        part = numpy.empty(3)
        for finger in range(FINGERS):
            part[:] = 0.0
            moved = 0.0
            for place in range(FINGER_BONES - 1, 0, -1):
                bone = 1 + FINGER_BONES * finger + place
                carried(transforms[bone], weights[bone], at, part)
                moved += weights[bone]
                first = 4 * finger + (0 if place == 1 else place)
                for angle in range(first, first + (2 if place == 1 else 1)):
                    origin = origins[angle]
                    column(
                        result, 6 + angle, axes[angle],
                        part[0] - moved * origin[0], part[1] - moved * origin[1],
                        part[2] - moved * origin[2],
                    )  # fmt: skip
            carried(
                transforms[1 + FINGER_BONES * finger], weights[1 + FINGER_BONES * finger], at, part
            )
            for i in range(3):
                total[i] += part[i]
        for i in range(3):
            column(result, i, rates[:, i], total[0], total[1], total[2])
            for j in range(3):
                result[i, 3 + j] = -1.0 if i == j else 0.0

    return vertex


def numba_version(numba: Any) -> tuple[Function, Function]:
    """The geometric Jacobian of a chain of joints, for bones that turn and shift only.

    A joint's angle turns everything attached to it about its axis through its origin, so no matrix
    is differentiated. Only the vertices with a point are posed. The work is too short for threads.
    """
    njit = numba.njit(**OPTIONS)
    turn_of, skeleton = numba_turn(numba), numba_skeleton(numba)
    carried, _ = numba_bones(numba)
    vertex = numba_vertex(numba)

    @njit
    def value(theta, base_relatives, inverse_bases, base_positions, weights, points, matches):
        turn, _ = turn_of(theta)
        transforms, _, _ = skeleton(theta, turn, base_relatives, inverse_bases)
        result, total = numpy.empty_like(points), numpy.empty(3)
        for n in range(matches.size):
            total[:] = theta[3:6]
            for bone in range(BONES):
                carried(
                    transforms[bone], weights[matches[n], bone], base_positions[matches[n]], total
                )
            result[n] = points[n] - total
        return result

    @njit
    def jacobian(theta, base_relatives, inverse_bases, base_positions, weights, points, matches):
        turn, rates = turn_of(theta)
        transforms, origins, axes = skeleton(theta, turn, base_relatives, inverse_bases)
        result, total = numpy.empty((matches.size, 3, PARAMETERS)), numpy.empty(3)
        for n in range(matches.size):
            at, mixed = base_positions[matches[n]], weights[matches[n]]
            vertex(transforms, origins, axes, rates, at, mixed, total, result[n])
        return result

    return value, jacobian


def _rigid(rng: Any, size: float) -> Any:
    """A random turn and shift."""
    result = numpy.eye(4)
    turn, upper = numpy.linalg.qr(numpy.eye(3) + 0.2 * rng.normal(size=(3, 3)))
    result[:3, :3] = turn * numpy.sign(numpy.diag(upper))
    result[:3, 3] = size * rng.normal(size=3)
    return result


def inputs() -> Arrays:
    """Vertices near to the bones, each moved by four of them; points near to vertices."""
    rng = numpy.random.default_rng(0)
    relatives = numpy.array([_rigid(rng, 1.0) for _ in range(BONES)])
    absolutes = []
    for bone, parent in enumerate(PARENTS):
        absolutes.append(relatives[bone] if parent < 0 else absolutes[parent] @ relatives[bone])
    bones = numpy.array(absolutes)
    weights, positions = numpy.zeros((VERTICES, BONES)), numpy.ones((VERTICES, 4))
    for vertex in range(VERTICES):
        chosen = rng.choice(BONES, 4, replace=False)
        weights[vertex, chosen] = rng.dirichlet(numpy.ones(4))
        positions[vertex, :3] = bones[chosen[0], :3, 3] + 0.3 * rng.normal(size=3)
    matches = rng.integers(0, VERTICES, CORRESPONDENCES)
    points = positions[matches, :3] + 0.3 * rng.normal(size=(CORRESPONDENCES, 3))
    theta = 0.3 * rng.normal(size=PARAMETERS)
    return theta, relatives, numpy.linalg.inv(bones), positions, weights, points, matches


WORKLOADS = (
    Workload(
        name="jacobian_hand",
        derivative_of=f"residuals of {CORRESPONDENCES} points, {PARAMETERS} angles and shifts",
        derivative="jacobian",
        dtype="float64",
        target=None,
        inputs=inputs,
        argnums=(0,),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_jacobian,
            "torch": torch_primal,
        },
        # A vertex: 24 flops per bone, 15 per angle. A bone: two products of 63 flops and a turn.
        limit=Limit(
            bytes_moved=8 * (CORRESPONDENCES * (3 * PARAMETERS + BONES + 4) + 32 * BONES),
            flops=CORRESPONDENCES * (24 * BONES + 15 * 23) + 160 * BONES,
        ),
    ),
)
