"""The programs that are measured.

Each builder makes its program anew (fresh function objects, so that nothing traced before is found again) out of the
module it is given, `xtrace` or `jax`: both run the same text. It returns the function and NumPy arguments for it.
"""

from __future__ import annotations

from collections.abc import Callable

from bench.programs import chains, classifier, images, open_questions, recurrent, science, transformer
from bench.programs.library import Library, Program, normal

#: The programs whose tracing, lowering and dispatch are judged.
TRACED: dict[str, Callable[[Library], Program]] = {
    "numpy_chain": chains.numpy_chain,
    "lax_chain": chains.lax_chain,
    "mlp_adam": classifier.mlp_adam,
    "gpt_forward": transformer.gpt_forward,
    "gpt_gradient": transformer.gpt_gradient,
    "gpt_checkpointed": transformer.gpt_checkpointed,
    "rnn_forward": recurrent.rnn_forward,
    "rnn_gradient": recurrent.rnn_gradient,
    "nested_control_flow": chains.nested_control_flow,
    "tree_100": chains.tree_in_and_out,
    "per_example": classifier.per_example_gradients,
}

#: Programs whose compiling and running are judged: deep ones, and ones that XLA compiles well already.
COMPILED: dict[str, Callable[[Library], Program]] = {
    "gpt24_gradient": transformer.gpt24_gradient,
    "gpt_gradient_38m": transformer.gpt_gradient_38m,
    "lstm_gradient": recurrent.lstm_gradient,
    "conv_gradient": images.residual_conv_gradient,
    "residual_mlp": classifier.residual_mlp_gradient,
    "runge_kutta": science.runge_kutta,
    "polynomial": science.polynomial,
    "polynomial_gradient": science.polynomial_gradient,
    "dropout": classifier.dropout,
    "adam": classifier.adam,
    "constant_blocks": classifier.blocks_of_one_constant_each,
}

#: Well-known architectures and methods that nothing was tuned for.
ARCHITECTURES: dict[str, Callable[[Library], Program]] = {
    "unet": images.unet_gradient,
    "diffusion": images.diffusion_step,
    "bodies": science.bodies,
    "kalman": science.kalman,
    "experts": transformer.mixture_of_experts_gradient,
    "coupling_flow": classifier.coupling_flow_gradient,
    "graph_network": science.graph_network_gradient,
    "vision_transformer": transformer.vision_transformer_gradient,
    "translation": recurrent.translation_gradient,
    "gaussian_process": science.gaussian_process_gradient,
}

#: Programs that decide what a pass may touch; see `python -m bench.passes`.
OPEN_QUESTIONS: dict[str, Callable[[Library], Program]] = {
    "large_arrays": open_questions.large_arrays,
    "deep_loop_body": open_questions.deep_loop_body,
    "many_results": open_questions.many_results,
    "mixed_precision": open_questions.mixed_precision,
}

PROGRAMS = TRACED | COMPILED | ARCHITECTURES | OPEN_QUESTIONS

__all__ = ["ARCHITECTURES", "COMPILED", "OPEN_QUESTIONS", "PROGRAMS", "TRACED", "Library", "Program", "normal"]
