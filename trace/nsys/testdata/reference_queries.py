"""What the published Python scripts ask of an nsys export, with the standard
library's sqlite3: kernels with their names by start, launch calls by name, and
ranges with their text by start.

usage: reference_queries.py FILE   prints the rows read, the nanoseconds that
took without Python's own start, and the peak resident memory, as JSON
"""
import json
import sqlite3
import sys
import time

start = time.perf_counter_ns()
db = sqlite3.connect("file:%s?mode=ro&immutable=1" % sys.argv[1], uri=True)
kernels = db.execute(
    "SELECT k.start, k.end, k.deviceId, k.streamId, k.correlationId, s.value"
    " FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON k.shortName = s.id ORDER BY k.start"
).fetchall()
calls = db.execute(
    "SELECT r.start, r.end, r.correlationId, s.value"
    " FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON r.nameId = s.id ORDER BY r.start"
).fetchall()
ranges = db.execute(
    "SELECT n.start, n.end, COALESCE(n.text, s.value)"
    " FROM NVTX_EVENTS n LEFT JOIN StringIds s ON n.textId = s.id WHERE n.end > n.start ORDER BY n.start"
).fetchall()
took = time.perf_counter_ns() - start
peak = 0
try:
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith("VmHWM:"):
                peak = int(line.split()[1]) << 10
except OSError:
    pass
print(json.dumps({"events": len(kernels) + len(calls) + len(ranges), "load_ns": took, "peak_rss": peak}))
