"""The covered functions that compile for a GPU: their values, in sample calls.

Tests print these calls as device programs.  A family of distributions compiles if the logarithm of
its density does.
"""

from __future__ import annotations

from collections.abc import Sequence

from .catalogue import Function

_C = "SciPy's code in C"
_EIGENVALUES = "eigenvalues without symmetry (cuSOLVER has them)"
#: Functions that run only on the CPU, by reason; all other covered functions compile.
ON_THE_CPU: dict[str, dict[str, str]] = {
    "numpy": {_EIGENVALUES: "roots", _C: "i0"},
    "numpy.linalg": {_EIGENVALUES: "eig eigvals"},
    "numpy.fft": {},
    "numpy.lib.stride_tricks": {},
    "numpy.polynomial": {
        _EIGENVALUES: "chebyshev.chebroots hermite.hermroots hermite_e.hermeroots "
        "laguerre.lagroots legendre.legroots polynomial.polyroots",
    },
    "scipy.stats": {
        "SciPy's tests of ranks": "ansari brunnermunzel chatterjeexi cramervonmises_2samp fligner "
        "friedmanchisquare kendalltau kruskal ks_2samp mannwhitneyu mood page_trend_test "
        "percentileofscore ranksums somersd spearmanrho tiecorrect weightedtau wilcoxon",
        _C: "alexandergovern alpha anderson argus bartlett beta betabinom betanbinom "
        "betaprime boxcox boxcox_normmax chi2_contingency chisquare combine_pvalues exponnorm f "
        "f_oneway gausshyper genhyperbolic geninvgauss jf_skew_t ks_1samp ksone kstest levene "
        "linregress ncf nct ncx2 nhypergeom norminvgauss pearsonr pointbiserialr "
        "power_divergence powerlognorm powernorm probplot rdist rice skellam skewnorm t "
        "truncnorm ttest_1samp ttest_ind ttest_ind_from_stats ttest_rel tukeylambda vonmises "
        "vonmises_line yeojohnson yeojohnson_llf yeojohnson_normmax yulesimon zipf",
    },
    "scipy.linalg": {
        _EIGENVALUES: "cdf2rdf eig eigvals",
        "SciPy's own factors": "hessenberg ldl matrix_balance ordqz qr_delete qr_insert "
        "qr_update qz rsf2csf schur",
    },
    "scipy.signal": {
        _EIGENVALUES: "sos2zpk tf2sos tf2zpk",
        "known values: call it without jit": "argrelextrema argrelmax argrelmin find_peaks "
        "find_peaks_cwt peak_prominences peak_widths",
    },
    "scipy.fft": {_C: "fht fhtoffset ifht"},
    "scipy.integrate": {},
    "scipy.interpolate": {},
    "scipy.ndimage": {
        _C: "fourier_ellipsoid",
        "SciPy's search for regions": "distance_transform_bf distance_transform_cdt "
        "distance_transform_edt label",
    },
    "scipy.optimize": {
        "SciPy's search for neighbours": "isotonic_regression",
        "SciPy's search for an assignment": "linear_sum_assignment",
        "SciPy's search for a corner": "linprog",
        "SciPy's search": "basinhopping differential_evolution direct dual_annealing shgo",
    },
    "scipy.sparse.linalg": {
        _EIGENVALUES: "eigs",
        "SciPy's factors of sparse matrices": "splu spsolve",
    },
    "scipy.spatial.distance": {},
}
#: Functions that are formulas; all others of the namespace call SciPy's C code.
FORMULAS: dict[str, str] = {
    "scipy.special": "assoc_legendre_p assoc_legendre_p_all cbrt digamma diric entr erf erfc "
    "erfcinv erfcx erfinv exp10 exp2 expit expm1 gamma gammaln huber kl_div legendre_p "
    "legendre_p_all log1p log_expit log_softmax logit logsumexp ndtr ndtri "
    "pseudo_huber psi rel_entr roots_genlaguerre sinc softmax softplus sph_harm_y sph_harm_y_all "
    "sph_legendre_p sph_legendre_p_all xlog1py xlogy",
}


def compiling(rows: Sequence[Function]) -> list[str]:
    """The covered functions of a namespace that compile for a GPU."""
    namespace = rows[0].namespace
    covered = [row.name for row in rows if row.state == "covered"]
    if namespace in FORMULAS:
        return [name for name in covered if name in FORMULAS[namespace].split()]
    others = {name for names in ON_THE_CPU[namespace].values() for name in names.split()}
    return [name for name in covered if name not in others]


def words(rows: Sequence[Function]) -> str:
    """The number of these functions, as text for the page."""
    return str(len(compiling(rows)))


def remarks(namespace: str) -> dict[str, list[str]]:
    """Lines of the page: functions that run only on the CPU, or those that also run on a GPU."""
    if namespace in FORMULAS:
        return {"On a GPU (others call SciPy's code in C)": FORMULAS[namespace].split()}
    return {
        f"Only on the CPU, {reason}": names.split()
        for reason, names in ON_THE_CPU.get(namespace, {}).items()
    }
