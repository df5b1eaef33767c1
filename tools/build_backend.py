"""scikit-build-core, which asks PyPI for a compiler (ziglang) where the machine has none.

`pip install .` so needs nothing that pip cannot bring. CMake and ninja come the same way.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

from scikit_build_core import build as _build

COMPILERS = ("c++", "g++", "clang++", "cl")
ZIG = "ziglang>=0.13"


def _has_compiler() -> bool:
    if os.environ.get("CXX"):
        return True
    # Visual Studio is found by CMake, not on the path.
    return sys.platform == "win32" or any(shutil.which(name) for name in COMPILERS)


def _requires(asked: list[str]) -> list[str]:
    return asked if _has_compiler() else [*asked, ZIG]


def _use_zig() -> None:
    """Make `CXX` a script that calls zig, since CMake wants one program."""
    if _has_compiler():
        return
    folder = Path(tempfile.mkdtemp(prefix="counterpane-zig-"))
    for name, command in (
        ("zig-c++", "c++"),
        ("zig-cc", "cc"),
        ("zig-ar", "ar"),
        ("zig-ranlib", "ranlib"),
    ):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {command} "$@"\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    os.environ["CXX"], os.environ["CC"] = str(folder / "zig-c++"), str(folder / "zig-cc")
    arguments = f"-DCMAKE_AR={folder / 'zig-ar'} -DCMAKE_RANLIB={folder / 'zig-ranlib'}"
    os.environ["CMAKE_ARGS"] = f"{os.environ.get('CMAKE_ARGS', '')} {arguments}".strip()


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return _requires(_build.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    return _requires(_build.get_requires_for_build_editable(config_settings))


def build_wheel(folder: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    _use_zig()
    return _build.build_wheel(folder, config_settings, metadata_directory)


def build_editable(folder: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    _use_zig()
    return _build.build_editable(folder, config_settings, metadata_directory)


get_requires_for_build_sdist = _build.get_requires_for_build_sdist
build_sdist = _build.build_sdist
prepare_metadata_for_build_wheel = _build.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = _build.prepare_metadata_for_build_editable
