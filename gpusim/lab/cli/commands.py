"""The laboratory's commands, added to the simulator's list (`gpusim.cli.main`)."""

from gpusim.cli.lazy import CommandEntry, CommandGroup, Sections

NEW = CommandGroup(
    "Folders to begin with: a publication of your own.",
    "Folders to begin with.",
    {
        "publication": CommandEntry(
            "gpusim.lab.cli.new.new_publication", "Make a folder with a sweep, a figure and claims."
        )
    },
)
SECTIONS: Sections = {
    "Papers and trainings": {
        "train": CommandEntry("gpusim.lab.cli.train.train", "Train a network: losses, and the time of an iteration."),
        "train-phase": CommandEntry(
            "gpusim.lab.cli.train_phase.train_phase", "Say what bounds a training, and how it scales."
        ),
        "reproduce": CommandEntry(
            "gpusim.lab.cli.reproduce.reproduce", "Run a publication's figures, and judge its claims."
        ),
        "new": NEW,
        "monitor": CommandEntry(
            "gpusim.lab.cli.monitor.monitor", "Run the sparsity monitor over curves, or in a training."
        ),
        "capture": CommandEntry("gpusim.lab.cli.capture.capture", "Train a network and store its activation maps."),
    },
    "Measure the simulator": {
        "bench": CommandEntry("gpusim.lab.cli.bench.bench", "Measure the simulator's own speed."),
        "microbench": CommandEntry(
            "gpusim.lab.cli.microbench.microbench", "Measure the model's latencies, bandwidths and rates."
        ),
        "correlate": CommandEntry(
            "gpusim.lab.cli.correlate.correlate", "Set the model beside points measured on a card."
        ),
        "fit-estimates": CommandEntry(
            "gpusim.lab.cli.estimates.fit_estimates", "Fit what layers --estimate rests on to stored launches."
        ),
        "fit-products": CommandEntry(
            "gpusim.lab.cli.estimates.fit_products", "Fit estimates of the matrix unit to correlate's results."
        ),
        "check-estimates": CommandEntry(
            "gpusim.lab.cli.estimates.check_estimates", "Hold estimates of runs to shipped runs."
        ),
        "check-sampling": CommandEntry(
            "gpusim.lab.cli.check_sampling.check_sampling", "Hold sampled launches to whole ones."
        ),
    },
}
