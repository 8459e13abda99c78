"""The ratios xtrace/JAX that are wanted, by case and metric."""

from __future__ import annotations

from bench.programs import ARCHITECTURES, TRACED

_TRACE = {
    "numpy_chain": 0.10,
    "mlp_adam": 0.20,
    "gpt_forward": 0.20,
    "gpt_gradient": 0.25,
    "gpt_checkpointed": 0.30,
    "rnn_gradient": 0.30,
    "per_example": 0.30,
    "nested_control_flow": 0.30,
}
#: Programs whose lowering may take more than the usual part.
_LOWER = {"gpt_checkpointed": 0.30, "rnn_gradient": 0.30, "per_example": 0.30, "nested_control_flow": 0.30}
_LOWER_ELSE = 0.25
#: Seconds to compile, and to run.
_COMPILE = {
    "gpt_gradient": 0.20,
    "gpt24_gradient": 0.08,
    "gpt_gradient_38m": 0.20,
    "lstm_gradient": 0.30,
    "per_example": 1.0,
    "constant_blocks": 0.15,
}
_RUN = {
    "gpt_gradient": 0.60,
    "gpt24_gradient": 0.45,
    "gpt_gradient_38m": 0.70,
    "lstm_gradient": 0.65,
    "per_example": 0.25,
    "constant_blocks": 1.0,
}
#: Programs that XLA compiles well already: none may get slower, and together they compile faster.
COMPILED_WELL = (
    "conv_gradient",
    "residual_mlp",
    "runge_kutta",
    "polynomial",
    "polynomial_gradient",
    "dropout",
    "adam",
    "mlp_adam",
    "gpt_forward",
    "gpt_checkpointed",
)
COMPILED_WELL_MEAN = 0.7
_COMPILE |= dict.fromkeys(COMPILED_WELL, 1.0)
_RUN |= dict.fromkeys(COMPILED_WELL, 1.03)
_COMPILE |= dict.fromkeys(ARCHITECTURES, 1.05)
_RUN_ELSE = 1.05
#: Bytes of temporaries of the compiled program.
_MEMORY = 1.05

#: How far the values of the two may be apart, relative to the largest of a result.
DIFFERENCE = 1e-4

_FIXED = {
    ("import", "process"): 0.40,
    ("first_call", "process"): 0.75,
    ("warm_start", "process"): 0.30,
    ("dispatch", "one array"): 1.05,
    ("dispatch", "100 leaves in and out"): 1.0,
    ("eager", "x + y"): 1.0,
    ("eager", "sin(x)"): 1.0,
    ("eager", "dot(m, m)"): 1.0,
    ("eager", "x[3]"): 0.25,
    ("eager", "x[2:5]"): 0.25,
    ("eager", "x.at[3].set(1.)"): 0.15,
    ("eager", "zeros(16)"): 0.3,
    ("eager", "relu(x)"): 0.15,
    ("eager", "device_put(small)"): 0.3,
    ("eager", "grad(sin)(1.)"): 0.25,
    ("eager", "vmap(sin)(x)"): 0.3,
    ("eager", "grad of 20 operations"): 0.3,
    ("fresh_jit", "jit and trace"): 0.25,
    ("growth", "trace per operation, 100,000"): 0.15,
    ("growth", "gradient trace per operation, 5,000"): 0.12,
    ("growth", "dispatch per leaf, 10,000 leaves"): 0.9,
}

#: Single functions: none above this.
FUNCTIONS = {"functions_eager": 1.5, "functions_traced": 0.2, "functions_run": 1.05}
#: The median over all functions of a case.
FUNCTIONS_MEDIAN = {"functions_eager": 1.0}

#: Tracing an operation of the long chain against one of the short chain, both by xtrace.
GROWTH_OF_ITSELF = ("trace per operation, 100,000", "trace per operation, 1,000", 1.3)


def wanted(case: str, metric: str) -> float | None:
    """The highest ratio that satisfies, or None where nothing is asked."""
    if case in FUNCTIONS:
        return FUNCTIONS[case] if metric != "first calls of all" else None
    kind = metric.split(",")[0]
    if kind == "trace" and case in _TRACE:
        return _TRACE[case]
    # The first lowering of a process is reported but not judged: in xtrace it loads MLIR, in JAX importing does, so it
    # is the first call of a whole process that compares the two.
    if metric == "lower, warm" and case in _TRACE:
        return _LOWER.get(case, _LOWER_ELSE)
    if metric == "compile":
        return _COMPILE.get(case)
    if metric == "run":
        return _RUN.get(case, _RUN_ELSE)
    if metric == "memory" and case in TRACED:
        return _MEMORY
    return _FIXED.get((case, metric))
