"""Runs unittest's tests and tells Strobe what happens: one JSON object per line, to the file that strobe_config.json names.

Started by `python3 -m strobe_unittest`, it is unittest's own command line with another result class, so discovery, load_tests, module
and class fixtures are unittest's.
"""

import json
import os
import sys
import time
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 64 << 10  # of one text


def restore_environment():
    """Take our directory out of PYTHONPATH and sys.path again: Python has read it, and what tests start need not."""
    parts = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    rest = [p for p in parts if os.path.abspath(p or ".") != HERE]
    if rest and any(rest):
        os.environ["PYTHONPATH"] = os.pathsep.join(rest)
    else:
        os.environ.pop("PYTHONPATH", None)
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE]


def shown(value):
    """repr that never raises: the value's own __repr__ is the user's code."""
    try:
        return repr(value)[: 8 << 10]
    except BaseException as e:  # noqa: B902
        return "<%s: its repr raised %s>" % (type(value).__name__, type(e).__name__)


def place(test):
    """file and line of a test's method, as far as it says."""
    try:
        method = getattr(test, test._testMethodName)
        method = getattr(method, "__func__", method)
        while hasattr(method, "__wrapped__"):
            method = method.__wrapped__
        return method.__code__.co_filename, method.__code__.co_firstlineno
    except AttributeError:
        module = sys.modules.get(type(test).__module__)
        return getattr(module, "__file__", None) or "", 0


class Reports:
    """The file, the names of tests, and what was asked for."""

    def __init__(self):
        with open(os.path.join(HERE, "strobe_config.json")) as f:
            self.settings = json.load(f)
        self.out = os.open(self.settings["report"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.pid = os.getpid()
        self.names = {}  # id(test) -> its ID
        self.used = {}

    def write(self, event):
        if os.getpid() != self.pid:
            return  # a child that a test forked
        data = json.dumps(event).encode("ascii") + b"\n"
        while data:
            data = data[os.write(self.out, data):]

    def name(self, test):
        """unittest's id of a test; one that comes again, as load_tests may make it, has a number."""
        key = id(test)
        if key not in self.names:
            base = test_id(test)
            self.used[base] = self.used.get(base, 0) + 1
            self.names[key] = base if self.used[base] == 1 else "%s #%d" % (base, self.used[base])
        return self.names[key]

    def describe(self, test):
        file, line = place(test)
        ident, full = self.name(test), test_id(test)
        suite = "%s.%s" % (type(test).__module__, type(test).__qualname__)
        if type(test).__name__ == "_FailedTest":
            suite, file, line = "", "", 0
        name = full[len(suite) + 1:] if suite and full.startswith(suite + ".") else full
        return {"id": ident, "name": name, "suite": suite, "file": os.path.abspath(file) if file else "", "line": line}


def test_id(test):
    """unittest's id of a test; of a module that does not load, the module's name."""
    full = test.id()
    return full[len("unittest.loader._FailedTest."):] if full.startswith("unittest.loader._FailedTest.") else full


reports = None


class Result(unittest.TextTestResult):
    """unittest's own result, which prints as ever, and tells."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.current = None  # what is known of the test that runs
        self.outer = set()
        self.groups = 0  # tests whose subtests failed, and they did not otherwise

    def startTest(self, test):
        super().startTest(test)
        known = reports.describe(test)
        reports.write(dict(known, e="start"))
        known.update(status="passed", fails=False, failures=[], reason="", began=time.perf_counter(), broken=0)
        self.current = known

    def stopTest(self, test):
        known, self.current = self.current, None
        super().stopTest(test)
        if known is None:
            return
        known["ms"] = 1000 * (time.perf_counter() - known.pop("began"))
        known["group"] = known["broken"] > 0 and known["status"] == "passed"  # its failed subtests say it
        self.groups += 1 if known["group"] else 0
        reports.write(dict(known, e="end"))

    def known(self, test):
        """The test that runs, or, for what goes wrong outside of tests (setUpClass, setUpModule, loading), one of its own."""
        return self.current if isinstance(test, unittest.TestCase) else None

    def problem(self, test, err, kind):
        known = self.known(test)
        failure = explain(err, kind, test)
        if known is None:
            self.outside(test, failure)
            return
        if type(test).__name__ in ("_FailedTest", "ModuleSkipped"):
            failure["kind"] = "collect"
            known["status"] = "error"
        elif failure["kind"] in ("setup", "teardown"):
            known["status"] = "error" if known["status"] == "passed" else known["status"]
        else:
            known["status"] = "failed"
        known["fails"] = True
        known["failures"].append(failure)

    def outside(self, test, failure):
        text = str(getattr(test, "description", None) or test)
        if text in self.outer:
            return
        self.outer.add(text)
        failure["kind"] = "teardown" if text.startswith("tearDown") else "setup"
        reports.write({"e": "end", "id": text, "name": text, "status": "error", "fails": True, "failures": [failure]})

    # Ours comes first: unittest takes its own frames, which hold both sides of a comparison, out of the traceback.

    def addFailure(self, test, err):
        self.problem(test, err, "assertion")
        super().addFailure(test, err)

    def addError(self, test, err):
        self.problem(test, err, "exception")
        super().addError(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        known = self.known(test)
        if known is None:  # setUpClass or setUpModule raised SkipTest: its tests do not run
            text = str(getattr(test, "description", None) or test)
            reports.write({"e": "end", "id": text, "name": text, "status": "skipped", "reason": reason})
            return
        if type(test).__name__ == "_SubTest":
            self.subtest(test, "skipped", None, reason)
            return
        known.update(status="skipped", reason=reason)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        if self.current:
            self.current["status"] = "expected-failure"

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        if self.current:
            known = self.current
            failure = {"kind": "assertion", "message": "passed, although it is marked with expectedFailure", "file": known["file"], "line": known["line"]}
            known.update(status="unexpected-pass", fails=True, failures=[failure])

    def addSubTest(self, test, subtest, err):
        if err is None:
            self.subtest(subtest, "passed", None, "")
        else:
            kind = "assertion" if issubclass(err[0], test.failureException) else "exception"
            self.subtest(subtest, "failed", explain(err, kind, test), "")
        super().addSubTest(test, subtest, err)

    def subtest(self, subtest, status, failure, reason):
        parent = self.current
        if parent is None:
            return
        name = subtest._subDescription()
        base = "%s %s" % (parent["id"], name)
        reports.used[base] = reports.used.get(base, 0) + 1
        ident = base if reports.used[base] == 1 else "%s #%d" % (base, reports.used[base])
        known = {"id": ident, "name": name, "suite": parent["suite"] + "." + parent["name"], "parent": parent["id"], "file": parent["file"], "line": parent["line"], "part": True}
        known.update(status=status, fails=failure is not None, failures=[failure] if failure else [], reason=reason)
        parent["broken"] += 1 if failure else 0
        reports.write(dict(known, e="end"))


def explain(err, kind, test):
    """message, sides, frames of an exception; and whether setUp or tearDown raised it."""
    error = err[1]
    frames, failure = [], {"kind": kind}
    for frame, line in traceback.walk_tb(err[2]):
        code = frame.f_code
        frames.append({"function": getattr(code, "co_qualname", code.co_name), "file": code.co_filename, "line": line})
        if not code.co_filename.endswith(os.path.join("unittest", "case.py")):
            if code.co_name in ("setUp", "asyncSetUp") and frame.f_locals.get("self") is test:
                failure["kind"] = "setup"
            elif code.co_name in ("tearDown", "asyncTearDown") and frame.f_locals.get("self") is test:
                failure["kind"] = "teardown"
        elif "first" in frame.f_locals and "second" in frame.f_locals:
            failure["actual"] = shown(frame.f_locals["first"])
            failure["expected"] = ("not " if "Not" in code.co_name else "") + shown(frame.f_locals["second"])
    exception = getattr(test, "_exception", None)  # of a module that does not load: it holds the traceback as text
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    if type(test).__name__ == "_FailedTest" and exception is not None:
        where = loading(str(exception))
        frames = [dict(function="", file=file, line=line) for file, line in where] or frames
        text = str(exception).strip().splitlines()[-1] if str(exception).strip() else text
    if isinstance(error, SyntaxError) and error.filename:
        frames.append({"function": "", "file": error.filename, "line": error.lineno or 0})
    frames.reverse()
    failure["message"] = text[:LIMIT]
    failure["frames"] = frames[:200]
    return failure


def loading(text):
    """The places of a traceback as text, outermost first."""
    places = []
    for line in text.splitlines():
        line = line.strip()
        if line.startswith('File "') and '", line ' in line:
            file, _, rest = line[len('File "'):].partition('", line ')
            number = rest.split(",")[0]
            if number.isdigit():
                places.append((file, int(number)))
    return places


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        elif test is not None:
            yield test


def select(suite, wanted):
    """Tests by what was asked: an ID, else a name or the end of a dotted one, else a part of IDs."""
    tests = list(flat(suite))
    ways = (
        lambda t: reports.name(t) == wanted,
        lambda t: test_id(t).rpartition(".")[2] == wanted or test_id(t).endswith("." + wanted) or test_id(t).startswith(wanted + "."),
        lambda t: wanted in test_id(t),
    )
    for way in ways:
        chosen = {id(t) for t in tests if way(t)}
        if chosen:
            return kept(suite, chosen)
    return unittest.TestSuite()


def kept(suite, chosen):
    """The same suites with fewer tests: their classes may be the user's."""
    tests = []
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            tests.append(kept(test, chosen))
        elif id(test) in chosen:
            tests.append(test)
    suite._tests = tests
    return suite


class Runner(unittest.TextTestRunner):
    resultclass = Result

    def run(self, test):
        for one in flat(test):  # names by order of loading
            reports.name(one)
        wanted = reports.settings.get("test")
        if wanted:
            test = select(test, wanted)
        found = test.countTestCases()
        result = super().run(test)
        if found == 0 and result.testsRun == 0 and not result.errors:
            reports.write({"e": "none"})
        reports.write(dict(self.totals(result), e="totals"))
        reports.write({"e": "done"})
        return result

    @staticmethod
    def totals(result):
        """unittest's own counts. A test whose method and tearDown both fail stands twice in its lists; its subtests stand beside it."""
        def tests(*lists):
            return {id(t): t for t in (e[0] if isinstance(e, tuple) else e for entries in lists for e in entries)}

        failed = tests(result.failures, result.errors, result.unexpectedSuccesses)
        skipped = {k: t for k, t in tests(result.skipped).items() if k not in failed}
        named = [t for t in list(failed.values()) + list(skipped.values()) if isinstance(t, unittest.TestCase) and type(t).__name__ != "_SubTest"]
        return {"failed": len(failed), "skipped": sum(1 for t in skipped.values() if type(t).__name__ != "_SubTest"), "passed": result.testsRun - len(named) - result.groups}


class Program(unittest.TestProgram):
    def runTests(self):
        self.testRunner = Runner
        super().runTests()


if __name__ == "__main__":
    restore_environment()
    # Under its own name, so that Result and main share one state.
    reports = Reports()
    Program(module=None)
