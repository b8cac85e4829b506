"""Docstrings without their answers."""

import re
import textwrap

import pytest

from labelwood.data.corpora._docstrings import strip_answer


@pytest.mark.parametrize(
    ("style", "docstring"),
    [
        (
            "numpydoc",
            """
            Mix the colors.

            Parameters
            ----------
            volume : int
                Secret.

                More secret.
            **kwargs
                Secret.

            Other Parameters
            ----------------
            color
                Secret.

            Returns
            -------
            Something mixed.

            Examples
            --------
            mix(volume=secret)
            """,
        ),
        (
            "google",
            """
            Mix the colors.

            Args:
                volume (int): Secret.
                    Secret.

                color: Secret.

            Returns:
                Something mixed.

            Keyword Arguments:
                - secret
            """,
        ),
        (
            "sphinx",
            """
            Mix the colors.

            :param int volume: Secret,
                very secret.
            :type volume: secret
            :keyword color: secret
            :returns: Something mixed.
            """,
        ),
        (
            "by hand",
            """
            mix(volume, color) -> secret

            Mix the colors.
            paint.mix(secret)

            - *volume* -- secret
              and so on, secret
            'color' - secret
            volume, color: secret
            ``volume`` or ``color`` (secret): secret

            Something mixed.

            >>> mix(volume=1)
            secret
            """,
        ),
    ],
)
def test_the_answer_is_stripped_in_every_style(style, docstring):
    text = strip_answer(textwrap.dedent(docstring).strip(), "mix", ["volume", "color"])

    assert text.startswith("Mix the colors.")
    assert "Something mixed." in text
    assert "secret" not in text.lower()
    assert not re.search(r"^[-=]+$", text, re.MULTILINE)


def test_prose_keeps_the_names_of_parameters():
    text = "Where volume is given, the color is mixed: see the notes.\n\n    volume of it"

    assert strip_answer(text, "mix", ["volume", "color"]) == text


def test_definitions_of_other_things_stay():
    text = "Mix.\n\nresult : int\n    What comes out."

    assert strip_answer(text, "mix", ["volume"]) == text


def test_a_docstring_that_is_all_answer_leaves_nothing():
    assert strip_answer("Parameters\n----------\nx : int", "f", ["x"]) == ""
