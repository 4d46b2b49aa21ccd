"""Hostile programs, each with a function `f(x)`, and how a call of it may end.

Data only: imported by the attack suite here and by `benchmarks/soak.py`. A program that tries something
forbidden returns the list of what it managed to do, so `f(1) == []` means that it was stopped. `needs`
names the measures of which at least one must hold for the attack to be stopped; where none holds it is
never run (as root, without isolation, it would do what it says).
"""

# ruff: noqa: E501
# fmt: off
from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

from refute.sandbox import Killed, NotRun, OutOfMemory, Raised, Returned, TimedOut

ANY = (Returned, Raised, TimedOut, OutOfMemory, Killed, NotRun)
CUT = (TimedOut, Killed, OutOfMemory)
ISOLATED = ("namespaces", "seccomp")  # the measures that keep a program away from other processes
WALLED = ("namespaces", "landlock")  # ... and from the host's files


@dataclass(frozen=True)
class Attack:
    name: str
    code: str
    ends: tuple[type, ...] = ANY
    nothing_done: bool = False  # the call must return []
    needs: tuple[str, ...] = ()
    cpu: float = 0.2
    wall: float = 1.0
    memory: int = 256 << 20
    respawns: bool = False  # the worker may be replaced by a fresh one
    about_itself: bool = False  # reaches for nothing but its own process: the same at every level


ATTACKS: list[Attack] = []


def attack(name: str, code: str, ends: tuple[type, ...] = ANY, **more: object) -> None:
    if ends == (TimedOut,):
        more = {"cpu": 0.1, **more}  # what never ends needs no longer to show it
    ATTACKS.append(Attack(name, dedent(code), ends, **more))  # type: ignore[arg-type]


def alone(name: str, code: str, ends: tuple[type, ...] = ANY, **more: object) -> None:
    attack(name, code, ends, about_itself=True, **more)


def denied(name: str, needs: tuple[str, ...], body: str, prelude: str = "", **more: object) -> None:
    """An attack made of statements in a list `TRIES`; each that raises no OSError counts as done."""
    code = "import os, sys\n" + dedent(prelude) + "TRIES = " + dedent(body).strip() + "\n"
    code += dedent('''
        def f(x):
            done = []
            for source in TRIES:
                try:
                    exec(source, globals())
                    done.append(source)
                except Exception:
                    pass
            return done
        ''')
    ATTACKS.append(Attack(name, code, (Returned,), True, needs, **more))  # type: ignore[arg-type]


# -- time --------------------------------------------------------------------------------------------

alone("loop", "def f(x):\n    while 1: pass", (TimedOut,))
alone("loop at import", "while 1: pass\ndef f(x): pass", (TimedOut,))
alone("loop in C: sum", "def f(x): return sum(range(10**12))", (TimedOut,))
alone("loop in C: power", "def f(x): return 10**10**8 % 7", (TimedOut, OutOfMemory))
alone("loop in C: str of int", """
    import sys
    def f(x):
        sys.set_int_max_str_digits(0)
        return str(7 ** 5_000_000)
    """, (TimedOut,))
alone("loop in C: regex", "import re\ndef f(x): return re.match('(a|a)*b', 'a' * 64)", (TimedOut,))
alone("loop in C: sort", """
    def f(x):
        class K(int):
            def __lt__(self, other):
                while True: pass
        return sorted([K(2), K(1)])
    """, (TimedOut,))
alone("loop in C: itertools", "import itertools\ndef f(x): return max(itertools.count())", (TimedOut,))
alone("constant folding bomb", "def f(x): return " + "(((1<<90)**9)**9)**9" + "\n", (Returned, Raised))
alone("swallow everything", """
    def f(x):
        while 1:
            try:
                while 1: pass
            except BaseException:
                pass
    """, (TimedOut,))
alone("block every signal", """
    import signal
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    def f(x):
        for s in range(1, 65):
            try: signal.signal(s, signal.SIG_IGN)
            except (OSError, ValueError): pass
        while 1: pass
    """, (TimedOut,))
alone("alarm games", """
    import signal
    def again(*a):
        while 1: pass
    def f(x):
        signal.signal(signal.SIGALRM, again)
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        signal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)
        while 1: pass
    """, (TimedOut,))
alone("sleep", "import time\ndef f(x): time.sleep(1000)", (TimedOut,), wall=0.4)
alone("sleep at import", "import time\ntime.sleep(1000)\ndef f(x): pass", (TimedOut,), wall=0.4)
alone("deadlock", """
    import threading
    def f(x):
        lock = threading.Lock(); lock.acquire(); lock.acquire()
    """, (TimedOut,), wall=0.4)
alone("read forever", """
    import os
    def f(x):
        r, w = os.pipe()
        return os.read(r, 1)
    """, (TimedOut,), wall=0.4)
alone("clock games", """
    import time
    time.time = time.monotonic = time.process_time = time.perf_counter = lambda: 0.0
    time.clock_gettime = lambda *a: 0.0
    def f(x):
        while time.time() < 1: pass
    """, (TimedOut,))
alone("endless str of exception", """
    class E(Exception):
        def __str__(self):
            while 1: pass
    def f(x): raise E
    """, (TimedOut,))
alone("endless repr", """
    class A:
        def __repr__(self):
            while 1: pass
    def f(x): return A()
    """, (TimedOut,))
alone("slow finaliser", """
    class A:
        def __del__(self):
            while 1: pass
    def f(x): A()
    """, (TimedOut,))
alone("atexit", """
    import atexit, threading
    def forever():
        while 1: pass
    atexit.register(forever)
    def f(x):
        threading.Thread(target=forever).start()
        threading._register_atexit(forever)
        return x
    """, (Returned, TimedOut))
alone("leftover thread", """
    import threading, time
    def write():
        while 1:
            try: open('late', 'w').write('x')
            except Exception: pass
    def f(x):
        for _ in range(4): threading.Thread(target=write, daemon=True).start()
        time.sleep(0.02)
        return x
    """, (Returned, TimedOut))

# -- memory ------------------------------------------------------------------------------------------

alone("memory: list", "def f(x):\n    l = [0]\n    while 1: l += l", (OutOfMemory,), cpu=2)
alone("memory: bytes", "def f(x): return len(b'x' * (8 << 30))", (OutOfMemory,))
alone("memory: bytearray", """
    def f(x):
        b = bytearray(1)
        while 1: b *= 2
    """, (OutOfMemory,), cpu=2)
alone("memory: held globally", """
    KEEP = []
    def f(x):
        while 1: KEEP.append(bytearray(10 << 20))
    """, (OutOfMemory,), cpu=2)
alone("memory: swallowed", """
    KEEP = []
    def f(x):
        while 1:
            try: KEEP.append(bytearray(10 << 20))
            except MemoryError: pass
    """, (TimedOut,))
alone("memory: dict of strings", """
    def f(x):
        return len({str(i) * 1000: i for i in range(10**7)})
    """, (OutOfMemory, TimedOut), cpu=1)
alone("memory: string", "def f(x): return ('a' * 10**9) * 10**9", (OutOfMemory,))
alone("memory: mmap", """
    import mmap
    def f(x):
        keep = []
        while 1: keep.append(mmap.mmap(-1, 64 << 20))
    """, (Raised, OutOfMemory))
alone("memory: mlock and madvise", """
    import ctypes
    def f(x):
        c = ctypes.CDLL(None)
        b = ctypes.create_string_buffer(64 << 20)
        c.mlock(b, 64 << 20)
        return x
    """, (Returned, Raised, OutOfMemory))
alone("memory: at import", "x = bytearray(4 << 30)\ndef f(x): pass", (OutOfMemory,))

# -- processes and threads -----------------------------------------------------------------------------

attack("fork bomb", """
    import os
    def f(x):
        while 1:
            try: os.fork()
            except OSError: pass
    """, CUT, needs=ISOLATED)
attack("fork and stay", """
    import os, time
    def f(x):
        made = 0
        for _ in range(8):
            try:
                if os.fork() == 0:
                    try: os.setsid()
                    except OSError: pass
                    if os.fork() == 0:
                        while 1: time.sleep(1)
                    os._exit(0)
                made += 1
            except OSError: pass
        return made
    """, (Returned,))
attack("thread bomb", """
    import threading, time
    def f(x):
        n = 0
        try:
            while 1:
                threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
                n += 1
        except BaseException:
            return n
    """, (Returned, *CUT), cpu=1.0)
attack("spinning threads", """
    import threading
    def spin():
        while 1: pass
    def f(x):
        for _ in range(4): threading.Thread(target=spin).start()
        spin()
    """, (TimedOut,))
denied("programs", ISOLATED[1:], """[
    "os.execv('/bin/sh', ['sh', '-c', 'exit 0'])", "os.posix_spawn('/bin/true', ['true'], {})",
    "os.spawnv(os.P_WAIT, '/bin/true', ['true']) == 0 or 1 / 0",
    "os.system('true') == 0 or 1 / 0", "os.popen('echo hi').read() or 1 / 0",
    "import subprocess; subprocess.run([sys.executable, '-c', ''], check=True)",
    "import multiprocessing as m; p = m.Process(target=print); p.start()", "os.forkpty()",
]""")
denied("programs, found again", ISOLATED[1:], """[
    "run('/bin/sh')", "run(sys.executable)", "os.execv(sys.executable, [sys.executable, '-c', ''])",
]""", prelude="""
    import _posixsubprocess, importlib.util, subprocess
    real = importlib.util.module_from_spec(importlib.util.find_spec('_posixsubprocess'))
    assert real.fork_exec is not _posixsubprocess.fork_exec
    def run(path):
        subprocess._fork_exec = _posixsubprocess.fork_exec = real.fork_exec
        subprocess.run([path, '-c', ''], check=True)
""")
denied("signals", ISOLATED, """[
    "os.kill(os.getppid(), 9) if os.getppid() > 1 else 1 / 0", "os.kill(1, 9) if os.getppid() > 1 else 1 / 0",
    "os.kill(os.getppid(), 19) if os.getppid() > 1 else 1 / 0",
    "os.killpg(os.getpgid(os.getppid()) or 1 / 0, 9)", "os.kill(-1, 9) if os.getppid() > 1 else 1 / 0",
]""", prelude="import signal\n", respawns=True)
attack("signals without a filter", """
    import os, signal
    def f(x):
        for target in (1, 0, -1):
            for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
                if target == 1 or number != signal.SIGSTOP:
                    try: os.kill(target, number)
                    except OSError: pass
        return x
    """, (Returned, Killed), needs=ISOLATED)
denied("signals by fcntl", ("seccomp",), """[
    "fcntl.fcntl(r, fcntl.F_SETOWN, os.getppid() or 1)", "fcntl.fcntl(r, 10, 9)",
    "__import__('resource').prlimit(os.getppid() or 1, 7, (0, 0))",
    "fcntl.ioctl(r, 0x8901, b'1234')", "fcntl.fcntl(r, fcntl.F_NOTIFY, 1)",
]""", prelude="import fcntl\nr, w = os.pipe()\n")
attack("end: os._exit", "import os\ndef f(x): os._exit(0)", (Killed,))
attack("end: sys.exit", "import sys\ndef f(x): sys.exit(0)", (Raised,))
attack("end: at import", "import os\nos._exit(0)\ndef f(x): pass", (Killed,))
attack("end: abort", "import os\ndef f(x): os.abort()", (Killed,))
attack("end: segfault", "import ctypes\ndef f(x): ctypes.string_at(0)", (Killed,))
attack("end: kill itself", "import os\ndef f(x): os.kill(os.getpid(), 9)", (Killed,))
attack("end: stop itself", "import os\ndef f(x): os.kill(os.getpid(), 19)", (TimedOut,), wall=0.4)
attack("end: raise SystemExit forever", """
    class E(SystemExit):
        @property
        def code(self): raise self
    def f(x): raise E
    """, (Raised,))
alone("recursion", "def f(x): return f(x)", (Raised,))
alone("recursion without limit", """
    import sys
    sys.setrecursionlimit(10**9)
    def f(x): return f(x)
    """, (Raised, *CUT), cpu=0.3)
alone("recursion in C", """
    import sys
    sys.setrecursionlimit(10**9)
    class A:
        def __repr__(self): return repr([self])
    def f(x): return repr(A())
    """, (Raised, *CUT), cpu=0.3)
alone("nested source", "def f(x): return eval('(' * 5000 + ')' * 5000)", (Raised, *CUT))
attack("priority and limits", """
    import os, resource
    def f(x):
        for name in dir(resource):
            if name.startswith('RLIMIT_'):
                try: resource.setrlimit(getattr(resource, name), (0, 0))
                except (OSError, ValueError): pass
        for g in (lambda: os.nice(19), lambda: os.sched_setaffinity(0, {0}), lambda: os.umask(0o777),
                  lambda: os.chdir('/'), lambda: os.setpgid(0, 0), lambda: os.setsid()):
            try: g()
            except OSError: pass
        return x
    """)
denied("raise the limits", ("seccomp", "unprivileged user"), """[
    "resource.setrlimit(resource.RLIMIT_NOFILE, (500, 500))",
    "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))",
    "os.setuid(0) if os.getuid() else 1 / 0", "os.setgid(0) if os.getgid() else 1 / 0",
]""", prelude="import resource\n")

# -- network -------------------------------------------------------------------------------------------

denied("network", ISOLATED, """[
    "socket.create_connection(('127.0.0.1', PORT), 0.3)", "socket.create_connection(('::1', PORT), 0.3)",
    "socket.create_connection(('1.1.1.1', 53), 0.3)", "socket.gethostbyname('example.com')",
    "socket.getaddrinfo('example.com', 80)",
    "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('1.1.1.1', 53))",
    "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('8.8.8.8', 53))",
    "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)", "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "socket.socket(socket.AF_UNIX).connect('/run/docker.sock')",
    "socket.socket(socket.AF_UNIX).connect(CANARY_SOCKET)",
    "socket.socket(socket.AF_UNIX).connect(chr(0) + ABSTRACT)",
    "__import__('urllib.request').request.urlopen('http://example.com', timeout=0.3)",
]""", prelude="import socket\nPORT = @PORT@\nCANARY_SOCKET = '@CANARY@/socket'\nABSTRACT = '@ABSTRACT@'\n", cpu=1.0, wall=4)
denied("sockets of other families", ("seccomp",), """[
    "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)", "socket.socket(socket.AF_UNIX)",
    "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)", "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)",
    "socket.socketpair(socket.AF_INET)", "socket.socket(socket.AF_INET6)",
    "s = socket.socketpair(); s[0].bind('x')", "s = socket.socketpair()[0]; s.listen()",
]""", prelude="import socket\n")

# -- files ---------------------------------------------------------------------------------------------

denied("read the host", WALLED, """[
    "open('/etc/passwd').read()", "open('/etc/shadow').read()", "open('/etc/hostname').read()",
    "strange('@HOME@')", "open('@CANARY@/secret').read()", "os.listdir('@CANARY@')", "strange('@REPO@')",
    "open('@REPO@/pyproject.toml').read()", "os.listdir('/proc')", "open('/proc/1/environ', 'rb').read()",
    "open('/proc/self/maps').read()", "open('/proc/self/mem', 'rb').read(1)", "os.listdir('/proc/self/fd')",
    "open('/dev/mem', 'rb')", "open('/dev/kmsg')", "open('/dev/tty')", "os.listdir('/sys/kernel')",
    "open('/sys/kernel/uevent_seqnum').read()", "os.listdir('/var/log')", "os.listdir('/run')",
    "open('/dev/shm/x', 'w')", "os.listdir('/dev/shm')", "os.readlink('/proc/self/exe') and open('/proc/self/exe', 'rb')",
    "os.symlink('@CANARY@/secret', 'l') or open('l').read()", "os.link('@CANARY@/secret', 'h') or open('h').read()",
    "import pwd; pwd.getpwnam('root')", "os.chdir('@CANARY@') or os.listdir('.')",
    "open('..' * 20 + '@CANARY@/secret')", "open('/proc/self/cwd/../@CANARY@/secret')",
]""", prelude="""
WAYS = {part for path in sys.path for part in path.split('/')}  # directories on the way to the library
def strange(path):
    if WAYS.issuperset(os.listdir(path)): raise OSError
""")
denied("write outside", WALLED, """[
    "open('@CANARY@/secret', 'a')", "open('@CANARY@/new', 'w')", "os.unlink('@CANARY@/secret')",
    "os.rename('@CANARY@/secret', 'mine')", "os.mkdir('@CANARY@/d')", "os.rmdir('@CANARY@/empty')",
    "os.truncate('@CANARY@/secret', 0)", "__import__('shutil').rmtree('@CANARY@')",
    "os.symlink('x', '@CANARY@/l')", "os.mkfifo('@CANARY@/f')", "open(os.__file__, 'a')",
    "os.rename(os.__file__, os.__file__ + '.bak')", "open(os.path.dirname(os.__file__) + '/evil.py', 'w')",
    "open('/evil', 'w')", "os.mkdir('/tmp/../evil')", "open('@REPO@/evil.py', 'w')", "open('/etc/evil', 'w')",
    "open('/dev/null2', 'w')", "os.unlink('/dev/null')", "os.mkdir(os.path.dirname(os.__file__) + '/evil')",
]""")
denied("change attributes", ("namespaces", "seccomp"), """[
    "os.chmod('@CANARY@/secret', 0o777)", "os.utime('@CANARY@/secret')", "os.chown('@CANARY@/secret', 1, 1)",
    "os.chmod(os.__file__, 0o777)", "os.utime(os.__file__)", "os.setxattr(os.__file__, 'user.x', b'')",
]""")
denied("special files", ("seccomp",), """[
    "os.mknod('disk', 0o60666, os.makedev(8, 0))", "os.mkfifo('fifo')", "os.chroot('.')",
    "os.chmod('.', 0)", "os.memfd_create('x')",
]""")
attack("fill the scratch", """
    import os
    def f(x):
        n = 0
        try:
            for i in range(100):
                with open(f'big{i}', 'wb', buffering=0) as file:
                    while file.write(bytes(1 << 20)): n += 1
        except OSError: pass
        return n <= 64
    """, (Returned, TimedOut), cpu=1.0, needs=("namespaces",))
attack("many files", """
    import os
    def f(x):
        try:
            for i in range(1500): open(f'f{i}', 'w').close()
        except OSError: pass
        return len(os.listdir('.')) > 0
    """, (Returned,), cpu=2.0)
attack("deep nest", """
    import os
    def f(x):
        n = 0
        try:
            while n < 400:
                os.mkdir('d' * 50); os.chdir('d' * 50); n += 1
                open('file', 'w').close()
        except OSError: pass
        return n > 100
    """, (Returned,), cpu=1.0)
attack("odd names and modes", r"""
    import os
    def f(x):
        os.mkdir('locked'); open('locked/a', 'w').close(); os.mkdir('locked/sub'); os.mkdir('none', 0)
        for n in (b'\xff\xfe', b'\n', b' ', b'-rf', b'a' * 255): os.mkdir(n)
        os.symlink('/', 'root'); os.symlink('loop', 'loop'); os.symlink('.', 'locked/self')
        os.umask(0o777); os.mkdir('dark')
        for g in (lambda: os.mkfifo('fifo'), lambda: os.chmod('locked', 0), lambda: os.chmod('.', 0)):
            try: g()
            except OSError: pass
        return x
    """, (Returned,), respawns=True)
attack("a link in place of the scratch", """
    import os
    def f(x):
        here = os.getcwd()
        for path in (here, os.path.dirname(here)):
            try:
                os.rename(path, path + 'x')
                os.symlink('@CANARY@', path)
            except OSError: pass
        return x
    """, (Returned,), respawns=True, needs=(*WALLED, "unprivileged user"))
attack("remove the scratch itself", """
    import os, shutil
    def f(x):
        here = os.getcwd()
        for g in (lambda: os.rmdir(here), lambda: os.rename(here, here + 'x'), lambda: shutil.rmtree(here)):
            try: g()
            except OSError: pass
        return x
    """, (Returned,), respawns=True)

# -- the kernel ----------------------------------------------------------------------------------------

CALLS = """
import ctypes, platform
_c = ctypes.CDLL(None, use_errno=True)
_x86 = platform.machine() == 'x86_64'
def call(x86, arm, *a):
    ctypes.set_errno(0)
    r = _c.syscall(ctypes.c_long(x86 if _x86 else arm), *[ctypes.c_long(v) if isinstance(v, int) else v for v in a])
    if r < 0: raise OSError(ctypes.get_errno(), 'no')
"""
denied("system calls", ("seccomp",), """[
    "call(101, 117, 16, os.getppid() or 1, 0, 0)",  # ptrace attach
    "call(101, 117, 0, 0, 0, 0)",  # ptrace traceme
    "call(310, 270, os.getppid() or 1, b'x' * 16, 1, b'x' * 16, 1, 0)",  # process_vm_readv
    "call(311, 271, os.getppid() or 1, b'x' * 16, 1, b'x' * 16, 1, 0)", "call(321, 280, 0, b'0' * 64, 64)",  # bpf
    "call(323, 282, 0)", "call(425, 425, 1, b'0' * 120)", "call(250, 219, 0, 1, 0, 0, 0)",  # userfaultfd, io_uring, keyctl
    "call(248, 217, b'user', b'a', b'b', 1, -3)", "call(165, 40, b'none', b'/', b'tmpfs', 0, None)",  # add_key, mount
    "call(166, 39, b'/', 2)", "call(272, 97, 0x10000000)", "call(272, 97, 0x20000000)",  # umount, unshare
    "call(308, 268, 0, 0)", "call(161, 51, b'/')", "call(155, 41, b'.', b'.')",  # setns, chroot, pivot_root
    "call(304, 265, 0, b'x' * 32, 0)", "call(298, 241, b'0' * 120, 0, -1, -1, 0)",  # open_by_handle_at, perf_event_open
    "call(135, 92, 0xffffffff) or call(135, 92, 8)", "call(157, 167, 4, 1, 0, 0, 0)",  # personality, prctl dumpable
    "call(157, 167, 1, 0, 0, 0, 0)", "call(157, 167, 36, 1, 0, 0, 0)", "call(154, -1, 0, 0, 0)",  # pdeathsig, subreaper, modify_ldt
    "call(435, 435, b'0' * 88, 88)", "call(56, 220, 17, 0, 0, 0, 0)",  # clone3, clone without CLONE_THREAD
    "call(56, 220, 0x4011, 0, 0, 0, 0)", "call(59, 221, b'/bin/sh', 0, 0)", "call(322, 281, -100, b'/bin/sh', 0, 0, 0)",  # execve, execveat
    "call(56, 220, 0x10000011, 0, 0, 0, 0)", "call(58, -1)", "call(319, 279, b'x', 0)",  # vfork, memfd_create
    "call(41, 198, 2, 1, 0)", "call(42, 203, 3, b'0' * 16, 16)", "call(49, 200, 3, b'0' * 16, 16)",  # socket, connect, bind
    "call(169, 142, 0, 0, 0, 0)", "call(227, 112, 0, b'0' * 16)", "call(164, 170, b'0' * 16, 0)",  # reboot, clocks
    "call(175, 105, b'', 0, b'')", "call(246, 104, 0, 0, 0, 0)", "call(434, 434, os.getppid() or 1, 0)",  # modules, kexec, pidfd_open
    "call(424, 424, 3, 9, 0, 0)", "call(129, 138, os.getppid() or 1, 9, b'0' * 128)",  # pidfd_send_signal, sigqueue
    "call(438, 438, 3, 3, 0)", "call(312, 272, 1, 1, 0, 0, 0)", "call(29, 194, 1, 4096, 0o1666)",  # pidfd_getfd, kcmp, shmget
    "call(240, 180, b'/q', 0o102, 0o666, 0)", "call(200, 130, os.getppid() or 1, 0)",  # mq_open, tkill
    "call(222, 107, 0, b'0' * 64, b'0' * 8)", "call(254, 27, 0, b'/', 1)", "call(300, 262, 0, 0)",  # timers, inotify, fanotify
    "call(0x40000000 + 39, -1)", "call(0x40000000 + 57, -1)", "call(451, 451)", "call(9999, 9999)",  # the x32 numbers, unknown ones
]""", prelude=CALLS)
attack("the 32-bit gate", """
    import ctypes, mmap
    def f(x):
        m = mmap.mmap(-1, 4096, prot=7)
        m.write(bytes.fromhex('b814000000cd80c3'))  # mov eax, 20; int 0x80; ret
        return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()
    """, (Killed, Raised), needs=("seccomp",))
attack("core dump", """
    import os, resource
    def f(x):
        try: resource.setrlimit(resource.RLIMIT_CORE, (-1, -1))
        except (OSError, ValueError): pass
        os.abort()
    """, (Killed,), needs=("seccomp", "unprivileged user"))
denied("inherited descriptors", (), """[
    *[f"os.fstat({fd})" for fd in range(3, 256)],
]""")
attack("close and flood every descriptor", """
    import os, sys
    def f(x):
        for fd in range(256):
            try: os.write(fd, b'{"protections": {}}' * 5000)
            except OSError: pass
        print('x' * 10**6); print('y' * 10**6, file=sys.stderr)
        os.closerange(0, 256)
        for fd in range(3):
            try: os.open('/dev/null', os.O_RDWR)
            except OSError: pass
        return x
    """, (Returned,))
attack("close the streams", "import sys\ndef f(x):\n    sys.stdout.close(); sys.stderr.close()\n    return x", (Returned,))
attack("send descriptors", """
    import array, socket
    def f(x):
        a, b = socket.socketpair()
        try:
            while 1: a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0, a.fileno()]))])
        except OSError: pass
        return x
    """, (Returned, TimedOut), wall=0.5)
