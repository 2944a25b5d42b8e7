"""Uses the interpreter's own hooks, and says what they saw."""
import sys

seen = {}


def watched(n):
    m = n + 1
    return m


def count(what):
    seen[what] = seen.get(what, 0) + 1


def tracer(frame, event, arg):
    if frame.f_code.co_name != "watched":
        return None
    count("trace " + event)
    return tracer


def profiler(frame, event, arg):
    if frame.f_code.co_name == "watched":
        count("profile " + event)


def main():
    sys.settrace(tracer)
    watched(1)
    sys.settrace(None)
    sys.setprofile(profiler)
    watched(2)
    sys.setprofile(None)
    monitoring = getattr(sys, "monitoring", None)
    if monitoring:
        monitoring.use_tool_id(monitoring.PROFILER_ID, "own")
        monitoring.register_callback(monitoring.PROFILER_ID, monitoring.events.PY_START,
                                     lambda code, at: count("monitoring") if code.co_name == "watched" else None)
        monitoring.set_events(monitoring.PROFILER_ID, monitoring.events.PY_START)
        watched(3)
        monitoring.set_events(monitoring.PROFILER_ID, 0)
        monitoring.free_tool_id(monitoring.PROFILER_ID)
    watched(4)
    print(sorted(seen.items()))


main()
