"""Reads exports as programs of others do, and prints what is in them.

Arguments: form=path, where form is chrome, perfetto, speedscope, otlp or sqlite. Output, for each form: calls, each
[event id or null, function, process, thread, start, duration, parent's id or null], and how many other events there are.
Perfetto's trace is decoded with the schema of Perfetto's own package.
"""
import json
import sqlite3
import sys
from decimal import Decimal


class Nesting:
    """Pairs begins and ends line by line, in order of time."""

    def __init__(self):
        self.open, self.calls = {}, []

    def begin(self, line, ident, name, pid, tid, ts):
        stack = self.open.setdefault(line, [])
        stack.append([ident, name, pid, tid, ts, None, stack[-1][0] if stack else None])

    def end(self, line, ts, name=None):
        call = self.open[line].pop()
        assert name in (None, call[1]), (name, call)
        call[5] = ts - call[4]
        self.calls.append(call)

    def done(self, others):
        assert not any(self.open.values()), self.open
        return {"calls": self.calls, "others": others}


def nanos(text):
    return int(Decimal(text) * 1000)


def chrome(path):
    with open(path, encoding="utf-8") as f:
        doc = json.load(f, parse_float=str, parse_int=str)
    nesting, others = Nesting(), 0
    for e in doc["traceEvents"]:
        line = (e["pid"], e["tid"])
        if e["ph"] == "B":
            nesting.begin(line, int(e["args"]["strobeEvent"]), e["name"], int(e["pid"]), int(e["tid"]), nanos(e["ts"]))
        elif e["ph"] == "E":
            nesting.end(line, nanos(e["ts"]), e["name"])
        elif e["ph"] == "i":
            others += 1
    return nesting.done(others)


def perfetto(path):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2

    trace = perfetto_trace_pb2.Trace()
    with open(path, "rb") as f:
        trace.ParseFromString(f.read())
    names, annotations, tracks, events = {}, {}, {}, []
    for p in trace.packet:
        assert p.trusted_packet_sequence_id, p
        for n in p.interned_data.event_names:
            names[n.iid] = n.name
        for n in p.interned_data.debug_annotation_names:
            annotations[n.iid] = n.name
        if p.HasField("track_descriptor"):
            tracks[p.track_descriptor.uuid] = p.track_descriptor
        if p.HasField("track_event"):
            events.append((p.timestamp, p.track_event))
    events.sort(key=lambda e: e[0])  # keeps the order of the file, as trace_processor does
    nesting, others = Nesting(), 0
    event = perfetto_trace_pb2.TrackEvent
    for ts, e in events:
        thread = tracks[e.track_uuid].thread
        ident = [a.int_value for a in e.debug_annotations if annotations[a.name_iid] == "event"]
        if e.type == event.TYPE_SLICE_BEGIN:
            nesting.begin(e.track_uuid, ident[0], names[e.name_iid], thread.pid, thread.tid, ts)
        elif e.type == event.TYPE_SLICE_END:
            nesting.end(e.track_uuid, ts)
        elif e.type == event.TYPE_INSTANT:
            assert names[e.name_iid]
            others += 1
    return nesting.done(others)


def speedscope(path):
    with open(path, encoding="utf-8") as f:
        doc = json.load(f)
    assert doc["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    nesting = Nesting()
    for i, p in enumerate(doc["profiles"]):
        assert p["type"] == "evented" and p["unit"] == "nanoseconds", p["type"]
        last = p["startValue"]
        for e in p["events"]:
            assert last <= e["at"] <= p["endValue"], e
            last = e["at"]
            name = doc["shared"]["frames"][e["frame"]]["name"]
            if e["type"] == "O":
                nesting.begin(i, None, name, None, None, e["at"])
            else:
                nesting.end(i, e["at"], name)
    return nesting.done(0)


def otlp(path):
    calls, others, root = [], 0, None
    with open(path, encoding="utf-8") as f:
        for line in f:
            for r in json.loads(line)["resourceSpans"]:
                for s in r["scopeSpans"][0]["spans"]:
                    if root is None:
                        root = s
                        continue
                    attrs = {a["key"]: next(iter(a["value"].values())) for a in s["attributes"]}
                    if "code.function.name" not in attrs:
                        others += 1
                        continue
                    start, end = int(s["startTimeUnixNano"]), int(s["endTimeUnixNano"])
                    parent = None if s["parentSpanId"] == root["spanId"] else int(s["parentSpanId"], 16)
                    calls.append([int(s["spanId"], 16), s["name"], int(attrs["process.pid"]), int(attrs["thread.id"]),
                                  start - int(root["startTimeUnixNano"]), end - start, parent])
    return {"calls": calls, "others": others}


def sqlite(path):
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    calls = db.execute("SELECT id, function, pid, thread_id, timestamp_ns, duration_ns, parent_event_id FROM calls")
    others = db.execute("SELECT count(*) FROM events WHERE event_type NOT IN ('function_enter', 'function_exit')")
    return {"calls": calls.fetchall(), "others": others.fetchone()[0]}


if __name__ == "__main__":
    readers = {f.__name__: f for f in (chrome, perfetto, speedscope, otlp, sqlite)}
    print(json.dumps({form: readers[form](path) for form, path in (a.split("=", 1) for a in sys.argv[1:])}))
