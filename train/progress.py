"""The progress bar of a run. Nobody knows how many epochs it will take; the bar shows how near the stop is instead: the learning
rate's way down to `stop.min_lr` (in reductions), or the share of the epochs, the time or the patience, whichever is further.
"""

import math
import sys
import time

from tqdm import tqdm


class Progress:
    """A bar on a terminal; elsewhere (a log file) a line per minute."""

    def __init__(self, run, trainer):
        self.trainer, self.label = trainer, f"{run.name} seed {run.seed} fold {run.fold}"
        self.bar, self.last_line = None, time.monotonic()
        if run.progress and sys.stderr.isatty():
            self.bar = tqdm(
                total=100, desc=self.label, bar_format="{desc} {percentage:3.0f}%|{bar:24}| {postfix} [{elapsed}]"
            )
        self.quiet = not run.progress

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.bar is not None:
            self.bar.close()

    def share(self):
        """How much of the way to the stop is done, from 0 to 1."""
        trainer, stop = self.trainer, self.trainer.config.stop
        shares = [trainer.epoch / stop.epochs, trainer.elapsed / 3600 / stop.hours]
        first, factor = trainer.config.optimizer.lr, getattr(trainer.config.schedule, "factor", None)
        if factor and stop.min_lr is not None and stop.min_lr < first:
            wanted = math.floor(math.log(stop.min_lr / first, factor)) + 1
            shares.append(math.log(trainer.lr / first, factor) / max(wanted, 1))
        if stop.patience is not None:
            shares.append((trainer.epoch - trainer.patience["epoch"]) / stop.patience)
        return min(1.0, max(shares))

    def show(self, record):
        if not record["val"]:
            return
        name, digits = self.trainer.measure.name, self.trainer.measure.digits
        text = (
            f"epoch {record['epoch']}, lr {record['lr']:.1e}, loss {record['train']['loss']:.4f} / {record['val']['loss']:.4f}, "
            f"{name} {record['train'][name]:.{digits}f} / {record['val'][name]:.{digits}f} (train / val)"
        )
        if self.bar is not None:
            self.bar.n = round(100 * self.share())
            self.bar.set_postfix_str(text)
        elif not self.quiet and time.monotonic() - self.last_line > 60:
            self.last_line = time.monotonic()
            print(f"{self.label}: {text}", file=sys.stderr)
