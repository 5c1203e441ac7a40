"""What a user sees of a result and of a machine: tables, plain lines, JSON, the machine as a graph."""
