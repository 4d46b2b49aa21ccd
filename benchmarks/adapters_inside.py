"""Runs in a framework's own environment (see `adapters.py`): each cheat and its twin through it.

    python benchmarks/adapters_inside.py FRAMEWORK

Answers go the way that the framework itself sends them, as far as that goes without its model
server: the reward is read where its trainer reads it. Prints a JSON object as its last line.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

from refute_lab.cheats import CHEATS

Pair = tuple[str, str]
"""An answer, and its task as JSON."""


def by_trl(pairs: Sequence[Pair]) -> list[float]:
    """A `GRPOTrainer` with a model of some thousand weights, asked for the rewards of a step."""
    import trl
    from datasets import Dataset
    from tiny_policy import tiny_model, tiny_tokenizer

    from refute_lab.adapters.trl import reward_func

    tokenizer = tiny_tokenizer(["a"])
    with tempfile.TemporaryDirectory() as folder:
        config = trl.GRPOConfig(
            output_dir=folder, report_to=[], num_generations=2, use_cpu=True, bf16=False,
            per_device_train_batch_size=2,
        )  # fmt: skip
        trainer = trl.GRPOTrainer(
            tiny_model(tokenizer), [reward_func()], config,
            Dataset.from_list([{"prompt": "a", "task": task} for _, task in pairs]),
            processing_class=tokenizer,
        )  # fmt: skip
        inputs = [{"prompt": "a", "task": task} for _, task in pairs]
        said = [[{"role": "assistant", "content": answer}] for answer, _ in pairs]
        paid = trainer._calculate_rewards(inputs, ["a"] * len(pairs), said, [[0]] * len(pairs))
    return paid[:, 0].tolist()


def by_verl(pairs: Sequence[Pair]) -> list[float]:
    """verl's own loader of `custom_reward_function.path`, and its naive reward manager."""
    import numpy
    import torch
    from omegaconf import OmegaConf
    from tensordict import TensorDict
    from verl import DataProto
    from verl.experimental.reward_loop.reward_manager import get_reward_manager_cls
    from verl.trainer.ppo.reward import get_custom_reward_fn

    import refute_lab.adapters.verl

    where = {"path": refute_lab.adapters.verl.__file__, "name": "compute_score"}
    config = OmegaConf.create({"reward": {"custom_reward_function": where}})
    tokenizer = MagicMock()
    tokenizer.decode = lambda ids, **_: pairs[int(ids[0])][0]

    def table(*values: Any) -> Any:
        made = numpy.empty(len(values), dtype=object)
        made[:] = values
        return made

    async def all_of_them() -> list[float]:
        function = get_custom_reward_fn(config)
        manager = get_reward_manager_cls("naive")(config, tokenizer, function)

        async def one(index: int) -> float:
            ids = torch.tensor([[index]])
            tensors = {"responses": ids, "prompts": ids, "attention_mask": torch.ones(1, 2).long()}
            data = DataProto(
                TensorDict(tensors, batch_size=1),
                {
                    "data_source": table("refute"),
                    "reward_model": table({"ground_truth": pairs[index][1]}),
                    "extra_info": table({}),
                },
            )
            return float((await manager.run_single(data))["reward_score"])

        return list(await asyncio.gather(*map(one, range(len(pairs)))))

    return asyncio.run(all_of_them())


def by_verifiers(pairs: Sequence[Pair]) -> list[float]:
    """The taskset is loaded by its id; each task scores a trace."""
    import verifiers.v1 as vf
    from verifiers.v1.types import AssistantMessage
    from verifiers.v1.utils.loaders import taskset_class, taskset_config_type

    with tempfile.TemporaryDirectory() as folder:
        text = (
            "from refute_lab.adapters.verifiers import RefuteTaskset\n__all__ = ['RefuteTaskset']\n"
        )
        Path(folder, "refute_rows.py").write_text(text)
        sys.path.insert(0, folder)
        config = taskset_config_type("refute-rows")(id="refute-rows", rows=_rows(folder, pairs))
        tasks = list(taskset_class("refute-rows")(config))

    async def one(task: Any, answer: str) -> float:
        reply = vf.MessageNode(message=AssistantMessage(content=answer), sampled=True)
        about = vf.TraceTask(type=type(task).__name__, data=task.data)
        trace = vf.Trace(task=about, agent=vf.AgentInfo(config=vf.AgentConfig()), nodes=[reply])
        await task.score(trace)
        return float(trace.reward)

    async def all_of_them() -> list[float]:
        return list(await asyncio.gather(*map(one, tasks, (answer for answer, _ in pairs))))

    return asyncio.run(all_of_them())


def by_nemo_gym(pairs: Sequence[Pair]) -> list[float]:
    """`POST /verify` of the resources server's own web application."""
    from fastapi.testclient import TestClient
    from nemo_gym.server_utils import ServerClient

    from refute_lab.adapters.nemo_gym import RefuteResourcesServer, RefuteServerConfig

    config = RefuteServerConfig(host="127.0.0.1", port=1, entrypoint="app.py", name="refute")
    server = RefuteResourcesServer(config=config, server_client=MagicMock(spec=ServerClient))
    paid = []
    with TestClient(server.setup_webserver()) as client:
        for answer, task in pairs:
            said = {"type": "output_text", "text": answer, "annotations": []}
            message = {
                "id": "m", "role": "assistant", "status": "completed", "type": "message",
                "content": [said],
            }  # fmt: skip
            response = {
                "id": "r", "created_at": 0.0, "model": "m", "object": "response",
                "output": [message], "parallel_tool_calls": False, "tool_choice": "auto",
                "tools": [],
            }  # fmt: skip
            asked = {
                "responses_create_params": {"input": "a"}, "response": response,
                "verifier_metadata": {"task": task},
            }  # fmt: skip
            answered = client.post("/verify", json=asked)
            answered.raise_for_status()
            paid.append(float(answered.json()["reward"]))
    return paid


def by_rllm(pairs: Sequence[Pair]) -> list[float]:
    """The evaluator is found by its name, as `--evaluator refute` finds it."""
    from rllm.eval.evaluator_loader import load_evaluator
    from rllm.types import Episode, Step, Task, Trajectory

    evaluator, paid = load_evaluator("refute"), []
    for answer, task in pairs:
        flow = Trajectory(steps=[Step(output=answer)], output=answer)
        one = Task(id="a", instruction="a", metadata={"task": task})
        paid.append(float(evaluator.evaluate(one, Episode(trajectories=[flow])).reward))
    return paid


def by_inspect_ai(pairs: Sequence[Pair]) -> list[float]:
    """An evaluation of the task `refute/programs` with a model that says the answers, and one with
    a tool in the sandbox `refute`."""
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import bash

    name = "mockllm/model"

    def free(said: ModelOutput) -> ModelOutput:
        said.usage = ModelUsage()  # else its words are counted, by a file from the network
        return said

    def say(messages: Any, *others: Any) -> ModelOutput:
        return free(ModelOutput.from_content(name, pairs[int(messages[-1].text)][0]))

    with tempfile.TemporaryDirectory() as folder:
        [log] = evaluate(
            "refute/programs", task_args={"rows": str(_rows(folder, pairs))},
            model=get_model(name, custom_outputs=say), log_dir=folder, display="none",
        )  # fmt: skip
        if log.status != "success" or log.samples is None:
            raise SystemExit(f"inspect: {log.error and log.error.message}")
        found = {int(one.id): one.scores["refute_scorer"].value for one in log.samples}
        calls = [
            ModelOutput.for_tool_call(name, "bash", {"command": "cat a/b; ls -d /root/.cache; id"}),
            ModelOutput.from_content(name, "done"),
        ]
        model = get_model(name, custom_outputs=list(map(free, calls)))
        sample = Sample(input="a", files={"a/b": "inside\n"})
        tools = Task([sample], solver=[use_tools(bash(timeout=60)), generate()], sandbox="refute")
        [log] = evaluate(tools, model=model, log_dir=folder, display="none")
        said = next(one.text for one in log.samples[0].messages if one.role == "tool")
        assert "inside\nuid=" in said, said
        assert "No such file" in said, said
    return [float(found[index]) for index in range(len(pairs))]


def by_harbor(pairs: Sequence[Pair]) -> list[float]:
    """Task directories that Harbor reads, and what their verifier writes, read by Harbor."""
    from harbor.models.task.task import Task
    from harbor.models.task.verifier_mode import resolve_verifier_environment_definition

    from refute_lab.adapters.harbor import main, write_tasks
    from refute_lab.adapters.scoring import read_rows

    paid = []
    with tempfile.TemporaryDirectory() as folder:
        write_tasks(read_rows(_rows(folder, pairs)), folder)
        for index, (answer, _) in enumerate(pairs):
            task = Task(Path(folder, str(index)))
            own = resolve_verifier_environment_definition(task.config, task.paths)
            assert own is not None
            assert own.directory == task.paths.tests_dir
            said, reward = Path(folder, "solution.py"), Path(folder, "reward.json")
            said.write_text(answer)
            main(str(task.paths.tests_dir / "task.json"), str(said), str(reward))
            paid.append(float(json.loads(reward.read_text())["reward"]))
    return paid


FRAMEWORKS: dict[str, tuple[str, Callable[[Sequence[Pair]], list[float]]]] = {
    "trl": ("trl", by_trl),
    "verl": ("verl", by_verl),
    "verifiers": ("verifiers", by_verifiers),
    "nemo_gym": ("nemo-gym", by_nemo_gym),
    "rllm": ("rllm", by_rllm),
    "inspect_ai": ("inspect-ai", by_inspect_ai),
    "harbor": ("harbor", by_harbor),
}
"""Name -> its distribution, and how answers go through it."""


def _rows(folder: str, pairs: Sequence[Pair]) -> Path:
    path = Path(folder, "rows.jsonl")
    made = [
        {"id": str(index), "prompt": [{"role": "user", "content": str(index)}], "task": task}
        for index, (_, task) in enumerate(pairs)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in made))
    return path


def main(framework: str, *names: str) -> None:
    """Print what became of the cheats; `names`: only these."""
    distribution, through = FRAMEWORKS[framework]
    cheats = [one for one in CHEATS if not names or one.name in names]
    tasks = [json.dumps(one.task.to_json()) for one in cheats]
    pairs = [(one.source, task) for one, task in zip(cheats, tasks, strict=True)]
    pairs += [(one.twin, task) for one, task in zip(cheats, tasks, strict=True)]
    start = time.monotonic()
    paid = through(pairs)
    seconds = time.monotonic() - start
    of_cheats, of_twins = paid[: len(cheats)], paid[len(cheats) :]
    told = {
        "framework": framework,
        "version": metadata.version(distribution),
        "cheats": len(cheats),
        "paid": [one.name for one, reward in zip(cheats, of_cheats, strict=True) if reward > 0],
        "twins": sum(reward > 0 for reward in of_twins),
        "unpaid twins": [
            one.name for one, reward in zip(cheats, of_twins, strict=True) if not reward > 0
        ],
        "seconds": round(seconds, 1),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
