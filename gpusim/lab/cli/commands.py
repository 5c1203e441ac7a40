"""The laboratory's commands, added to the simulator's list (`gpusim.cli.main`)."""

from gpusim.cli.lazy import Command, Group, Sections

NEW = Group(
    "Folders to begin with: a publication of your own.",
    "Folders to begin with.",
    {"publication": Command("gpusim.lab.cli.new.new_publication", "Make a folder with a sweep, a figure and claims.")},
)
SECTIONS: Sections = {
    "Papers and trainings": {
        "train": Command("gpusim.lab.cli.train.train", "Train a network: losses, and the time of an iteration."),
        "train-phase": Command(
            "gpusim.lab.cli.train_phase.train_phase", "Say what bounds a training, and how it scales."
        ),
        "reproduce": Command(
            "gpusim.lab.cli.reproduce.reproduce", "Run a publication's figures, and judge its claims."
        ),
        "new": NEW,
        "monitor": Command("gpusim.lab.cli.monitor.monitor", "Run the sparsity monitor over curves, or in a training."),
        "capture": Command("gpusim.lab.cli.capture.capture", "Train a network and store its activation maps."),
    },
    "Measure the simulator": {
        "bench": Command("gpusim.lab.cli.bench.bench", "Measure the simulator's own speed."),
        "microbench": Command(
            "gpusim.lab.cli.microbench.microbench", "Measure the model's latencies, bandwidths and rates."
        ),
        "correlate": Command("gpusim.lab.cli.correlate.correlate", "Set the model beside points measured on a card."),
        "fit-estimates": Command(
            "gpusim.lab.cli.fit_estimates.fit_estimates", "Fit what layers --estimate rests on to stored launches."
        ),
        "check-estimates": Command(
            "gpusim.lab.cli.check_estimates.check_estimates", "Hold estimates of runs to shipped runs."
        ),
        "check-sampling": Command(
            "gpusim.lab.cli.check_sampling.check_sampling", "Hold sampled launches to whole ones."
        ),
    },
}
