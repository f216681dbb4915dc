"""One header names what compilers have each in its own way; one without vectors gets no loops in C,
and the same numbers.
"""

import re
import subprocess
from pathlib import Path

import pytest
from c_programs import PYX, STANDARD, UNKNOWN, VECTOR, VISUAL_STUDIO, compiled, judge

HEADER = PYX / "compiler.h"
C_FILES = sorted(VECTOR.glob("*.c"))

# Names that begin so are the compiler's or the processor's; the types of intrinsics come with the
# intrinsics.
NAMED = re.compile(
    r"\b__(?!m\d+i?\b|mmask\d+\b)\w+|\b_(?:MSC_VER|M_\w+|Pragma|Generic|BitScan\w+)\b|#\s*pragma|vector_size"
)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)

clang = pytest.mark.needs("clang")

# The function of each file that hands out the loops of a level.
TABLES = {
    **{name: f"rmq_{name}" for name in ("md5", "preferences", "strings", "tally")},
    "ring": "rmq_rings",
    "split": "rmq_splits",
}


def constructs(text: str) -> list[str]:
    return NAMED.findall(COMMENT.sub("", text))


@pytest.mark.parametrize(
    "path", sorted(path for path in {*PYX.rglob("*.*")} - {HEADER}), ids=lambda path: path.name
)
def test_no_other_file_names_a_compiler(path: Path) -> None:
    assert constructs(path.read_text(encoding="utf-8")) == []


def test_the_header_names_all_that_is_looked_for() -> None:
    found = set(constructs(HEADER.read_text(encoding="utf-8")))
    assert found >= {
        "__attribute__",
        "__builtin_expect",
        "__asm__",
        "__int128",
        "_MSC_VER",
        "vector_size",
        "_Pragma",
    }
    assert constructs("#pragma GCC unroll 4") and constructs('ctypedef long long wide_t "__int128"')
    assert not constructs("__m256i x; __mmask16 y; __m512 z; /* __asm__ */")


@pytest.mark.parametrize("by", ["cc", pytest.param("clang", marks=clang)])
@pytest.mark.parametrize("path", C_FILES, ids=lambda path: path.name)
def test_what_is_left_without_vectors_is_standard(path: Path, by: str, tmp_path: Path) -> None:
    compiled(path, tmp_path / "made.o", (*STANDARD, *UNKNOWN), by)


@pytest.mark.parametrize(
    "path", sorted(set(C_FILES) - {VECTOR / "isa.c"}), ids=lambda path: path.name
)
def test_without_vectors_no_level_has_loops_in_c(path: Path, tmp_path: Path) -> None:
    made = compiled(path, tmp_path / "made.o", UNKNOWN)
    listed = subprocess.run(
        ["nm", "--defined-only", made], capture_output=True, text=True, check=True
    ).stdout
    assert [line.split()[-1] for line in listed.splitlines()] == [
        TABLES[path.stem.removesuffix("_core")]
    ]


def test_a_product_of_halves_has_the_same_answers(tmp_path: Path) -> None:
    judge("weigh", tmp_path, ("-DRMQ_NO_INT128",))


@clang
def test_what_visual_studio_gets_has_the_same_answers(tmp_path: Path) -> None:
    judge("weigh", tmp_path, VISUAL_STUDIO, "clang", sanitizers=("-O1",))


@clang
@pytest.mark.parametrize("target", ["x86_64-pc-windows-msvc", "aarch64-pc-windows-msvc"])
@pytest.mark.parametrize("path", C_FILES, ids=lambda path: path.name)
def test_what_visual_studio_gets_compiles_for_windows(
    path: Path, target: str, tmp_path: Path
) -> None:
    flags = (
        f"--target={target}",
        "-ffreestanding",
        "-fms-compatibility-version=19.40",
        "-Wall",
        "-Wextra",
        "-Werror",
    )
    studio = [
        flag for flag in VISUAL_STUDIO if not flag.startswith("-D")
    ]  # which that target defines
    compiled(path, tmp_path / "made.obj", (*flags, *studio), "clang")


def test_the_products_of_vectors_and_of_halves_agree(tmp_path: Path) -> None:
    judge("weigh", tmp_path)
