"""DRAM: parts as tables of sourced timings, controllers command by command, and a checker of the protocol.

`spec` holds the parts, `state` what a channel keeps, `controller` schedules, `commands` says what each command does;
`checker` replays a recorded command stream and knows nothing of how it came about.
"""
