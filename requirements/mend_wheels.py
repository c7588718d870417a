#!/usr/bin/env python3
"""Make the CMake files of the ROS 2 wheels usable on this machine.

The wheels are built in a manylinux container and their exported CMake targets
still name its paths. Run with the interpreter of the environment to mend:

    .venv/bin/python requirements/mend_wheels.py [--check]

What it changes, under <prefix>/share (a second run changes nothing):
  - Python and NumPy header directories of the container become this interpreter's;
  - tracetools no longer asks its users to link lttng-ust;
  - fastrtps no longer asks for OpenSSL and a tinyxml2 at an absolute path:
    libfastrtps.so carries both with it.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import sysconfig
import tempfile
from collections import Counter
from pathlib import Path

PYTHON_HEADERS = re.compile(r"/opt/python/[^/;\"\s]+/include/python3\.\d+t?")
NUMPY_HEADERS = re.compile(
    r"/opt/python/[^/;\"\s]+/lib/python3\.\d+t?/site-packages/numpy/(?:_core|core)/include"
)
TINYXML2 = re.compile(r"/usr/lib(?:64|/[^/;\"\s]+)?/libtinyxml2\.so[.\d]*;")
OPENSSL_TARGETS = re.compile(
    r"\\\$<\\\$<BOOL:1>:OpenSSL::SSL\\\$<SEMICOLON>OpenSSL::Crypto(?:\\\$<[^;\"]*)?>;"
)
OPENSSL_SEARCH = re.compile(r"(?m)^[ \t]*find_package\(OpenSSL REQUIRED\)")
LTTNG = re.compile(r"\blttng-ust;")


def mend_text(name: str, text: str, python_headers: str, numpy_headers: str) -> tuple[str, Counter]:
    """Mended text of one CMake file, and how many changes of each kind were made.

    Args:
      name: the ROS package the file belongs to (its folder under share/).
      text: the content of the file.
      python_headers: folder that holds Python.h.
      numpy_headers: folder that holds numpy/arrayobject.h.
    """
    rules = [
        ("Python headers", PYTHON_HEADERS, python_headers),
        ("NumPy headers", NUMPY_HEADERS, numpy_headers),
    ]
    if name == "tracetools":
        rules.append(("lttng-ust", LTTNG, ""))
    if name == "fastrtps":
        rules.append(("tinyxml2", TINYXML2, ""))
        rules.append(("OpenSSL targets", OPENSSL_TARGETS, ""))
        rules.append(("OpenSSL search", OPENSSL_SEARCH, "# mended: OpenSSL is in the wheel"))
    counts: Counter = Counter()
    for label, pattern, replacement in rules:
        text, number = pattern.subn(replacement.replace("\\", r"\\"), text)
        if number:
            counts[label] += number
    return text, counts


def write_atomically(path: Path, text: str) -> None:
    """Replace the file in one step, so that an interrupted run leaves old or new, never half."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".mend-")
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.chmod(temporary, path.stat().st_mode & 0o777)
    os.replace(temporary, path)


def mend(prefix: Path, python_headers: str, numpy_headers: str, write: bool = True) -> Counter:
    """Mend every CMake file under `prefix`/share; returns the changes by kind."""
    total: Counter = Counter()
    for path in sorted((prefix / "share").glob("*/**/*.cmake")):
        package = path.relative_to(prefix / "share").parts[0]
        if package.startswith("cmake"):
            continue
        before = path.read_text(encoding="utf-8", errors="surrogateescape")
        after, counts = mend_text(package, before, python_headers, numpy_headers)
        if after != before:
            total += counts
            total["files"] += 1
            if write:
                write_atomically(path, after)
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--prefix", type=Path, default=Path(sys.prefix), help="root of the environment"
    )
    parser.add_argument("--check", action="store_true", help="only say; exit 1 if a change is due")
    arguments = parser.parse_args()

    import numpy

    python_headers, numpy_headers = sysconfig.get_path("include"), numpy.get_include()
    if not (Path(python_headers) / "Python.h").is_file():
        print(
            f"mend_wheels: no Python.h in {python_headers}; install the headers of Python"
            f" {sys.version_info.major}.{sys.version_info.minor}"
            f" (Debian/Ubuntu: python{sys.version_info.major}.{sys.version_info.minor}-dev)",
            file=sys.stderr,
        )
        return 1
    if not (arguments.prefix / "share").is_dir():
        print(
            f"mend_wheels: {arguments.prefix}/share does not exist: no ROS wheels there",
            file=sys.stderr,
        )
        return 1
    changes = mend(arguments.prefix, python_headers, numpy_headers, write=not arguments.check)
    files = changes.pop("files", 0)
    detail = ", ".join(f"{label} {number}" for label, number in sorted(changes.items()))
    verb = "would mend" if arguments.check else "mended"
    print(
        f"mend_wheels: {verb} {files} files ({detail})" if files else "mend_wheels: nothing to mend"
    )
    return 1 if arguments.check and files else 0


if __name__ == "__main__":
    sys.exit(main())
