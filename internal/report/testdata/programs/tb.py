import sys
def f(n):
    return 1/n
def g():
    try:
        f(0)
    except ZeroDivisionError as e:
        raise ValueError("bad\nsecond") from e
if len(sys.argv)>1:
    try: g()
    except ValueError:
        import traceback; traceback.print_exc()
else: g()
