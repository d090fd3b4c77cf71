"""NVIDIA's libraries as C functions that check their arguments.

Each argument is checked as the library's documentation requires: handles are known and on their
stream, matrices lie in allocated memory, workspaces have the requested size. Then NumPy and LAPACK
compute the result in that memory.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.codegen.cuda.libraries import reference
from autojit.codegen.cuda.libraries.prototypes import (
    PROTOTYPES,
    UNIT,
    UPPER,
    HeuristicResult,
    c_types,
)

#: NumPy's dtypes by ``cudaDataType``.
TYPES = {0: np.float32, 1: np.float64, 4: np.complex64, 5: np.complex128}
REAL = {0: 0, 1: 1, 4: 0, 5: 1}
#: Bytes that every routine requests in addition: odd, so that nobody guesses them.
EXTRA = 24


class Stubs:
    """The functions, by library and name.

    ``allocated`` tells whether a number of bytes from an address on lies in one allocation of the
    card.
    """

    def __init__(
        self, allocated: Callable[[int, int], bool], missing: frozenset[str] = frozenset()
    ) -> None:
        self._allocated = allocated
        self._missing = missing
        self._serial = itertools.count(1001)
        #: The calls, in order.
        self.calls: list[str] = []
        #: Called for each call that computes.
        self.watch: Callable[[str], None] = lambda name: None
        #: The streams of handles, None until they are set; descriptors and plans by their numbers.
        self.streams: dict[int, int | None] = {}
        self.objects: dict[int, Any] = {}
        self.raised: list[BaseException] = []
        self.stream = 1
        #: Whether products of float32 are expected in tf32.
        self.expects_tf32 = False
        #: The work captured on streams at present; shared with the driver.
        self.capturing: dict[int, list[Any]] = {}
        #: Whether every routine refuses to be captured.
        self.refuses = False
        #: The status that a function returns instead, by name.
        self.failing: dict[str, int] = {}
        self._functions = {
            library: {name: self._made(library, name) for name in names}
            for library, names in PROTOTYPES.items()
        }

    def __contains__(self, library: object) -> bool:
        return library in self._functions and library not in self._missing

    def __getitem__(self, library: str) -> dict[str, Any]:
        return self._functions[library]

    def _made(self, library: str, name: str) -> Any:
        function = getattr(self, name, None)

        def call(*arguments: Any) -> int:
            self.calls.append(name)
            if self.refuses and self.capturing:
                return 13
            if name in self.failing:
                return self.failing[name]
            try:
                assert function is not None, f"{name} is not expected"
                self._run(name, function, arguments)
            except BaseException as error:
                self.raised.append(error)
                return 99
            return 0

        return ctypes.CFUNCTYPE(ctypes.c_int, *c_types(library, name))(call)

    def _run(self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """Run now, or when the graph runs if the stream is being captured."""
        stream, captured = next(iter(self.capturing.items()), (self.stream, None))
        if captured is None or name == "cufftSetWorkArea":
            function(*arguments)
        elif name == "cublasLtMatmul" or name.startswith("cufftExec"):
            captured.append(lambda: self._replayed(stream, function, arguments))
        else:
            raise AssertionError(f"{name} while a stream is captured")

    def _replayed(self, stream: int, function: Callable[..., Any], arguments: Any) -> None:
        self.stream, before = stream, self.stream
        try:
            function(*arguments)
        finally:
            self.stream = before

    # -- checks -----------------------------------------------------------------------------

    def scalars(self, address: int | None, kind: int, count: int) -> np.ndarray:
        """A number of elements on the card."""
        dtype = np.dtype(TYPES[kind])
        return self.memory(address, dtype, count)

    def memory(self, address: int | None, dtype: Any, count: int) -> np.ndarray:
        size = np.dtype(dtype).itemsize * count
        assert address, "a null pointer"
        assert self._allocated(address, size), f"{size} bytes at {address:#x} are nobody's"
        raw = (ctypes.c_uint8 * size).from_address(address)
        return np.frombuffer(memoryview(raw), dtype)

    def matrix(
        self, address: int | None, kind: int, rows: int, columns: int, leading: int
    ) -> np.ndarray:
        reach = (columns - 1) * leading + rows
        return reference.matrix(self.scalars(address, kind, reach), rows, columns, leading)

    def info(self, address: int | None) -> np.ndarray:
        return self.memory(address, np.int32, 1)

    def _new(self, to: int, value: Any = None, kind: Any = ctypes.c_uint64) -> None:
        number = next(self._serial)
        self.objects[number] = value
        kind.from_address(to).value = number

    def _on_stream(self, handle: int) -> None:
        assert handle in self.streams, f"{handle} is no handle"
        assert self.streams[handle] == self.stream, "the handle is not on the card's stream"

    # -- cuSOLVER ---------------------------------------------------------------------------

    def cusolverDnCreate(self, to: int) -> None:
        self._new(to, "cusolver")
        self.streams[ctypes.c_uint64.from_address(to).value] = None

    def cusolverDnSetStream(self, handle: int, stream: int) -> None:
        assert handle in self.streams
        self.streams[handle] = stream

    def cusolverDnCreateParams(self, to: int) -> None:
        self._new(to, "parameters")

    def _solver(self, handle: int, parameters: int) -> None:
        self._on_stream(handle)
        assert self.objects[parameters] == "parameters"

    def _sizes(self, count: int, kind: int, device: int, host: int) -> None:
        ctypes.c_size_t.from_address(device).value = count * np.dtype(TYPES[kind]).itemsize + EXTRA
        ctypes.c_size_t.from_address(host).value = EXTRA

    def _work(self, count: int, kind: int, given: tuple[Any, ...]) -> np.ndarray:
        """Check the workspace, and return the info."""
        device, nbytes, host, on_host, info = given
        assert nbytes == count * np.dtype(TYPES[kind]).itemsize + EXTRA
        self.memory(device, np.uint8, nbytes)[:] = 0xFF
        assert on_host == EXTRA
        ctypes.memset(host, 0xFF, on_host)
        return self.info(info)

    def cusolverDnXpotrf_bufferSize(self, handle, p, uplo, n, kind, a, lda, compute, *to):  # type: ignore[no-untyped-def]
        self._solver(handle, p)
        assert compute == kind
        self._sizes(n, kind, *to)

    def cusolverDnXpotrf(self, handle, p, uplo, n, kind, a, lda, compute, *work):  # type: ignore[no-untyped-def]
        self._solver(handle, p)
        assert compute == kind
        info = self._work(n, kind, work)
        reference.potrf(self.matrix(a, kind, n, n, lda), info, upper=uplo == UPPER)
        self.watch("potrf")

    def cusolverDnXgetrf_bufferSize(self, handle, p, m, n, kind, a, lda, compute, *to):  # type: ignore[no-untyped-def]
        self._solver(handle, p)
        self._sizes(m + n, kind, *to)

    def cusolverDnXgetrf(self, handle, p, m, n, kind, a, lda, pivots, compute, *work):  # type: ignore[no-untyped-def]
        self._solver(handle, p)
        info = self._work(m + n, kind, work)
        rows = self.memory(pivots, np.int64, min(m, n))
        reference.getrf(self.matrix(a, kind, m, n, lda), rows, info)
        self.watch("getrf")

    def cusolverDnXgetrs(self, handle, p, trans, n, k, kind, a, lda, pivots, kind_b, b, ldb, info):  # type: ignore[no-untyped-def]
        self._solver(handle, p)
        assert kind == kind_b
        assert trans in (0, 1)
        factors, sides = self.matrix(a, kind, n, n, lda), self.matrix(b, kind, n, k, ldb)
        rows = self.memory(pivots, np.int64, n)
        reference.getrs(factors, rows, sides, self.info(info), transposed=bool(trans))
        self.watch("getrs")

    def cusolverDnXgeqrf_bufferSize(self, handle, p, m, n, kind, a, lda, of_tau, tau, compute, *to):  # type: ignore[no-untyped-def]
        self._solver(handle, p)
        self._sizes(m * n, kind, *to)

    def cusolverDnXgeqrf(self, handle, p, m, n, kind, a, lda, of_tau, tau, compute, *work):  # type: ignore[no-untyped-def]
        self._solver(handle, p)
        assert kind == of_tau == compute
        info = self._work(m * n, kind, work)
        factors = self.scalars(tau, kind, min(m, n))
        reference.geqrf(self.matrix(a, kind, m, n, lda), factors, info)
        self.watch("geqrf")

    def _orgqr_size(self, kind: int, handle, m, n, k, a, lda, tau, to):  # type: ignore[no-untyped-def]
        self._on_stream(handle)
        assert m >= n >= k
        ctypes.c_int.from_address(to).value = m * n

    def _orgqr(self, kind: int, handle, m, n, k, a, lda, tau, work, count, info):  # type: ignore[no-untyped-def]
        self._on_stream(handle)
        assert count == m * n
        self.scalars(work, kind, count)[:] = np.nan
        matrix, factors = self.matrix(a, kind, m, n, lda), self.scalars(tau, kind, k)
        reference.orgqr(matrix, factors, self.info(info))
        self.watch("orgqr")

    def __getattr__(self, name: str) -> Any:
        for kind, word in zip(TYPES, ("Sorgqr", "Dorgqr", "Cungqr", "Zungqr"), strict=True):
            if name == f"cusolverDn{word}":
                return lambda *given: self._orgqr(kind, *given)
            if name == f"cusolverDn{word}_bufferSize":
                return lambda *given: self._orgqr_size(kind, *given)
        for kind, letter in zip(TYPES, "SDCZ", strict=True):
            if name == f"cublas{letter}trsm_v2":
                return lambda *given: self._trsm(kind, *given)
        for name_of, kinds in _TRANSFORMS.items():
            if name == name_of:
                return lambda *given: self._transform(kinds, *given)
        raise AttributeError(name)

    def cusolverDnXsyevd_bufferSize(  # type: ignore[no-untyped-def]
        self, handle, p, job, uplo, n, kind, a, lda, of_w, w, compute, *to
    ):
        self._solver(handle, p)
        assert of_w == REAL[kind]
        self._sizes(2 * n * n, kind, *to)

    def cusolverDnXsyevd(self, handle, p, job, uplo, n, kind, a, lda, of_w, w, compute, *work):  # type: ignore[no-untyped-def]
        self._solver(handle, p)
        assert job == 1
        assert compute == kind
        info, values = self._work(2 * n * n, kind, work), self.scalars(w, of_w, n)
        reference.syevd(self.matrix(a, kind, n, n, lda), values, info, lower=uplo != UPPER)
        self.watch("syevd")

    def cusolverDnXgesvd_bufferSize(  # type: ignore[no-untyped-def]
        self, handle, p, jobu, jobvt, m, n, kind, a, lda, of_s, s, of_u, u, ldu, of_vt, vt, ldvt,
        compute, *to,
    ):  # fmt: skip
        self._solver(handle, p)
        assert m >= n, "cuSOLVER takes no wide matrices"
        self._sizes(3 * m, kind, *to)

    def cusolverDnXgesvd(  # type: ignore[no-untyped-def]
        self, handle, p, jobu, jobvt, m, n, kind, a, lda, of_s, s, of_u, u, ldu, of_vt, vt, ldvt,
        compute, *work,
    ):  # fmt: skip
        self._solver(handle, p)
        assert m >= n, "cuSOLVER takes no wide matrices"
        assert chr(jobu) in "AS"
        assert chr(jobvt) in "AS"
        assert kind == of_u == of_vt == compute
        info, values = self._work(3 * m, kind, work), self.scalars(s, of_s, n)
        assert of_s == REAL[kind]
        left = self.matrix(u, kind, m, m if chr(jobu) == "A" else n, ldu)
        right = self.matrix(vt, kind, n, n, ldvt)
        reference.gesvd(self.matrix(a, kind, m, n, lda), values, left, right, info)
        self.watch("gesvd")

    def cusolverDnXgeev_bufferSize(  # type: ignore[no-untyped-def]
        self, handle, p, left, right, n, kind, a, lda, of_w, w, of_l, vl, ldvl, of_r, vr, ldvr,
        compute, *to,
    ):  # fmt: skip
        self._solver(handle, p)
        self._sizes(5 * n, kind, *to)

    def cusolverDnXgeev(  # type: ignore[no-untyped-def]
        self, handle, p, left, right, n, kind, a, lda, of_w, w, of_l, vl, ldvl, of_r, vr, ldvr,
        compute, *work,
    ):  # fmt: skip
        self._solver(handle, p)
        assert (left, right) == (0, 1), "left vectors are not supported"
        assert not vl
        assert kind == of_w == of_r == compute
        info, values = self._work(5 * n, kind, work), self.scalars(w, of_w, n)
        matrix, vectors = self.matrix(a, kind, n, n, lda), self.matrix(vr, kind, n, n, ldvr)
        reference.geev(matrix, values, vectors, info)
        self.watch("geev")

    # -- cuBLAS -----------------------------------------------------------------------------

    cublasCreate_v2 = cusolverDnCreate
    cublasSetStream_v2 = cusolverDnSetStream

    def _trsm(self, kind, handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb):  # type: ignore[no-untyped-def]
        self._on_stream(handle)
        assert self._host(alpha, kind) == 1
        order = n if side else m
        triangle, sides = self.matrix(a, kind, order, order, lda), self.matrix(b, kind, m, n, ldb)
        settings = {"right": bool(side), "transposed": trans == 1, "unit": diag == UNIT}
        reference.trsm(triangle, sides, upper=uplo == UPPER, **settings)
        self.watch("trsm")

    @staticmethod
    def _host(address: int, kind: int) -> complex:
        dtype = np.dtype(TYPES[kind])
        raw = (ctypes.c_uint8 * dtype.itemsize).from_address(address)
        return complex(np.frombuffer(memoryview(raw), dtype)[0])

    # -- cuBLASLt ---------------------------------------------------------------------------

    def cublasLtCreate(self, to: int) -> None:
        self._new(to, "lt")

    def cublasLtMatmulDescCreate(self, to: int, compute: int, scale: int) -> None:
        single = 77 if self.expects_tf32 else 68
        pairs = (single, 0), (70, 1), (single, 4), (70, 5)
        assert (compute, scale) in pairs, "tf32 that nobody asks for, or a wrong pair"
        self._new(to, {"compute": compute, "scale": scale})

    def cublasLtMatrixLayoutCreate(self, to: int, kind: int, rows: int, cols: int, ld: int) -> None:
        assert ld >= rows > 0
        assert cols > 0
        self._new(to, {"kind": kind, "rows": rows, "columns": cols, "leading": ld})

    def cublasLtMatmulPreferenceCreate(self, to: int) -> None:
        self._new(to, {})

    def cublasLtMatmulPreferenceDestroy(self, preference: int) -> None:
        del self.objects[preference]

    def _attribute(self, of: int, attribute: int, address: int, size: int) -> None:
        kind = {4: ctypes.c_int32, 8: ctypes.c_int64}[size]
        self.objects[of][attribute] = kind.from_address(address).value

    cublasLtMatmulDescSetAttribute = _attribute
    cublasLtMatrixLayoutSetAttribute = _attribute
    cublasLtMatmulPreferenceSetAttribute = _attribute

    def cublasLtMatmulAlgoGetHeuristic(  # type: ignore[no-untyped-def]
        self, handle, product, a, b, c, d, preference, asked, results, count
    ):
        assert self.objects[handle] == "lt"
        assert asked == 1
        assert c == d
        wishes = self.objects[preference]
        assert wishes[1] > EXTRA
        found = HeuristicResult.from_address(results)
        found.algorithm[0], found.workspace, found.state = 4711, EXTRA, 0
        found.algorithm[1:4] = [wishes[k] for k in (5, 6, 8)]
        ctypes.c_int.from_address(count).value = 1

    def cublasLtMatmul(  # type: ignore[no-untyped-def]
        self, handle, product, alpha, a, of_a, b, of_b, beta, c, of_c, d, of_d, algo, work, size,
        stream,
    ):  # fmt: skip
        assert self.objects[handle] == "lt"
        assert stream == self.stream
        assert c == d
        algorithm = (ctypes.c_uint64 * 8).from_address(algo)
        assert algorithm[0] == 4711
        assert size == EXTRA
        self.memory(work, np.uint8, size)[:] = 0xFF
        for address, aligned in zip((a, b, d), algorithm[1:4], strict=True):
            assert address % aligned == 0, "the algorithm is for other alignments"
        settings = self.objects[product]
        assert self._host(alpha, settings["scale"]) == 1
        assert self._host(beta, settings["scale"]) == 0
        layouts = [self.objects[each] for each in (of_a, of_b, of_d)]
        count = layouts[0][5]
        assert all(each[5] == count and each["kind"] == settings["scale"] for each in layouts)
        for number in range(count):
            left, right, made = (
                self.matrix(
                    address + number * each[6] * np.dtype(TYPES[each["kind"]]).itemsize,
                    each["kind"], each["rows"], each["columns"], each["leading"],
                )
                for address, each in zip((a, b, d), layouts, strict=True)
            )  # fmt: skip
            left = left.T if settings[3] == 1 else left
            right = right.T if settings[4] == 1 else right
            bias = None
            if settings.get(7, 1) == 4:
                assert count == 1
                bias = self.scalars(settings[8], settings["scale"], layouts[2]["rows"])
            reference.gemm(left, right, made, bias)
        self.watch("gemm")

    # -- cuFFT ------------------------------------------------------------------------------

    def cufftCreate(self, to: int) -> None:
        self._new(to, {"automatic": 1}, ctypes.c_int)

    def cufftSetAutoAllocation(self, plan: int, automatic: int) -> None:
        self.objects[plan]["automatic"] = automatic

    def cufftMakePlanMany(  # type: ignore[no-untyped-def]
        self, plan, rank, n, inembed, istride, idist, onembed, ostride, odist, kind, batch, size
    ):
        assert rank == 1
        assert not self.objects[plan]["automatic"]
        assert all((inembed, onembed)), "strides are ignored without"
        length = ctypes.c_int.from_address(n).value
        source, target = (istride, idist), (ostride, odist)
        self.objects[plan] = {
            "length": length, "source": source, "target": target, "kind": kind, "batch": batch,
        }  # fmt: skip
        ctypes.c_size_t.from_address(size).value = EXTRA

    def cufftSetStream(self, plan: int, stream: int) -> None:
        self.objects[plan]["stream"] = stream

    def cufftSetWorkArea(self, plan: int, address: int) -> None:
        self.memory(address, np.uint8, EXTRA)
        self.objects[plan]["work"] = address

    def _transform(self, kinds, plan, x, y, direction=0):  # type: ignore[no-untyped-def]
        number, given, made = kinds
        p = self.objects[plan]
        assert p["kind"] == number
        assert p["stream"] == self.stream
        self.memory(p["work"], np.uint8, EXTRA)[:] = 0xFF
        n = p["length"]
        half = n // 2 + 1
        points = (half if number in (44, 108) else n, half if number in (42, 106) else n)
        aligned = max(np.dtype(TYPES[given]).itemsize, np.dtype(TYPES[made]).itemsize)
        assert (x % aligned, y % aligned) == (0, 0), "unaligned"
        lines = []
        for address, kind, count, (stride, dist) in zip(
            (x, y), (given, made), points, (p["source"], p["target"]), strict=True
        ):
            reach = (p["batch"] - 1) * dist + (count - 1) * stride + 1
            flat, size = self.scalars(address, kind, reach), np.dtype(TYPES[kind]).itemsize
            shape, strides = (p["batch"], count), (dist * size, stride * size)
            lines.append(np.lib.stride_tricks.as_strided(flat, shape, strides))
        source, target = lines
        if number in (44, 108):  # it may read the parts that should be zero, so it does
            assert not source[:, 0].imag.any()
            assert n % 2 or not source[:, -1].imag.any()
        reference.transform(source.copy(), target, n, inverse=direction == 1 or not direction)
        if number in (44, 108):
            source[...] = np.nan
        self.watch("transform")


_TRANSFORMS = {
    "cufftExecR2C": (42, 0, 4), "cufftExecC2R": (44, 4, 0), "cufftExecC2C": (41, 4, 4),
    "cufftExecD2Z": (106, 1, 5), "cufftExecZ2D": (108, 5, 1), "cufftExecZ2Z": (105, 5, 5),
}  # fmt: skip
