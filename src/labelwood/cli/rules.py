"""`labelwood rules MODEL --label NAME` and `labelwood rules edit MODEL FILE`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from labelwood.cli import options
from labelwood.cli.source import Source
from labelwood.core.names import count, some

if TYPE_CHECKING:
    from labelwood.core.types import CSR, AnyArray


class _ShowByDefault(TyperGroup):
    """`labelwood rules model/` means `labelwood rules show model/`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments, with the name of the default command in front where it was left out."""
        known = {*self.commands, "--help"}
        if args and not any(one in known for one in args[:1]):
            args = ["show", *args]
        return list(super().parse_args(ctx, args))


rules = typer.Typer(
    name="rules",
    cls=_ShowByDefault,
    help="Rules that mimic a model's decision, and a person's rules on top of a model.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Data = Annotated[
    Path | None, typer.Option("--data", metavar="DATA", help="A data file to measure on.")
]


@rules.command()
def show(
    model: options.ModelPath,
    label: Annotated[
        str | None, typer.Option(help="Print rules that mimic the model's decision for it.")
    ] = None,
    data: Data = None,
    max_leaves: Annotated[
        int, typer.Option(parser=options.whole(2), metavar="INTEGER", help="Rules, at most.")
    ] = 12,
    jobs: options.Jobs = -1,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Print the person's rules of a model, or rules that mimic its decision for a label.

    Without --data the model is questioned with pseudo-documents, and fidelity is on those.
    """
    with options.remarks(quiet):
        tagger = options.read_tagger(model, jobs)
        if label is None:
            _show_rules(tagger, json)
            return
        found = _mimic(tagger, label, data, max_leaves)
    if json:
        options.print_json(
            {
                "label": label,
                "rules": found.rules.to_text().splitlines(),
                "fidelity": found.fidelity.value,
                "fidelity interval": list(found.fidelity.interval),
                "measured on": "pseudo-documents" if data is None else str(data),
            }
        )
        return
    typer.echo(str(found))
    if data is None:
        typer.echo("(measured on pseudo-documents; give --data for real ones)")


def _show_rules(tagger: Any, json: bool) -> None:
    lines = str(tagger.rules).splitlines()
    if json:
        options.print_json({"version": len(tagger.rules_history_), "rules": lines})
    else:
        typer.echo("\n".join(lines) or "no rules; add some with: labelwood rules edit MODEL FILE")


def _mimic(tagger: Any, label: str, data: Path | None, max_leaves: int) -> Any:
    import numpy as np

    from labelwood.errors import DataError
    from labelwood.trees.rules.mimic import mimic, pseudo_documents

    names = tagger.label_names_.tolist()
    if label not in names:
        raise DataError(f"the model has no label {label!r}; it has {some(names)}")
    place = names.index(label)

    def decide(X: "CSR") -> "AnyArray":
        return np.asarray(tagger._decide(X)[:, [place]].toarray()[:, 0] > 0)

    def score(X: "CSR") -> "AnyArray":
        scores = tagger.estimator_.decision_function(tagger._scaled(X))[:, [place]]
        return np.asarray(scores.toarray()[:, 0])

    width = tagger.estimator_.n_features_in_
    if data is None:
        X = pseudo_documents(score, width)
    else:
        found = Source([str(data)]).read(ignore_labels=True, tagger=tagger)
        X = tagger.unscaled_features(found)
    return mimic(decide, X, label, tagger.names_of_features(), max_leaves=max_leaves)


@rules.command()
def edit(
    model: options.ModelPath,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Rules for labels, one per line.")],
    data: Data = None,
    output: Annotated[
        Path | None,
        typer.Option(*options.OUTPUT, metavar="MODEL", help="Where to save; MODEL itself else."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change, save nothing.")] = (
        False
    ),
    jobs: options.Jobs = -1,
    quiet: options.Quiet = False,
) -> None:
    """Apply a file of rules to a model; with --data the change is shown before it is saved."""
    from labelwood.errors import DataError
    from labelwood.store.models import save

    text = _text_of_rules(file)
    with options.remarks(quiet):
        tagger = options.read_tagger(model, jobs)
        before = _precision_and_recall(tagger, data)
        named = {rule.label for rule in tagger.rules.rules}
        try:
            tagger.set_rules(text)
        except DataError as error:
            raise DataError(f"{file}: {error}") from None
        after = _precision_and_recall(tagger, data)
    # Labels of rules that are no longer there change as well.
    named |= {rule.label for rule in tagger.rules.rules}
    for label in sorted(named & before.keys()):
        changes = (
            f"{name} {old} -> {new}"
            for name, old, new in zip(
                ("precision", "recall"), before[label], after[label], strict=True
            )
        )
        typer.echo(f"{label}: {', '.join(changes)}")
    n = count(len(tagger.rules), "rule")
    if dry_run:
        typer.echo(f"{n} read; nothing saved (--dry-run)")
        return
    save(tagger, output or model)
    typer.echo(f"{n} saved as version {len(tagger.rules_history_)} in {output or model}")


def _text_of_rules(file: Path) -> str:
    """The text of a file, refused when it is empty: by mistake it would remove all rules."""
    from labelwood.core.io import read_source
    from labelwood.errors import DataError

    source = read_source(file, may_be_empty=True)
    if source.is_empty:
        raise DataError(
            f"{file} is empty; write rules, one per line, or to remove all rules of the model a "
            "comment in their place: # none"
        )
    return source.decode(source.data, 1)


def _precision_and_recall(tagger: Any, data: Path | None) -> dict[str, tuple[str, str]]:
    """Precision and recall of every label on a data file; nothing without one."""
    import numpy as np

    from labelwood.tagger.names import matched_labels

    if data is None:
        return {}
    dataset = Source([str(data)]).read(tagger=tagger)
    truth, names, _ = matched_labels(tagger.label_names_, dataset)
    decided = tagger._decide(tagger.unscaled_features(dataset))
    decided.resize(truth.shape)
    hits = np.asarray((truth * decided).sum(axis=0)).ravel()
    given = np.asarray(decided.sum(axis=0)).ravel()
    true = np.asarray(truth.sum(axis=0)).ravel()

    def share(top: float, bottom: float) -> str:
        return f"{top / bottom:.1%}" if bottom else "–"

    return {
        name: (share(hits[i], given[i]), share(hits[i], true[i])) for i, name in enumerate(names)
    }
