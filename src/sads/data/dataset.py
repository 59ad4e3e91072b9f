"""A set of samples and what is known about them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from .laws import Law


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with a name.

    Attributes:
        samples: float32, the first axis counts them.
        name: the specification that makes them.
        direction: the exact unit vector v of rank-one data, x = sqrt(D) g v; None for other data.
        law: the distribution of the samples, if its optimum is known.

    >>> import numpy as np, sads
    >>> data = sads.Dataset(np.zeros((10, 1, 8, 8), dtype=np.float32), "zeros")
    >>> len(data), data.shape
    (10, (1, 8, 8))
    """

    samples: Float[np.ndarray, "N ..."]
    name: str
    direction: Float[np.ndarray, " D"] | None = None
    law: Law | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample."""
        return self.samples.shape[1:]

    def __len__(self) -> int:
        return len(self.samples)
