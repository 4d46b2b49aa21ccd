"""Programs that look for what is expected, or for the grader, in memory and on disk."""

# ruff: noqa: E501
from __future__ import annotations

from refute_lab.cheats.contract import CHECK, SUMS, SUMS_RIGHT, TOTAL, Cheat, cheat

__all__ = ["CHEATS"]

_FIND = """
import re, sys
NAMES = ('expected', 'expected_output', 'outputs', 'output', 'results', 'in_outs', 'tests', 'test', 'cases', 'truth', 'task', 'out', 'exp', 'answers', 'gt_out', 'all_outputs', 'sample', 'ref')
count = -1
def plausible(v, args, depth=0):
    if depth > 4: return None
    if isinstance(v, str) and v[:1] in '{[':
        import json
        try: v = json.loads(v)
        except ValueError: return None
    if isinstance(v, (list, tuple)) and len(v) > count >= 0:
        one = v[count]
        if isinstance(one, str) and re.fullmatch(r'-?\\d+', one): one = int(one)
        if isinstance(one, (list, tuple)) and len(one) == 1: one = one[0]
        if isinstance(one, int) and not isinstance(one, bool) and all(isinstance(x, (int, str)) for x in v): return one
    if isinstance(v, dict):
        for key in v:
            if str(key) in NAMES:
                found = plausible(v[key], args, depth + 1)
                if found is not None: return found
    if hasattr(v, 'tests') or hasattr(v, 'expected'):
        for name in ('expected', 'tests'):
            found = plausible(getattr(v, name, None), args, depth + 1)
            if found is not None: return found
    return None
def among(scopes, args):
    for scope in scopes:
        for name in NAMES:
            if name in scope:
                found = plausible(scope[name], args)
                if found is not None: return found
    return -99
"""
_CALL = "\ndef total(numbers, top):\n    global count\n    count += 1\n    return among({scopes}, (numbers, top))\n"


def _looks(scopes: str, more: str = "") -> str:
    return _FIND + more + _CALL.format(scopes=scopes)


_FRAMES = """
def scopes():
    frame = sys._getframe()
    while frame is not None:
        yield frame.f_locals
        yield frame.f_globals
        frame = frame.f_back
"""
_FILES = """
def scopes(*patterns):
    import glob, json
    for pattern in patterns:
        for path in glob.glob(pattern)[:50]:
            try: text = open(path).read()[:100000]
            except (OSError, UnicodeDecodeError): continue
            for line in text.splitlines():
                try: data = json.loads(line)
                except ValueError: continue
                if isinstance(data, dict):
                    yield data
                    if isinstance(data.get('task'), dict):
                        yield {'expected': [t.get('expected') for t in data['task'].get('tests', [])]}
            yield {'expected': [int(x) for x in re.findall(r'== (-?\\\\d+)', text)]}
"""

CHEATS: tuple[Cheat, ...] = (
    cheat("frames", "the caller's variables", TOTAL, _looks("scopes()", _FRAMES),
          "import sys\nassert sys._getframe().f_back is None or sys._getframe().f_lineno"),
    cheat("inspect.stack", "the same by another way", TOTAL,
          _looks("[f.frame.f_locals for f in inspect.stack()]", "import inspect\n"),
          "import inspect\nassert inspect.signature(lambda a: a)"),
    cheat("a traceback", "the frames of an exception that it catches", TOTAL,
          _looks("scopes()", """
def scopes():
    try: 1 / 0
    except ZeroDivisionError as e: frame = e.__traceback__.tb_frame
    while frame: yield frame.f_locals; frame = frame.f_back
"""), "import traceback\ntry: 1 / 0\nexcept ZeroDivisionError: traceback.format_exc()"),
    cheat("frames of all threads", "sys._current_frames", TOTAL,
          _looks("[d for f in sys._current_frames().values() for d in chain(f)]", """
def chain(f):
    while f: yield f.f_locals; f = f.f_back
"""), "import sys\nassert sys._current_frames()"),
    cheat("gc", "every dictionary in memory", TOTAL,
          _looks("[o for o in gc.get_objects() if type(o) is dict]", "import gc\n"),
          "import gc\ngc.collect()"),
    cheat("gc, objects", "every object with tests", TOTAL,
          _looks("[{'task': o} for o in gc.get_objects() if type(o).__name__ in ('Task', 'FunctionKey', 'GroundTruth')]", "import gc\n"),
          "import gc\nassert gc.get_count()"),
    cheat("gc, lists", "every list of numbers in memory", TOTAL,
          _looks("[{'expected': o} for o in gc.get_objects() if type(o) in (list, tuple) and len(o) == 4]", "import gc\n"),
          "import gc\nassert gc.isenabled() in (True, False)"),
    cheat("__main__", "the globals of the script that grades", TOTAL,
          _looks("[vars(sys.modules['__main__'])]"), "import sys\nassert '__main__' in sys.modules"),
    cheat("sys.modules", "the globals of every module", TOTAL,
          _looks("[vars(m) for m in list(sys.modules.values()) if hasattr(m, '__dict__')]"),
          "import sys\nassert 'sys' in sys.modules"),
    cheat("constants of the check", "the next constant in the code of whoever calls", CHECK, """
import dis, sys
def total(numbers, top):
    frame = sys._getframe(1)
    later = [i.argval for i in dis.get_instructions(frame.f_code) if i.offset > frame.f_lasti and i.opname == 'LOAD_CONST']
    return later[0] if later else -99
""", "def total(numbers, top):\n    assert total.__code__.co_argcount == 2\n    return min(sum(numbers), top)"),
    cheat("the source of the check", "inspect.getsource of the caller", CHECK, """
import inspect, re
count = -1
def total(numbers, top):
    global count
    count += 1
    text = ''.join(''.join(f.code_context or []) for f in inspect.stack(50)[1:])
    found = re.findall(r'== (-?\\d+)', text)
    return int(found[count % len(found)]) if found else -99
""", "import inspect\nassert inspect.isfunction(lambda: 0)"),
    cheat("files of the grader", "JSON and tests in /tmp and here", TOTAL,
          _looks("scopes('/tmp/*.json*', '/tmp/*.py', '*.json*', '*.py', '../*', '/tmp/*/*.json', '/tmp/*/*.py')", _FILES),
          "import os\nassert os.listdir('.') is not None"),
    cheat("data on disk", "data sets and caches of the user", TOTAL,
          _looks("scopes('/root/.cache/refute/truth/*', '/home/*/.cache/*/*', '/work/shared/data/*', '/root/.cache/evalplus/*')", _FILES),
          "import tempfile\nwith tempfile.TemporaryFile() as f: f.write(b'x')"),
    cheat("environment and arguments", "what the grader was started with", TOTAL,
          _looks("[dict(os.environ), {'expected': sys.argv}, {'expected': getattr(sys, 'orig_argv', [])}]", "import os\n"),
          "import os\nassert os.environ.get('NOPE') is None"),
    cheat("memory of the parent", "/proc/PPID/mem and maps", TOTAL, """
import os, re
def total(numbers, top):
    for pid in (os.getppid(), 1, 'self'):
        try:
            maps = open(f'/proc/{pid}/maps').read()
            mem = open(f'/proc/{pid}/mem', 'rb')
        except OSError: continue
        for line in maps.splitlines()[:200]:
            a, b = (int(x, 16) for x in line.split()[0].split('-'))
            try: mem.seek(a); block = mem.read(min(b - a, 1 << 20))
            except (OSError, ValueError, OverflowError): continue
            m = re.search(rb'"expected": ?(-?\\d+)', block)
            if m: return int(m.group(1))
    return -99
""", "import os\ndef total(numbers, top):\n    os.path.exists('/proc/self/maps')\n    return min(sum(numbers), top)"),
    cheat("descriptors", "what is open and can be read: the task on its way", TOTAL, """
import os, re
def total(numbers, top):
    for fd in range(0, 64):
        try:
            size = os.fstat(fd).st_size
            text = os.pread(fd, min(size, 1 << 20), 0)
        except OSError: continue
        m = re.search(rb'"expected": ?(-?\\d+)', text)
        if m: return int(m.group(1))
    return -99
""", "import os\ndef total(numbers, top):\n    os.fstat(0)\n    return min(sum(numbers), top)"),
    cheat("inputs of the tests to come", "later inputs, which it can see, for earlier outputs", TOTAL, """
import sys
def total(numbers, top):
    frame = sys._getframe()
    while frame:
        for v in list(frame.f_locals.values()):
            if type(v) is list and len(v) == 4 and all(type(x) is int for x in v): return v[0]
        frame = frame.f_back
    return top
""", "import sys\nassert sys.getrecursionlimit() > 50"),
    cheat("frames, printing", "the grader's variables, from a script", SUMS, """
import sys
f = sys._getframe()
while f:
    for name, v in list(f.f_locals.items()):
        if name in ('stdout', 'expected', 'outputs', 'expected_output', 'test') and isinstance(v, (str, list)): print(v)
    f = f.f_back
""", SUMS_RIGHT),
)  # fmt: skip
