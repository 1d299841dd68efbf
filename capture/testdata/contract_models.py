"""Request models of the profiler routes, as the servers' sources declare them.

Reads {"check": [[model, body], ...]} from standard input. Prints what each body is refused for, "" where it is accepted,
or, of no bodies, the OpenAPI document of each model's route (where FastAPI is installed, else one made from the model's
own schema). A body's model is NAME/forbid or NAME/ignore: what becomes of unknown fields.
"""
import json
import sys
from typing import List, Optional

import pydantic
from pydantic import StrictInt, StrictStr, create_model

V2 = pydantic.VERSION.startswith("2")


def opt(kind, default=None):
    return (Optional[kind], default)


COMMON = dict(output_dir=opt(str), start_step=opt(int), num_steps=opt(int), activities=opt(List[str]), with_stack=opt(bool),
              record_shapes=opt(bool), profile_by_stage=(bool, False))
LATER = dict(COMMON, merge_profiles=(bool, False), profile_prefix=opt(str), profile_stages=opt(List[str]))
MODELS = {
    "sglang-2025-03": dict(COMMON, profile_id=opt(str)),
    "sglang-2025-12": LATER,
    "sglang-2026-shapes": dict(LATER, profile_id=opt(str), shape_discovery=(bool, False)),
    "sglang-2026-roofline": dict(LATER, profile_id=opt(str), roofline_annotations=(bool, False)),
    "vllm-session": dict(profile_prefix=opt(StrictStr), delay_iterations=opt(StrictInt), max_iterations=opt(StrictInt)),
    "trtllm-http": dict(output_dir=opt(str), num_steps=opt(pydantic.PositiveInt), start_step=(int, 0), activities=(List[str], ["CPU", "GPU"])),
    "tokenspeed-control": dict(COMMON, profile_id=opt(str)),
}


def model(name):
    name, _, extra = name.partition("/")
    if V2:
        return create_model("StartProfileRequest", __config__={"extra": extra}, **MODELS[name])
    return create_model("StartProfileRequest", __config__=type("Config", (), {"extra": extra}), **MODELS[name])


def describe(name):
    m = model(name)
    try:
        from fastapi import FastAPI
    except ImportError:
        schema = m.model_json_schema() if V2 else m.schema()
        body = {"content": {"application/json": {"schema": schema}}}
        return {"paths": {"/start_profile": {"post": {"requestBody": body}}, "/stop_profile": {"post": {}}}}
    app = FastAPI()

    def start(obj: Optional[m] = None):
        pass

    def stop():
        pass

    app.post("/start_profile")(start)
    app.post("/stop_profile")(stop)
    return app.openapi()


def check(name, body):
    try:
        model(name)(**body)
    except pydantic.ValidationError as e:
        return str(e)
    return ""


def main():
    job = json.load(sys.stdin)
    checks = job.get("check") or []
    out = {"describe": {} if checks else {n: describe(n + "/forbid") for n in MODELS}, "check": [check(n, b) for n, b in checks]}
    json.dump(out, sys.stdout)


main()
