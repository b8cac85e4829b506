"""From a DataFrame to a saved model and back, to a function that tags."""

import tempfile

import pandas as pd

import labelwood
from labelwood import Tagger

ARTICLES = pd.DataFrame(
    {
        "title": ["Owls at night", "Cats and mats", "A day for dogs", "Night of the cats"] * 10,
        "body": ["an owl hunts", "the cat sleeps", "the dog barks", "cats hunt at night"] * 10,
        "tags": [["bird", "night"], ["pet"], ["pet"], ["pet", "night"]] * 10,
    }
)


def main(folder: str) -> None:
    """Fit, measure, save, load, tag."""
    train, test = ARTICLES[8:], ARTICLES[:8]
    tagger = Tagger.from_frame(train, text=["title", "body"], labels="tags")
    print(f"micro-F1 {tagger.score(test['title'] + ' ' + test['body'], test['tags']):.2f}")
    labelwood.save(tagger, f"{folder}/model")

    loaded = labelwood.load(f"{folder}/model")

    def tag(text: str) -> list[str]:
        return loaded.predict([text], at_least_one=True)[0]

    print(tag("an owl hunts at night"))
    print(test.assign(predicted=loaded.predict_frame(test)["tags"])[["title", "predicted"]])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(name)
