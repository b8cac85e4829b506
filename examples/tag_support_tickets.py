"""From a CSV of support tickets to tags with probabilities in a CSV."""

import csv
import tempfile
from pathlib import Path

from labelwood import Tagger, load_dataset

TICKETS = [
    ("I cannot log in, the password is refused", "account"),
    ("please reset my password", "account"),
    ("the invoice shows the wrong amount", "billing"),
    ("refund the amount on my last invoice", "billing"),
    ("the app crashes when I open a file", "bug"),
    ("crash after the update, the file is lost", "bug"),
    ("login crashes the app, is my password lost?", "account;bug"),
    ("the app shows the wrong invoice amount", "billing;bug"),
]


def write_tickets(path: Path, copies: int = 10) -> None:
    """A spreadsheet as people export it: two columns, labels separated by semicolons."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "labels"])
        writer.writerows(TICKETS * copies)


def main(folder: Path) -> None:
    """Train on the spreadsheet, tag new tickets, and write what was found."""
    write_tickets(folder / "tickets.csv")
    tagger = Tagger().fit(load_dataset(folder / "tickets.csv"))
    print(f"labels are predicted from a probability of {tagger.threshold_:.2f}")
    new = ["my password does not work", "the amount is wrong and the app crashed"]
    table = tagger.predict_frame(new, long=True, at_least_one=True)
    table.to_csv(folder / "tags.csv", index=False)
    print((folder / "tags.csv").read_text(encoding="utf-8"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
