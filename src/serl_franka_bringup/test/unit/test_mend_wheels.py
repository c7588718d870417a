"""Mending the CMake files of the ROS wheels: right paths, nothing else, once."""

import importlib.util
import os
from collections import Counter
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[4] / "requirements" / "mend_wheels.py"
SPEC = importlib.util.spec_from_file_location("mend_wheels", SCRIPT)
mend_wheels = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mend_wheels)

PYTHON, NUMPY = "/usr/include/python3.12", "/venv/numpy/_core/include"

MESSAGES = (
    'INTERFACE_INCLUDE_DIRECTORIES "/opt/python/cp312-cp312/include/python3.12;'
    '/opt/python/cp312-cp312/lib/python3.12/site-packages/numpy/_core/include"\n'
)
TRACETOOLS = 'INTERFACE_LINK_LIBRARIES "lttng-ust;dl;-rdynamic;-ldl"\n'
FASTRTPS = (
    'INTERFACE_LINK_LIBRARIES "fastcdr;-lpthread;dl;/usr/lib64/libtinyxml2.so;'
    r"\$<\$<BOOL:1>:OpenSSL::SSL\$<SEMICOLON>OpenSSL::Crypto\$<\$<BOOL:>:\$<SEMICOLON>crypt32.lib>>;"
    r"\$<\$<BOOL:>:iphlpapi\$<SEMICOLON>Shlwapi>;-lpthread;rt"
    '"\nfind_package(OpenSSL REQUIRED)\n'
)


@pytest.fixture
def prefix(tmp_path):
    """A venv root with one CMake file of each kind."""
    for package, text in (
        ("std_msgs", MESSAGES),
        ("tracetools", TRACETOOLS),
        ("fastrtps", FASTRTPS),
        ("rcl", TRACETOOLS),
    ):
        folder = tmp_path / "share" / package / "cmake"
        folder.mkdir(parents=True)
        (folder / "export.cmake").write_text(text)
    return tmp_path


def read(prefix, package):
    return (prefix / "share" / package / "cmake" / "export.cmake").read_text()


def test_mends_each_kind(prefix):
    changes = mend_wheels.mend(prefix, PYTHON, NUMPY)
    assert changes == Counter(
        {
            "Python headers": 1,
            "NumPy headers": 1,
            "lttng-ust": 1,
            "tinyxml2": 1,
            "OpenSSL targets": 1,
            "OpenSSL search": 1,
            "files": 3,
        }
    )
    assert read(prefix, "std_msgs") == f'INTERFACE_INCLUDE_DIRECTORIES "{PYTHON};{NUMPY}"\n'
    assert read(prefix, "tracetools") == 'INTERFACE_LINK_LIBRARIES "dl;-rdynamic;-ldl"\n'
    links, search = read(prefix, "fastrtps").splitlines()
    assert links == (
        r'INTERFACE_LINK_LIBRARIES "fastcdr;-lpthread;dl;'
        r'\$<\$<BOOL:>:iphlpapi\$<SEMICOLON>Shlwapi>;-lpthread;rt"'
    )
    assert "find_package" not in search
    assert read(prefix, "rcl") == TRACETOOLS


def test_second_run_changes_nothing(prefix):
    mend_wheels.mend(prefix, PYTHON, NUMPY)
    before = {path: path.read_text() for path in prefix.rglob("*.cmake")}
    assert mend_wheels.mend(prefix, PYTHON, NUMPY) == Counter()
    assert {path: path.read_text() for path in prefix.rglob("*.cmake")} == before


def test_check_writes_nothing(prefix):
    assert mend_wheels.mend(prefix, PYTHON, NUMPY, write=False)["files"] == 3
    assert read(prefix, "std_msgs") == MESSAGES


def test_a_file_shared_with_an_installer_cache_is_not_written_through(prefix, tmp_path):
    """uv links the files of its cache into the venv; the cache must keep the original."""
    installed = prefix / "share" / "std_msgs" / "cmake" / "export.cmake"
    cached = tmp_path / "cached.cmake"
    os.link(installed, cached)
    mend_wheels.mend(prefix, PYTHON, NUMPY)
    assert cached.read_text() == MESSAGES
    assert installed.read_text() != MESSAGES
