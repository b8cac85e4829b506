import pytest

from labelwood.studies._plot import GRAY, draw_panels, svg

ROWS = [
    {"data": "one", "learner": "tree", "size": 10, "error": 3.0},
    {"data": "one", "learner": "tree", "size": 100, "error": 2.0},
    {"data": "one", "learner": "line", "size": 10, "error": 5.0},
    {"data": "one", "learner": "line, published", "error": 4.0},
    {"data": "two", "learner": "tree", "size": 10, "error": 1.0},
    {"data": "two", "learner": "line", "size": 10, "error": None},
]


@pytest.fixture
def figure():
    matplotlib = pytest.importorskip("matplotlib.figure")
    made = matplotlib.Figure(layout="constrained")
    draw_panels(made, ROWS, panel="data", curve="learner", x="size", y="error")
    return made


def test_each_value_has_a_panel_with_its_own_curves(figure):
    assert [axes.get_title() for axes in figure.axes] == ["one", "two"]
    found = [
        [(line.get_label(), *map(list, line.get_data())) for line in axes.lines]
        for axes in figure.axes
    ]
    assert found[0][:2] == [("tree", [10, 100], [3.0, 2.0]), ("line", [10], [5.0])]
    assert found[1] == [("tree", [10], [1.0])]


def test_a_figure_without_a_place_is_a_dashed_line_in_the_color_of_its_curve(figure):
    _, line, published = figure.axes[0].lines
    assert list(published.get_ydata()) == [4.0, 4.0]
    assert published.get_linestyle() == "--"
    assert published.get_color() == line.get_color()


def test_one_legend_names_every_curve_once(figure):
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["tree", "line", "line, published"]


@pytest.mark.parametrize(("largest", "shown"), [(50, [1, 2, 5, 10, 20, 50]), (2e4, [1, 10, 100])])
def test_ticks_of_a_wide_axis_are_powers_alone(largest, shown):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    rows = [{"data": "a", "learner": "b", "x": x, "y": 1.0} for x in (1, largest)]
    draw_panels(figure, rows, panel="data", curve="learner", x="x", y="y")
    ticks = [tick for tick in figure.axes[0].get_xticks() if 1 <= tick <= 100]
    assert ticks[: len(shown)] == pytest.approx(shown)


def test_curves_that_are_called_the_same_up_to_a_comma_have_their_own_colors():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    names = ("tree", "tree, pruned", "line")
    rows = [{"data": "a", "learner": name, "x": x, "y": 1.0} for name in names for x in (1, 2)]
    draw_panels(figure, rows, panel="data", curve="learner", x="x", y="y")
    assert len({line.get_color() for line in figure.axes[0].lines}) == len(names)


def test_long_names_leave_a_legend_fewer_columns():
    columns = []
    for name in ("tree", "a tree with many words in its name"):
        figure = pytest.importorskip("matplotlib.figure").Figure(layout="constrained")
        rows = [{"data": "a", "learner": f"{name} {i}", "x": 1, "y": 1.0} for i in range(4)]
        draw_panels(figure, rows, panel="data", curve="learner", x="x", y="y")
        columns.append(figure.legends[0]._ncols)
    assert columns[0] > columns[1] == 1


def test_a_plot_has_no_background_and_gray_text():
    pytest.importorskip("matplotlib")
    drawn = svg(
        lambda figure, rows: draw_panels(
            figure, rows, panel="data", curve="learner", x="size", y="error"
        ),
        ROWS,
    ).decode()
    assert "fill: #ffffff" not in drawn
    assert GRAY in drawn
    assert "#000000" not in drawn
