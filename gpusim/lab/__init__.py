"""The laboratory: papers reproduced, silicon measured against, and checks of the simulator itself.

The simulator imports nothing of it. `gpusim.lab.extension` registers what it adds: kinds of jobs and commands."""
