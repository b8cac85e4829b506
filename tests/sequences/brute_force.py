"""Hidden Markov models by enumeration of all paths: the oracle for short sequences."""

import itertools

import numpy as np
from scipy.stats import multivariate_normal


def enumerate_paths(log_b, start, transition):
    """Log likelihood, posteriors, pair posteriors, and the best path with its log probability."""
    n, s = log_b.shape
    gamma, pairs, total = np.zeros((n, s)), np.zeros((s, s)), 0.0
    best, best_path = -np.inf, None
    for path in itertools.product(range(s), repeat=n):
        p = start[path[0]] * np.exp(log_b[0, path[0]])
        for t in range(1, n):
            p *= transition[path[t - 1], path[t]] * np.exp(log_b[t, path[t]])
        total += p
        if p > 0 and np.log(p) > best:
            best, best_path = np.log(p), path
        for t, state in enumerate(path):
            gamma[t, state] += p
            if t:
                pairs[path[t - 1], state] += p
    return np.log(total), gamma / total, pairs / total, best, np.array(best_path)


def gaussian_log_density(X, means, covariances):
    """Log densities of rows under each state, over the values that are not NaN."""
    out = np.zeros((len(X), len(means)))
    for t, x in enumerate(X):
        seen = ~np.isnan(x)
        if seen.any():
            for k, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
                part = covariance[np.ix_(seen, seen)]
                out[t, k] = multivariate_normal(mean[seen], part).logpdf(x[seen])
    return out


def random_model(rng, s, d):
    """Start, transition, means and full covariances."""
    start, transition = rng.dirichlet(np.ones(s)), rng.dirichlet(np.ones(s), s)
    roots = rng.normal(size=(s, d, d))
    covariances = roots @ roots.transpose(0, 2, 1) + 0.5 * np.eye(d)
    return start, transition, rng.normal(size=(s, d)), covariances


def with_gaps(rng, X, share=0.3):
    """The same with some values missing, one row wholly."""
    X = X.copy()
    X[rng.random(X.shape) < share] = np.nan
    X[len(X) // 2] = np.nan
    X[0] = np.where(np.isnan(X[0]), 0.5, X[0])
    return X
