"""The host's side: launches and copies in a queue, when each happens, and the processor that has them simulated.

Beside the queue, a training's stages on storage, threads, links and GPUs: `fabric.py`, `collectives.py`, `stages.py`.
"""
