"""The laboratory: papers reproduced, silicon measured against, and checks of the simulator itself.

The simulator imports nothing of it. `gpusim.lab.extension` registers what it adds: kinds of jobs and commands.

Why so: who simulates a kernel needs none of it, so a simulator without the laboratory stays whole; a kind of job is the
only way between the two. Importing the laboratory from the simulator was refused.
"""
