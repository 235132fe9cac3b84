"""The curves of a run for TensorBoard: the numbers of metrics.jsonl once more."""

from torch.utils.tensorboard import SummaryWriter

from runs.files import RunError, explain


class Board:
    """Opened with the first epoch it is shown, and closed with the run; a run that goes on replaces what it repeats."""

    def __init__(self, folder):
        self.folder, self.writer = folder, None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.writer is not None:
            self.writer.close()

    def show(self, record):
        if not record["val"]:
            return
        try:
            if self.writer is None:
                self.writer = SummaryWriter(self.folder, purge_step=record["epoch"])
            self.writer.add_scalar("lr", record["lr"], record["epoch"])
            for split in ("train", "val"):
                for name, value in record[split].items():
                    self.writer.add_scalar(f"{name}/{split}", value, record["epoch"])
            self.writer.flush()
        except OSError as error:
            raise RunError(explain(error, self.folder)) from error
