"""Words for a network's passes and for stall reasons, in full and abbreviated."""

PASSES = {
    "forward": ("forward", "fwd"), "loss": ("loss", "loss"), "loss_gradient": ("loss gradient", "dloss"),
    "backward_data": ("back data", "bwd d"), "backward_weights": ("back weights", "bwd w"),
    "backward_bias": ("back bias", "bwd b"), "backward": ("backward", "bwd"),
    "gradient_sum": ("gradient sum", "sum"), "update": ("update", "upd"),
}  # fmt: skip
REASONS = {
    "execution_dependency": ("exec", "exe"), "matrix_unit": ("matrix", "mat"), "memory_dependency": ("memory", "mem"),
    "memory_throttle": ("throttle", "thr"), "synchronization": ("barrier", "bar"),
    "instruction_fetch": ("fetch", "fet"), "branch_latency": ("branch", "bra"),
    "not_selected": ("not selected", "sel"), "idle": ("idle", "idl"),
}  # fmt: skip
LEGEND = (
    "fwd forward, bwd backward of d data, w weights, b bias, upd update; run: launches, of them simulated; stalls:"
    " mem memory, thr memory throttle, exe execution, mat matrix unit, bar barrier, fet fetch, bra branch,"
    " sel not selected, idl idle"
)
# what the phases of a training iteration are called, by the passes that they have
PHASES = {"forward": "forward", "loss": "forward", "update": "update"}
BACKWARD = "backward"
