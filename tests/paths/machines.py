#!/usr/bin/env python3
"""The jobs of one plan, run by Apache Spark and by GNU parallel, give the path of one machine.

    gzip ─ plan --jobs ─▶ jobs ─┬ Spark: two workers, pipe ─▶ logs ─ walk ─▶ path ─┐
                                └ GNU parallel ─────────────▶ logs ─ walk ─▶ path ─┼─ equal
         ─ collect, one machine ─────────────────────────────────────────▶ path ───┘
    a lost, a doubled, a foreign log ─ walk ─▶ its name

    machines.py EVENTCNV FOLDER

Design: `.collect.jobs` in design/collect.md.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyspark

TOOL, FOLDER = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve()
MACHINES = [1, 2, 3, 6]
PROCESSORS = len(os.sched_getaffinity(0))
STEP = re.compile("Call(Begin|End)|Block(Begin|End)")
SECONDS = re.compile(r"stops? in ([0-9.]+) s")


def paths(*words, status=0):
    """Runs a command of paths. Returns what it says."""
    done = subprocess.run([TOOL, "paths", *map(str, words)], capture_output=True)
    said = done.stderr.decode()
    assert done.returncode == status, (words, done.returncode, said)
    return said


def plan(name, machines, program):
    folder = FOLDER / name
    paths("plan", "--machines", machines, "--jobs", folder, "--", *program)
    return folder


def path_of(folder):
    """Walks the logs of a folder. Returns the path as text."""
    log = FOLDER / "path.log"
    paths("walk", folder, "-o", log, "--force")
    return events(log)


def events(log):
    shown = subprocess.run([TOOL, "-v", log], check=True, capture_output=True, text=True).stdout
    return [line for line in shown.splitlines() if STEP.search(line)]


def forget(folder):
    for log in folder.glob("*.log"):
        log.unlink()


def by_spark(context, folder):
    jobs = [str(job) for job in sorted(folder.glob("*.json"))]
    command = f"xargs -n 1 {TOOL} paths collect --job"
    begin = time.monotonic()
    context.parallelize(jobs, len(jobs)).pipe(command, checkCode=True).collect()
    return time.monotonic() - begin


def by_parallel(folder):
    jobs = sorted(folder.glob("*.json"))
    begin = time.monotonic()
    command = ["parallel", "-j", "2", "--halt", "now,fail=1", TOOL, "paths", "collect", "--job"]
    done = subprocess.run([*command, ":::", *jobs], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - begin


def by_one(folder):
    """Runs the jobs one by one. Returns the seconds of the slowest machine."""
    machines = {}
    for job in sorted(folder.glob("*.json")):
        machine = json.loads(job.read_text())["machine"]
        said = SECONDS.search(paths("collect", "--job", job, "--force"))
        machines[machine] = machines.get(machine, 0) + float(said.group(1))
    return max(machines.values())


def assert_faults_are_named(folder, other):
    """Takes logs of two runs of the plan of `folder`, and one of the plan of `other`."""
    first = folder / "job-0.log"
    kept = first.read_bytes()
    walk = lambda: paths("walk", folder, "-o", FOLDER / "no.log", status=2)
    first.unlink()
    assert "run 0 is lost: job 1 of" in walk()
    first.write_bytes(kept)
    copy = folder / "job-0-again.log"
    copy.write_bytes(kept)
    said = walk()
    assert "job-0.log: is doubled: job-0-again.log has run 0 too" in said, said
    copy.write_bytes((other / "job-0.log").read_bytes())
    assert "job-0-again.log: is foreign: a run of another plan" in walk()
    copy.unlink()
    assert not (FOLDER / "no.log").exists()


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    text = FOLDER / "input.txt"
    text.write_text(Path(__file__).read_text()[:3000])
    program = ["gzip", "-c", text]
    paths("collect", "-o", FOLDER / "one.log", "--", *program)
    truth = events(FOLDER / "one.log")
    assert len(truth) > 100_000, len(truth)
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    configuration = pyspark.SparkConf().setMaster("local-cluster[2,1,1024]").setAppName("paths")
    configuration.set("spark.ui.enabled", "false").set("spark.executor.memory", "512m")
    configuration.set("spark.ui.showConsoleProgress", "false")
    with pyspark.SparkContext(conf=configuration) as context:
        context.setLogLevel("ERROR")
        # The workers start with the first work.
        context.parallelize(range(2), 2).count()
        print("machines\truns\tSpark s\tparallel s\tslowest machine s")
        for machines in MACHINES:
            folder = plan(f"jobs-{machines}", machines, program)
            runs = len(list(folder.glob("*.json")))
            spark = by_spark(context, folder)
            assert path_of(folder) == truth, f"Spark, {machines} machines"
            forget(folder)
            parallel = by_parallel(folder)
            assert path_of(folder) == truth, f"GNU parallel, {machines} machines"
            slowest = by_one(folder)
            is_real = "" if machines <= PROCESSORS else "\t(more machines than processors)"
            print(f"{machines}\t{runs}\t{spark:.2f}\t{parallel:.2f}\t{slowest:.2f}{is_real}")
    assert_faults_are_named(FOLDER / "jobs-2", FOLDER / "jobs-3")
    print(f"{len(truth):,} begins and ends of calls and blocks: the path of one machine each time")


main()
