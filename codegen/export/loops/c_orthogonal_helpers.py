"""C functions for orthogonal factors: QR, eigenvalues, singular values, pseudo-inverses.

Reflections have LAPACK's signs. Rotations (Jacobi's) need no library; the signs of vectors come
from them and differ from LAPACK's. `T` and `_N` are as in `c_helpers`.
"""

#: Functions on floats.
ORTHOGONAL = """
/* a = q r by Householder's reflections; q and r have min(m, n) columns and rows. */
static void qr_N(
    int64_t m, int64_t n, const T *a, int64_t row, int64_t column, T *q, T *r, int64_t *status) {
  int64_t size = m < n ? m : n;
  T *w = malloc((m * n + size + 1) * sizeof *w), *tau = w + m * n;
  if (!w) *status |= OUT_OF_MEMORY;
  for (int64_t i = 0; w && i < m * n; i++) w[i] = a[i / n * row + i % n * column];
  for (int64_t p = 0; w && p < size; p++) {
    T rest = 0, first = w[p * n + p];
    for (int64_t i = p + 1; i < m; i++) rest += w[i * n + p] * w[i * n + p];
    tau[p] = 0;
    if (rest == 0) continue;
    T norm = sqrt(first * first + rest), beta = first < 0 ? norm : -norm;
    tau[p] = (beta - first) / beta;
    for (int64_t i = p + 1; i < m; i++) w[i * n + p] /= first - beta;
    w[p * n + p] = beta;
    for (int64_t j = p + 1; j < n; j++) {
      T part = w[p * n + j];
      for (int64_t i = p + 1; i < m; i++) part += w[i * n + p] * w[i * n + j];
      w[p * n + j] -= part *= tau[p];
      for (int64_t i = p + 1; i < m; i++) w[i * n + j] -= part * w[i * n + p];
    }
  }
  for (int64_t i = 0; w && i < size * n; i++) r[i] = i % n < i / n ? 0 : w[i];
  for (int64_t i = 0; i < m * size; i++) q[i] = i / size == i % size;
  for (int64_t p = size - 1; w && p >= 0; p--)
    for (int64_t j = 0; j < size; j++) {
      T part = q[p * size + j];
      for (int64_t i = p + 1; i < m; i++) part += w[i * n + p] * q[i * size + j];
      q[p * size + j] -= part *= tau[p];
      for (int64_t i = p + 1; i < m; i++) q[i * size + j] -= part * w[i * n + p];
    }
  free(w);
}

/* Two columns, or two rows, turned by an angle. */
static void turned_N(int64_t n, T *x, T *y, int64_t step, T c, T s) {
  for (int64_t k = 0; k < n; k++) {
    T kept = x[k * step];
    x[k * step] = c * kept - s * y[k * step];
    y[k * step] = s * kept + c * y[k * step];
  }
}

/* The cosine and sine that make the product of two vectors 0, given their squares and product. */
static void angle_N(T xx, T yy, T xy, T *c, T *s) {
  T half = (yy - xx) / (2 * xy);
  T t = (half < 0 ? -1 : 1) / (fabs(half) + sqrt(half * half + 1));
  *c = 1 / sqrt(t * t + 1);
  *s = t * *c;
}

static void eigh_N(
    int64_t n, const T *a, int64_t row, int64_t column, bool lower, T *values, T *vectors,
    int64_t *status) {
  T *w = malloc((n * n + 1) * sizeof *w), c, s;
  if (!w) *status |= OUT_OF_MEMORY;
  for (int64_t i = 0; i < n * n; i++) vectors[i] = i / n == i % n;
  for (int64_t i = 0; w && i < n; i++)
    for (int64_t j = 0; j <= i; j++)
      w[i * n + j] = w[j * n + i] = lower ? a[i * row + j * column] : a[j * row + i * column];
  bool more = w;
  for (int sweep = 0; more && sweep < 60; sweep++) {
    more = false;
    for (int64_t p = 0; p < n; p++)
      for (int64_t q = p + 1; q < n; q++) {
        T pp = fabs(w[p * n + p]), qq = fabs(w[q * n + q]), pq = fabs(w[p * n + q]);
        if (pp + pq == pp && qq + pq == qq) continue;
        more = true;
        angle_N(w[p * n + p], w[q * n + q], w[p * n + q], &c, &s);
        turned_N(n, w + p, w + q, n, c, s);
        turned_N(n, w + p * n, w + q * n, 1, c, s);
        w[p * n + q] = w[q * n + p] = pq == pq ? 0 : pq;
        turned_N(n, vectors + p, vectors + q, n, c, s);
      }
  }
  for (int64_t i = 0; w && i < n; i++) values[i] = w[i * n + i];
  for (int64_t i = 0; w && i < n; i++) {
    int64_t least = i;
    for (int64_t j = i + 1; j < n; j++)
      if (values[j] < values[least]) least = j;
    T kept = values[i];
    values[i] = values[least];
    values[least] = kept;
    if (least != i) turned_N(n, vectors + i, vectors + least, n, 0, 1);
  }
  free(w);
}

/* Column j of n orthonormal columns, from those before it: the unit vector that is farthest. */
static void completed_N(int64_t n, int64_t j, T *x, T *best) {
  T longest = -1;
  for (int64_t e = 0; e < n; e++) {
    T length = 0;
    for (int64_t i = 0; i < n; i++) x[i * n + j] = i == e;
    for (int twice = 0; twice < 2; twice++)
      for (int64_t k = 0; k < j; k++) {
        T part = 0;
        for (int64_t i = 0; i < n; i++) part += x[i * n + k] * x[i * n + j];
        for (int64_t i = 0; i < n; i++) x[i * n + j] -= part * x[i * n + k];
      }
    for (int64_t i = 0; i < n; i++) length += x[i * n + j] * x[i * n + j];
    if (length <= longest) continue;
    longest = length;
    for (int64_t i = 0; i < n; i++) best[i] = x[i * n + j] / sqrt(length);
  }
  for (int64_t i = 0; i < n; i++) x[i * n + j] = best[i];
}

/* Columns of w (n rows) made orthogonal, longest first; v has the turns, `lengths` the norms. */
static void orthogonal_N(int64_t n, int64_t size, T *w, T *v, T *lengths) {
  T c, s, close = (T)n * (T)(sizeof(T) == 4 ? 1.2e-7 : 2.3e-16);
  bool more = true;
  for (int sweep = 0; more && sweep < 60; sweep++) {
    more = false;
    for (int64_t p = 0; p < size; p++)
      for (int64_t q = p + 1; q < size; q++) {
        T pp = 0, qq = 0, pq = 0;
        for (int64_t i = 0; i < n; i++) {
          pp += w[i * size + p] * w[i * size + p];
          qq += w[i * size + q] * w[i * size + q];
          pq += w[i * size + p] * w[i * size + q];
        }
        if (fabs(pq) <= close * sqrt(pp) * sqrt(qq)) continue;
        more = true;
        angle_N(pp, qq, pq, &c, &s);
        turned_N(n, w + p, w + q, size, c, s);
        turned_N(size, v + p, v + q, size, c, s);
      }
  }
  for (int64_t j = 0; j < size; j++) {
    T total = 0;
    for (int64_t i = 0; i < n; i++) total += w[i * size + j] * w[i * size + j];
    lengths[j] = sqrt(total);
  }
  for (int64_t i = 0; i < size; i++) {
    int64_t most = i;
    for (int64_t j = i + 1; j < size; j++)
      if (lengths[j] > lengths[most]) most = j;
    T kept = lengths[i];
    lengths[i] = lengths[most];
    lengths[most] = kept;
    if (most != i) turned_N(n, w + i, w + most, size, 0, 1);
    if (most != i) turned_N(size, v + i, v + most, size, 0, 1);
  }
}

static void svd_N(
    int64_t m, int64_t n, const T *a, int64_t row, int64_t column, bool full, T *u, T *values,
    T *vh, int64_t *status) {
  bool wide = m < n;
  int64_t size = wide ? m : n, large = wide ? n : m, all = full ? large : size;
  T *w = malloc((large * size + size * size + large * large + large + 1) * sizeof *w);
  T least = (T)large * (T)(sizeof(T) == 4 ? 1.2e-7 : 2.3e-16);
  T *v = w + large * size, *x = v + size * size, *best = x + large * large;
  if (!w) *status |= OUT_OF_MEMORY;
  if (!w) return;
  for (int64_t i = 0; i < large; i++)
    for (int64_t j = 0; j < size; j++)
      w[i * size + j] = wide ? a[j * row + i * column] : a[i * row + j * column];
  for (int64_t i = 0; i < size * size; i++) v[i] = i / size == i % size;
  orthogonal_N(large, size, w, v, values);
  for (int64_t j = 0; j < all; j++) {
    bool is_there = j < size && !(values[j] <= least * values[0]);
    for (int64_t i = 0; is_there && i < large; i++) x[i * large + j] = w[i * size + j] / values[j];
    if (!is_there) completed_N(large, j, x, best);
  }
  for (int64_t j = 0; j < all; j++)
    for (int64_t i = 0; i < large; i++)
      if (wide) vh[j * large + i] = x[i * large + j]; else u[i * all + j] = x[i * large + j];
  for (int64_t j = 0; j < size; j++)
    for (int64_t i = 0; i < size; i++)
      if (wide) u[i * size + j] = v[i * size + j]; else vh[j * size + i] = v[i * size + j];
  free(w);
}

static void pinv_N(
    int64_t m, int64_t n, const T *a, int64_t row, int64_t column, double rtol, T *x,
    int64_t *status) {
  int64_t size = m < n ? m : n;
  T *u = malloc((m * size + size + size * n + 1) * sizeof *u);
  T *values = u + m * size, *vh = values + size;
  if (!u) *status |= OUT_OF_MEMORY;
  if (u) svd_N(m, n, a, row, column, false, u, values, vh, status);
  for (int64_t i = 0; u && i < n; i++)
    for (int64_t j = 0; j < m; j++) {
      T total = 0;
      for (int64_t k = 0; k < size; k++)
        if (!(values[k] <= (T)rtol * values[0]))
          total += vh[k * n + i] / values[k] * u[j * size + k];
      x[i * m + j] = total;
    }
  free(u);
}
"""
