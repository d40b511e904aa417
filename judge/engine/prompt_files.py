"""Which prompts a run asks: the study's words, the program's, or files of the user's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from annotate.errors import DataError, UsageError
from annotate.grade_protocol import Grades
from annotate.harm import HARM
from annotate.harm_protocol import HarmLabels
from annotate.study import ProtocolSection
from judge.ask.fastchat_prompts import FastChatPrompt, prompts_from_fastchat
from judge.ask.modes import Mode
from judge.ask.prompt import (
    MTBENCH101,
    JudgePrompt,
    Prompt,
    grade_prompt,
    harm_prompt,
    load,
    prompt_for,
    prompt_from_toml,
)
from judge.ask.words import words_of


def prompts_for(
    protocol: ProtocolSection,
    mode: Mode,
    dimensions: tuple[str, ...] = (),
    files: tuple[Path, ...] = (),
) -> tuple[JudgePrompt, ...]:
    """One prompt per dimension, in the raters' words; `files` take the place of ours.

    Without `dimensions`, all of the study's; harm labels have one of their own, and grades that
    of `[protocol.grades]`, if raters give any.

    Raises:
        UsageError: a dimension has no words, or a file is for another mode.
        DataError: a file cannot be read as a prompt.
    """
    rubric = protocol.harm_labels or HarmLabels()
    if files:
        return tuple(
            harm_prompt(rubric, prompt)
            if isinstance(prompt, Prompt) and mode is Mode.HARM
            else prompt
            for prompt in _from_files(mode, dimensions, files)
        )
    if mode is Mode.HARM:
        if set(dimensions) <= {HARM}:
            return (harm_prompt(rubric),)
        wanted = dimensions
    else:
        graded = (protocol.grades.dimension,) if mode is Mode.GRADE and protocol.grades else ()
        wanted = dimensions or graded or tuple(d.name for d in protocol.dimensions)
    own = {d.name: words_of(d) for d in protocol.dimensions}
    forms = protocol.answer_forms if mode is Mode.GRADE else {}

    def prompt(name: str) -> JudgePrompt:
        form = forms.get(name)
        if isinstance(form, Grades):
            return grade_prompt(name, form.guidance, form.lowest, form.highest)
        if name in own and mode is not Mode.HARM and name != MTBENCH101:
            return prompt_for(own[name], mode)
        return load(name, mode)

    return tuple(prompt(name) for name in wanted)


def _from_files(
    mode: Mode, dimensions: tuple[str, ...], files: tuple[Path, ...]
) -> tuple[JudgePrompt, ...]:
    read = [prompt for file in files for prompt in read_prompts(file)]
    fitting = [prompt for prompt in read if prompt.mode is mode]
    if not fitting:
        found = ", ".join(sorted({prompt.mode for prompt in read}))
        raise UsageError(f"--prompt: no {mode} prompt in the files (they have: {found})")
    if not dimensions:
        return tuple(fitting)
    asked: list[JudgePrompt] = []
    for prompt in fitting:
        # FastChat's form does not say on what it judges: it asks on each one wanted.
        if isinstance(prompt, FastChatPrompt):
            asked += [replace(prompt, dimension=name) for name in dimensions]
        elif prompt.dimension in dimensions:
            asked.append(prompt)
    missing = sorted(set(dimensions) - {prompt.dimension for prompt in asked})
    if missing:
        raise UsageError(f"--dimension {missing[0]}: none of the --prompt files asks about it")
    return tuple(asked)


def read_prompts(file: Path) -> list[JudgePrompt]:
    """The prompts of a file: ours (TOML) or FastChat's (`judge_prompts.jsonl`).

    Raises:
        UsageError: the file cannot be read.
        DataError: what stands in it is no prompt.
    """
    try:
        text = file.read_text("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: not UTF-8 (byte {error.start}); save it as UTF-8") from error
    if file.suffix.lower() == ".toml":
        return [prompt_from_toml(text, file.name)]
    return list(prompts_from_fastchat(text, file.name).values())
