"""What the Python scripts share: each check is a function, run in order; a line "ok name" or "FAIL name" for each."""
import os
import sys
import traceback

DSN = os.environ["DSN"]
checks = []


def check(f):
    checks.append(f)
    return f


def main():
    failed = 0
    for f in checks:
        try:
            f()
            print("ok", f.__name__, flush=True)
        except Exception:
            failed += 1
            print("FAIL", f.__name__, traceback.format_exc().replace("\n", "\n    "), flush=True)
    sys.exit(1 if failed else 0)


def same(got, want):
    assert got == want, f"\n  got  {got!r}\n  want {want!r}"
