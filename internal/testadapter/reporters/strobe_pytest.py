"""Tells Strobe what pytest does: one JSON object per line, to the file that strobe_config.json beside this file names.

Loaded with -p, in the controller and, with pytest-xdist, in every worker. Only the controller writes; workers attach what only they
know to the reports that they send. The environment of the tests is as it would be without us.
"""

import ast
import json
import os
import traceback

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 64 << 10  # of one text


def restore_environment():
    """Take our directory out of PYTHONPATH again: Python has read it, and what tests start need not."""
    parts = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    rest = [p for p in parts if os.path.abspath(p or ".") != HERE]
    if rest and any(rest):
        os.environ["PYTHONPATH"] = os.pathsep.join(rest)
    else:
        os.environ.pop("PYTHONPATH", None)


def bounded(text, limit=LIMIT):
    text = str(text)
    return text if len(text) <= limit else text[:limit]


def shown(value):
    """repr that never raises: the value's own __repr__ is the user's code."""
    try:
        return bounded(repr(value), 8 << 10)
    except BaseException as e:  # noqa: B902
        return "<%s: its repr raised %s>" % (type(value).__name__, type(e).__name__)


def place(nodeid, location):
    """file, suite and name of a node. A parameter may hold '::', so only what stands before the first '[' is split."""
    head, bracket, params = nodeid.partition("[")
    parts = head.split("::")
    name = parts[-1] + bracket + params
    line = location[1] if location and location[1] is not None else None
    return parts[0], "::".join(parts[:-1]), name, 0 if line is None else line + 1


def config_of(session, option):
    return getattr(session.config.option, option, False)


def unquoted(value):
    """A subtest's parameter as text. pytest replaces values by their repr, once more at every step between processes."""
    text = value if isinstance(value, str) else shown(value)
    for _ in range(8):
        try:
            inner = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            break
        if not isinstance(inner, str):
            break
        text = inner
    return text


class Reporter:
    def __init__(self, config, settings):
        self.config = config
        self.worker = hasattr(config, "workerinput")
        self.test = settings.get("test", "")
        self.root = str(getattr(config, "rootpath", None) or config.rootdir)
        self.out = None
        if not self.worker:
            self.out = os.open(settings["report"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.ran = False  # a test
        self.compared = None  # the sides of the last comparison that failed
        self.tests = {}  # nodeid -> what is known of a test that has not ended
        self.collect = set()
        self.groups = set()
        self.subtests = {"passed": 0, "failed": 0, "skipped": 0}

    # What is written.

    def write(self, event):
        if self.out is not None:
            data = json.dumps(event).encode("ascii") + b"\n"
            while data:
                data = data[os.write(self.out, data):]

    def describe(self, nodeid, location):
        file, suite, name, line = place(nodeid, location)
        return {"id": nodeid, "name": name, "suite": suite, "file": os.path.join(self.root, file), "line": line}

    def end(self, known, **more):
        known.update(more)
        known["e"] = "end"
        self.write(known)

    # Where tests run (the workers, if there are any).

    def pytest_assertrepr_compare(self, config, op, left, right):
        self.compared = (op, shown(left), shown(right))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        report = outcome.get_result()
        self.explain(report, call.excinfo)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector):
        outcome = yield
        report = outcome.get_result()
        call = getattr(report, "call", None)
        if report.failed:
            self.explain(report, getattr(call, "excinfo", None))

    def explain(self, report, excinfo):
        if excinfo is None:
            return
        error, traced = excinfo.value, None
        if type(error).__name__ == "CollectError" and error.__cause__ is not None:
            error = traced = error.__cause__
        seen = {"message": self.message(report, error, traced is not None), "type": type(error).__name__}
        frames = []
        for frame, line in traceback.walk_tb(error.__traceback__):
            code = frame.f_code
            frames.append({"function": getattr(code, "co_qualname", code.co_name), "file": code.co_filename, "line": line})
            if code.co_filename.endswith("unittest/case.py") and "first" in frame.f_locals and "second" in frame.f_locals:
                seen["actual"] = shown(frame.f_locals["first"])
                seen["expected"] = ("not " if "Not" in code.co_name else "") + shown(frame.f_locals["second"])
        if isinstance(error, SyntaxError) and error.filename:
            frames.append({"function": "", "file": error.filename, "line": error.lineno or 0})
        frames.reverse()
        place = getattr(report, "longrepr", None)
        if type(error).__name__ == "FixtureLookupError" and getattr(place, "filename", None):
            frames.insert(0, {"function": "", "file": str(place.filename), "line": (getattr(place, "firstlineno", 0) or 0) + 1})
        seen["frames"] = frames[:200]
        if isinstance(error, AssertionError) and self.compared:
            op, left, right = self.compared
            seen["actual"], seen["expected"] = left, right if op == "==" else op + " " + right
        self.compared = None
        report.strobe = json.dumps(seen)

    @staticmethod
    def message(report, error, direct):
        crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
        if crash is not None and crash.message and not direct:
            return bounded(crash.message)
        if type(error).__name__ == "CollectError":
            return bounded(error)
        if type(error).__name__ == "FixtureLookupError":  # its str is the repr of what it holds
            said = getattr(getattr(report, "longrepr", None), "errorstring", None)
            if said:
                lines = [line.strip() for line in str(said).splitlines() if line.strip()]
                return bounded("\n".join(line[2:] if line.startswith("E ") else line for line in lines if not line.startswith(">")), 2 << 10)
        return bounded("".join(traceback.format_exception_only(type(error), error)).strip())

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        if not self.test:
            return
        chosen = self.select(items)
        dropped = [i for i in items if i not in chosen]
        if dropped:
            config.hook.pytest_deselected(items=dropped)
            items[:] = [i for i in items if i in chosen]

    def select(self, items):
        """Tests by what was asked: an ID, else a name, else a part of IDs."""
        ways = (
            lambda i: i.nodeid == self.test,
            lambda i: self.test in (i.name, getattr(i, "originalname", None), i.nodeid.partition("[")[0]),
            lambda i: i.nodeid.partition("[")[0].endswith("::" + self.test) or i.nodeid.endswith("::" + self.test),
            lambda i: self.test in i.nodeid,
        )
        for way in ways:
            chosen = {i for i in items if way(i)}
            if chosen:
                return chosen
        return set()

    # What the controller sees.

    def pytest_collectreport(self, report):
        if report.passed or report.nodeid in self.collect:
            return
        self.collect.add(report.nodeid)
        nodeid = report.nodeid or "(collection)"
        known = self.describe(nodeid, (None, None, None))
        known["name"] = nodeid
        known["suite"] = ""
        if report.skipped:
            self.end(known, status="skipped", reason=self.reason(report))
            return
        failure = self.failure(report, "collect")
        self.end(known, status="error", fails=True, failures=[failure])

    def pytest_runtest_logstart(self, nodeid, location):
        self.ran = True
        if nodeid in self.tests:
            return  # a further attempt
        known = self.describe(nodeid, location)
        self.tests[nodeid] = {"known": known, "reports": [], "reruns": 0, "again": False, "subtests": 0, "failed": 0}
        self.write(dict(known, e="start"))

    def pytest_runtest_logreport(self, report):
        state = self.tests.get(report.nodeid)
        if state is None:
            self.pytest_runtest_logstart(report.nodeid, getattr(report, "location", None))
            state = self.tests[report.nodeid]
            state["late"] = True
        if report.when == "setup":
            state.update(reports=[], again=False)  # an attempt begins
        if report.outcome == "rerun":
            state["reruns"] += 0 if state["again"] else 1
            state["again"] = True
        elif state["again"]:
            pass  # the rest of an attempt that does not count
        elif type(report).__name__ in ("SubTestReport", "SubtestReport"):
            self.subtest(state, report)
        else:
            state["reports"].append(report)
        # A worker of pytest-xdist that died reports no more than this.
        if state.get("late") or report.when == "???":
            self.pytest_runtest_logfinish(report.nodeid, None)

    def subtest(self, state, report):
        context = getattr(report, "context", None)
        label = []
        if getattr(context, "msg", None) is not None:
            label.append("[%s]" % context.msg)
        kwargs = getattr(context, "kwargs", None) or {}
        if kwargs:
            label.append("(%s)" % ", ".join("%s=%s" % (k, unquoted(v)) for k, v in kwargs.items()))
        name = " ".join(label) or "(<subtest>)"
        state["subtests"] += 1
        parent = state["known"]
        nodeid = "%s %s" % (parent["id"], name)
        times = state.setdefault("names", {})
        times[name] = times.get(name, 0) + 1
        if times[name] > 1:
            nodeid += " #%d" % times[name]
        known = dict(parent, id=nodeid, name=name, suite=parent["suite"] + "::" + parent["name"], parent=parent["id"], part=True)
        self.judge(known, [report])
        if known.get("fails"):
            state["failed"] += 1
        self.subtests["failed" if known.get("fails") else "skipped" if known["status"] == "skipped" else "passed"] += 1
        self.end(known)

    def pytest_runtest_logfinish(self, nodeid, location):
        state = self.tests.pop(nodeid, None)
        if state is None:
            return
        if state["again"]:
            self.tests[nodeid] = state  # a further attempt follows
            return
        known = state["known"]
        if not state["reports"] and not state["subtests"]:
            return  # a worker that dies; its own report follows
        known["group"] = state["failed"] > 0 and self.says_nothing(state)  # its failed subtests say it
        if known["group"]:
            self.groups.add(nodeid)
        self.judge(known, state["reports"])
        known["attempts"] = state["reruns"] + 1
        known["flaky"] = state["reruns"] > 0 and known["status"] == "passed"
        self.end(known)

    def says_nothing(self, state):
        for r in state["reports"]:
            if r.skipped or hasattr(r, "wasxfail"):
                return False
            if r.failed and not (r.when == "call" and state["failed"] and "subtest" in self.text(r)):
                return False
        return True

    # What reports mean.

    def judge(self, known, reports):
        """status, fails, reason, failures, output and ms of a test, by the reports of its last attempt."""
        status, fails, failures, reason = "passed", False, [], ""
        for r in reports:
            xfail = getattr(r, "wasxfail", None)
            if r.when == "???":
                status, fails = "crashed", True
                failures.append(dict(self.failure(r, "crash"), file=known["file"], line=known["line"]))
            elif xfail is not None and r.skipped:
                status, reason = "expected-failure", self.why(xfail)
            elif xfail is not None and r.passed and r.when == "call":
                status, reason = "unexpected-pass", self.why(xfail)
            elif r.skipped:
                status, reason = "skipped", self.reason(r)
            elif r.failed and r.when == "call" and self.text(r).startswith("[XPASS(strict)]"):
                status, fails = "unexpected-pass", True
                reason = self.text(r)[len("[XPASS(strict)]"):].strip()
                failures.append({"kind": "assertion", "message": self.text(r), "file": known["file"], "line": known["line"]})
            elif r.failed and r.when in ("setup", "teardown"):
                if status != "failed":
                    status = "error"
                fails = True
                failures.append(self.failure(r, r.when))
            elif r.failed:
                status, fails = "failed", True
                failures.append(self.failure(r, ""))
        if any("Timeout" in f.get("message", "") and "pytest-timeout" in f.get("message", "") for f in failures):
            status = "timeout"
        known.update(status=status, fails=fails, reason=reason, failures=failures)
        known["ms"] = 1000 * sum(getattr(r, "duration", 0) or 0 for r in reports)
        if reports:
            known["output"] = self.output(reports[-1])

    @staticmethod
    def why(xfail):
        return xfail[len("reason: "):] if xfail.startswith("reason: ") else xfail

    @staticmethod
    def text(report):
        longrepr = getattr(report, "longrepr", None)
        return str(longrepr) if longrepr is not None else ""

    def reason(self, report):
        longrepr = report.longrepr
        text = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr or "")
        return text[len("Skipped: "):] if text.startswith("Skipped: ") else text

    def failure(self, report, kind):
        seen = {}
        try:
            seen = json.loads(getattr(report, "strobe", "") or "{}")
        except ValueError:
            pass
        name = seen.pop("type", "")
        failure = dict(seen)
        if not failure.get("message"):
            failure["message"] = bounded(self.text(report))
        failure["kind"] = kind or ("assertion" if name in ("AssertionError", "Failed", "") else "exception")
        if "Failed: Timeout" in failure["message"] and "pytest-timeout" in failure["message"]:
            failure["kind"] = "timeout"
        return failure

    @staticmethod
    def output(report):
        parts = []
        for title, text in getattr(report, "sections", ()):
            if title.startswith("Captured") and text:
                parts.append(text if text.endswith("\n") else text + "\n")
        return "".join(parts)[-LIMIT:]

    def pytest_internalerror(self, excrepr):
        crash = getattr(excrepr, "reprcrash", None)
        text = getattr(crash, "message", None) or str(excrepr).strip().splitlines()[-1]
        failure = {"kind": "exception", "message": "pytest failed by itself: " + bounded(text), "frames": []}
        if crash is not None:
            failure["frames"] = [{"function": "", "file": crash.path, "line": crash.lineno}]
        self.write({"e": "end", "id": "(pytest)", "status": "error", "fails": True, "failures": [failure], "uncounted": True})

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session, exitstatus):
        if self.out is None:
            return
        why = getattr(session, "shouldfail", False) or getattr(session, "shouldstop", False)
        broken = len(self.collect) if exitstatus == 2 and not self.ran else 0
        if broken and getattr(session, "testscollected", 0) and not config_of(session, "continue_on_collection_errors"):
            self.write({"e": "note", "text": "no test was run, since pytest stops where files do not load: args [\"--continue-on-collection-errors\"] runs those that do"})
        elif isinstance(why, str) and why:
            self.write({"e": "note", "text": "pytest ended early, and other tests were not run: %s" % bounded(why)})

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config):
        if self.out is None:
            return
        terminal = config.pluginmanager.getplugin("terminalreporter")
        if terminal is not None:
            self.write(dict(self.totals(terminal.stats), e="totals"))
        self.write({"e": "done"})
        os.close(self.out)
        self.out = None

    def totals(self, stats):
        """pytest's own counts. It counts a test whose teardown fails twice, and subtests beside their test: those that failed count."""
        ids = {}
        for outcome, categories in (("failed", ("failed", "error")), ("skipped", ("skipped",)), ("passed", ("passed", "xfailed", "xpassed"))):
            for category in categories:
                for report in stats.get(category, ()):
                    if type(report).__name__ not in ("SubTestReport", "SubtestReport"):
                        ids.setdefault(report.nodeid, outcome)
        counts = {"passed": 0, "failed": self.subtests["failed"], "skipped": 0}
        for nodeid, outcome in ids.items():
            if nodeid not in self.groups:
                counts[outcome] += 1
        return counts


restore_environment()


def pytest_configure(config):
    with open(os.path.join(HERE, "strobe_config.json")) as f:
        settings = json.load(f)
    config.pluginmanager.register(Reporter(config, settings), "strobe-reporter")
