"""The proof of one reading: a few of its directories by the two roads that need no Spark, and that
it sees a difference.
"""

from directories import __main__ as program
from directories import drawn, roads


def answers(seed, folder):
    path = folder / f"{seed}"
    path.mkdir()
    drawn.directory(seed, path)
    return (
        path,
        roads.answer(roads.bulk, path, folder / f"out{seed}"),
        roads.answer(roads.workers, path),
    )


def test_bulk_and_workers_read_a_directory_alike(tmp_path):
    plans = refusals = 0
    for seed in range(24):
        path, bulk, workers = answers(seed, tmp_path)
        assert bulk == workers, seed
        assert "defect" not in bulk
        plans += isinstance(bulk, list)
        refusals += isinstance(bulk, str)
        if isinstance(bulk, str) and not bulk.startswith("column "):
            assert str(path) in bulk, "a refusal names the file"
    assert min(plans, refusals) > 5


def test_a_road_that_reads_otherwise_is_seen(tmp_path, monkeypatch, capsys):
    """Rows of the JVM's road are those of bulk here, but for one."""
    monkeypatch.setattr(roads, "jvm", lambda path, spark: roads.workers(path)[1:])
    real = roads.workers
    monkeypatch.setattr(roads, "workers", lambda path, spark=None: real(path))
    seeds = range(8)
    assert "roads differ" in {program.compared(seed, None)[0] for seed in seeds}
    assert "JVM: " in capsys.readouterr().err
    monkeypatch.setattr(roads, "jvm", lambda path, spark: real(path))
    assert {program.compared(seed, None)[0] for seed in seeds} == {"one plan", "refused by all"}
