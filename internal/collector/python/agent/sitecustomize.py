# Strobe's way into a Python that was started with this folder on PYTHONPATH: starts the agent, then hands on to the
# sitecustomize that this one hides (Debian ships one, users do too). Every Python reads this file, the oldest included.
import os
import sys


def _strobe():
    here = os.path.dirname(os.path.abspath(__file__))
    if sys.version_info >= (3, 8) and os.environ.get("STROBE_AGENT"):
        # Our own folder may keep compiled files even where the user wants none in theirs: else every start compiles.
        wanted, sys.dont_write_bytecode = sys.dont_write_bytecode, False
        try:
            import strobe_agent
            strobe_agent.start(os.environ["STROBE_AGENT"])
        except Exception:
            pass  # a program that cannot be watched still runs
        finally:
            sys.dont_write_bytecode = wanted
    # The program sees the path and the environment that it would have had: whoever starts its children gives them ours.
    was = os.environ.pop("STROBE_AGENT_WAS", None)
    if was is not None:
        del os.environ["STROBE_AGENT"], os.environ["PYTHONPATH"]
        if was:
            os.environ["PYTHONPATH"] = was.partition("=")[2]
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]


_strobe()
_ours = sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize  # noqa: the user's own, or none
except ImportError:
    if sys.modules.get("sitecustomize") is not None or "sitecustomize" not in str(sys.exc_info()[1]):
        raise  # theirs is there and imports what is not: as without us
finally:
    if _ours is not None:
        sys.modules.setdefault("sitecustomize", _ours)
