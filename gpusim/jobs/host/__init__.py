"""The host's side: launches and copies in a queue, when each happens, and the processor that has them simulated."""
