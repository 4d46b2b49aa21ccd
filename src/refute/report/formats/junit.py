"""JUnit XML, as continuous integration reads it: a suite for a file, a case for a function."""

from __future__ import annotations

from xml.etree import ElementTree

from refute.report.formats.contract import Case, Report
from refute.sandbox.values import printable

_NOTHING_SAID = frozenset({"cannot tell"})


def junit_text(report: Report) -> str:
    """One document. A function of which nothing can be said, and what was not looked at, is a
    skipped case."""
    root = ElementTree.Element("testsuites", name=f"refute {report.verb}")
    files: dict[str, list[Case]] = {}
    for case in report.cases:
        files.setdefault(case.file, []).append(case)
    for file, cases in files.items():
        root.append(_suite(file or report.verb, [_case(case) for case in cases]))
    if report.left:
        left = []
        for one in report.left:
            item = ElementTree.Element("testcase", classname=one.kind, name=one.where)
            ElementTree.SubElement(item, "skipped", message=one.reason)
            left.append(item)
        root.append(_suite("not looked at", left))
    for name in ("tests", "failures", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("errors", "0")
    for element in root.iter():
        for key, value in element.attrib.items():
            element.set(key, printable(value))
        element.text = element.text and printable(element.text)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _suite(name: str, cases: list[ElementTree.Element]) -> ElementTree.Element:
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": 0,
        "skipped": sum(case.find("skipped") is not None for case in cases),
    }
    told = {key: str(value) for key, value in counts.items()}
    suite = ElementTree.Element("testsuite", {"name": name, **told})
    suite.extend(cases)
    return suite


def _case(case: Case) -> ElementTree.Element:
    module = case.file.removesuffix(".py").replace("/", ".")
    place = {"file": case.file, "line": str(case.line)} if case.file else {}
    named = {"classname": module, "name": case.function or case.state}
    item = ElementTree.Element("testcase", {**named, **place})
    grave = [one for one in case.problems if one.level != "note"]
    if grave:
        lines = [one.message + (f" (and {one.others} more)" * bool(one.others)) for one in grave]
        if case.proposal is not None:
            lines.append(case.proposal.text)
        first = grave[0]
        failure = ElementTree.SubElement(item, "failure", type=first.rule, message=first.message)
        failure.text = "\n".join(lines)
    elif case.state in _NOTHING_SAID:
        ElementTree.SubElement(item, "skipped", message=case.reason or case.state)
    notes = [one.message for one in case.problems if one.level == "note"]
    if notes:
        ElementTree.SubElement(item, "system-out").text = "\n".join(notes)
    return item
