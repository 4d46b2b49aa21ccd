"""The reference verdicts for agreement.py: runs in the peer's interpreter, prints one JSON object
a line.

Reads JSON objects a line from stdin: {"id", "code", "test"} is judged by the dataset's own
assertion code (`test`, the OriginFmt field), input by input; {"id", "code", "evalplus":
"HumanEval/0"} by `evalplus.eval.untrusted_check`, which finds its data through
HUMANEVAL_OVERRIDE_PATH. Not a sandbox: it runs the programs of published benchmarks in plain
subprocesses, as those benchmarks do.
"""

import ast
import contextlib
import io
import json
import multiprocessing
import signal
import sys

SECONDS = 4  # wall; wide, because the machine may be busy
GIVE_UP = 5  # time-outs of one program


def own_assertion(code: str, test: str, send) -> None:
    """Run the dataset's loop body for each input; send the verdicts."""
    tree = ast.parse(test)
    loop = next(n for n in tree.body if isinstance(n, ast.For))
    tree.body.remove(loop)
    namespace: dict = {"__name__": "program"}
    verdicts, late = [], 0

    def stop(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(tree, "test", "exec"), namespace)
        try:
            signal.alarm(SECONDS)
            exec(code, namespace)
        except BaseException:
            namespace.pop("inp", None)
            send.send([False] * len(namespace["inputs"]))
            return
        finally:
            signal.alarm(0)
        body = compile(ast.Module(loop.body, []), "test", "exec")
        results = namespace.get("results") or [None] * len(namespace["inputs"])
        for inp, exp in zip(list(namespace["inputs"]), results, strict=True):
            namespace |= {"inp": inp, "exp": exp}
            if late >= GIVE_UP:
                verdicts.append(False)
                continue
            try:
                signal.alarm(SECONDS)
                exec(body, namespace)
                signal.alarm(0)
                verdicts.append(True)
            except BaseException as error:
                signal.alarm(0)
                late += isinstance(error, TimeoutError)
                verdicts.append(False)
    send.send(verdicts)


def judged_by_assertion(row: dict) -> list[bool]:
    receive, send = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=own_assertion, args=(row["code"], row["test"], send))
    process.start()
    send.close()
    try:
        verdicts = receive.recv() if receive.poll(120) else []
    except EOFError:
        verdicts = []
    process.kill()
    process.join()
    return verdicts


_TRUTH: dict = {}


def judged_by_evalplus(row: dict) -> list[bool]:
    from evalplus.data import get_human_eval_plus
    from evalplus.eval import PASS, untrusted_check
    from evalplus.gen.util import trusted_exec

    if not _TRUTH:
        _TRUTH["problems"] = get_human_eval_plus()
    problem = _TRUTH["problems"][row["evalplus"]]
    reference = problem["prompt"] + problem["canonical_solution"]
    name = problem["entry_point"]
    inputs = problem["base_input"] + problem["plus_input"]
    expected, times = trusted_exec(reference, inputs, name, record_time=True)
    status, _ = untrusted_check(
        "humaneval", row["code"], inputs, name, expected, problem["atol"], times,
        fast_check=True, min_time_limit=SECONDS,
    )  # fmt: skip
    return [status == PASS]


def main() -> None:
    for line in sys.stdin:
        row = json.loads(line)
        judge = judged_by_evalplus if "evalplus" in row else judged_by_assertion
        print(json.dumps({"id": row["id"], "verdicts": judge(row)}), flush=True)


if __name__ == "__main__":
    main()
