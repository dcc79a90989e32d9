"""Writes reference.json: the recorded runs of bench/result/testdata, compared by SciPy.

    python -m venv venv && venv/bin/pip install scipy==1.17.1 numpy==2.4.6
    venv/bin/python reference.py > reference.json

Of each cell, target and metric: the geometric mean of the repetitions' ratios to raw, and its 99 %
interval from SciPy's one-sample t-test of their logarithms.
"""

import json
import pathlib

import numpy as np
import scipy

METRICS = {
    "goodput": lambda c: c["window_bytes"] / c["window_s"],
    "TTFB p50": lambda c: c["ttfb_ms"]["p50"]["ms"],
    "TTFB p95": lambda c: c["ttfb_ms"]["p95"]["ms"],
    "duration p50": lambda c: c["duration_ms"]["p50"]["ms"],
    "duration p95": lambda c: c["duration_ms"]["p95"]["ms"],
    "server CPU": lambda c: c["server_cpu_s_per_gb"],
}

comparisons = []
for run in ["identical-1gbit", "identical-10gbit"]:
    path = pathlib.Path(__file__).parents[2] / "result" / "testdata" / run / "run.json"
    cells = {}
    for c in json.loads(path.read_text())["cells"]:
        cells.setdefault((c["mode"], c["concurrency"]), {}).setdefault(c["target"], {})[c["repetition"]] = c
    for (mode, clients), targets in cells.items():
        for target in ["again", "gateway"]:
            for metric, value in METRICS.items():
                logs = [np.log(value(targets[target][r]) / value(c)) for r, c in targets["raw"].items()]
                t = scipy.stats.ttest_1samp(logs, 0)
                interval = t.confidence_interval(0.99)
                comparisons.append({"run": run, "mode": mode, "concurrency": clients, "target": target, "metric": metric,
                                    "ratio": float(np.exp(np.mean(logs))), "low": float(np.exp(interval.low)),
                                    "high": float(np.exp(interval.high)), "p": float(t.pvalue)})
print(json.dumps({"made_with": f"scipy {scipy.__version__}", "comparisons": comparisons}, indent=1))
