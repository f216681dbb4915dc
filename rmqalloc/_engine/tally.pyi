import numpy as np
from numpy.typing import NDArray

def balance(
    queue_offsets: NDArray[np.int64],
    n_clients: NDArray[np.int32],
    owners: NDArray[np.int32],
    load_scratch: NDArray[np.int32],
    unowned: NDArray[np.int32],
    idle: NDArray[np.int32],
    least: NDArray[np.int32],
    most: NDArray[np.int32],
) -> None: ...
def loads(
    queue_offsets: NDArray[np.int64],
    client_offsets: NDArray[np.int64],
    owners: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None: ...
