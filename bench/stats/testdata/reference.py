"""Writes reference.json, which the Go tests compare against.

    python -m venv venv && venv/bin/pip install lifelines==0.30.3 scipy==1.17.1 numpy==2.4.6 statsmodels==0.15.0
    venv/bin/python reference.py > reference.json

A quantile of a censored sample is the first time at which lifelines' survival function, which
must agree with scipy's, is at or below 1-p; null where it never is. Quantiles of complete samples
come from numpy's "inverted_cdf", Wilson intervals from scipy's binomtest, Newcombe's from statsmodels.
Intervals of means come from scipy's Student distribution.
"""

import json

import lifelines
import numpy as np
import scipy
import statsmodels
from lifelines import KaplanMeierFitter
from scipy.stats import binomtest
from statsmodels.stats.proportion import confint_proportions_2indep

PS = [0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]


def censored(name, ages, flags):
    km = KaplanMeierFitter().fit(ages, event_observed=[not f for f in flags]).survival_function_
    sf = scipy.stats.ecdf(scipy.stats.CensoredData.right_censored(ages, flags)).sf
    assert np.allclose(sf.evaluate(km.index.values), km["KM_estimate"].values, rtol=0, atol=1e-12), name
    quantiles = []
    for p in PS:
        reached = km.index[km["KM_estimate"] <= 1 - p + 1e-9]
        quantiles.append({"p": p, "value": float(reached[0]) if len(reached) else None})
    return {"name": name, "ages": ages, "censored": flags, "quantiles": quantiles}


def exponential(rng, n, scale, limit):
    t = rng.exponential(scale, n)
    c = rng.uniform(0, limit, n)
    return [round(float(x), 6) for x in np.minimum(t, c)], [bool(x) for x in c < t]


rng = np.random.default_rng(20230301)
cases = []
for name, n, scale, limit in [("light", 211, 1.0, 20.0), ("heavy", 307, 1.0, 1.3), ("few", 7, 1.0, 2.0)]:
    cases.append(censored(name, *exponential(rng, n, scale, limit)))
# Whole numbers: many ended and censored at the same age.
ages = [int(x) for x in rng.integers(1, 9, 151)]
cases.append(censored("ties", ages, [bool(x) for x in rng.random(151) < 0.35]))
# The leukaemia remission times of Freireich et al. (1963), 6-MP group, as every textbook has them.
cases.append(censored("6-MP", [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35],
                      [f == 1 for f in [0, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1]]))
cases.append(censored("all censored", [1.0, 2.0, 3.5], [True] * 3))

complete = []
for n in [1, 2, 10, 100, 1000]:
    values = [round(float(x), 6) for x in rng.lognormal(0, 1, n)]
    complete.append({"values": values, "quantiles": [
        {"p": p, "value": float(np.quantile(values, p, method="inverted_cdf"))} for p in PS]})

wilson = []
for k, n in [(0, 1), (1, 1), (0, 10), (10, 10), (1, 10), (7, 10), (999, 1000), (40, 100), (123456, 1000000)]:
    ci = binomtest(k, n).proportion_ci(0.95, method="wilson")
    wilson.append({"k": k, "n": n, "low": float(ci.low), "high": float(ci.high)})

means = []
for values in [
    [0.1, 0.3], [-0.02, 0.01, 0.04], [0.0, 0.0, 0.01, 0.02],
    [round(float(x), 6) for x in rng.normal(-0.05, 0.015, 5)],
    [round(float(x), 6) for x in rng.exponential(0.1, 6)],
    [0.001, 0.002, -0.001, 0.0, 0.25],
    [1.0, 1.0, 1.0, 2.0, 2.0],  # in steps
]:
    for level in [0.95, 0.99]:
        low, high = scipy.stats.t.interval(level, len(values) - 1, loc=np.mean(values), scale=scipy.stats.sem(values))
        means.append({"values": values, "level": level, "low": float(low), "high": float(high)})

newcombe = []
for k1, n1, k2, n2 in [(56, 70, 48, 80), (10, 10, 10, 10), (0, 20, 5, 30), (1000, 1000, 990, 1000), (29, 30, 9, 10)]:
    for level in [0.95, 0.99]:
        ci = confint_proportions_2indep(k2, n2, k1, n1, method="newcomb", compare="diff", alpha=1 - level)
        newcombe.append({"k1": k1, "n1": n1, "k2": k2, "n2": n2, "level": level, "low": float(ci[0]), "high": float(ci[1])})

print(json.dumps({
    "made_with": f"lifelines {lifelines.__version__}, scipy {scipy.__version__}, numpy {np.__version__}, statsmodels {statsmodels.__version__}",
    "censored": cases, "complete": complete, "wilson": wilson,
    "means": means, "newcombe": newcombe}))
