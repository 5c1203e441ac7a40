"""The host's side of a launch: command queue and command processor, with the overheads of launches."""
