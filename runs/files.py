"""Files that are either whole or not there: written beside their place, then renamed into it."""

import errno
import json
import os

NO_SPACE, NOT_WRITABLE = (errno.ENOSPC, errno.EDQUOT), (errno.EACCES, errno.EROFS, errno.EPERM)
DISK_ERRORS = (*NO_SPACE, *NOT_WRITABLE, errno.ENAMETOOLONG)


BUSY = 75  # exit code of a run that another process is working on (sysexits: try again later)


class RunError(Exception):
    """Something outside the training went wrong (disk, folder, files). The message says what and what to do."""


class RunBusy(RunError):
    """Another process is working on the same run."""


def write_atomic(path, data):
    """Put `data` (bytes) at `path`. Whatever happens, `path` holds the old content or the new one, whole."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise RunError(explain(error, path)) from error


def sync_folder(folder):
    """Have the disk know the names in a folder: a file's content alone does not survive a power cut under a new name."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path, content):
    write_atomic(path, (json.dumps(content, indent=2) + "\n").encode())


def read_json(path):
    """The content of a file, or None where there is none."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(explain(error, path)) from error
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} is damaged ({error}): move it away, or start this run again with --force") from error


def explain(error, path):
    """A sentence for the disk's errors, with the remedy."""
    if error.errno in NO_SPACE:
        return f"{path}: no space left on the disk. Make room and give the same command again"
    if error.errno in NOT_WRITABLE:
        return f"{path}: the folder cannot be written to. Choose another one (--out_dir, --data.store_dir)"
    if error.errno == errno.ENAMETOOLONG:
        return f"{str(path)[:60]}...: the name is too long for this disk. Choose a shorter one (--out_dir, --data.store_dir)"
    return f"{path}: {error.strerror or error}"
