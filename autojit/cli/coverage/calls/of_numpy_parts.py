"""Calls of the functions of `numpy.linalg`, `numpy.fft` and `numpy.lib.stride_tricks`."""

LINALG = """
np.linalg.cholesky((d + d.T) / 2)
np.linalg.cond(s)
np.linalg.cross(x[:3], y[:3])
np.linalg.det(s)
np.linalg.diagonal(s)
np.linalg.eig(s)[0] + 0j
np.linalg.eigh((d + d.T) / 2)[0]
np.linalg.eigvals(s) + 0j
np.linalg.eigvalsh((d + d.T) / 2)
np.linalg.inv(s)
np.linalg.lstsq(m.T, y[:4], rcond=None)[0]
np.linalg.matmul(m, m.T)
np.linalg.matrix_norm(m)
np.linalg.matrix_power(s, 3)
np.linalg.matrix_rank(s)
np.linalg.matrix_transpose(m)
np.linalg.multi_dot([m, m.T, m])
np.linalg.norm(x)
np.linalg.outer(x, y)
np.linalg.pinv(m)
np.linalg.qr(s)
np.linalg.slogdet(s)
np.linalg.solve(s, x[:3])
np.linalg.svd(m, compute_uv=False)
np.linalg.svdvals(m)
np.linalg.tensordot(m, m)
np.linalg.tensorinv(s.reshape(3, 3), ind=1)
np.linalg.tensorsolve(s, x[:3])
np.linalg.trace(s)
np.linalg.vecdot(x, y)
np.linalg.vector_norm(x)
"""

FFT = """
np.fft.fft(x)
np.fft.fft2(m)
np.fft.fftfreq(6) * x
np.fft.fftn(m)
np.fft.fftshift(x)
np.fft.hfft(z)
np.fft.ifft(z)
np.fft.ifft2(m)
np.fft.ifftn(m)
np.fft.ifftshift(x)
np.fft.ihfft(x)
np.fft.irfft(z)
np.fft.irfft2(m)
np.fft.irfftn(m)
np.fft.rfft(x)
np.fft.rfft2(m)
np.fft.rfftfreq(6)[:2] * x[:2]
np.fft.rfftn(m)
"""

STRIDES = """
np.lib.stride_tricks.as_strided(np.arange(6.0), (3,), (8,)) * a
np.lib.stride_tricks.sliding_window_view(x, 3)
"""
