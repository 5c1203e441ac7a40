"""The training of a small transformer over bytes, with its feed-forward activations (needs PyTorch, as `models`)."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from gpusim.base.formats import GENERAL
from gpusim.lab.capture.capture import CaptureError, EpochRecord, Recipe, describe_device, keep_input, zero_share
from gpusim.lab.capture.language_model import CONTEXT, LanguageModel
from gpusim.lab.capture.texts import TextError, TextSet

STEPS = 100  # of an epoch: texts are drawn, so that nothing else bounds one
TEST_TEXTS = 64
_SECOND_DECAY = 0.99  # of the mean of squared gradients


class TextTraining:
    """A language model in training (gpusim.lab.capture.capture.CaptureTraining).

    captured: tokens whose activations are kept, those of a text from its last one to its first: of all that its
    attention may see, the last one sees most.
    """

    def __init__(self, texts: TextSet, recipe: Recipe, device: Any, captured: int) -> None:
        self.texts, self.recipe, self.device = texts, recipe, device
        if len(texts.test) <= CONTEXT:
            raise TextError(f"{texts.name}: texts of {len(texts.train) + len(texts.test)} bytes are too few")
        self.recorded_steps = -(-captured // (recipe.batch * CONTEXT))
        if self.recorded_steps > STEPS:
            raise CaptureError(f"captured tokens: {captured}; allowed are at most {STEPS * recipe.batch * CONTEXT}")
        self.rng = np.random.default_rng(recipe.seed)
        torch.manual_seed(recipe.seed)
        torch.backends.cuda.matmul.allow_tf32 = False
        self.network = LanguageModel().to(device)
        betas = (recipe.momentum, _SECOND_DECAY)
        self.optimizer = torch.optim.AdamW(
            self.network.parameters(), recipe.peak_learning_rate, betas, weight_decay=recipe.weight_decay
        )
        self.recorded: dict[str, list[Any]] = {}

    def run_epoch(self, epoch: int) -> EpochRecord:
        """Train on texts drawn at random for STEPS steps; return the epoch's record, its loss without the L1 term."""
        self.network.train()
        losses, hits, hooks = torch.zeros(()), torch.zeros(()), []
        for step in range(STEPS):
            if step == STEPS - self.recorded_steps:
                hooks = self._recording()
            for group in self.optimizer.param_groups:
                group["lr"] = self.recipe.learning_rate((epoch - 1) * STEPS + step, STEPS)
            loss, right = self._step(self._drawn(self.texts.train, self.recipe.batch, self.rng))
            losses += loss
            hits += right
        for hook in hooks:
            hook.remove()
        mean = losses.item() / STEPS
        if not math.isfinite(mean):
            raise CaptureError(f"training of transformer diverged in epoch {epoch}: the loss is {mean}")
        sparsity = {name: zero_share(parts) for name, parts in self.recorded.items()}
        return EpochRecord(epoch, STEPS, mean, hits.item() / STEPS, self._test_accuracy(), sparsity)

    def maps(self, module: str) -> np.ndarray:
        """Return the recorded inputs of a second product: float32 [tokens, neurons, 1, 1]."""
        held = torch.cat(self.recorded[module]).flip(1).flatten(0, 1)
        return np.asarray(held.cpu().numpy())[:, :, None, None]

    def described(self, last: EpochRecord) -> dict[str, Any]:
        """Describe how the activations were made, for the file's metadata."""
        decay = f"{GENERAL(self.recipe.momentum)}, {GENERAL(_SECOND_DECAY)}"
        return {
            "made_by": "gpusim capture",
            "model": "transformer",
            "recipe": asdict(self.recipe),
            "optimizer": f"AdamW ({decay}), linear warm-up, cosine decay to zero",
            "precision": "FP32 (TF32 off), stored as FP16",
            "step": f"last {self.recorded_steps} training steps of epoch {last.epoch}, {last.steps} steps an epoch",
            "order": f"texts of {CONTEXT} tokens one after the other, each from its last token to its first",
            "train_loss": last.train_loss,
            "train_accuracy": last.train_accuracy,
            "test_accuracy": last.test_accuracy,
            "texts": self.texts.name,
            "texts_sha256": self.texts.sha256,
            "train_bytes": len(self.texts.train),
            "test_bytes": len(self.texts.test),
            **describe_device(torch, self.device),
        }

    def _step(self, drawn: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Make a step of AdamW; return its loss without the L1 term, and the share of bytes told right."""
        answers, activity = self.network(drawn[:, :-1])
        loss = torch.nn.functional.cross_entropy(answers.flatten(0, 1), drawn[:, 1:].flatten())
        self.optimizer.zero_grad(set_to_none=True)
        (loss + self.recipe.l1 * activity).backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.gradient_norm)
        self.optimizer.step()
        return loss.detach().cpu(), (answers.argmax(-1) == drawn[:, 1:]).float().mean().cpu()

    def _drawn(self, texts: np.ndarray, count: int, rng: np.random.Generator) -> torch.Tensor:
        """Draw so many pieces of texts: int64 [count, CONTEXT + 1]."""
        first = rng.integers(0, len(texts) - CONTEXT, count)
        pieces = texts[first[:, None] + np.arange(CONTEXT + 1)].astype(np.int64)
        return torch.from_numpy(pieces).to(self.device)

    def _recording(self) -> list[Any]:
        """Keep the inputs of second products from now on; return the hooks that do it."""
        hooks, self.recorded = [], {}
        for name in self.network.layers:
            kept = self.recorded.setdefault(f"{name}.second", [])
            hooks.append(self.network.get_submodule(f"{name}.second").register_forward_pre_hook(keep_input(kept)))
        return hooks

    def _test_accuracy(self) -> float:
        """Return the share of bytes told right in pieces of the test's texts, the same ones each time."""
        self.network.eval()
        drawn = self._drawn(self.texts.test, TEST_TEXTS, np.random.default_rng(self.recipe.seed))
        with torch.no_grad():
            answers, _ = self.network(drawn[:, :-1])
        return float((answers.argmax(-1) == drawn[:, 1:]).float().mean())
