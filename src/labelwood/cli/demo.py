"""`labelwood demo`: every step once, on a corpus that every machine has."""

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options
from labelwood.cli.interrupt import stop_if_interrupted

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset

# A third of the documents of `pydocs()`, so that the demo takes seconds and not a minute.
_PACKAGES = ("joblib", "numpy", "stdlib")
_WRITTEN = {
    "train.jsonl": "training documents",
    "test.jsonl": "test documents",
    "model": "the trained model",
    "evaluation.json": "the metrics above",
    "per-label.csv": "precision and recall of each label",
}


def demo(
    output: Annotated[
        Path, typer.Option(*options.OUTPUT, metavar="DIR", help="Directory for what is made.")
    ] = Path("labelwood-demo"),
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Build a corpus of Python docstrings, train, evaluate, and tag three unseen documents."""
    from labelwood import OneVsRestSVM, Tagger
    from labelwood.cli.learners import make_vectorizer
    from labelwood.data.corpora.pydocs import pydocs
    from labelwood.data.load import load_dataset, save_dataset
    from labelwood.data.splits import split
    from labelwood.store.models import save

    output.mkdir(parents=True, exist_ok=True)
    with options.remarks(quiet):
        parts = split(pydocs(_PACKAGES), test_size=0.2, random_state=seed)
        for part, name in zip(parts, ("train.jsonl", "test.jsonl"), strict=True):
            save_dataset(part, output / name)
        # From the files, so that `labelwood train` on them gives the same model.
        train, test = (load_dataset(output / name) for name in ("train.jsonl", "test.jsonl"))
        tagger = Tagger(
            OneVsRestSVM(random_state=seed, n_jobs=jobs), make_vectorizer([], seed=seed, jobs=jobs)
        )
        stopwatch = options.Stopwatch()
        tagger.fit(train)
        seconds = stopwatch.seconds
        evaluation = tagger.evaluate(test, random_state=seed)
    stop_if_interrupted()
    save(tagger, output / "model")
    (output / "evaluation.json").write_text(evaluation.to_json() + "\n", encoding="utf-8")
    evaluation.write_per_label_csv(output / "per-label.csv")
    examples = _examples(tagger, test)
    if json:
        summary = {"directory": str(output), "written": list(_WRITTEN), "seconds": seconds}
        figures = evaluation.to_dict()
        options.print_json({**summary, "evaluation": figures, "examples": examples})
        return
    typer.echo(f"train: {train!r}\ntest:  {test!r}")
    typer.echo(f"trained in {seconds:.1f} s\n\n{evaluation}\n")
    _show_examples(examples)
    typer.echo(f"written to {output}:")
    for name, what in _WRITTEN.items():
        typer.echo(f"  {name:<16} {what}")
    typer.echo(f"\nnext: labelwood predict {output / 'model'} {output / 'test.jsonl'} -k 3")


def _examples(tagger: Any, test: "Dataset", count: int = 3) -> list[dict[str, Any]]:
    """Unseen documents spread over the test set, with predicted and true labels."""
    chosen = test.select([(2 * i + 1) * len(test) // (2 * count) for i in range(count)])
    predicted = tagger.predict_topk(chosen, k=5).names()
    rows = zip(chosen.ids or (), chosen.texts or (), predicted, chosen.label_lists(), strict=True)
    return [
        {"id": name, "text": text, "predicted": labels, "true": true}
        for name, text, labels, true in rows
    ]


def _show_examples(examples: list[dict[str, Any]]) -> None:
    for example in examples:
        text = textwrap.shorten(example["text"], 90, placeholder=" …")
        typer.echo(f"{example['id']}: {text}")
        typer.echo(f"  predicted: {', '.join(example['predicted'])}")
        typer.echo(f"  true:      {', '.join(example['true'])}\n")
