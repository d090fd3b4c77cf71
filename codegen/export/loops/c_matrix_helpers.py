"""C functions on whole matrices and vectors: factorizations, Fourier transforms, sorting.

`T` stands for a type and `_N` for the dtype's name, as in `c_helpers`.
"""

#: Functions on floats.
MATRICES = """
static void cholesky_N(
    int64_t n, const T *a, int64_t row, int64_t column, T *l, int64_t *status) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      T rest = j > i ? 0 : a[i * row + j * column];
      for (int64_t k = 0; j <= i && k < j; k++) rest -= l[i * n + k] * l[j * n + k];
      if (i == j && rest <= 0) *status |= NOT_POSITIVE;
      l[i * n + j] = j > i ? 0 : i == j ? sqrt(rest) : rest / l[j * n + j];
    }
}

static void substituted_N(
    int64_t n, int64_t m, const T *t, bool lower, bool transpose, bool unit, T *x) {
  int64_t row = transpose ? 1 : n, column = transpose ? n : 1;
  for (int64_t p = 0; p < n; p++) {
    int64_t i = lower ? p : n - 1 - p;
    for (int64_t j = 0; j < m; j++) {
      for (int64_t k = lower ? 0 : i + 1; k < (lower ? i : n); k++)
        x[i * m + j] -= t[i * row + k * column] * x[k * m + j];
      if (!unit) x[i * m + j] /= t[i * row + i * column];
    }
  }
}

static void triangular_solve_N(
    int64_t n, int64_t m, const T *t, const T *b, int64_t row, int64_t column,
    bool lower, bool transpose, bool unit, T *x) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++) x[i * m + j] = b[i * row + j * column];
  substituted_N(n, m, t, lower != transpose, transpose, unit, x);
}

static void exchanged_N(int64_t m, T *x, int64_t i, int64_t p) {
  for (int64_t j = 0; j < m; j++) {
    T kept = x[i * m + j];
    x[i * m + j] = x[p * m + j];
    x[p * m + j] = kept;
  }
}

static void lu_N(
    int64_t n, const T *a, int64_t row, int64_t column, T *lu, int64_t *pivots) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) lu[i * n + j] = a[i * row + j * column];
  for (int64_t k = 0; k < n; k++) {
    int64_t p = k;
    for (int64_t i = k; i < n; i++)
      if (fabs(lu[i * n + k]) > fabs(lu[p * n + k])) p = i;
    exchanged_N(n, lu, k, pivots[k] = p);
    for (int64_t i = k + 1; i < n; i++) {
      if (lu[k * n + k] != 0) lu[i * n + k] /= lu[k * n + k];
      for (int64_t j = k + 1; j < n; j++) lu[i * n + j] -= lu[i * n + k] * lu[k * n + j];
    }
  }
}

static void solve_N(
    int64_t n, int64_t m, const T *lu, const int64_t *pivots, const T *b, int64_t row,
    int64_t column, bool transpose, T *x, int64_t *status) {
  for (int64_t i = 0; i < n; i++) {
    if (lu[i * n + i] == 0) *status |= SINGULAR;
    for (int64_t j = 0; j < m; j++) x[i * m + j] = b[i * row + j * column];
  }
  for (int64_t i = 0; i < n && !transpose; i++) exchanged_N(m, x, i, pivots[i]);
  substituted_N(n, m, lu, true, transpose, !transpose, x);
  substituted_N(n, m, lu, false, transpose, transpose, x);
  for (int64_t i = n - 1; i >= 0 && transpose; i--) exchanged_N(m, x, i, pivots[i]);
}

/* Whether x stands before y: NaN comes last. */
static bool before_N(T x, T y) { return x < y || (y != y && x == x); }

/* The transform of n complex numbers, by the least factor of n; t has room for as many. */
static void transformed_N(int64_t n, int64_t step, const T *x, T *y, T *t, int sign) {
  int64_t p = 2;
  if (n == 1) y[0] = x[0], y[1] = x[1];
  if (n == 1) return;
  while (p * p <= n && n % p) p++;
  if (n % p) p = n;
  int64_t m = n / p;
  for (int64_t r = 0; r < p; r++)
    transformed_N(m, p * step, x + 2 * r * step, y + 2 * r * m, t, sign);
  for (int64_t k = 0; k < m; k++) {
    for (int64_t q = 0; q < p; q++) {
      T re = 0, im = 0;
      for (int64_t r = 0; r < p; r++) {
        double angle = sign * 6.283185307179586 * (double)(r * (k + q * m) % n) / (double)n;
        T c = (T)cos(angle), s = (T)sin(angle), *v = y + 2 * (r * m + k);
        re += v[0] * c - v[1] * s;
        im += v[0] * s + v[1] * c;
      }
      t[2 * q] = re, t[2 * q + 1] = im;
    }
    for (int64_t q = 0; q < 2 * p; q++) y[2 * (q / 2 * m + k) + q % 2] = t[q];
  }
}

/* Rows transformed; kinds are 0 forward, 1 backward, 2 of real numbers, 3 of half a spectrum. */
static void fourier_N(
    int64_t rows, int64_t n, int kind, T scale, const T *x, int64_t row, int64_t column, T *y,
    int64_t to_row, int64_t to_column, int64_t *status) {
  T *from = malloc(6 * n * sizeof *from), *to = from + 2 * n;
  if (!from) *status |= OUT_OF_MEMORY;
  for (int64_t i = 0; from && i < rows; i++) {
    for (int64_t j = 0; j < n; j++) {
      bool mirrored = kind == 3 && j > n / 2, edge = kind == 3 && (j == 0 || 2 * j == n);
      int64_t place = i * row + (mirrored ? n - j : j) * column;
      from[2 * j] = kind == 2 ? x[place] : x[2 * place];
      from[2 * j + 1] = kind == 2 || edge ? 0 : mirrored ? -x[2 * place + 1] : x[2 * place + 1];
    }
    transformed_N(n, 1, from, to, to + 2 * n, kind % 2 ? 1 : -1);
    for (int64_t j = 0; j < (kind == 2 ? n / 2 + 1 : n); j++) {
      int64_t place = i * to_row + j * to_column;
      if (kind == 3) y[place] = scale * to[2 * j];
      if (kind != 3) y[2 * place] = scale * to[2 * j], y[2 * place + 1] = scale * to[2 * j + 1];
    }
  }
  free(from);
}
"""

#: Functions on floats and integers, in the order that `before_N` defines.
SORTING = """
/* The stable order of numbers, by merging. */
static void argsort_N(int64_t n, const T *x, int64_t step, int64_t *places, int64_t *status) {
  int64_t *from = places, *memory = malloc(n * sizeof *memory), *to = memory;
  if (!memory) *status |= OUT_OF_MEMORY;
  for (int64_t i = 0; i < n; i++) places[i] = i;
  for (int64_t width = 1; memory && width < n; width *= 2) {
    for (int64_t start = 0; start < n; start += 2 * width) {
      int64_t middle = start + width < n ? start + width : n;
      int64_t end = middle + width < n ? middle + width : n, a = start, b = middle;
      for (int64_t k = start; k < end; k++) {
        bool left = a < middle &&
                    (b >= end || !before_N(x[from[b] * step], x[from[a] * step]));
        to[k] = left ? from[a++] : from[b++];
      }
    }
    int64_t *other = from;
    from = to;
    to = other;
  }
  for (int64_t i = 0; memory && from == memory && i < n; i++) places[i] = memory[i];
  free(memory);
}
"""
