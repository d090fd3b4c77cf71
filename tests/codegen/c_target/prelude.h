/* What generated functions use: words that C does not have, tapes, and factorizations. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <tgmath.h>

static inline int64_t bounded(int64_t index, int64_t extent, int64_t *status) {
  if (0 <= index && index < extent) return index;
  *status |= OUT_OF_BOUNDS;
  return 0;
}

/* The tapes of one loop, with room for so many steps. */
typedef struct {
  int64_t room;
  void *memory[];
} Tapes;

/* Room for a number of steps, whose sizes in bytes are given; false if there is no memory. */
static bool grown(Tapes **place, int64_t steps, int count, const int64_t *sizes) {
  if (!*place) *place = calloc(1, sizeof(Tapes) + count * sizeof(void *));
  if (!*place) return false;
  for (int k = 0; k < count; k++) {
    void *made = realloc((*place)->memory[k], 2 * steps * sizes[k] + 1);
    if (!made) return false;
    (*place)->memory[k] = made;
  }
  (*place)->room = 2 * steps;
  return true;
}

static void released(Tapes *tapes, int count) {
  for (int k = 0; tapes && k < count; k++) free(tapes->memory[k]);
  free(tapes);
}

#define WORDS_OF_FLOATS(T, N) \
  static inline T maximum_##N(T x, T y) { return x >= y || x != x ? x : y; } \
  static inline T minimum_##N(T x, T y) { return x <= y || x != x ? x : y; } \
  static inline T fmax_##N(T x, T y) { return x >= y || y != y ? x : y; } \
  static inline T fmin_##N(T x, T y) { return x <= y || y != y ? x : y; } \
  static inline T sign_##N(T x) { return x > 0 ? 1 : x < 0 ? -1 : x != x ? x : 0; } \
  static inline T remainder_##N(T x, T y) { \
    T rest = fmod(x, y); \
    if (rest == 0) return copysign((T)0, y); \
    return (rest < 0) != (y < 0) ? rest + y : rest; \
  } \
  static inline T floor_divide_##N(T x, T y) { \
    if (y == 0) return x / y; \
    T rest = fmod(x, y), quotient = (x - rest) / y; \
    if (rest != 0 && (rest < 0) != (y < 0)) quotient -= 1; \
    if (quotient == 0) return copysign((T)0, x / y); \
    T whole = floor(quotient); /* the quotient is whole up to rounding */ \
    return quotient - whole > (T)0.5 ? whole + 1 : whole; \
  } \
  static inline T sigmoid_##N(T x) { T e = exp(-fabs(x)); return (x >= 0 ? 1 : e) / (1 + e); } \
  static inline T softplus_##N(T x) { \
    T tail = log1p(exp(-fabs(x))); \
    return x > 0 ? x + tail : tail; \
  } \
  static inline T logaddexp_##N(T x, T y) { \
    T difference = x - y; \
    if (x == y) return x + (T)0.6931471805599453; /* equal infinities too */ \
    if (difference > 0) return x + log1p(exp(-difference)); \
    return difference <= 0 ? y + log1p(exp(difference)) : difference; \
  } \
  static inline T ndtr_##N(T x) { return (T)0.5 * erfc(x * (T)-0.7071067811865476); }

WORDS_OF_FLOATS(float, f32)
WORDS_OF_FLOATS(double, f64)

/* Arithmetic wraps around; divisors of 0 give 0. LEAST is 0 where there is no sign. */
#define WORDS_OF_INTEGERS(T, N, LEAST, GREATEST, BITS) \
  static inline T add_##N(T x, T y) { return (T)((uint64_t)x + (uint64_t)y); } \
  static inline T sub_##N(T x, T y) { return (T)((uint64_t)x - (uint64_t)y); } \
  static inline T mul_##N(T x, T y) { return (T)((uint64_t)x * (uint64_t)y); } \
  static inline T neg_##N(T x) { return (T)(0 - (uint64_t)x); } \
  static inline T abs_##N(T x) { return LEAST && x < 0 ? neg_##N(x) : x; } \
  static inline T sign_##N(T x) { return x > 0 ? 1 : LEAST && x < 0 ? -1 : 0; } \
  static inline T maximum_##N(T x, T y) { return x > y ? x : y; } \
  static inline T minimum_##N(T x, T y) { return x < y ? x : y; } \
  static inline T fmax_##N(T x, T y) { return x > y ? x : y; } \
  static inline T fmin_##N(T x, T y) { return x < y ? x : y; } \
  static inline T floor_##N(T x) { return x; } \
  static inline T ceil_##N(T x) { return x; } \
  static inline T trunc_##N(T x) { return x; } \
  static inline T fmod_##N(T x, T y) { return y == 0 || (LEAST && y == (T)-1) ? 0 : x % y; } \
  static inline T remainder_##N(T x, T y) { \
    T rest = fmod_##N(x, y); \
    return LEAST && rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest; \
  } \
  static inline T floor_divide_##N(T x, T y) { \
    if (y == 0) return 0; \
    if (LEAST && y == (T)-1) return neg_##N(x); \
    return x / y - (LEAST && x % y != 0 && (x < 0) != (y < 0)); \
  } \
  static inline T shift_left_##N(T x, T y) { \
    return (uint64_t)y < BITS ? (T)((uint64_t)x << y) : 0; \
  } \
  static inline T shift_right_##N(T x, T y) { \
    return (uint64_t)y < BITS ? (T)(x >> y) : LEAST && x < 0 ? (T)-1 : 0; \
  } \
  static inline T pow_##N(T x, T p, int64_t *status) { \
    T result = 1; \
    if (LEAST && p < 0) *status |= NEGATIVE_POWER; \
    for (; p > 0; p /= 2, x = mul_##N(x, x)) \
      if (p % 2) result = mul_##N(result, x); \
    return result; \
  } \
  static inline T saturated_##N(double x) { \
    if (x != x) return 0; \
    return x <= (double)LEAST ? LEAST : x >= (double)GREATEST ? GREATEST : (T)x; \
  }

WORDS_OF_INTEGERS(int8_t, i8, INT8_MIN, INT8_MAX, 8)
WORDS_OF_INTEGERS(int16_t, i16, INT16_MIN, INT16_MAX, 16)
WORDS_OF_INTEGERS(int32_t, i32, INT32_MIN, INT32_MAX, 32)
WORDS_OF_INTEGERS(int64_t, i64, INT64_MIN, INT64_MAX, 64)
WORDS_OF_INTEGERS(uint8_t, u8, 0, UINT8_MAX, 8)
WORDS_OF_INTEGERS(uint16_t, u16, 0, UINT16_MAX, 16)
WORDS_OF_INTEGERS(uint32_t, u32, 0, UINT32_MAX, 32)
WORDS_OF_INTEGERS(uint64_t, u64, 0, UINT64_MAX, 64)

/* Rows and columns of the last operand have strides; all other matrices lie row by row. */
#define FACTORIZATIONS(T, N) \
  static void cholesky_##N( \
      int64_t n, const T *a, int64_t row, int64_t column, T *l, int64_t *status) { \
    for (int64_t i = 0; i < n; i++) \
      for (int64_t j = 0; j < n; j++) { \
        T rest = j > i ? 0 : a[i * row + j * column]; \
        for (int64_t k = 0; j <= i && k < j; k++) rest -= l[i * n + k] * l[j * n + k]; \
        if (i == j && rest <= 0) *status |= NOT_POSITIVE; \
        l[i * n + j] = j > i ? 0 : i == j ? sqrt(rest) : rest / l[j * n + j]; \
      } \
  } \
  static void substituted_##N( \
      int64_t n, int64_t m, const T *t, bool lower, bool transpose, bool unit, T *x) { \
    int64_t row = transpose ? 1 : n, column = transpose ? n : 1; \
    for (int64_t p = 0; p < n; p++) { \
      int64_t i = lower ? p : n - 1 - p; \
      for (int64_t j = 0; j < m; j++) { \
        for (int64_t k = lower ? 0 : i + 1; k < (lower ? i : n); k++) \
          x[i * m + j] -= t[i * row + k * column] * x[k * m + j]; \
        if (!unit) x[i * m + j] /= t[i * row + i * column]; \
      } \
    } \
  } \
  static void triangular_solve_##N( \
      int64_t n, int64_t m, const T *t, const T *b, int64_t row, int64_t column, \
      bool lower, bool transpose, bool unit, T *x) { \
    for (int64_t i = 0; i < n; i++) \
      for (int64_t j = 0; j < m; j++) x[i * m + j] = b[i * row + j * column]; \
    substituted_##N(n, m, t, lower != transpose, transpose, unit, x); \
  } \
  static void exchanged_##N(int64_t m, T *x, int64_t i, int64_t p) { \
    for (int64_t j = 0; j < m; j++) { \
      T kept = x[i * m + j]; \
      x[i * m + j] = x[p * m + j]; \
      x[p * m + j] = kept; \
    } \
  } \
  static void lu_##N( \
      int64_t n, const T *a, int64_t row, int64_t column, T *lu, int64_t *pivots) { \
    for (int64_t i = 0; i < n; i++) \
      for (int64_t j = 0; j < n; j++) lu[i * n + j] = a[i * row + j * column]; \
    for (int64_t k = 0; k < n; k++) { \
      int64_t p = k; \
      for (int64_t i = k; i < n; i++) \
        if (fabs(lu[i * n + k]) > fabs(lu[p * n + k])) p = i; \
      exchanged_##N(n, lu, k, pivots[k] = p); \
      for (int64_t i = k + 1; i < n; i++) { \
        if (lu[k * n + k] != 0) lu[i * n + k] /= lu[k * n + k]; \
        for (int64_t j = k + 1; j < n; j++) lu[i * n + j] -= lu[i * n + k] * lu[k * n + j]; \
      } \
    } \
  } \
  static void solve_##N( \
      int64_t n, int64_t m, const T *lu, const int64_t *pivots, const T *b, int64_t row, \
      int64_t column, bool transpose, T *x, int64_t *status) { \
    for (int64_t i = 0; i < n; i++) { \
      if (lu[i * n + i] == 0) *status |= SINGULAR; \
      for (int64_t j = 0; j < m; j++) x[i * m + j] = b[i * row + j * column]; \
    } \
    for (int64_t i = 0; i < n && !transpose; i++) exchanged_##N(m, x, i, pivots[i]); \
    substituted_##N(n, m, lu, true, transpose, !transpose, x); \
    substituted_##N(n, m, lu, false, transpose, transpose, x); \
    for (int64_t i = n - 1; i >= 0 && transpose; i--) exchanged_##N(m, x, i, pivots[i]); \
  }

FACTORIZATIONS(float, f32)
FACTORIZATIONS(double, f64)

static void permutation_i64(
    int64_t n, const int64_t *pivots, int64_t stride, int64_t *rows, int64_t *status) {
  for (int64_t i = 0; i < n; i++) rows[i] = i;
  for (int64_t i = 0; i < n; i++) {
    int64_t p = bounded(pivots[i * stride], n, status), kept = rows[i];
    rows[i] = rows[p];
    rows[p] = kept;
  }
}
