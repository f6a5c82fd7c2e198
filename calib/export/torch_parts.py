"""Parts of exported PyTorch modules, whose source is copied into them; see :mod:`calib.export.torch_module`."""

import base64
import zlib

import torch


def numbers(text: str, rows: int, columns: int) -> torch.Tensor:
    """Float64 numbers from their compressed bytes."""
    raw = bytearray(zlib.decompress(base64.b64decode(text)))
    return torch.frombuffer(raw, dtype=torch.float64).reshape(rows, columns)


def softplus(x: torch.Tensor) -> torch.Tensor:
    """``log(1 + exp(x))`` with all digits."""
    return torch.clamp(x, min=0.0) + torch.log1p(torch.exp(-torch.abs(x)))


def without_top(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Which is the first largest of each row, and the logits with -inf in its place."""
    columns = torch.arange(logits.shape[1], device=logits.device)
    top = columns == torch.argmax(logits, 1, keepdim=True)
    return top, torch.where(top, float("-inf"), logits)


def top_log_odds(logits: torch.Tensor) -> torch.Tensor:
    """Log-odds of the first largest of each row against all others, (n, 1)."""
    _, rest = without_top(logits)
    return torch.amax(logits, 1, keepdim=True) - torch.logsumexp(rest, 1, keepdim=True)


def log_odds(logits: torch.Tensor) -> torch.Tensor:
    """Log-odds of each of more than two classes against all others."""
    top, rest = without_top(logits - torch.amax(logits, 1, keepdim=True))
    odds = torch.exp(rest)
    below = rest - torch.log1p(torch.clamp(torch.sum(odds, 1, keepdim=True) - odds, min=0.0))
    highest = torch.maximum(top_log_odds(logits), torch.amax(below, 1, keepdim=True))
    return torch.where(top, highest, below)


def in_proportion(logits: torch.Tensor, confidence: torch.Tensor) -> torch.Tensor:
    """Probabilities with these confidences in the predicted classes; the others share the rest, none with more.

    Of the sorted others the first h are held at the confidence, h the least number with which no further one gets more.
    """
    n_classes = logits.shape[1]
    top, rest = without_top(logits)
    most = torch.clamp(confidence, 1 / n_classes, 1.0)
    falling = torch.sort(rest, 1, descending=True)[0][:, : n_classes - 1]
    log_total = torch.flip(torch.logcumsumexp(torch.flip(falling, [1]), 1), [1])
    held = torch.arange(n_classes - 1, device=logits.device)
    left = torch.clamp(1 - most * (1 + held), min=1e-300)
    fits = (left * torch.exp(falling - log_total) <= most * (1 + 1e-9)) | (held == n_classes - 2)
    first = torch.argmax(fits.long(), 1, keepdim=True)
    log_each = torch.log(torch.gather(left, 1, first)) - torch.gather(log_total, 1, first)
    probs = torch.where(top, most, torch.minimum(torch.exp(torch.clamp(rest + log_each, max=0.0)), most))
    tied = (logits == torch.amax(logits, 1, keepdim=True)).to(logits.dtype)
    equal = torch.sum(probs * tied, 1, keepdim=True) / torch.sum(tied, 1, keepdim=True)
    return torch.where(tied > 0, equal, probs)


def gaps(logits: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Softmax of logits whose gaps between neighbours of each sorted row are weighed."""
    ranked, order = torch.sort(logits, dim=1, descending=True, stable=True)
    below = torch.cumsum((ranked[:, :-1] - ranked[:, 1:]) * weights, 1)
    by_rank = torch.softmax(torch.nn.functional.pad(-below, (1, 0)), 1)
    return torch.gather(by_rank, 1, torch.argsort(order, 1))


class Piecewise(torch.nn.Module):
    """Polynomials of x less an origin between breaks: one map for all columns, or one for each.

    Parameters
    ----------
    breaks : (maps, m) increasing, filled up with infinity.
    origins : (maps, m + 1).
    coefficients : (degree + 1, maps (m + 1)), the lowest degree first.
    right : whether a break belongs to the interval that begins with it.
    """

    def __init__(self, breaks: torch.Tensor, origins: torch.Tensor, coefficients: torch.Tensor, right: bool):
        super().__init__()
        self.right = right
        self.register_buffer("breaks", breaks)
        self.register_buffer("origins", origins.flatten())
        self.register_buffer("coefficients", coefficients)
        self.register_buffer("start", torch.arange(origins.shape[0]) * origins.shape[1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Values at x, (n, columns)."""
        at = x.detach()
        if self.breaks.shape[0] == 1:
            index = torch.searchsorted(self.breaks[0], at.contiguous(), right=self.right)
        else:
            index = torch.searchsorted(self.breaks, at.t().contiguous(), right=self.right).t() + self.start
        degree = self.coefficients.shape[0] - 1
        result = self.coefficients[degree][index]
        for power in range(degree):
            result = result * (x - self.origins[index]) + self.coefficients[degree - 1 - power][index]
        return result


class Draws(torch.nn.Module):
    """Average growth of the masses of a row over functions on an equally spaced grid.

    Parameters
    ----------
    growth : (draws, size) exponentials of the functions at the nodes.
    low, spacing : the first node, and the distance of neighbours.
    order : 3 for cubic interpolation on four nodes, 1 for linear.
    """

    def __init__(self, growth: torch.Tensor, low: float, spacing: float, order: int):
        super().__init__()
        self.low, self.spacing, self.order = low, spacing, order
        self.register_buffer("growth", growth)

    def forward(self, x: torch.Tensor, mass: torch.Tensor) -> torch.Tensor:
        """Masses times their growth, (n, columns), up to a factor of each row."""
        size = self.growth.shape[1]
        at = torch.clamp((x - self.low) / self.spacing, 0.0, size - 1.0)
        before = 1 if self.order == 3 else 0
        first = torch.clamp(torch.floor(at.detach()).long() - before, 0, size - 1 - self.order)
        u = at - first
        weights = [1 - u, u]
        if self.order == 3:
            left, right = u * (u - 1), (u - 2) * (u - 3)
            weights = [(u - 1) * right / -6, u * right / 2, left * (u - 3) / -2, left * (u - 2) / 6]
        sums = torch.zeros(x.shape[0], size, dtype=x.dtype, device=x.device)
        for step, weight in enumerate(weights):
            sums = torch.scatter_add(sums, 1, first + step, mass * weight)
        ratio = torch.matmul(1 / torch.matmul(sums, self.growth.t()), self.growth)
        result = torch.zeros_like(mass)
        for step, weight in enumerate(weights):
            result = result + weight * torch.gather(ratio, 1, first + step)
        return mass * result
