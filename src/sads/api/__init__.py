"""The Python entry points, which take strings, factories or values.

Nothing is computed here: strings become values (`specs.coercion`), and other packages do the work.
"""

from .data import align as align
from .data import distance as distance
from .data import rotate as rotate
from .learning import forecast as forecast
from .learning import rank as rank
from .learning import risk as risk
from .training import load_trained as load_trained
from .training import sample as sample
from .training import sample_chunks as sample_chunks
from .training import train as train
from .untrained import diagnose as diagnose
from .untrained import estimate_geometry as estimate_geometry
from .untrained import network as network
from .untrained import running_estimates as running_estimates
from .untrained import summary as summary
