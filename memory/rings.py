"""How the rings that hold queues start over.

A ring that has become empty starts over at its front, which the host's cache holds. It does so only from its second
place on, so that whoever compares heads cycle by cycle sees every entry that leaves.
"""

RING_FRONT = 2
