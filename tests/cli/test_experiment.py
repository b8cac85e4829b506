import json

import pytest
from typer.testing import CliRunner

from labelwood.cli.main import app
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.experiments.best_arm.rewards import Bernoulli, Bounded, SubGaussian
from labelwood.experiments.plan import plan
from labelwood.experiments.sequence import ExperimentSequence
from labelwood.experiments.simulation.simulate import Setting, simulate


def run(*arguments, code=0):
    """The command line in this process; its standard output."""
    words = ["experiment", *(str(one) for one in arguments)]
    result = CliRunner().invoke(app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.stdout if code != 2 else result.output


@pytest.fixture
def ledger(tmp_path):
    """The file of a ledger with two entries."""
    sequence = ExperimentSequence(0.1)
    for rewards in ((0, 1), (0, 0)):
        experiment = sequence.open(2, reward=Bernoulli(bound="beta"))
        for _ in range(60):
            for arm, reward in enumerate(rewards):
                experiment.record(arm, reward)
        sequence.close()
    path = tmp_path / "ledger.json"
    sequence.ledger.write(path)
    return path


# verify


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_a_ledger_that_was_left_alone_is_confirmed(ledger, suffix):
    from labelwood.experiments.ledger.ledger import Ledger

    path = ledger.with_suffix(f".{suffix}")
    Ledger.read(ledger).write(path)
    out = run("verify", path)
    assert f"{path}: lord at 0.1: 2 experiments, 1 discovery: every level, wealth, dec" in out
    found = json.loads(run("verify", path, "--json"))
    assert found["ok"] is True
    assert (found["procedure"], found["alpha"], found["n_entries"]) == ("lord", 0.1, 2)
    assert f"head {found['head']}" in out
    assert "head is recorded" not in run("verify", path, "--head", found["head"])
    out = run("verify", path, "--head", "3:" + 64 * "0", code=1)
    assert f"the ledger: head is recorded as '{found['head']}', but '3:0" in out


def test_a_change_is_named_and_gives_exit_code_1(ledger):
    content = json.loads(ledger.read_text(encoding="utf-8"))
    content["entries"][1]["wealth_after"] = 0.5
    ledger.write_text(json.dumps(content), encoding="utf-8")
    out = run("verify", ledger, code=1)
    assert "entry 2: wealth_after is recorded as 0.5, but 0.0" in out
    found = json.loads(run("verify", ledger, "--json", code=1))
    assert (found["ok"], found["entry"], found["field"]) == (False, 2, "wealth_after")


def test_a_file_that_is_no_ledger_is_an_error(tmp_path):
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(DataError, match=r"x\.json is not a ledger of labelwood"):
        run("verify", tmp_path / "x.json")
    with pytest.raises(DataError, match=r"absent\.json: there is no such file"):
        run("verify", tmp_path / "absent.json")


# plan


def test_a_plan_is_that_of_python():
    arguments = ["--arms", 3, "--gap", 0.4, "--level", 0.1, "--bound", "beta", "--runs", 40]
    content = json.loads(run("plan", *arguments, "--seed", 7, "--json", "--quiet"))
    found = plan(3, 0.4, 0.1, reward=Bernoulli(bound="beta"), runs=40, random_state=7)
    assert content["samples"] == {"50 %": found.n_samples[0.5], "90 %": found.n_samples[0.9]}
    assert (content["found"], content["wrong"]) == (found.found, found.wrong)
    assert content["means"] == list(found.means)
    assert content["max_samples"] == found.max_samples


def test_a_plan_for_people():
    out = run("plan", "--arms", 2, "--gap", 0.5, "--runs", 20, "--quiet")
    assert out.startswith("2 arms, one better by 0.5, level 0.05, policy best_arm\n")
    assert "90 % of 20 runs need" in out
    assert "ended with the best arm  100.0 %" in out


def test_a_plan_that_meets_its_limit_says_so():
    limited = ["--arms", 2, "--gap", 0.1, "--max-samples", 50, "--runs", 20, "--quiet"]
    content = json.loads(run("plan", *limited, "--json"))
    assert content["samples"] == {"50 %": None, "90 %": None}
    assert content["undecided"] == 1
    assert "50 % of 20 runs need     over 50\n" in run("plan", *limited)


# simulate


def test_a_simulation_is_that_of_python():
    arguments = ["--means", "0,0.5,1.5", "--reward", "gaussian", "--sigma", 2, "--runs", 50]
    content = json.loads(run("simulate", *arguments, "--seed", 3, "--json", "--quiet"))
    setting = Setting(100_000, reward=SubGaussian(2.0))
    done = simulate([0, 0.5, 1.5], 0.05, setting, runs=50, random_state=3)
    assert [one["mean"] for one in content["arms"]] == [0, 0.5, 1.5]
    assert [one["ended_with"] for one in content["arms"]] == [
        (done.ended_with == arm).mean() for arm in range(3)
    ]
    assert [one["samples"] for one in content["arms"]] == done.counts.mean(axis=0).tolist()
    assert content["undecided"] == (done.ended_with < 0).mean()
    assert content["samples"]["50 %"] in done.n_samples


def test_a_simulation_for_people():
    out = run("simulate", "--means", "0.2,0.9", "--runs", 20, "--policy", "uniform", "--quiet")
    assert out.startswith("20 runs, level 0.05, policy uniform\n")
    assert "0 (control)" in out
    assert "control rejected: 100.0 %" in out


def test_a_simulation_that_meets_its_limit_says_so():
    limited = ["--means", "0.5,0.51", "--max-samples", 2000, "--runs", 20, "--quiet"]
    content = json.loads(run("simulate", *limited, "--json"))
    assert content["samples"] == {"50 %": None, "90 %": None}
    assert (content["undecided"], content["max_samples"]) == (1, 2000)
    assert "50 % of the runs need over 2,000 samples\n" in run("simulate", *limited)


def test_rewards_of_every_kind_can_be_drawn():
    base = ["simulate", "--runs", 10, "--json", "--quiet"]
    stars = [*base, "--means", "2,4.5", "--reward", "bounded", "--range", "1,5"]
    assert json.loads(run(*stars))["rejected"] == 1
    done = simulate([2, 4.5], 0.05, Setting(100_000, reward=Bounded(1, 5)), runs=10, random_state=0)
    assert json.loads(run(*stars))["samples"]["50 %"] in done.n_samples


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--means", "0.1,x"], "--means takes numbers with commas between. Got '0.1,x'"),
        (["--means", "0.1"], "means must hold a number for each of at least 2 arms"),
        (["--means", "0,2"], "means must be finite and in"),
        (["--means", "0,1", "--reward", "poisson"], "--reward must be one of bernoulli, bounded"),
        (["--means", "0,1", "--sigma", 2], "--sigma does not apply to bernoulli rewards"),
        (["--means", "0,1", "--range", "0,2"], "--range does not apply to bernoulli rewards"),
        (
            ["--means", "0,1", "--reward", "bounded"],
            "bounded rewards need --range LOW,HIGH. Got None",
        ),
        (
            ["--means", "0,1", "--reward", "gaussian", "--bound", "beta"],
            "--bound does not apply to gaussian rewards",
        ),
        (["--means", "0,1", "--policy", "greedy"], "^--policy must be one of"),
        (["--means", "0,1", "--epsilon", "nan"], "^--epsilon must be a number ≥ 0"),
        (
            ["--means", "0,1", "--bound", "tight"],
            "--bound must be one of lil, beta, betting, mixture. Got 'tight'",
        ),
        (
            ["--means", "0,1", "--policy", "lucb++", "--bound", "mixture"],
            r"^--policy 'lucb\+\+' goes by .* needs --bound lil or beta. Got --bound 'mixture'",
        ),
        (
            ["--means", "0,1", "--reward", "bounded", "--range", "5,1"],
            "^the high end of --range must be a number > 5",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises((DataError, ParameterError), match=message):
        run("simulate", *arguments)


@pytest.mark.parametrize("command", [["plan", "--arms", 2, "--gap", 0.5], ["simulate"]])
def test_a_level_lies_between_0_and_1(command):
    means = ["--means", "0,1"] if command == ["simulate"] else []
    assert "a level lies between 0 and 1" in run(*command, *means, "--level", 1, code=2)


def test_a_plan_needs_a_number_for_epsilon():
    with pytest.raises(ParameterError, match=r"^--epsilon must be a number"):
        run("plan", "--arms", 2, "--gap", 0.5, "--epsilon", "nan")


@pytest.mark.parametrize("command", [["plan", "--uplift", 0.5], ["simulate", "--means", "10%,60%"]])
def test_rates_and_levels_may_be_percentages(command):
    given = [["--level", level, "--epsilon", e] for level, e in (("0.1", "0.02"), ("10%", "2%"))]
    first, second = (run(*command, *one, "--runs", 5, "--quiet") for one in given)
    assert first == second
    assert "level 0.1" in first


def test_a_plan_names_its_options():
    with pytest.raises(ParameterError, match=r"^--uplift must be a number > 0. Got 0"):
        run("plan", "--uplift", 0)
    with pytest.raises(ParameterError, match=r"^--uplift must be a number > 0 and ≤ 1\. Got 2"):
        run("plan", "--uplift", 2)
    with pytest.raises(ParameterError, match=r"give another --baseline or --uplift \(1% is 0.01"):
        run("plan", "--uplift", 1)
    assert "must be an int ≥ 2. Got '1'" in run("plan", "--uplift", 0.1, "--arms", 1, code=2)


def test_without_a_subcommand_there_is_help():
    result = CliRunner().invoke(app, ["experiment"])
    assert all(name in result.output for name in ("plan", "simulate", "verify"))


# analyze


@pytest.fixture
def counts(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("arm,visitors,conversions\nold,8100,415\nnew,8020,530\n")
    return path


def test_counts_give_a_verdict_a_plot_and_json(counts, tmp_path):
    out = run("analyze", counts, "--uplift", "1%", "--plot", tmp_path / "p.svg")
    assert out.startswith("new is better than old: new 6.61 % against old 5.12 %")
    assert "valid at every look" in out
    assert (tmp_path / "p.svg").read_text().startswith("<svg")
    content = json.loads(run("analyze", counts, "--json", "--uplift", 0.01, "--control", "new"))
    assert (content["control"], content["better_than_control"]) == ("new", [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--uplift", 3], "^--uplift must be a number > 0 and < 1: write 1% as 0.01. Got 3"),
        (["--uplift=-1%"], "^--uplift must be a number > 0 and < 1"),
        (["--split", 0], "^--split must be a number"),
        (["--evidence", "foo"], "^--evidence must be one of 'bounds', 'betting', 'mixture'"),
        (["--control", "The policy "], "the control 'The policy ' is none of the arms old, new"),
        (["--control", "it's evidence="], 'the control "it\'s evidence=" is none of the arms'),
        (["--plot", "x.png"], r"^--plot writes SVG; name a file that ends in .svg. Got 'x\.png'"),
    ],
)
def test_options_of_an_analysis_that_make_no_sense_are_refused(counts, arguments, message):
    with pytest.raises(ParameterError, match=message):
        run("analyze", counts, *arguments)


def test_counts_of_an_older_spreadsheet_are_read(tmp_path):
    counts = tmp_path / "counts.csv"
    counts.write_bytes("arm,visitors,conversions\nalté,8100,415\nnew,8020,530\n".encode("cp1252"))
    assert "new 6.61 % against alté 5.12 %" in run("analyze", counts)
    assert (
        "encoding cp1252" in CliRunner().invoke(app, ["experiment", "analyze", str(counts)]).stderr
    )


def test_an_encoding_that_cannot_be_inferred_is_given(tmp_path):
    counts = tmp_path / "counts.csv"
    counts.write_text("arm,visitors,conversions\nстарый,8100,415\nновый,8020,530\n", "cp1251")
    with pytest.raises(DataError, match="save the file as UTF-8, or give its encoding by --encod"):
        run("analyze", counts)
    assert "новый is better than старый" in run("analyze", counts, "--encoding", "cp1251")


def test_visitors_that_contradict_the_split_are_warned_of_with_the_one_to_give(tmp_path):
    counts = tmp_path / "counts.csv"
    counts.write_text("arm,visitors,conversions\nold,90000,4500\nnew,10000,700\n")
    with pytest.warns(LabelwoodWarning, match=r"where --split 1 expects.*give --split 0\.111, as "):
        out = run("analyze", counts)
    assert out.startswith("No verdict yet")
    assert run("analyze", counts, "--split", "0.111").startswith("new is better than old")


def test_a_percentage_that_is_none_is_refused(counts):
    assert "a percentage such as 5%" in run("analyze", counts, "--uplift", "much", code=2)


def test_a_plan_with_a_baseline_compares_bounds_with_a_z_test():
    words = ["--baseline", "30%", "--uplift", "20%", "--runs", 20, "--quiet"]
    content = json.loads(run("plan", *words, "--json"))
    assert content["means"] == [0.3, 0.5]
    n = {name: samples["50 %"] for name, samples in content["bounds"].items()}
    assert n["betting"] == content["samples"]["50 %"]
    assert max(n["betting"], n["mixture"]) < n["beta"] < n["lil"]
    assert content["z_test"]["n_samples"] == 242
    assert 0.15 < content["z_test"]["false_alarms"] < 0.35
    one = content["z_test_one_sided"]
    assert one["n_samples"] < 242
    assert (one["two_sided"], content["z_test"]["two_sided"]) == (False, True)
    out = run("plan", *words)
    assert "valid at every look, one-sided" in out
    assert f"z-test, one-sided{one['n_samples']:>33,}  like those above, at one look" in out
    assert f"z-test, two-sided{242:>33,}  at one look only" in out
    assert "\nwatched 20 times, z-tests find a difference of equal arms in\n" in out
    assert " % one-sided: the treatment seems better\n" in out
    assert " % two-sided: either arm seems better\n" in out
    assert "proved for bound lil" in out
