"""Mutants of what publishes plans of the Spark job."""

from mutants.mutant import Mutant

_RULES = "tests/spark/test_spark_manifests.py"
_DISK = "tests/spark/test_spark_layout.py"
_MANIFESTS = "spark_udfs/job/_published.py"
_LAYOUT = "spark_udfs/job/_output_layout.py"
_FILES = "spark_udfs/job/_by_file.py"

MUTANTS = [
    Mutant(
        _MANIFESTS,
        "if numbers != list(range(n_buckets)):",
        "if not numbers:",
        "a plan without a bucket is complete",
        _RULES,
    ),
    Mutant(
        _MANIFESTS, "    if gone:\n", "    if gone and not sizes:\n", "a plan whose file is gone is complete", _RULES
    ),
    Mutant(
        _MANIFESTS, "if sizes.get(name) != n_bytes]", "if name not in sizes]", "a file that is cut off passes", _RULES
    ),
    Mutant(
        _MANIFESTS,
        '(-one["generation"], one["name"])',
        '(one["generation"], one["name"])',
        "a forced plan never counts",
        _RULES,
    ),
    Mutant(_MANIFESTS, "min(whole, key", "max(whole, key", "the last of equal manifests counts, and changes", _RULES),
    Mutant(
        _MANIFESTS,
        "    except ValueError:\n        return None\n    return data",
        "    except KeyError:\n        return None\n    return data",
        "a manifest that is being written is an error",
        _RULES,
    ),
    Mutant(
        _MANIFESTS, '{"format", "generation"} <= data.keys()', "data", "a manifest that is not whole counts", _RULES
    ),
    Mutant(
        _MANIFESTS,
        "return (None if force else found), run",
        "return found, run",
        "--force finds the plan complete",
        _RULES,
    ),
    Mutant(_MANIFESTS, "unique_name(), force)", "unique_name(), False)", "--force takes what others have done", _RULES),
    Mutant(
        _MANIFESTS,
        'return found["run"] == run.name, found',
        "return True, found",
        "who was overtaken says that it was first",
        _RULES,
    ),
    Mutant(
        _LAYOUT,
        "folder.mkdir()\n        try",
        "folder.mkdir(parents=True)\n        try",
        "a worker makes a folder anew that was taken away",
        _DISK,
    ),
    Mutant(
        _LAYOUT,
        "            shutil.rmtree(folder, ignore_errors=True)\n            raise",
        "            raise",
        "a bucket that fails leaves its files",
        _DISK,
    ),
    Mutant(
        _LAYOUT,
        "    if not won:\n        return []",
        "    if won is None:\n        return []",
        "a sweeper that was overtaken sweeps",
        _DISK,
    ),
    Mutant(
        _LAYOUT,
        'manifest["generation"] + 1, manifests.unique_name(), True)',
        'manifest["generation"], manifests.unique_name(), True)',
        "leftovers are never swept",
        _DISK,
    ),
    Mutant(
        _LAYOUT,
        "st_mtime > before:",
        "st_mtime < 0:",
        "a plan that was replaced today is swept under its readers",
        _DISK,
    ),
    Mutant(
        _LAYOUT,
        'shown["buckets"] == manifest["buckets"]',
        'shown["plan"] == manifest["plan"]',
        "the plain path keeps the plan that was replaced",
        _DISK,
    ),
    Mutant(
        _LAYOUT,
        "    for _ in range(10):  #",
        "    for _ in range(1):  #",
        "who was overtaken leaves the older plan at the plain path",
        _DISK,
    ),
    Mutant(
        _LAYOUT,
        "        show_plan(out, plan_id)\n        return manifest, run, {}",
        "        return manifest, run, {}",
        "a plan that was not shown never is",
        _DISK,
    ),
    Mutant(
        _FILES,
        "    # Once recorded, the files may be named in a manifest, so they stay whatever happens.\n"
        '    ranked = {} if ranking is None else {WORST: {"n": n_worst, "rows": ranking.worst()}}\n'
        "    out.commit(",
        '        ranked = {} if ranking is None else {WORST: {"n": n_worst, "rows": ranking.worst()}}\n'
        "        out.commit(",
        "an error behind the record removes files that it names",
        _DISK,
    ),
]
