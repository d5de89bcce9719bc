"""Run one adapter's policy and print the result as JSON; executed by the interpreter of a peer.

An adapter beside this file offers `VERSION`, `make(policy, n_arms, sigma, seed)`, which returns the
functions pull() and update(arm, reward), and perhaps `simulator(n_arms, horizon)`. Nothing of
structuredbandits is imported: a peer may need an older NumPy.
"""

import importlib
import json
import sys
import time
import warnings

import numpy as np


def play(make, job, seed):
    """Regret of one run, and its seconds per round without the drawing of noise.

    A run that is only timed stops after a budget of seconds.
    """
    means, sigma, horizon = job["means"], job["sigma"], job["horizon"]
    generator = np.random.default_rng([seed, 12345])
    if job["bernoulli"]:
        noise = generator.random(horizon).tolist()
    else:
        noise = generator.standard_normal(horizon).tolist()
    pull, update = make(job["policy"], len(means), sigma, seed)
    best = max(means)
    regret = 0.0
    end = time.perf_counter() + job.get("budget", float("inf"))
    start = time.perf_counter()
    done = 0
    for z in noise:
        if done % 16 == 15 and time.perf_counter() > end:
            break
        done += 1
        arm = pull()
        mean = means[arm]
        update(arm, float(z < mean) if job["bernoulli"] else mean + sigma * z)
        regret += best - mean
    return regret, (time.perf_counter() - start) / done


def answer(adapter, job):
    if job["kind"] == "version":
        return {"version": adapter.VERSION}
    if job["kind"] == "simulator":
        adapter.simulator(job["n_arms"], 50)
        seconds = []
        for _ in range(job["repeats"]):
            start = time.perf_counter()
            adapter.simulator(job["n_arms"], job["horizon"])
            seconds.append(time.perf_counter() - start)
        return {"seconds": min(seconds) / job["horizon"]}
    found = [play(adapter.make, job, job["seed"] + run) for run in range(job["runs"])]
    return {
        "regrets": [regret for regret, _ in found],
        "seconds": min(seconds for _, seconds in found),
    }


def main():
    warnings.simplefilter("ignore")
    adapter = importlib.import_module(sys.argv[1])
    for line in sys.stdin:
        print("answer:" + json.dumps(answer(adapter, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
