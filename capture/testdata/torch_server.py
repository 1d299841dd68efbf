"""A small HTTP server with SGLang's profiler routes over a real torch.profiler.

It runs a toy decoder on the CPU. Its window behaves like SGLang's: it counts
forward passes, closes before pass num_steps, and answers a late /stop_profile
with status 500. Started by TestTorchServer; prints its port.
"""
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import torch


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Engine:
    def __init__(self):
        self.model = torch.nn.Sequential(*[Block(64) for _ in range(4)])
        self.forward_ct, self.target, self.profiler = 0, None, None

    def start(self, req):
        if self.profiler:
            raise RuntimeError("Profiling is already in progress. Call /stop_profile first.")
        self.dir, self.id = req["output_dir"], str(time.time())
        self.target = self.forward_ct + req["num_steps"]
        kinds = {"CPU": torch.profiler.ProfilerActivity.CPU}
        self.profiler = torch.profiler.profile(
            activities=[kinds[a] for a in req["activities"] if a in kinds], with_stack=True)
        self.profiler.start()

    def stop(self):
        if not self.profiler:
            raise RuntimeError("Profiling is not in progress. Call /start_profile first.")
        p, self.profiler = self.profiler, None
        p.stop()
        os.makedirs(self.dir, exist_ok=True)
        p.export_chrome_trace(os.path.join(self.dir, self.id + "-TP-0.trace.json.gz"))

    def step(self, tokens):
        self.forward_ct += 1
        if self.profiler and self.forward_ct >= self.target:
            self.stop()
        stage = "EXTEND" if tokens > 1 else "DECODE"
        with torch.no_grad(), torch.profiler.record_function("step[%s bs=1 toks=%d]" % (stage, tokens)):
            self.model(torch.zeros(tokens, 64))

    def generate(self, req):
        tokens = req["sampling_params"]["max_new_tokens"]
        self.step(max(len(req["text"].split()), 2))
        for _ in range(tokens - 1):
            self.step(1)
        return {"text": "x " * tokens, "meta_info": {"completion_tokens": tokens}}


ENGINE = Engine()


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/server_info":
            self.answer(200, {"model_path": "toy", "tokenizer_path": "toy", "tp_size": 1,
                              "version": "torch " + torch.__version__, "internal_states": [{}]})
        else:
            self.answer(404, {"detail": "Not Found"})

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        req = json.loads(raw) if raw else {}
        try:
            if self.path == "/generate":
                self.answer(200, ENGINE.generate(req))
            elif self.path == "/start_profile":
                ENGINE.start(req)
                self.answer(200, "Start profiling.")
            elif self.path == "/stop_profile":
                ENGINE.stop()
                self.answer(200, "Stop profiling. This will take some time.")
            else:
                self.answer(404, {"detail": "Not Found"})
        except RuntimeError as e:
            self.answer(500, {"error": str(e)})


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1])
    sys.stdout.flush()
    server.serve_forever()
