#!/usr/bin/env python3
"""What #[traced] and #[profiled] cost in published programs: Markdown, images, a Lua interpreter.

    sources ─┬─ as they are ─────────────────▶ bare
             ├─ #[traced] before each item ──▶ off, filtered, on
             └─ #[profiled] before each item ▶ off, on
    each: instructions under callgrind, CPU time in turn with bare; as ratios to bare

measure.py FOLDER ROOT [ROUNDS]: builds in FOLDER from the sources in ROOT. The attribute stands
before each `fn`, `impl`, `trait` and inline `mod` in the first column, by the command of its page.
A library gets a small program, image.rs or lua.rs, which has no attribute.

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
# Libraries: version, features, the program that uses one, and what it reads.
LIBRARIES = {
    "jpeg-decoder": ("0.3.2", "default-features = false", "image.rs", "benches/tower.jpg"),
    "piccolo": ("0.3.3", "", "lua.rs", "work.lua"),
}
FILE = "file:calls.log?size=64M&count=2"
# What is recorded: the kind, where it goes, the filter; the statements.
MODES = {
    "traced": {
        "off": {},
        "filtered": {"CONTROL": "Call", "CALLS": "*::main"},
        "on": {"CONTROL": "Call"},
    },
    "profiled": {"off": {}, "on": {"PROFILE": "count"}},
}
BARE = ("bare", "off")


def run(*command, **options):
    return subprocess.run(command, check=True, **options)


def cargo(folder, *arguments):
    run("cargo", *arguments, cwd=folder)


def annotate(sources, attribute):
    """Runs the command that the page of the attribute has; returns how many items have it then."""
    page = (Path(__file__).resolve().parents[2] / "calls/macros/src/lib.rs").read_text()
    command = re.search(r"sed -Ei .*? FILE", page, flags=re.S)[0]
    command = re.sub(r"\n/// *", "\n", command).replace(" FILE", ' "$@"')
    files = sorted(sources.rglob("*.rs"))
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


def annotated(source, folder, form, root):
    """Copies a crate, with the attribute of this form, and without the tests that cargo would build."""
    crate = copied(source, folder)
    for part in ("rust-toolchain", "rust-toolchain.toml"):
        (crate / part).unlink(missing_ok=True)
    manifest = crate / "Cargo.toml"
    text = manifest.read_text()
    text = re.sub(r"^\[dev-dependencies.*\n([^\[\n].*\n|\n)*", "", text, flags=re.M)
    text = re.sub(r"^\[\[(bench|test|example)\]\]\n([^\[\n].*\n|\n)*", "", text, flags=re.M)
    if form != "bare":
        count = annotate(crate / "src", attribute=form)
        print(f"# {source.name}, {form}: {count} attributes", flush=True)
        path = json.dumps(str(root / "calls"))
        text += f'\n[dependencies.calls]\npackage = "mps-calls"\npath = {path}\n'
    manifest.write_text(text)
    return crate


def markdown(folder, root):
    """Builds the published program; returns its forms, arguments and input."""
    name, version = PUBLISHED
    source = fetched(folder, name, version)
    built = {}
    for form in ("bare", *MODES):
        crate = annotated(source, folder / f"{name}-{form}", form, root)
        with open(crate / "Cargo.toml", "a") as manifest:
            manifest.write("\n[workspace]\n")
        cargo(crate, "build", "--release", "--quiet", "--bins")
        built[form] = kept(folder, name, form)
    text = b"".join(path.read_bytes() for path in sorted((root / "design").rglob("*.md")))
    (folder / "text.md").write_bytes(text)
    return name, built, [], folder / "text.md"


def library(name):
    """Returns what builds a library and a small program of ours that uses it."""
    version, features, program, input_file = LIBRARIES[name]

    def build(folder, root):
        source = fetched(folder, name, version)
        built = {}
        for form in ("bare", *MODES):
            user = folder / f"{name}-{form}"
            shutil.rmtree(user, ignore_errors=True)
            annotated(source, user / "library", form, root)
            (user / "src").mkdir()
            shutil.copy2(root / "tests/overhead" / program, user / "src/main.rs")
            (user / "Cargo.toml").write_text(
                f'[package]\nname = "user-of-{name}"\nedition = "2024"\n[workspace]\n'
                f'[dependencies.{name}]\npath = "library"\n{features}\n')
            cargo(user, "build", "--release", "--quiet")
            built[form] = kept(folder, f"user-of-{name}", form)
        places = [root / "tests/overhead" / input_file, source / input_file]
        return name, built, [next(place for place in places if place.exists())], None

    return build


def kept(folder, name, form):
    target = Path(os.environ["CARGO_TARGET_DIR"]) / "release" / name
    return shutil.copy2(target, folder / f"{name}-{form}.bin")


def ran(command, given, folder, form):
    environment = {key: value for key, value in os.environ.items() if "MPS_TELEMETRY" not in key}
    environment["MPS_TELEMETRY_FILENAME"] = FILE
    for name, value in MODES.get(form[0], {}).get(form[1], {}).items():
        environment[f"MPS_TELEMETRY_{name}"] = value
    with open(given or os.devnull, "rb") as text:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = run(*map(str, command), cwd=folder, env=environment, stdin=text,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done


def measure(folder, name, built, arguments, given, rounds):
    forms = {BARE: built["bare"]}
    forms |= {(form, mode): built[form] for form, modes in MODES.items() for mode in modes}
    outputs, instructions, seconds = set(), {}, dict.fromkeys(forms, float("inf"))
    for form, program in forms.items():
        callgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        done = ran([*callgrind, program, *arguments], given, folder, form)[1]
        instructions[form] = int(re.search(rb"Collected : (\d+)", done.stderr)[1])
        outputs.add(done.stdout)
    for _ in range(rounds):
        for form, program in forms.items():
            spent = ran([program, *arguments], given, folder, form)[0]
            seconds[form] = min(seconds[form], spent)
    assert len(outputs) == 1, "an annotated program prints something else"
    for form in list(forms)[1:]:
        more = [100 * (of[form] / of[BARE] - 1) for of in (instructions, seconds)]
        size = built[form[0]].stat().st_size / built["bare"].stat().st_size
        row = [name, *form, f"{more[0]:+.1f} %", f"{more[1]:+.1f} %", f"{size:.2f}"]
        print("\t".join(row), flush=True)


def main():
    folder, root = (Path(path).resolve() for path in sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 11
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("CARGO_TARGET_DIR", str(folder / "target"))
    os.environ["RUSTFLAGS"] = "--cap-lints=allow"
    print("# program\tform\tmode\tinstructions\tCPU time\tsize", flush=True)
    for program in (markdown, *map(library, LIBRARIES)):
        measure(folder, *program(folder, root), rounds)


if __name__ == "__main__":
    main()
