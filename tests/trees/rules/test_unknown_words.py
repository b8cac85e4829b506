import pytest

from labelwood.trees.rules.unknown_words import in_vocabulary


@pytest.mark.parametrize(
    ("unknown", "vocabulary", "shown"),
    [
        (["Etikett"], ["ab", "etikett"], "'Etikett' (is 'etikett' meant?)"),
        (["Café"], ["cafe"], "'Café' (is 'cafe' meant?)"),
        (["RÜCKGABE"], ["rückgabe"], "'RÜCKGABE' (is 'rückgabe' meant?)"),
        (["Straße"], ["strasse"], "'Straße' (is 'strasse' meant?)"),
        (["loss", "New York"], ["new york"], "'loss', 'New York' (is 'new york' meant?)"),
        (["loss"], [], "'loss'"),
    ],
)
def test_words_that_differ_by_case_or_accents_are_named(unknown, vocabulary, shown):
    assert in_vocabulary(unknown, vocabulary) == shown
