"""The reasons why functions of SciPy are not covered or not counted.

Functions in neither table are not covered yet.
"""

from __future__ import annotations

_WHOLE = "all arguments are integers or settings"
_SETTINGS = "settings of SciPy"
_SEARCH = "a search over known numbers finds a design or a count"
_OBJECTS = "takes or returns objects of SciPy"
_BOOLEANS = "works on booleans, counts or labels: no derivative"
_INDICES = "returns indices or places"
_LENGTH = "the shape depends on values"
_RANDOM = "draws random numbers"
_PLOT = "searches or plots for known data"
_RANKS = "depends on ranks or counts: the derivative is 0 or does not exist"
_TABLE = "exact tests of known counts"
_GLOBAL = "the best point of a grid jumps: call minimize from it"
_DISCRETE = "the place of the optimum jumps, and the search gives no derivative of its value"
_P_VALUES = "p-values that SciPy integrates, tabulates or simulates"
_POLYNOMIALS = "returns a polynomial object: call eval_… at points, or roots_…"
_SIMULATED = "integrates or solves by SciPy's own adaptive code: call quad, quad_vec or solve_ivp"
_PRECISION = "recursions that end where a known precision is reached"

OTHERS: dict[str, dict[str, str]] = {
    "scipy.special": {
        _SETTINGS: "geterr seterr",
        _WHOLE: "ai_zeros bei_zeros beip_zeros ber_zeros bernoulli berp_zeros bi_zeros c_roots "
        "chebyc chebys chebyt chebyu erf_zeros euler factorial2 factorialk fresnel_zeros "
        "fresnelc_zeros fresnels_zeros h_roots he_roots hermite hermitenorm jnjnp_zeros jn_zeros "
        "jnp_zeros jnyn_zeros kei_zeros keip_zeros kelvin_zeros ker_zeros kerp_zeros l_roots "
        "laguerre legendre p_roots ps_roots roots_chebyc roots_chebys roots_chebyt roots_chebyu "
        "roots_hermite roots_hermitenorm roots_laguerre roots_legendre roots_sh_chebyt "
        "roots_sh_chebyu roots_sh_legendre s_roots sh_chebyt sh_chebyu sh_legendre stirling2 "
        "t_roots ts_roots u_roots us_roots y0_zeros y1_zeros y1p_zeros yn_zeros ynp_zeros",
    },
    "scipy.stats": {
        _RANDOM: "ortho_group random_correlation random_table special_ortho_group "
        "uniform_direction unitary_group",
    },
    "scipy.linalg": {
        _WHOLE: "dft hadamard helmert hilbert invhilbert invpascal pascal",
        "routines of LAPACK": "find_best_blas_type get_blas_funcs get_lapack_funcs",
    },
    "scipy.signal": {
        _WHOLE: "besselap buttap correlation_lags get_window max_len_seq unit_impulse",
        _SEARCH: "band_stop_obj buttord cheb1ord cheb2ord ellipord findfreqs kaiserord "
        "choose_conv_method check_COLA check_NOLA",
    },
    "scipy.fft": {
        _SETTINGS: "get_workers register_backend set_backend set_global_backend set_workers "
        "skip_backend",
        _WHOLE: "next_fast_len prev_fast_len",
    },
    "scipy.integrate": {_WHOLE: "lebedev_rule"},
    "scipy.ndimage": {_WHOLE: "generate_binary_structure iterate_structure"},
    "scipy.optimize": {_SETTINGS: "linprog_verbose_callback show_options"},
    "scipy.sparse.linalg": {_SETTINGS: "use_solver"},
    "scipy.spatial.distance": {"questions about shapes": "num_obs_dm num_obs_y"},
}  # fmt: skip

REFUSED: dict[str, dict[str, str]] = {
    "scipy.special": {
        _POLYNOMIALS: "gegenbauer genlaguerre jacobi sh_jacobi",
        "complex results of real numbers": "kelvin modfresnelm modfresnelp",
        "SciPy finds its polynomials by LAPACK, inside of C": "ellip_harm ellip_harm_2 "
        "ellip_normal",
        "returns tables of all orders": "lqmn lqn mathieu_even_coef mathieu_odd_coef "
        "obl_cv_seq pbdn_seq pbdv_seq pbvv_seq pro_cv_seq",
    },
    "scipy.stats": {
        _RANKS: "anderson_ksamp bws_test logrank median_test mode quantile_test",
        _TABLE: "barnard_exact binomtest boschloo_exact fisher_exact poisson_means_test",
        _RANDOM: "bootstrap goodness_of_fit monte_carlo_test multiscale_graphcorr "
        "permutation_test sobol_indices",
        _PLOT: "boxcox_normplot fit ppcc_max ppcc_plot yeojohnson_normplot",
        _OBJECTS: "abs bayes_mvs dunnett ecdf exp log make_distribution mvsdist order_statistic "
        "truncate tukey_hsd",
        _P_VALUES: "cramervonmises power",
        _LENGTH: "sigmaclip",
        "a test for known samples alone": "epps_singleton_2samp",
        "counts alone: no derivative": "multivariate_hypergeom",
        "SciPy integrates, tabulates or approximates the density": "kstwo landau levy_stable "
        "nchypergeom_wallenius studentized_range",
        "terms that cancel: call BSpline.basis_element": "irwinhall",
        "takes its parameters as one array, unlike other families": "poisson_binom",
        "a linear program": "wasserstein_distance_nd",
        _BOOLEANS: "cumfreq relfreq",
    },
    "scipy.linalg": {
        "a changed element would make the matrix no longer unitary: call svd of a block":
            "cossin",
        _BOOLEANS: "bandwidth ishermitian issymmetric",
        _LENGTH: "null_space orth",
        "real or complex by its values: call eig": "funm",
        _RANDOM: "clarkson_woodruff_transform",
    },
    "scipy.signal": {
        _SEARCH: "closest_STFT_dual_window ellipap iirdesign place_poles remez",
        _PRECISION: "cspline2d qspline2d spline_filter symiirorder1 symiirorder2",
        "how many zeros there are, and their pairs, depend on values":
        "ss2zpk invres invresz residue residuez unique_roots",
    },
    "scipy.integrate": {
        "weights for traced nodes": "newton_cotes",
        _SIMULATED: "cubature nsum qmc_quad solve_bvp tanhsinh",
    },
    "scipy.interpolate": {
        _SEARCH: "bisplrep generate_knots",
        _LENGTH: "sproot",
        "fits a polynomial to a function: derivatives by grad are exact":
            "approximate_taylor_polynomial",
    },
    "scipy.ndimage": {
        "hands a line to fill to the function: call generic_filter": "generic_filter1d",
        "call np.lib.stride_tricks.sliding_window_view": "vectorized_filter",
        _BOOLEANS: "watershed_ift",
        _INDICES: "find_objects value_indices",
    },
    "scipy.optimize": {
        _GLOBAL: "brute",
        _DISCRETE: "milp quadratic_assignment",
        "the three points around a minimum jump: call minimize_scalar": "bracket",
        "differences, for which grad is exact": "check_grad",
        "one step of a search": "line_search",
    },
    "scipy.sparse.linalg": {
        _OBJECTS: "aslinearoperator spilu",
        _BOOLEANS: "is_sptriangular spbandwidth",
        "estimates for sparse matrices": "onenormest",
        "any function of a matrix: use eigh": "funm_multiply_krylov",
        "a search from given vectors: call eigsh": "lobpcg",
    },
    "scipy.spatial.distance": {
        "distances of truth values": "dice jaccard rogerstanimoto russellrao sokalsneath yule",
        "returns truth values": "is_valid_dm is_valid_y",
    },
}  # fmt: skip
