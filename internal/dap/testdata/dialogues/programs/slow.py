import time


def wait(n):
    print("begun", flush=True)  # @here
    time.sleep(n)
    return n


wait(0)
