"""The timed GPU: its compute units and run loop, sampling of long launches, energy and area.

Why so: what is timed is separate from what is executed (`isa`) and from how memory works (`memory`), so that each is
tested alone; energy and sampling read counts and change no cycle.
"""
