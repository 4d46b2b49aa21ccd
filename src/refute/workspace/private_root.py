"""The private root of a jail: what of the machine its commands see.

Loaded by path inside the jail, before it changes its root: standard library only.
"""

from __future__ import annotations

import os
from typing import Any

SCRATCH_BYTES = 512 << 20
"""Of the folder that git and the probe write to."""

_FROM_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "mime.types", "alternatives", "fonts",
             "ssl/certs", "ssl/openssl.cnf", "protocols", "services", "debian_version",
             "os-release")  # fmt: skip
_FROM_USR = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec", "include", "share",
             "local")  # fmt: skip
_OWN_ETC = {
    "passwd": "root:x:0:0:root:{home}:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "resolv.conf": "",
}
_PROC_READ_ONLY = ("bus", "fs", "irq", "sys", "sysrq-trigger")
_PROC_HIDDEN = ("kcore", "keys", "key-users", "timer_list", "sched_debug", "kmsg", "kallsyms",
                "slabinfo", "vmallocinfo", "iomem", "ioports", "kpagecount", "kpageflags",
                "kpagecgroup", "config.gz", "cmdline", "modules")  # fmt: skip


PLACES = ("/tmp", "/dev/shm")
"""Folders to which commands may write, besides the tree."""

_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_PROGRAMS, _REMOUNT, _BIND = 1, 2, 4, 8, 32, 4096


def build(
    linux: Any, config: dict[str, Any], base: str, secret: str
) -> tuple[dict[str, int], set[str]]:
    """Mount at ``config["jail"]`` what is to be seen.

    `linux`: the module `sandbox.isolation`. `base`: the tree, shown below `secret` read-only. The
    place of the tree itself (``config["tree"]``) is made and left empty.

    Returns the folders where commands may write, with their modes, and what stays in them: the tree
    or something shown may lie deep in one. Each folder on the way there is a mount of its own, so
    that no command can give another its name.
    """
    root = config["jail"]
    linux.keep_mounts_private()
    sources = {path: os.open(path, os.O_PATH) for path in shown(config)}
    base_fd = os.open(base, os.O_PATH)
    linux.mount_memory(root, "size=8m,nr_inodes=16k,mode=755")
    folders = dict.fromkeys(PLACES, 0o1777)
    for path in PLACES:
        os.makedirs(root + path)
        linux.mount_memory(root + path, f"size={config['disk']},mode=1777")
    inside = {path for path in (*sources, config["tree"]) if any(_below(path, p) for p in PLACES)}
    for path in inside:
        if not any(_below(path, one) for one in inside):
            folders.update(dict.fromkeys(_ways(path), 0o755))
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        if os.path.islink("/" + name):
            os.symlink(os.readlink("/" + name), f"{root}/{name}")
    frozen = []
    for path in sorted({*sources, *config["hidden"], *folders} - set(PLACES)):
        if path in folders:
            os.makedirs(root + path, exist_ok=True)
            _cover(linux, root + path, root + path)
            continue
        if path not in sources:
            if os.path.isdir(root + path):
                linux.mount_memory(root + path, "size=64k,nr_inodes=512,mode=755")
                frozen.append(path)
            continue
        writable = path.startswith("/dev/") or path in config["writable"]
        linux.bind(sources[path], root + path, read_only=not writable)
        if path.startswith("/dev/"):  # its owner may be the user, who could change its mode
            _freeze(linux, root + path)
        os.close(sources[path])
    _own_files(linux, root)
    _mount_proc(linux, root)
    linux.bind(base_fd, f"{root}{secret}/base", read_only=True)
    os.close(base_fd)
    for name in ("scratch", "changes"):
        os.makedirs(f"{root}{secret}/{name}")
    linux.mount_memory(f"{root}{secret}/scratch", f"size={SCRATCH_BYTES},mode=755")
    os.makedirs(root + config["tree"], exist_ok=True)
    for path in frozen:
        _freeze(linux, root + path)
    return folders, inside | set(folders)


def _ways(path: str) -> list[str]:
    """The folders between one of `PLACES` and a path in it, from above."""
    place = next(place for place in PLACES if _below(path, place))
    parts = path[len(place) + 1 :].split("/")
    return ["/".join([place, *parts[:n]]) for n in range(1, len(parts))]


def _freeze(linux: Any, target: str) -> None:
    """Make one mount read-only, but not those below it. Devices in it can be written to."""
    kept = os.statvfs(target).f_flag & (_NO_DEVICES | _NO_PROGRAMS)
    flags = _REMOUNT | _BIND | _READ_ONLY | _NO_SUID | kept
    linux.mount("none", target, None, flags)


def shown(config: dict[str, Any]) -> list[str]:
    """Return the visible paths of the machine, without those below another of them."""
    wanted = [*config["readable"], *config["writable"], "/etc/localtime"]
    wanted += ["/usr/" + name for name in _FROM_USR]
    wanted += ["/" + n for n in ("bin", "sbin", "lib", "lib32", "lib64")
               if not os.path.islink("/" + n)]  # fmt: skip
    wanted += ["/etc/" + name for name in _FROM_ETC]
    wanted += ["/dev/" + n for n in ("null", "zero", "full", "random", "urandom")]
    kept: list[str] = []
    for path in sorted({os.path.abspath(p) for p in wanted if os.path.exists(p)}):
        above = [k for k in kept if _below(path, k)]
        hidden = [h for h in config["hidden"] if _below(path, h)]
        if not above or any(_below(h, above[-1]) for h in hidden):
            kept.append(path)
    return kept


def _own_files(linux: Any, root: str) -> None:
    os.makedirs(root + "/etc", exist_ok=True)
    for name, text in _OWN_ETC.items():
        with open(f"{root}/etc/{name}", "w") as file:
            file.write(text.format(home="/tmp/home"))
    links = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
             "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"}  # fmt: skip
    for name, target in links.items():
        os.symlink(target, f"{root}/dev/{name}")
    os.mkdir(root + "/dev/pts")
    try:
        options = "newinstance,ptmxmode=0666,mode=620"
        linux.mount("devpts", root + "/dev/pts", "devpts", 0, options)
        _freeze(linux, root + "/dev/pts")
    except OSError:
        pass  # pseudo-terminals are missing, nothing else


def _mount_proc(linux: Any, root: str) -> None:
    """A /proc of the own pid namespace, read-only: its files belong to root, who may be the user,
    and modes of most of them are the machine's."""
    os.mkdir(root + "/proc")
    try:
        linux.mount("proc", root + "/proc", "proc", 2 | 4 | 8)
    except OSError:
        return  # a container's masked /proc: the commands have none
    for name in _PROC_READ_ONLY:
        path = f"{root}/proc/{name}"
        if os.path.exists(path):
            _cover(linux, path, path)
            linux.make_read_only(path)
    for name in _PROC_HIDDEN:
        path = f"{root}/proc/{name}"
        if os.path.exists(path):
            _cover(linux, "/dev/null", path)
            _freeze(linux, path)
    _freeze(linux, root + "/proc")


def _cover(linux: Any, source: str, target: str) -> None:
    fd = os.open(source, os.O_PATH)
    try:
        linux.mount(f"/proc/self/fd/{fd}", target, None, _BIND)
    finally:
        os.close(fd)


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")
