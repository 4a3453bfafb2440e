"""Workers that MPI has started: ``mpiexec -n 4 python -m mpi4py train.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sapwood.distributed.collectives import PointToPointCommunicator

TAG = 11  # of all messages; MPI keeps those of one worker to another in their order


class MpiCommunicator(PointToPointCommunicator):
    """Sends bytes by MPI, between the processes of a communicator of ``mpi4py``.

    All processes create it together: messages have a duplicate of the communicator to themselves, so that they are not
    taken for those of others. A process that fails leaves the others waiting, unless the script is started with
    ``python -m mpi4py``, which ends all of them.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        Communicator, such as ``MPI.COMM_WORLD``.

    Examples
    --------
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> from sapwood import SapwoodRegressor  # doctest: +SKIP
    >>> from sapwood.distributed import MpiCommunicator, fit  # doctest: +SKIP
    >>> model = fit(SapwoodRegressor(), X_here, y_here, MpiCommunicator(MPI.COMM_WORLD))  # doctest: +SKIP
    """

    def __init__(self, comm: Any) -> None:
        super().__init__(comm.Get_rank(), comm.Get_size())
        self._comm = comm.Dup()

    def send_receive(self, parts: Mapping[int, bytes], senders: Sequence[int]) -> dict[int, Any]:
        """Send ``parts[r]`` to worker r; return the next part of each of ``senders``."""
        sending = [self._comm.Isend(part, dest=rank, tag=TAG) for rank, part in parts.items()]
        received = {rank: self._receive(rank) for rank in senders}
        for request in sending:
            request.Wait()
        return received

    def _receive(self, rank: int) -> bytearray:
        """Return the next part of a worker, whose length is not known before it comes."""
        from mpi4py import MPI

        status = MPI.Status()
        message = self._comm.Mprobe(source=rank, tag=TAG, status=status)
        part = bytearray(status.Get_count(MPI.BYTE))
        message.Recv([part, MPI.BYTE])
        return part
