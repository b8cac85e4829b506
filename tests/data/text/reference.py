"""The rules of the tokenizer in plain Python, as an oracle, and random texts to try them on."""

import random
import re
import unicodedata
from collections import Counter

POOL = (
    "aAbBzZ0179_ΣσςΑαİıßẞéÅ가힣ȺﷺǅǄ½²٣五日本のテ。、😀👍🏽❤\ufe0f\u200d\u0301\u0e01\u0e31\u00ad"
    ".,:!?'’-–()  \t\n\u00a0\u2028\0"
)


def decoded(text):
    """A text as the tokenizer reads it: what is not a character is a space."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return "".join(" " if c == "\ufffd" or 0xD800 <= ord(c) < 0xE000 else c for c in text)


def normalized(text, rule):
    text = decoded(text)
    if rule.lowercase:
        text = text.lower()
    if rule.fold_accents:
        parts = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in parts if not unicodedata.combining(c))
    if rule.fold_digits:
        text = "".join("0" if c.isdecimal() else c for c in text)
    return text


def words(text, rule):
    found = re.findall(r"\w+|[^\w\s]" if rule.symbols else r"\w+", text)
    return [
        token
        for token in found
        if (len(token) >= rule.shortest and re.match(r"\w", token))
        or (not re.match(r"\w", token) and unicodedata.category(token)[0] in "PS")
    ]


def sequences(tokens, longest):
    return [
        " ".join(tokens[i : i + n])
        for i in range(len(tokens))
        for n in range(1, longest + 1)
        if i + n <= len(tokens)
    ]


def grams(text, low, high):
    """Character n-grams within words, as scikit-learn's `char_wb`."""
    found = []
    for run in text.split():
        padded = f" {run} "
        for n in range(low, high + 1):
            found.extend(padded[i : i + n] for i in range(max(len(padded) - n, 0) + 1))
            if len(padded) <= n:
                break
    return found


def terms(text, rule):
    """How often a text has each term of a rule."""
    text = normalized(text, rule)
    if rule.chars:
        return Counter(grams(text, rule.low, rule.high))
    return Counter(sequences(words(text, rule), rule.high))


def random_unicode(n, seed):
    rng = random.Random(seed)

    def char():
        if rng.random() < 0.75:
            return rng.choice(POOL)
        return chr(rng.randrange(0x110000 if rng.random() < 0.5 else 0x3000))

    return ["".join(char() for _ in range(rng.choice((0, 3, 12, 70)))) for _ in range(n)]


def random_bytes(n, seed):
    rng = random.Random(seed)
    lead = bytes([0xCE, 0xA3, 0xE0, 0xED, 0xA0, 0xEF, 0xBF, 0xBD, 0xF0, 0x9F, 0x98, 0x80, 0xF4])

    def byte():
        kind = rng.random()
        if kind < 0.4:
            return rng.choice(b"abAB 09.,")
        return rng.choice(lead) if kind < 0.7 else rng.randrange(256)

    return [bytes(byte() for _ in range(rng.choice((0, 2, 9, 70)))) for _ in range(n)]
