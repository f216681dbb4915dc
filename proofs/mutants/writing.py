"""Mutants of the one way to write, and of those who use it."""

from mutants.mutant import Mutant

_FILES = "tests/store/test_store.py"
_DIRECTORIES = "tests/store/test_store_directories.py"
_STAGING = "rmqalloc/store/_staging.py"
_WRITING = "rmqalloc/store/_writing.py"
_LOCKS = "rmqalloc/store/_locks.py"
_DISK = "rmqalloc/store/_disk.py"
_OFFSETS = "rmqalloc/rebalance/_offset_file.py"

MUTANTS = [
    Mutant(
        _STAGING,
        "secrets.token_hex(8)",
        "'%016x' % os.getpid()",
        "temporary names can be guessed",
        f"{_FILES} -k guessed",
    ),
    Mutant(
        _STAGING,
        "| os.O_EXCL | NOFOLLOW",
        "| NOFOLLOW",
        "a file that somebody laid there is written into",
        f"{_FILES} -k guessed",
    ),
    Mutant(
        _STAGING,
        "len(data) <= _LONGEST_STEM",
        "len(data) <= 255",
        "names near the longest cannot be written",
        f"{_FILES} -k longest",
    ),
    Mutant(
        _STAGING,
        "stat.S_IMODE(target.stat().st_mode) & 0o777\n    return",
        "0o666\n    return",
        "a secret file is open to all while it is written",
        f"{_FILES} -k nobodys_business",
    ),
    Mutant(
        _STAGING,
        "if try_lock(descriptor) is False:\n        return False",
        "try_lock(descriptor)",
        "a writer goes on with what a sweeper is about to remove",
        f"{_FILES} -k sweeper_that_was_faster",
    ),
    Mutant(
        _STAGING,
        "return os.path.samestat(os.fstat(descriptor), new.lstat())",
        "return True",
        "a writer goes on with what a sweeper has removed",
        f"{_FILES} -k sweeper_that_was_faster",
    ),
    Mutant(
        _STAGING,
        "is_dead = try_lock(descriptor, shared=True) is True",
        "is_dead = try_lock(descriptor, shared=True) is not False",
        "without locks, living writers are swept",
        f"{_FILES} -k without_locks_is_written",
    ),
    Mutant(
        _STAGING,
        "is_dead = try_lock(descriptor, shared=True) is True",
        "is_dead = True",
        "living writers are swept",
        f"{_FILES} -k living",
    ),
    Mutant(
        _STAGING,
        "or not os.path.samestat(os.fstat(descriptor), leftover.lstat())",
        "",
        "what took a leftover's name is removed",
        f"{_FILES} -k name_is_another",
    ),
    Mutant(
        _STAGING,
        'if leftover.suffix == ".old" and not os.path.lexists(target):',
        "if False:",
        "what a killed writer had moved away is lost",
        f"{_FILES} -k moved_away_by_a_killed",
    ),
    Mutant(
        _STAGING,
        'r"[0-9a-f]{16}\\.(new|old)"',
        'r".*\\.(new|old)"',
        "files of others are swept",
        f"{_FILES} -k only_names_of_ours",
    ),
    Mutant(
        _WRITING,
        'if sync != "nothing":\n        os.fsync(file.fileno())',
        "",
        "a file is renamed before it is on the disk",
        f"{_FILES} -k on_the_disk",
    ),
    Mutant(
        _WRITING,
        '        if sync == "all":\n            sync_names(target.parent)',
        "",
        "the name of a file does not reach the disk",
        f"{_FILES} -k on_the_disk",
    ),
    Mutant(
        _WRITING,
        "            sync_tree(new)\n",
        "",
        "a directory takes its place before it is on the disk",
        f"{_FILES} -k on_the_disk",
    ),
    Mutant(
        _WRITING,
        "    if not has_locks():\n        file.close()",
        "    if False:\n        file.close()",
        "Windows is asked to rename an open file",
        f"{_FILES} -k closes_a_file",
    ),
    Mutant(
        _WRITING,
        "return os.dup(int(target.name))",
        "return os.open(target, os.O_WRONLY | os.O_TRUNC)",
        "/dev/stdout loses what was written before",
        f"{_FILES} -k as_they_are",
    ),
    Mutant(
        _WRITING,
        "        _check_writable(target)\n        sweep(target)",
        "        sweep(target)",
        "a read-only file is replaced",
        f"{_FILES} -k read_only",
    ),
    Mutant(
        _WRITING,
        "                unlock(descriptor)",
        "                pass",
        "the next writer waits until the old directory is removed",
        f"{_DIRECTORIES} -k go_on",
    ),
    Mutant(
        _WRITING,
        "        if not exchange(new, target):",
        "        if True:",
        "for a moment there is no directory",
        f"{_DIRECTORIES} -k never_away",
    ),
    Mutant(
        _WRITING,
        "            exchange(new, target)\n            raise",
        "            raise",
        "what came meanwhile is removed",
        f"{_DIRECTORIES} -k came_before",
    ),
    Mutant(
        _WRITING,
        "            old.rename(target)\n        raise",
        "            pass\n        raise",
        "an error in the middle leaves nothing in the place",
        f"{_DIRECTORIES} -k put_back",
    ),
    Mutant(
        _WRITING,
        "        return os.path.samestat(new.lstat(), target.lstat())\n        return False",
        "        return False\n        return False",
        "a link that NFS made twice is somebody else's",
        f"{_FILES} -k asked_for_twice",
    ),
    Mutant(
        _WRITING,
        "    except FileExistsError:\n        return False\n    with",
        "    except ZeroDivisionError:\n        return False\n    with",
        "a second creator fails where files have one name",
        f"{_FILES} -k one_name",
    ),
    Mutant(
        _LOCKS, "        unlock(descriptor)\n", "", "a forked child holds what its parent let go", f"{_FILES} -k forked"
    ),
    Mutant(
        _LOCKS,
        "    except BlockingIOError:\n        return False\n",
        "",
        "a held lock counts as none",
        f"{_FILES} -k held_against",
    ),
    Mutant(
        _DISK,
        "            os.chown(new, owner, there.st_gid)",
        "            pass",
        "a file changes its owner",
        f"{_FILES} -k owner",
    ),
    Mutant(
        _DISK,
        "os.chmod(new, stat.S_IMODE(there.st_mode))",
        "pass",
        "permissions beyond the umask are dropped",
        f"{_FILES} -k permissions",
    ),
    Mutant(
        _DISK,
        "(errno.EACCES, errno.EBADF, *NOT_OFFERED)",
        "(errno.EBADF, *NOT_OFFERED)",
        "a folder that cannot be listed cannot be written to",
        f"{_FILES} -k listed",
    ),
    Mutant(
        "rmqalloc/plans/plan_writing.py",
        "with replaced_file(path) as plain,",
        'with open(path, "wb") as plain,',
        "a full disk destroys the earlier plan",
        f"{_DIRECTORIES} -k full_disk",
    ),
    Mutant(
        "rmqalloc/simulation/_result.py",
        "    if foreign:",
        "    if False:",
        "a simulation removes files of others",
        f"{_DIRECTORIES} -k simulation",
    ),
    Mutant(
        "rmqalloc/snapshot/directory.py",
        "partial(_check_standing, path, kind)",
        "None",
        "files that came meanwhile are removed",
        "tests/evaluation/test_parquet_plan.py -k came_meanwhile",
    ),
    Mutant(
        _OFFSETS,
        "if previous is not None and _good(previous) is not None:",
        "if previous is not None:",
        "a damaged file becomes the backup",
        "tests/rebalance/test_offset_store.py -k damaged_file_is_no_backup",
    ),
    Mutant(
        _OFFSETS,
        "read_offsets(path) | dict(offsets)",
        "dict(offsets)",
        "offsets of other queues are forgotten",
        "tests/rebalance/test_offset_store.py -k merges_these",
    ),
]
