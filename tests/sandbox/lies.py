"""Hostile programs that lie about their results or attack the harness in their own process.

As `attacks`: data only. They may say about themselves what they like; nobody else may be harmed.
"""

# ruff: noqa: E501
# fmt: off
from __future__ import annotations

from refute.sandbox import Killed, NotRun, Raised, Returned, TimedOut

from .attacks import ANY, CUT
from .attacks import alone as attack

HARNESS = """
import gc, mmap, os, struct, sys
def harness():
    frame = sys._getframe()
    while frame is not None:
        if 'committed' in frame.f_locals and 'view' in frame.f_locals: return frame.f_locals
        frame = frame.f_back
    return {'view': next(o for o in gc.get_objects() if type(o) is mmap.mmap), 'committed': 16, 'step': 1}
def header(committed, step, phase, view=None):
    struct.pack_into('<QIB', view or harness()['view'], 0, committed, step, phase)
def frame(view, at, step, body):
    struct.pack_into('<II', view, at, step, len(body)); view[at + 8:at + 8 + len(body)] = body
    return at + 8 + len(body)
"""


def forge(name: str, body: str, ends: tuple[type, ...] = ANY, **more: object) -> None:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    attack(f"forge: {name}", f"{HARNESS}def f(x):\n    h = harness(); v = h['view']\n{lines}", ends, **more)


forge("rewind the counter for ever", "while 1: header(16, 0, 0, v); header(16, 1, 1, v)", (TimedOut, Killed))
forge("never the same step", "n = 0\nwhile 1: n += 1; header(16, n % 2, n % 3, v)", (TimedOut, Killed, NotRun))
forge("huge counts", "header(2**64 - 1, 2**32 - 1, 255, v); os._exit(0)", (Killed,))
forge("negative length", "frame(v, 16, 1, b'M'); struct.pack_into('<II', v, 16, 1, 2**32 - 1); header(500, 1, 1, v); os._exit(0)")
forge("claim to be done", "header(16, 2, 1, v); os._exit(0)", (NotRun,))
forge("claim to be done and stay", "header(16, 2, 1, v)\nwhile 1: pass", (NotRun, TimedOut))
forge("full for ever", "header(600, 1, 2, v); os._exit(0)")
forge("full, empty", "header(16, 0, 2, v); os._exit(0)", (Killed, NotRun))
forge("frames of steps that are not there", "end = frame(v, 16, 77, b'MT'); header(end, 2, 1, v); os._exit(0)", (NotRun,))
forge("garbage everywhere", "v[:] = os.urandom(4096) * (len(v) // 4096); os._exit(0)")
forge("zeroes everywhere", "v[16:] = bytes(len(v) - 16); header(len(v), 2, 1, v); os._exit(0)", cpu=2)
forge("marshal code object", """
import marshal
end = frame(v, 16, 1, b'M' + marshal.dumps(compile('1/0', 'x', 'eval'), 2))
header(end, 2, 1, v); os._exit(0)""", (Returned,))
forge("pickle", "end = frame(v, 16, 1, b'cos\\nsystem\\n(Vtrue\\ntR.'); header(end, 2, 1, v); os._exit(0)", (Returned,))
forge("exception of odd types", """
import marshal
end = frame(v, 16, 1, b'E' + marshal.dumps((1, [2], {}), 2)); header(end, 2, 1, v); os._exit(0)""", (Raised,))
forge("close the view", "v.close(); return 1")
forge("resize the view", "v.resize(1 << 12); return 1")
forge("import failed", "end = frame(v, 16, 0, b'MT'); header(end, 2, 1, v); os._exit(0)")
attack("unmap the view", """
    import ctypes, gc, mmap
    def f(x):
        view = next(o for o in gc.get_objects() if type(o) is mmap.mmap)
        ctypes.CDLL(None).munmap(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(view))), len(view))
        return x
    """, (Killed, Raised, NotRun, Returned))
attack("unmap through the maps", """
    import ctypes
    def f(x):
        c = ctypes.CDLL(None)
        base = id(object()) & ~0xFFFFF
        c.munmap(ctypes.c_void_p(base), 1 << 20)
        return x
    """)
attack("patch builtins", """
    import builtins, json, marshal, os, struct, sys, time
    for name in dir(builtins):
        if name not in ('__import__', '__build_class__'):
            try: setattr(builtins, name, lambda *a, **k: 1)
            except Exception: pass
    for module in (json, marshal, struct, time, os):
        for name in list(vars(module)):
            if not name.startswith('__'): setattr(module, name, lambda *a, **k: b'MT')
    def f(x): return x
    """)
attack("patch the harness", """
    import gc, types
    def f(x):
        for o in gc.get_objects():
            if type(o) is types.FunctionType and 'refute' in o.__code__.co_filename:
                o.__code__ = (lambda *a, **k: b'MT').__code__
        return x
    """)
attack("patch the codec", """
    import sys
    def f(x):
        frame = sys._getframe()
        while frame:
            codec = frame.f_locals.get('codec')
            if codec is not None:
                codec.encode = lambda *a, **k: b'MT'
                codec.marshal.dumps = lambda *a: b'T'
            frame = frame.f_back
        return {1: [2]}
    """)
attack("trace", """
    import sys, threading
    def tracer(frame, event, arg):
        for name in frame.f_locals: frame.f_locals[name] = None
        return tracer
    sys.settrace(tracer); sys.setprofile(tracer); threading.settrace(tracer)
    for frame in sys._current_frames().values():
        while frame: frame.f_trace = tracer; frame = frame.f_back
    def f(x): return x
    """)
attack("clear the frames", """
    import sys
    def f(x):
        frame = sys._getframe().f_back
        while frame:
            try: frame.clear()
            except RuntimeError: pass
            frame.f_locals.clear(); frame.f_globals.clear(); frame = frame.f_back
        return x
    """)
attack("modules replaced", """
    import sys
    for name in list(sys.modules): sys.modules[name] = None
    sys.path[:] = ['/nowhere']; sys.meta_path.clear(); sys.path_hooks.clear()
    def f(x): return x
    """)
attack("hooks", """
    import gc, sys
    sys.excepthook = sys.unraisablehook = sys.displayhook = None
    sys.addaudithook(lambda *a: 1 / 0)
    gc.callbacks.append(lambda *a: 1 / 0); gc.set_threshold(1)
    def f(x): return [x]
    """)
attack("equality that lies", """
    class Lie:
        def __eq__(self, other): return True
        def __ne__(self, other): return False
        def __hash__(self): return 0
        def __repr__(self): return '42'
        def __reduce__(self): return (exec, ('1/0',))
        def __iter__(self): return iter([42])
        def __class__(self): return int
        def __len__(self): return 0
        def __bool__(self): return True
        def __index__(self): return 42
        __class__ = property(lambda self: int)
    def f(x): return Lie()
    """, (Returned,))
attack("classes that lie", """
    class Meta(type):
        def __instancecheck__(cls, o): return True
        def __subclasscheck__(cls, o): return True
        def __eq__(cls, o): return True
        def __hash__(cls): return hash(int)
        __name__ = property(lambda cls: 'int')
        __module__ = 'builtins'
        mro = lambda cls: [cls, object]
    class A(metaclass=Meta):
        __qualname__ = 'int'
    def f(x): return A()
    """, (Returned, Raised))
attack("next that lies", """
    class A:
        def __iter__(self): return self
        def __next__(self): raise KeyboardInterrupt
    def f(x): return A()
    """, (Returned, Raised))
attack("raise in every method", """
    def no(*a, **k): raise SystemExit('no')
    A = type('A', (), {n: no for n in dir(int) + ['__getattr__', '__dict__', '__next__', '__iter__', '__len__']
                      if n not in ('__new__', '__init__', '__doc__', '__class__', '__init_subclass__',
                                   '__subclasshook__', '__getattribute__', '__dict__')})
    def f(x): return A()
    """)
attack("exception that lies", """
    class Meta(type):
        __name__ = property(lambda c: 1 / 0)
    class E(BaseException, metaclass=Meta):
        def __str__(self): raise self
        def __getattribute__(self, name): raise self
        __traceback__ = property(lambda self: 1 / 0)
    def f(x): raise E
    """, (Raised, Killed))
attack("exception with a huge message", "def f(x): raise ValueError('x' * 10**8)", (Raised,), cpu=1.0, memory=1 << 30)
attack("exception that is chained in a circle", """
    def f(x):
        a, b = ValueError('a'), KeyError('b')
        a.__cause__ = b; b.__cause__ = a; a.__context__ = a
        raise a
    """, (Raised,))
attack("huge output", "def f(x): return 'x' * (50 << 20)", (Returned,), cpu=2.0, memory=1 << 30)
attack("huge list", "def f(x): return list(range(5_000_000))", (Returned,), cpu=4.0, memory=1 << 30)
attack("cyclic output", "def f(x):\n    l = []; l.append(l); return l", (Returned,))
attack("deep output", "def f(x):\n    l = []\n    for _ in range(100_000): l = [l]\n    return l", (Returned, Raised, Killed))
attack("exploding output", "def f(x):\n    l = []\n    for _ in range(100): l = [l, l]\n    return l", CUT, cpu=0.3)
attack("endless generator", """
    def f(x):
        while 1: yield x
    """, (Returned,))
attack("generator that hangs", """
    def f(x):
        yield 1
        while 1: pass
    """, (TimedOut,))
attack("generator that raises", "def f(x):\n    yield 1\n    raise GeneratorExit", (Returned, Raised))
attack("surrogates and NaN", r"def f(x): return ['\ud800', float('nan'), -0.0, '\0', b'\0', 10**400, 1e400j]", (Returned,))
attack("missing module", "import no_such_module_at_all\ndef f(x): pass", (Raised,))
attack("missing function", "def g(x): pass", (Raised,))
attack("syntax error", "def f(x:", (Raised,))
attack("null byte", "def f(x): return 1\0", (Raised,))
attack("warnings as errors", "import warnings\nwarnings.simplefilter('error')\ndef f(x): return eval('1 is 1')")
attack("import hook for the harness", """
    import builtins
    builtins.__import__ = None
    def f(x): return (x, {x: [x]})
    """)
