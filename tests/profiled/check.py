#!/usr/bin/env python3
"""#[profiled] before each item of real programs: they compile, and pass their own tests.

    recorder   our sources as they are, with another version
    ours       our sources with #[profiled], recorded by the recorder ─▶ cargo test
    published  a published crate with #[profiled] ─────────────────────▶ cargo test

check.py FOLDER ROOT: builds in FOLDER from the sources in ROOT. The attribute stands before each
`fn`, `impl`, `trait` and inline `mod` in the first column. The crates that the recorder consists of,
and those that use it, are compiled and not run: a program has one recorder.

Design: `.statements.rewrite` in design/statements.md.
"""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "overhead"))
from measure import PUBLISHED, annotate, archived, cargo, copied, fetched  # noqa: E402

TESTED = ["eventdef", "eventlog", "cli", "stacks", "lens", "lens/paths",
          "record/paths", "record/waits", "eventcnv", "replay"]
COMPILED = ["telemetry", "calls", "calls/macros", "calls/tcl", "interpose"]


def edit(path, pattern, by, count=1):
    text, found = re.subn(pattern, by, path.read_text(), flags=re.M)
    assert found >= count, f"{path}: `{pattern}` is not in it"
    path.write_text(text)


def packages(tree, parts):
    version = re.search(r'^version = "(.*)"', (tree / "Cargo.toml").read_text(), flags=re.M)[1]
    for part in parts:
        manifest = (tree / part / "Cargo.toml").read_text()
        name = re.search(r'^name = "(.*)"', manifest, flags=re.M)[1]
        yield f"--package={name}@{version}"


def of_recorder(recorder, found):
    name, more = found[1], found[2] or ""
    path = recorder / name.replace("-", "/")
    return f'{name} = {{ package = "mps-{name}", path = "{path}", default-features = false{more} }}'


def ours(folder, root):
    recorder = archived(root, folder / "recorder")
    edit(recorder / "Cargo.toml", r'^version = "(\d+\.\d+)\.\d+"', r'version = "\1.999"')
    tree = archived(root, folder / "ours")
    parts = TESTED + COMPILED
    edit(tree / "Cargo.toml", r"^(default-)?members = .*", rf"\1members = {parts}".replace("'", '"'))
    edit(tree / "Cargo.toml", r'^(calls = .*path = ")', rf"\1{recorder}/")
    edit(tree / "Cargo.toml", r"^\[profile.dev.package.*\n(.+\n)+", "")
    edit(tree / "replay/Cargo.toml", r'path = "../interpose"', f'path = "{recorder}/interpose"')
    count = 0
    for part in parts:
        manifest = tree / part / "Cargo.toml"
        if "calls.workspace = true" not in manifest.read_text().splitlines():
            # Where all dependencies are those of one platform there is no table for the others.
            if "\n[dependencies]\n" not in manifest.read_text():
                edit(manifest, r"\Z", "\n[dependencies]\n")
            edit(manifest, r"^\[dependencies\]\n", "[dependencies]\ncalls.workspace = true\n")
        if part in COMPILED:
            used = (r"^(eventdef|eventlog|telemetry|calls(?:-macros)?)"
                    r"(?:\.workspace = true| = \{ workspace = true(.*) \})$")
            edit(manifest, used, lambda found: of_recorder(recorder, found))
        count += annotate(tree / part / "src", attribute="profiled")
    print(f"# ours: {count} attributes", flush=True)
    cargo(tree, "check", "--quiet", *packages(tree, COMPILED))
    # The compiler's messages would tell of two crates `eventdef`.
    skipped = ["--skip", "compiler_messages_for_broken_laws_equal_the_golden_files"]
    cargo(tree, "test", "--no-fail-fast", *packages(tree, TESTED), "--", *skipped)


def published(folder, root):
    crate = copied(fetched(folder, *PUBLISHED), folder / PUBLISHED[0])
    count = annotate(crate / "src", attribute="profiled")
    print(f"# {PUBLISHED[0]}: {count} attributes", flush=True)
    with open(crate / "Cargo.toml", "a") as manifest:
        manifest.write("\n[workspace]\n[dependencies.calls]\npackage = \"mps-calls\"\n"
                       f'path = "{root}/calls"\n')
    cargo(crate, "test", "--no-fail-fast")


def main():
    folder, root = (Path(path).resolve() for path in sys.argv[1:3])
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("CARGO_TARGET_DIR", str(folder / "target"))
    published(folder, root)
    ours(folder, root)


main()
