"""The timed GPU: its compute units and run loop, sampling of long launches, energy and area."""
