#!/usr/bin/env python3
"""What #[traced] costs in real programs: a published one, and eventcnv itself.

    sources ─┬─ as they are ───────────────▶ bare
             ├─ #[traced] before each item ─▶ off, filtered, on
             └─ … but in files of short functions ─▶ the same
    each: instructions under callgrind, CPU time in turn with bare; as ratios to bare

measure.py FOLDER ROOT [ROUNDS]: builds in FOLDER from the sources in ROOT. The attribute stands
before each `fn`, `impl`, `trait` and inline `mod` in the first column, by the command of its page.
The reader stays as it is: the recorder itself is built on its crate.

Design: `.calls.overhead` in design/calls.md.
"""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

PUBLISHED = ("pulldown-cmark", "0.13.6")
# Its files of short functions: a tree's nodes, strings, scanners of a character.
SHORT = {"tree.rs", "strings.rs", "scanners.rs"}
FILE = "file:calls.log?size=64M&count=2"
# What is recorded: the kind, where it goes, the filter.
MODES = {
    "off": {},
    "filtered": {"MPS_TELEMETRY_CONTROL": "Call", "MPS_TELEMETRY_CALLS": "*::main"},
    "on": {"MPS_TELEMETRY_CONTROL": "Call"},
}


def run(*command, **options):
    return subprocess.run(command, check=True, **options)


def cargo(folder, *arguments):
    run("cargo", *arguments, cwd=folder)


def annotate(sources, left_out=(), attribute="traced"):
    """Runs the command that the page of the attribute has; returns how many items have it then."""
    page = (Path(__file__).resolve().parents[2] / "calls/macros/src/lib.rs").read_text()
    command = re.search(r"sed -Ei .*? FILE", page, flags=re.S)[0]
    command = re.sub(r"\n/// *", "\n", command).replace(" FILE", ' "$@"')
    files = [path for path in sorted(sources.rglob("*.rs")) if path.name not in left_out]
    run("sh", "-c", command.replace("traced", attribute), "sed", *files)
    return sum(path.read_text().count(f"\n#[::calls::{attribute}] ") for path in files)


def copied(source, folder):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    return folder


def archived(root, folder):
    """Makes a copy of our sources."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = subprocess.Popen(["git", "archive", "HEAD"], cwd=root, stdout=subprocess.PIPE)
    run("tar", "-x", cwd=folder, stdin=archive.stdout)
    assert archive.wait() == 0
    return folder


def fetched(folder, name, version):
    """Returns the folder of a published crate."""
    asking = folder / "asking"
    (asking / "src").mkdir(parents=True, exist_ok=True)
    (asking / "src/lib.rs").write_text("")
    (asking / "Cargo.toml").write_text(
        '[package]\nname = "asking"\nedition = "2024"\n[workspace]\n[dependencies]\n'
        f'{name} = "={version}"\n')
    asked = run("cargo", "metadata", "--format-version=1", cwd=asking, stdout=subprocess.PIPE)
    packages = json.loads(asked.stdout)["packages"]
    [manifest] = [each["manifest_path"] for each in packages if each["name"] == name]
    return Path(manifest).parent


def published(folder, root):
    """Builds the published program; returns its two forms, arguments and input."""
    name, version = PUBLISHED
    source = fetched(folder, name, version)
    built = {}
    for form in ("bare", "traced", "sparse"):
        crate = copied(source, folder / f"{name}-{form}")
        extra = "\n[workspace]\n"
        if form != "bare":
            count = annotate(crate / "src", SHORT if form == "sparse" else ())
            print(f"# {name}, {form}: {count} attributes")
            path = json.dumps(str(root / "calls"))
            extra += f'[dependencies.calls]\npackage = "mps-calls"\npath = {path}\n'
        with open(crate / "Cargo.toml", "a") as manifest_file:
            manifest_file.write(extra)
        cargo(crate, "build", "--release", "--quiet", "--bins")
        built[form] = kept(folder, name, form)
    text = b"".join(path.read_bytes() for path in sorted((root / "design").rglob("*.md")))
    (folder / "text.md").write_bytes(text)
    ran([built["traced"]], folder / "text.md", folder, "on", "text.log")
    return name, built, [], folder / "text.md"


def ours(folder, root):
    """Builds eventcnv with its dump alone; it dumps the calls of the published program."""
    built = {}
    for form in ("bare", "traced"):
        tree = archived(root, folder / f"eventcnv-{form}")
        if form == "traced":
            count = sum(annotate(tree / part / "src") for part in ("eventcnv", "cli"))
            print(f"# eventcnv, traced: {count} attributes")
            for part in ("eventcnv", "cli"):
                manifest = tree / part / "Cargo.toml"
                text = manifest.read_text()
                manifest.write_text(
                    text.replace("[dependencies]\n", "[dependencies]\ncalls.workspace = true\n", 1))
        cargo(tree, "build", "--release", "--quiet", "-p", "mps-eventcnv", "--no-default-features")
        built[form] = kept(folder, "eventcnv", form)
    return "eventcnv -vv", built, ["-vv", "--first", "100000", folder / "text.log"], None


def kept(folder, name, form):
    target = Path(os.environ["CARGO_TARGET_DIR"]) / "release" / name
    return shutil.copy2(target, folder / f"{name}-{form}.bin")


def ran(command, given, folder, mode, log=FILE):
    environment = {key: value for key, value in os.environ.items() if "MPS_TELEMETRY" not in key}
    environment.update(MPS_TELEMETRY_FILENAME=log, **MODES[mode])
    with open(given or os.devnull, "rb") as text:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = run(*map(str, command), cwd=folder, env=environment, stdin=text,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done


def measure(folder, name, built, arguments, given, rounds):
    bare = ("bare", "off")
    forms = {bare: built["bare"]}
    forms |= {(form, mode): built[form] for form in list(built)[1:] for mode in MODES}
    outputs, instructions, seconds = set(), {}, dict.fromkeys(forms, float("inf"))
    for form, program in forms.items():
        callgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        done = ran([*callgrind, program, *arguments], given, folder, form[1])[1]
        instructions[form] = int(re.search(rb"Collected : (\d+)", done.stderr)[1])
        outputs.add(done.stdout)
    for _ in range(rounds):
        for form, program in forms.items():
            spent = ran([program, *arguments], given, folder, form[1])[0]
            seconds[form] = min(seconds[form], spent)
    assert len(outputs) == 1, "an annotated program prints something else"
    for form in list(forms)[1:]:
        ratios = [of[form] / of[bare] for of in (instructions, seconds)]
        print(f"{name}\t{form[0]}\t{form[1]}\t{ratios[0]:.3f}\t{ratios[1]:.3f}", flush=True)


def main():
    folder, root = (Path(path).resolve() for path in sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 21
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("CARGO_TARGET_DIR", str(folder / "target"))
    print("# program\tform\tmode\tinstructions\tCPU time")
    for program in (published, ours):
        measure(folder, *program(folder, root), rounds)


if __name__ == "__main__":
    main()
