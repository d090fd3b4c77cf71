"""A sample call of each covered SciPy function that no row of the other tables is named after.

The names are those of `autojit.cli.coverage.evidence.ARGUMENTS`.
"""

from __future__ import annotations

CALLS = {
    "scipy.linalg": "cho_factor(d)[0] cho_solve((d,False),x[:3]) cholesky(d) det(s) eig(s) eigh(d) "
    "eigvals(s) eigvalsh(d) inv(s) lstsq(m.T,x[:4])[0] lu(s) lu_factor(s)[0] "
    "lu_solve(scipy.linalg.lu_factor(s),x[:3]) pinv(m) pinvh(d) polar(s) qr(m.T) "
    "qr_multiply(s,d) solve(s,x[:3]) solve_triangular(s,x[:3]) svd(m) svdvals(m)",
    "scipy.signal": "argrelextrema(x,np.less)[0] argrelmax(x)[0] argrelmin(x)[0] find_peaks(x)[0] "
    "find_peaks_cwt(x,[1,2]) peak_prominences(x,[1])[0] peak_widths(x,[1])[0] "
    "iirfilter(2,a/2,btype='low') kaiser_atten(20,a) kaiser_beta(50*a) "
    "medfilt2d(m,3) sosfilt_zi(scipy.signal.butter(2,a/2,output='sos')) "
    "sosfreqz(scipy.signal.butter(2,a/2,output='sos'),u)[1]",
    "scipy.fft": "dct(x) dctn(m) dst(x) dstn(m) fft(x) fft2(m) fftn(m) fftshift(x) hfft(z) "
    "hfft2(m) hfftn(m) idct(x) idctn(m) idst(x) idstn(m) ifft(x) ifft2(m) ifftn(m) ifftshift(x) "
    "ihfft(x) ihfft2(m) ihfftn(m) irfft(z) irfft2(m) irfftn(m) rfft(x) rfft2(m) rfftfreq(6,a) "
    "rfftn(m) fftfreq(6,a)",
    "scipy.integrate": "tplquad(lambda*v:a*v[0],0,1,0,1,0,1,epsabs=1e-3)[0]",
    "scipy.interpolate": "barycentric_interpolate(h,y,u) krogh_interpolate(h,y,u) "
    "splantider(scipy.interpolate.splrep(range(6),y))[1] "
    "splder(scipy.interpolate.splrep(range(6),y))[1] splrep(range(6),y)[1]",
    "scipy.ndimage": "sum(x) uniform_filter1d(x,3)",
    "scipy.sparse.linalg": "eigsh(d,2)[0] inv(scipy.sparse.csc_array(d)).toarray() "
    "lsmr(s,x[:3])[0] matrix_power(scipy.sparse.csr_array(d),2).toarray() svds(s,2)[1]",
    "scipy.spatial.distance": "braycurtis(x,y) canberra(x,y) chebyshev(x,y) cityblock(x,y) "
    "correlation(x,y) cosine(x,y) euclidean(x,y) hamming(x,y) seuclidean(x,y,p) sqeuclidean(x,y)",
    "scipy.stats": "dirichlet.logpdf([0.3,0.7],p[:2]) dirichlet_multinomial.logpmf([1,2],p[:2],3) "
    "invwishart.logpdf(d,4,d) kurtosistest(np.concatenate([x]*4)) matrix_normal.logpdf(d,d) "
    "matrix_t.logpdf(d,d) multinomial.logpmf([1,2],3,p[:2]/np.sum(p[:2])) "
    "multivariate_normal.logpdf(x[:3],x[:3],d) multivariate_t.logpdf(x[:3],x[:3],d,3) "
    "normal_inverse_gamma.logpdf(a,p[0],a,p[1],p[2],p[3]) spearmanr(x,y)[0] rankdata(x) tmax(x) "
    "ansari(x,y)[0] boxcox_normmax(p,method='mle') brunnermunzel(x,y)[0] chatterjeexi(x,y)[0] "
    "cramervonmises_2samp(x,y).statistic fligner(x,y)[0] friedmanchisquare(x,y,x*y)[0] "
    "kendalltau(x,y)[0] kruskal(x,y)[0] ks_2samp(x,y)[0] mannwhitneyu(x,y)[0] mood(x,y)[0] "
    "page_trend_test(m)[0] percentileofscore(x,a) ranksums(x,y)[0] shapiro(x)[0] "
    "somersd(x,y).statistic spearmanrho(x,y)[0] tiecorrect(x) weightedtau(x,y)[0] "
    "wilcoxon(x,y)[0] yeojohnson_normmax(x) "
    "ttest_ind_from_stats(a,1,5,a/2,1,6) vonmises_fisher.logpdf(x[:3],[1,0,0],2) "
    "wishart.logpdf(d,4,d)",
}  # fmt: skip
