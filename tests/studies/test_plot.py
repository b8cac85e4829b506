import pytest

from labelwood.studies._plot import draw_panels

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


def test_a_figure_without_a_place_is_a_dashed_line_in_the_colour_of_its_curve(figure):
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
