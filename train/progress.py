"""The progress bar of a run. Nobody knows how many epochs it will take; the bar shows how near the stop is instead:
the learning rate's way down to `min_lr` (in halvings), or the share of the epochs or of the time, whichever is further.
"""

import math
import sys
import time

from tqdm import tqdm


class Progress:
    """A bar on a terminal; elsewhere (a log file) a line a minute."""

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
        config = self.trainer.config
        wanted = math.floor(math.log(config.min_lr / config.init_lr, config.lr_reduce_factor)) + 1
        done = math.log(self.trainer.lr / config.init_lr, config.lr_reduce_factor)
        hours = self.trainer.elapsed / 3600
        return min(1.0, max(done / max(wanted, 1), self.trainer.epoch / config.epochs, hours / config.max_time))

    def show(self, record):
        metric = next(name for name in record["val"] if name != "loss")
        text = (
            f"epoch {record['epoch']}, lr {record['lr']:.1e}, loss {record['train']['loss']:.4f} / {record['val']['loss']:.4f}, "
            f"{metric} {record['train'][metric]:.2f} / {record['val'][metric]:.2f} (train / val)"
        )
        if self.bar is not None:
            self.bar.n = round(100 * self.share())
            self.bar.set_postfix_str(text)
        elif not self.quiet and time.monotonic() - self.last_line > 60:
            self.last_line = time.monotonic()
            print(f"{self.label}: {text}", file=sys.stderr)
