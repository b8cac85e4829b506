"""`labelwood info`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from labelwood.cli import options
from labelwood.cli.source import Source, is_model, with_source
from labelwood.core.names import count
from labelwood.errors import ParameterError

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset

_PLAIN = (bool, int, float, str, list, dict, type(None))  # what JSON has


@with_source
def info(
    source: Source,
    json: options.Json = False,
) -> None:
    """Describe a model directory or a data file (DATA may be either)."""
    path = Path(source.data[0])
    _refuse_several_models(source.data)
    if path.is_dir() and not is_model(path):
        raise ParameterError(f"{path} is no model, as it has no model.json; name a file in it")
    content = _model_info(path) if is_model(path) else _data_info(source.read())
    if json:
        options.print_json(content)
        return
    width = max(len(key) for key in content)
    for key, value in content.items():
        typer.echo(f"{key:<{width}}  {value}")


def _refuse_several_models(data: Sequence[str]) -> None:
    models = [one for one in data if is_model(one)]
    if models and len(data) > 1:
        raise ParameterError(f"models are shown one at a time: labelwood info {models[0]}")


def _model_info(path: Path) -> dict[str, Any]:
    from labelwood.store.directory import directory_size
    from labelwood.store.models import load, read_description
    from labelwood.tagger import Tagger

    description = read_description(path)
    model = load(path)
    estimator = model.estimator_ if isinstance(model, Tagger) else model
    content: dict[str, Any] = {"class": type(estimator).__name__}
    if isinstance(model, Tagger):
        content["input"] = "texts" if model.vectorizer_ is not None else "features"
        content["trained on"] = count(model.n_samples_, "sample")
    content["features"] = getattr(estimator, "n_features_in_", None)
    content["labels"] = int(estimator.classes_.size)
    content["parameters"] = {
        name: value if isinstance(value, _PLAIN) else repr(value)
        for name, value in estimator.get_params(deep=False).items()
        if name != "n_jobs"
    }
    if isinstance(model, Tagger) and model.vectorizer_ is not None:
        content["text parameters"] = model.vectorizer_.get_params()
    threshold = vars(model).get("threshold_")
    if isinstance(threshold, float):
        content["threshold"] = round(threshold, 4)
    if hasattr(estimator, "stop_reason_"):
        content["stopped by"] = estimator.stop_reason_
    if isinstance(model, Tagger) and len(model.rules):
        content["rules version"] = len(model.rules_history_)
        content["rules"] = str(model.rules).splitlines()
    content["megabytes"] = round(directory_size(path) / 2**20, 2)
    manifest = description["manifest"]
    content["data sha256"] = manifest.get("data_sha256")
    content["versions"] = manifest.get("versions")
    return content


def _data_info(dataset: "Dataset") -> dict[str, Any]:
    import numpy as np

    from labelwood.trees.coding.label_sets import label_sets

    counts = np.bincount(dataset.Y.indices, minlength=dataset.n_labels)
    content: dict[str, Any] = {"data": dataset.description, "samples": len(dataset)}
    if dataset.X is None:
        content["input"] = "texts"
    else:
        content["features"], content["non-zeros"] = dataset.X.shape[1], int(dataset.X.nnz)
    content["labels"] = dataset.n_labels
    content["labels per sample"] = round(dataset.Y.nnz / max(len(dataset), 1), 3)
    content["most labels of a sample"] = int(np.diff(dataset.Y.indptr).max(initial=0))
    content["different label sets"] = int(label_sets(dataset.Y).counts.size)
    content["samples without labels"] = int(np.count_nonzero(np.diff(dataset.Y.indptr) == 0))
    content["labels with < 5 samples"] = int(np.count_nonzero(counts < 5))
    order = np.argsort(-counts, kind="stable")[:5]
    names = dataset.label_names
    content["most frequent labels"] = {
        str(label) if names is None else names[label]: int(counts[label]) for label in order
    }
    return content
