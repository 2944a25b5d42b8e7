"""The other end of agentlink, for the agent's own tests: runs a program and prints what came of it as lines of JSON.

    reader.py FOLDER SCRIPT-OF-STEPS PYTHON ARGS...

It is started by the test's own interpreter, so that the program's version does not matter to it.
"""
