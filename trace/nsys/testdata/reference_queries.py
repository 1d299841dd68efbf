"""What the published Python scripts ask of an nsys export, with the standard
library's sqlite3: kernels with their names by start, launch calls by name, and
ranges with their text by start. Used by BenchmarkPythonQueries.

usage: reference_queries.py FILE   prints the row counts
"""
import sqlite3
import sys

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
print(len(kernels), len(calls), len(ranges))
