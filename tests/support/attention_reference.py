"""Scores of attention, as the references of several tests compute them."""

import torch


def masked_scores(q, k, mask, scale, causal, fill=-torch.inf):
    """Return q k^T * scale, masked by positions, by a boolean mask or by one that is added."""
    scores = q @ k.transpose(-1, -2) * scale
    if causal:
        scores = scores.where(torch.ones(scores.shape[-2:]).tril().bool(), -torch.inf)
    if mask is not None and mask.dtype == torch.bool:
        return scores.where(mask, fill)
    return scores if mask is None else scores + mask
