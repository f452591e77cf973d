#!/usr/bin/env python3
"""Every package that a build may use has a permissive licence, and one version.

    Cargo.lock ─▶ cargo metadata, all platforms ─▶ licence in PERMITTED, one version, or in TWICE

check.py ROOT: the workspace. Advisories are not checked: their list is not in a registry.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict

PERMITTED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0",
    "MIT", "Unicode-3.0", "Unlicense", "Zlib",
}  # fmt: skip

# Packages of several versions, and the packages that still need the older ones.
TWICE = {
    "getrandom": "0.2: const-random-macro, 0.3: ahash",
    "r-efi": "5: getrandom 0.3, on UEFI alone",
    "syn": "2: maud_macros, zerocopy-derive, calls/macros",
}


def permits(expression):
    """Whether an SPDX expression, with `/` for OR as in old packages, offers a permitted licence."""
    words = re.split(r"\s*(\(|\)|/|\bAND\b|\bOR\b)\s*", expression)
    spoken = {"/": "or", "OR": "or", "AND": "and", "(": "(", ")": ")", "": ""}
    said = [spoken[word] if word in spoken else str(word in PERMITTED) for word in words]
    return eval(" ".join(said), {"__builtins__": {}})


def main(root):
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    found = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=True)
    packages = json.loads(found.stdout)["packages"]
    wrong, versions = [], defaultdict(set)
    for package in packages:
        name, licence = f"{package['name']} {package['version']}", package["license"]
        versions[package["name"]].add(package["version"])
        if not licence:
            wrong.append(f"{name}: states no licence; do without it")
        elif not permits(licence):
            wrong.append(f"{name}: licence {licence} is not permitted; do without it")
    twice = {name for name, known in versions.items() if len(known) > 1}
    for name in sorted(twice - TWICE.keys()):
        known = ", ".join(sorted(versions[name]))
        wrong.append(f"{name}: has the versions {known}; take one, or name the reason in TWICE")
    for name in sorted(TWICE.keys() - twice):
        wrong.append(f"{name}: has one version now; take it out of TWICE")
    if wrong:
        sys.exit("\n".join(f"licences: {line}" for line in wrong))
    print(f"licences: {len(packages)} packages; advisories are not checked")


main(sys.argv[1])
