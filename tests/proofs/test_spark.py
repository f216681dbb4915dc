"""A few random directories by the two roads that need no Spark; roads and calls that differ are seen."""

from spark.directories import compared as program
from spark.directories import drawn, roads
from spark.matrix import releases
from spark.writing.order import unsynced


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


RENAME = ("rename", "/home/f.0123456789abcdef.new", "/home/f")
WRITE, SYNC = ("write", RENAME[1], ""), ("fsync", RENAME[1], "")
FOLDER = ("fsync", "/home", "")


def test_a_name_or_content_that_is_not_on_the_disk_is_seen():
    assert list(unsynced([WRITE, SYNC, RENAME, FOLDER], "/home")) == []
    assert len(list(unsynced([WRITE, RENAME, FOLDER], "/home"))) == 1
    assert len(list(unsynced([WRITE, SYNC, RENAME], "/home"))) == 1


def test_an_answer_of_a_release_that_differs_or_is_listed_and_right_is_seen():
    listed = next(name for release, name in releases.DIFFERENCES if release == "3.5")
    assert list(releases.failures({"3.5": {listed: {"error": "x"}}})) == []
    assert len(list(releases.failures({"3.5": {listed: {"compared": 3}}}))) == 1
    assert len(list(releases.failures({"4.1": {"session": {"error": "x"}}}))) == 1
