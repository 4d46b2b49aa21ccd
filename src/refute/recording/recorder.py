"""What a guard calls: follows objects, chooses which calls are kept, and writes them as source.

It keeps its own time below a share of the whole, and below that it looks less often the less new
there is: at most `limit` distinct calls of a function, those with other shapes of arguments first.
"""

from __future__ import annotations

import dis
import threading
import time
from collections import Counter
from typing import Any

from refute.recording.calls import arguments, special
from refute.recording.describing import Describer, shape_of
from refute.recording.guarding import Signature
from refute.recording.histories import Histories, constructs
from refute.recording.looking import fields
from refute.recording.recipes import Entry, Imported, Part, Parts, Unbuildable
from refute.recording.rendering import render
from refute.recording.targets import Guard, Record, Way

_LARGEST_SHARE = 0.25
"""Of the elapsed time, that the recorder may take."""
_GRACE = 0.1
"""Seconds that it may take in any case."""
_FIRST_CALLS = 16
"""Of each function are looked at, whatever their shapes; then those of a power of two."""


class Recorder:
    """Records the calls of one session."""

    def __init__(self, limit: int = 20) -> None:
        self.limit = limit
        self.skipped: Counter[str] = Counter()
        self.guards: list[Guard] = []
        self.spent = 0.0
        self._clock = time.perf_counter  # kept: tests that freeze time replace it in modules
        self._began = self._clock()
        self._test = ""
        self._tests = 0
        self._asleep: list[Guard] = []
        self._histories = Histories()
        self._describe = Describer(self._histories.of, self._histories.tick)
        self._stored: dict[Any, list[tuple[int, str]]] = {}
        self._lock = threading.Lock()

    def make_guard(self, module: str, signature: Signature) -> Guard:
        watch = self._histories.watch(module, signature.owner) if signature.owner else None
        guard = Guard(module, signature, watch, self._hit)
        self.guards.append(guard)
        return guard

    def begin(self, test: str) -> None:
        """A test begins."""
        self._test = test
        self._tests += 1
        tick = self._histories.tick()
        asleep = []
        for guard in self._asleep:
            if guard.wake <= self._tests:
                guard.wake_up(tick)
            else:
                asleep.append(guard)
        self._asleep = asleep

    def end(self) -> None:
        """The test is over; what is called between tests is followed, but not recorded."""
        self._test = ""

    def stop(self) -> None:
        """Nothing is recorded any more."""
        for guard in self.guards:
            guard.on = False

    def lines(self) -> list[dict[str, Any]]:
        """The records, in the order of the file format."""
        return [
            dict(record.text, count=record.count)
            for guard in sorted(self.guards, key=lambda each: each.target)
            for record in list(guard.records.values())
        ]

    def missed(self) -> dict[str, str]:
        """The functions that tests called and that have no record, with a reason."""
        recorded = {guard.target for guard in self.guards if guard.records}
        return {
            guard.target: guard.missed or "no time"
            for guard in self.guards
            if guard.called and guard.target not in recorded
        }

    # -- while a function runs ---------------------------------------------------------------------

    def _hit(self, guard: Guard, values: tuple[Any, ...], frame: Any) -> None:
        if not self._lock.acquire(False):  # another thread's call, or one within the recorder
            return
        began = self._clock()
        try:
            self._observe(guard, values, frame, began)
        except Exception:  # a recorder at fault must not become a fault of the test
            self.skipped["the recorder failed"] += 1
        finally:
            self.spent += self._clock() - began
            self._lock.release()

    def _observe(self, guard: Guard, values: tuple[Any, ...], frame: Any, now: float) -> None:
        guard.calls += 1
        guard.called = guard.called or bool(self._test)
        guard.left -= 1
        caller = frame.f_back
        itself = caller is not None and caller.f_code is frame.f_code
        busy = self.spent > _GRACE + _LARGEST_SHARE * (now - self._began)
        if guard.left <= 0 or busy:
            guard.rest(self._histories.ticks, self._tests)
            self._asleep.append(guard)
        signature = guard.signature
        name = signature.name
        receives = bool(signature.owner and signature.positional)
        if busy:
            if receives:
                self._histories.forget(values[0])
            return
        if name == "__init__" and receives:
            self._constructed(guard, values, frame)
            return
        entry: Entry | None = None
        inside = False
        if receives:
            entry = self._histories.of(values[0])
            if entry is not None and entry.dead is None and guard.changes:
                inside = self._histories.within(frame, values[0])
        follow = entry is not None and entry.dead is None and guard.changes and not inside
        shape = self._wanted(guard, values) if self._test and not itself else None
        if shape is None and not follow:
            return
        way = guard.resolve(frame.f_code)
        self._describe.home = guard.module
        call: Parts | None = None
        why = ""
        try:
            call = self._call(guard, way, values, caller)
            if shape is not None:
                self._keep(guard, shape, call)
        except Unbuildable as error:
            why = str(error)
            if shape is not None:
                self._missed(guard, shape, why)
        if follow and entry is not None:
            self._histories.went_on(entry, call, why)

    def _constructed(self, guard: Guard, values: tuple[Any, ...], frame: Any) -> None:
        """An object's `__init__` begins."""
        value = values[0]
        if self._histories.within(frame, value):
            return  # called by that of a subclass, which is known
        shape = self._wanted(guard, values) if self._test else None
        call: Parts | None = None
        why = ""
        try:
            if not constructs(type(value), "__init__", frame.f_code):
                raise Unbuildable("construction not seen")
            way = guard.resolve(frame.f_code)
            if way.kind != "method":
                raise Unbuildable("not found by its name")
            self._describe.home = guard.module
            home = self._describe(type(value))
            call = (*home, "(", *self._arguments(guard, way, values, skip=1), ")")
            if shape is not None:
                self._keep(guard, shape, call)
        except Unbuildable as error:
            why = str(error)
            if shape is not None:
                self._missed(guard, shape, why)
        self._histories.begin(value, call, why)

    # -- which calls are kept ----------------------------------------------------------------------

    def _wanted(self, guard: Guard, values: tuple[Any, ...]) -> Any:
        """The shape of a call that is worth writing down; None: it is not."""
        shape = tuple([shape_of(value) for value in values])
        number = guard.calls
        if shape in guard.shapes:
            full = len(guard.records) >= self.limit
            if full or not (number <= _FIRST_CALLS or number & (number - 1) == 0):
                return None
        elif len(guard.shapes) > 4 * self.limit:
            return None
        return shape

    def _keep(self, guard: Guard, shape: Any, call: Parts) -> None:
        imports, setup, expression = render(call)
        key = (expression, tuple(setup), tuple(imports.items()))
        if key in guard.records:
            guard.records[key].count += 1
            return
        known = guard.shapes.get(shape, 0)
        if len(guard.records) >= self.limit:
            most = max(guard.shapes, key=lambda each: guard.shapes[each])
            if known or guard.shapes[most] < 2:
                return
            gone = [one for one, record in guard.records.items() if record.shape == most][-1]
            del guard.records[gone]
            guard.shapes[most] -= 1
        guard.shapes[shape] = known + 1
        guard.news = True
        text = {
            "target": guard.target,
            "imports": imports,
            "setup": setup,
            "expression": expression,
            "test": self._test,
        }
        guard.records[key] = Record(text, shape)

    def _missed(self, guard: Guard, shape: Any, why: str) -> None:
        guard.shapes.setdefault(shape, 0)
        guard.missed = why
        self.skipped[why] += 1

    # -- how a call is written ---------------------------------------------------------------------

    def _arguments(self, guard: Guard, way: Way, values: tuple[Any, ...], *, skip: int) -> Parts:
        function = way.function
        return arguments(
            self._describe,
            guard.signature,
            values,
            function.__defaults__ or (),
            function.__kwdefaults__ or {},
            skip=skip,
        )

    def _call(self, guard: Guard, way: Way, values: tuple[Any, ...], caller: Any) -> Parts:
        signature = guard.signature
        name = signature.name
        if way.kind == "none":
            raise Unbuildable("not found by its name")
        if way.kind == "function":
            inner = self._arguments(guard, way, values, skip=0)
            return (Imported(guard.module, name), "(", *inner, ")")
        if way.kind == "static":
            owner, _, rest = signature.owner.partition(".")
            home: list[Part] = [Imported(guard.module, owner), "." + rest if rest else ""]
            if name == "__new__":
                home = list(self._describe(values[0]))
                return (*home, "(", *self._arguments(guard, way, values, skip=1), ")")
            return (*home, f".{name}(", *self._arguments(guard, way, values, skip=0), ")")
        if not signature.positional:
            raise Unbuildable("a receiver without a name")
        inner = self._arguments(guard, way, values, skip=1)
        if way.kind == "class":
            return (*self._describe(values[0]), f".{name}(", *inner, ")")
        receiver = self._receiver(values[0], caller)
        if way.kind == "getter":
            return (receiver, "." + name)
        if way.kind == "setter":
            return ("setattr(", receiver, f", {name!r}, ", *inner, ")")
        if name == "__call__":
            return (receiver, "(", *inner, ")")
        if name[:2] == name[-2:] == "__":
            others = [self._describe(value) for value in values[1:]]
            return special(name, receiver, others)
        if name[:2] == "__":
            name = "_{}{}".format(signature.owner.rpartition(".")[2].lstrip("_"), name)
        return (receiver, f".{name}(", *inner, ")")

    def _receiver(self, value: Any, caller: Any) -> Entry:
        """The object that is called, with what its caller assigned on it."""
        entry = self._describe.receiver(value)
        entry.named = True
        if entry.dead is not None or caller is None or entry.ref is None:
            return entry
        held = fields(value)
        for name in self._stores(caller):
            if name in held:
                self._histories.assigned(entry, name, self._describe(held[name]))
        return entry

    def _stores(self, caller: Any) -> list[str]:
        """The names of attributes that a function has assigned before the place where it is."""
        code = caller.f_code
        if code not in self._stored:
            steps = dis.get_instructions(code)
            stores = [(one.offset, one.argval) for one in steps if one.opname == "STORE_ATTR"]
            self._stored[code] = stores
        last = caller.f_lasti
        return sorted({name for offset, name in self._stored[code] if offset < last})
