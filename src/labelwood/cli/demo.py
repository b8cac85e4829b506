"""`labelwood demo`: the whole way once, on a corpus that every machine has."""

import json as json_module
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Directory for what is made.")
    ] = Path("labelwood-demo"),
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Build a corpus of Python docstrings, train, evaluate, and tag three unseen documents."""
    from labelwood.cli.learners import make_tagger
    from labelwood.data.load import save_dataset
    from labelwood.store.store import save

    say = (lambda text: None) if json or quiet else typer.echo
    output.mkdir(parents=True, exist_ok=True)
    with options.remarks(quiet):
        train, test = _corpus(seed)
        say(f"train: {train!r}")
        say(f"test:  {test!r}")
        save_dataset(train, output / "train.jsonl")
        save_dataset(test, output / "test.jsonl")
        tagger = make_tagger("onevsrest", [], seed=seed, jobs=jobs)
        start = time.perf_counter()
        tagger.fit(train)
        seconds = time.perf_counter() - start
        say(f"trained in {seconds:.1f} s")
        save(tagger, output / "model")
        evaluation = tagger.evaluate(test, random_state=seed)
        say(f"\n{evaluation}")
        evaluation.write_per_label_csv(output / "per-label.csv")
        content = json_module.dumps(evaluation.to_dict(), indent=2, ensure_ascii=False)
        (output / "evaluation.json").write_text(content + "\n", encoding="utf-8")
        examples = _examples(tagger, test)
    for example in examples:
        say(f"\n{example['id']}: {example['text']}")
        say(f"  predicted: {', '.join(example['predicted'])}")
        say(f"  true:      {', '.join(example['true'])}")
    written = {
        "train.jsonl": "training documents",
        "test.jsonl": "test documents",
        "model": "the model",
        "evaluation.json": "the figures above",
        "per-label.csv": "precision and recall of each label",
    }
    say(f"\nwritten to {output}:")
    for name, what in written.items():
        say(f"  {name:<16} {what}")
    say(f"\nnext: labelwood predict {output / 'model'} {output / 'test.jsonl'} -k 3")
    if json:
        options.print_json(
            {
                "directory": str(output),
                "written": list(written),
                "seconds": round(seconds, 3),
                "evaluation": evaluation.to_dict(),
                "examples": examples,
            }
        )


def _corpus(seed: int) -> "tuple[Dataset, Dataset]":
    from labelwood.data.corpora.pydocs import pydocs
    from labelwood.data.split import split

    return split(pydocs(), test_size=0.2, random_state=seed)


def _examples(tagger: Any, test: "Dataset", count: int = 3) -> list[dict[str, Any]]:
    """Unseen documents spread over the test set, with predicted and true labels."""
    chosen = test.select([(2 * i + 1) * len(test) // (2 * count) for i in range(count)])
    predicted = tagger.predict_topk(chosen, k=5).names()
    assert chosen.texts is not None
    assert chosen.ids is not None
    return [
        {
            "id": chosen.ids[i],
            "text": textwrap.shorten(chosen.texts[i], 90, placeholder=" …"),
            "predicted": predicted[i],
            "true": labels,
        }
        for i, labels in enumerate(chosen.label_lists())
    ]
