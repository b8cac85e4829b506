import json

import numpy as np
import pytest
from typer.testing import CliRunner

import labelwood
from labelwood.cli.main import app
from labelwood.errors import DataError, LabelwoodWarning, ModelError, ParameterError


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    texts = ["a cat on a mat", "a dog in a fog", "the cat and the dog", "a cat in a fog"]
    data = labelwood.Dataset.from_lists(texts, [["cat"], ["dog"], ["cat", "dog"], ["cat"]])
    tagger = labelwood.Tagger(labelwood.PopularityClassifier()).fit(data)
    folder = tmp_path_factory.mktemp("watch") / "model"
    labelwood.save(tagger, folder)
    return folder


def lines(n, shift=0.0, seed=0, first=0):
    rng = np.random.default_rng(seed)
    for i in range(n):
        top, second = rng.normal(0.8 - shift, 0.1), rng.normal(0.3, 0.1)
        labels = [{"label": "cat", "score": top}, {"label": "dog", "score": second}]
        yield json.dumps({"id": i, "time": first + i, "labels": labels, "latency": rng.gamma(50)})


def write(path, *parts):
    path.write_text("\n".join(line for part in parts for line in part) + "\n")
    return path


def run(*arguments, code=0, stdin=None):
    result = CliRunner().invoke(app, ["watch", *map(str, arguments)], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def test_a_healthy_log_exits_with_0(model, tmp_path):
    done = run(model, write(tmp_path / "log.jsonl", lines(400)))
    assert done.stdout.startswith("healthy after 400 predictions (top_score, margin, latency)")
    assert "P(degraded) 0.0" in done.stdout


def test_a_degraded_log_exits_with_3_and_tells_since_when(model, tmp_path):
    log = write(tmp_path / "log.jsonl", lines(400), lines(60, 0.3, seed=1, first=400))
    done = run(model, log, code=3)
    assert "degraded after 460 predictions" in done.stdout
    assert "changed at about 40" in done.stdout
    assert "prediction 40" in done.stderr
    found = json.loads(run(model, log, "--json", code=3).stdout)
    assert found["watched"] == ["top_score", "margin", "latency"]  # n_labels never changes
    assert found["now"]["degraded"]
    assert found["now"]["figures"] == ["top_score", "margin"]
    (event,) = found["events"]
    assert 401 <= event["step"] <= 410


def test_standard_input_and_a_named_figure(model):
    text = "\n".join(lines(300))
    done = run(model, "--figure", "latency", stdin=text)
    assert done.stdout.startswith("healthy after 300 predictions (latency)")


def test_the_state_carries_on_where_the_last_log_ended(model, tmp_path):
    state = tmp_path / "monitor.json"
    whole = write(tmp_path / "all.jsonl", lines(400), lines(60, 0.3, seed=1, first=400))
    first = write(tmp_path / "a.jsonl", lines(400))
    second = write(tmp_path / "b.jsonl", lines(60, 0.3, seed=1, first=400))
    run(model, first, "--state", state)
    parts = run(model, second, "--state", state, "--json", code=3).stdout
    assert json.loads(parts)["now"] == json.loads(run(model, whole, "--json", code=3).stdout)["now"]
    with pytest.raises(DataError, match="sort the log by time"):
        run(model, first, "--state", state)


def test_a_figure_that_some_predictions_lack_is_counted_in_the_log_and_not_in_the_state(
    model, tmp_path
):
    state = tmp_path / "monitor.json"
    run(model, write(tmp_path / "a.jsonl", lines(300)), "--figure", "latency", "--state", state)
    rest = [json.loads(one) for one in lines(100, seed=1, first=300)]
    gaps = [json.dumps({**one, "latency": None} if i % 2 else one) for i, one in enumerate(rest)]
    told = run(model, write(tmp_path / "b.jsonl", gaps), "--state", state).stdout
    assert told.startswith("healthy after 400 predictions")
    assert "latency is in only 50 of 100 predictions in this log, the last on line 99\n" in told


def test_a_short_log_is_still_learning(model, tmp_path):
    done = run(model, write(tmp_path / "log.jsonl", lines(50)))
    assert done.stdout.startswith("learning after 50 predictions")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--run-length", 1000], "--run-length 1000, but .* was started with 5000"),
        (["--baseline", 100], "--baseline 100, but .* was started with 200"),
        (["--figure", "latency"], "--figure latency, but .* was started with latency, margin, top"),
        (["--block", 7], "--block 7, but .* was started with"),
    ],
)
def test_options_that_contradict_the_state_are_refused(model, tmp_path, options, message):
    state = tmp_path / "monitor.json"
    run(model, write(tmp_path / "a.jsonl", lines(60)), "--state", state)
    before = state.read_text()
    log = write(tmp_path / "b.jsonl", lines(60, seed=1, first=60))
    with pytest.raises(ParameterError, match=message):
        run(model, log, "--state", state, *options)
    assert state.read_text() == before
    figures = [part for one in ("latency", "top_score", "margin") for part in ("--figure", one)]
    run(model, log, "--state", state, "--run-length", 5000, "--baseline", 200, *figures)


def counted_lines(n, seed=0):
    """Predictions of five labels that each come with probability 0.98, accepted or not."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        labels = [{"label": "cat", "score": 1.0}] * int(rng.binomial(5, 0.98))
        yield json.dumps({"time": i, "labels": labels, "accepted": bool(rng.random() < 0.9)})


def test_figures_far_from_normal_are_averaged_and_the_report_says_so(model, tmp_path):
    log = write(tmp_path / "log.jsonl", counted_lines(600))
    done = run(model, log)
    assert "healthy" not in done.stdout
    assert done.stdout.startswith("learning after 600 predictions")
    assert "averaged" in done.stderr
    found = json.loads(run(model, log, "--json").stdout)
    blocks = found["averaged_over"]
    assert 50 <= blocks["n_labels"] <= 300
    assert 30 <= blocks["accepted"] <= 300
    assert found["learning"] == ["margin", "n_labels", "accepted"][-len(found["learning"]) :]
    given = json.loads(run(model, log, "--json", "--block", 1).stdout)
    assert set(given["averaged_over"].values()) == {1}


def test_a_promise_that_no_block_can_keep_is_not_made(model, tmp_path):
    log = write(tmp_path / "log.jsonl", counted_lines(200))
    with pytest.warns(LabelwoodWarning, match="n_labels .* may alarm more often than promised"):
        run(model, log, "--figure", "n_labels", "--run-length", 500)


def test_a_figure_that_never_changes_is_named(model, tmp_path):
    done = run(model, write(tmp_path / "log.jsonl", lines(300)))
    assert "n_labels does not change in the first 200 predictions, so it is not" in done.stderr


def test_a_figure_may_be_null_at_times(model, tmp_path):
    rng = np.random.default_rng(0)
    text = "\n".join(
        json.dumps({"latency": rng.normal(5, 1), "quality": rng.normal() if i % 3 else None})
        for i in range(400)
    )
    done = run(model, "-", stdin=text)
    assert done.stdout.startswith(
        "healthy after 400 predictions (latency, quality)\n"
        "quality is in only 266 of 400 predictions in this log, the last on line 399\n"
    )
    found = json.loads(run(model, "-", "--json", stdin=text).stdout)
    assert (found["predictions"], found["predictions with"]) == (
        400,
        {"latency": 400, "quality": 266},
    )


def test_a_figure_that_ceases_is_told(model):
    values = np.random.default_rng(0).normal(5, 1, 600)
    text = "\n".join(
        json.dumps({"latency": x if i < 300 else None}) for i, x in enumerate(values.tolist())
    )
    assert "latency is in only 300 of 600 predictions in this log, the last on line 300\n" in (
        run(model, stdin=text).stdout
    )


def test_a_named_figure_that_never_changes_is_refused_with_options(model):
    text = "\n".join([json.dumps({"latency": 5.0})] * 250)
    with pytest.raises(DataError, match=r"constant over its baseline: .* others with --figure, or"):
        run(model, "--figure", "latency", stdin=text)


def test_a_byte_order_mark_does_no_harm(model):
    text = "\ufeff" + "\n".join(lines(300))
    assert run(model, "--figure", "latency", stdin=text).stdout.startswith("healthy after 300 pred")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1: not JSON: Expecting property name"),
        ("id,labels,scores\n1,cat,0.9", "line 1: not JSON: .* -o p.jsonl writes it; CSV is not r"),
        ("\ufeffid,labels,scores\n1,cat,0.9", "line 1: not JSON: a log of predictions is JSONL"),
        ("[1]", "line 1: not a JSON object"),
        ("0.93", "line 1: not a JSON object; write figures as"),
        ("", "holds no predictions"),
        ('{"latency": 1.0}\n{"latency": NaN}', "line 2: figure 'latency' is nan"),
        ('{"latency": 1.0}\n{"id": 2}', "line 2: no figure 'latency'"),
        ('{"latency": 1.0}\n{"latency": 1.0}', "no figure that varies"),
        (
            '{"latency": 1.0, "time": "2026-01-31"}\n{"latency": 2.0, "time": "noon"}',
            "line 2: time must be a number or a date like .* Got 'noon'",
        ),
        ('{"labels": [{"label": "owl", "score": 1}]}', "line 1: the model has no label 'owl'"),
    ],
)
def test_a_log_that_cannot_be_read_is_refused_with_its_line(model, tmp_path, text, message):
    (tmp_path / "log.jsonl").write_text(text)
    with pytest.raises(DataError, match=message):
        run(model, tmp_path / "log.jsonl")


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises((ModelError, OSError)):
        run(tmp_path, tmp_path / "log.jsonl")


def test_a_promise_out_of_range_is_refused(model, tmp_path):
    log = write(tmp_path / "log.jsonl", lines(30))
    done = run(model, log, "--run-length", 5, code=2)
    assert "--run-length" in done.stderr


def test_what_is_no_state_is_refused_with_its_file(model, tmp_path):
    (tmp_path / "state.json").write_text("{}")
    with pytest.raises(DataError, match=r"state\.json: not the state of a monitor"):
        run(model, write(tmp_path / "log.jsonl", lines(30)), "--state", tmp_path / "state.json")
