"""DRAM: standards as tables of sourced timings, and controllers command by command.

`standards` holds the tables, `constraints` the timing rules, `spec` and `timing` what a configuration makes of them;
`state` is what a channel keeps, `requests` a request's way through its bank, `commands` what each command does,
`scheduler`, `page_policy` and `refresh` what is decided, `advance` when, and `controller` the interface. The
tests' checker of the protocol replays a recorded command stream and knows nothing of how it came about.

Why so: rules between commands are rows with their sources, and a checker that shares no code replays the commands
(decision 6). Assignments in code for each standard were refused.
"""
