"""Which columns hold the texts, labels and ids: as given, as a model knows them, or by usual names.

A guess is made only where one column has such a name; several are an error that lists them.
"""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from labelwood.core.caller import user_stacklevel
from labelwood.core.io import Source
from labelwood.core.names import count, shown, some
from labelwood.data.readers.options import ReadOptions
from labelwood.errors import LabelwoodWarning

_BODIES = (
    *("text", "texts", "body", "content", "contents", "comment", "comments", "message"),
    *("description", "abstract", "document", "review", "sentence", "question", "utterance"),
    *("tweet", "post", "article", "fulltext", "full_text", "comment_text"),
    *("nachricht", "beschreibung", "inhalt", "kommentar", "anfrage", "frage", "volltext"),
    *("texte", "contenu", "commentaire", "avis"),
    *("texto", "contenido", "comentario", "mensaje", "descripción", "descripcion"),
)
_TITLES = (
    *("title", "headline", "heading", "subject", "summary"),
    *("betreff", "titel", "überschrift", "ueberschrift", "titre", "objet", "título", "titulo"),
    "asunto",
)
_LABELS = (
    *("label", "labels", "tag", "tags", "category", "categories", "class", "classes"),
    *("topic", "topics", "keyword", "keywords", "subjects", "subject_uris", "target", "targets"),
    *("schlagwort", "schlagwörter", "schlagworte", "schlagwoerter", "stichwort", "stichwörter"),
    *("stichworte", "stichwoerter", "kategorie", "kategorien", "klasse", "klassen", "themen"),
    *("étiquette", "étiquettes", "etiquette", "etiquettes", "catégorie", "catégories", "categorie"),
    *("mots_clés", "mots_cles", "thème", "thèmes", "etiqueta", "etiquetas", "categoría"),
    *("categorías", "categoria", "categorias", "palabras_clave", "tema", "temas"),
)
_IDS = (
    *("id", "uid", "uuid", "key", "identifier", "doc_id", "docid", "document_id", "ticket_id"),
    *("ticket_nr", "ticket_no", "ticket_number", "ticketnummer"),
)
# These may as well be a count, or a label of 0 and 1: they are ids only where all of them differ.
_NUMBERS = ("nr", "no", "nummer", "number")
_NUMBERED = "rows are numbered from 0; name one by id_column"
_NO_IDS = f"no id column ({_NUMBERED})"
RANGE = ".."
DELIMITERS = (",", ";", "\t", "|")
"""What usually stands between the fields of a row."""


@dataclass(frozen=True)
class Columns:
    """The columns to read, and a remark on those that were guessed.

    `id_remark` is empty where the ids were given or are called just "id". `spare` are the columns
    that nothing was found in, one of which may hold ids.
    """

    text: tuple[str, ...]
    labels: tuple[str, ...] = ()
    id: str | None = None
    remark: str = ""
    id_remark: str = ""
    spare: tuple[str, ...] = ()

    @property
    def requires_ids(self) -> bool:
        """Whether a sample without an id is an error, and not a sign that the guess was wrong."""
        return self.id is not None and not self.id_remark

    @property
    def may_be_no_id(self) -> bool:
        """Whether the column of ids has a name that counts and labels have too."""
        return bool(self.id_remark) and plain(str(self.id)) in _NUMBERS

    def kept_ids(
        self, ids: Sequence[str | None], label_columns: Sequence[str] | None = None
    ) -> tuple[list[str] | None, str]:
        """The ids and the remark on them; none where the values show that they are no ids."""
        lost = {*self.spare, self.id} - {None, *(label_columns or ())}
        if self.id is None or self.id in (label_columns or ()):
            return None, _NO_IDS if lost else ""
        fault = self._fault(ids)
        if fault:
            return None, f"no ids from {shown(self.id)}, as {fault} ({_NUMBERED})"
        return [one for one in ids if one is not None], self.id_remark

    def others(self, names: Sequence[str], ids: Sequence[str | None]) -> list[str]:
        """The columns of `names` that may be labels of 0 and 1: neither texts nor ids.

        In a small table a column that counts holds 0 and 1 as well, but no value twice. Beside a
        column "yes" a column "no" of 0 and 1 is the other answer.
        """
        is_answer = plain(str(self.id)) == "no" and "yes" in map(plain, names)
        is_answer = is_answer and {"0", "1"}.issuperset(ids)
        may_be_label = self.may_be_no_id and (is_answer or self._fault(ids))
        used = self.text if may_be_label else (*self.text, self.id)
        return [name for name in names if name not in used]

    def _fault(self, ids: Sequence[str | None]) -> str:
        """What shows that values are no ids; empty where nothing does."""
        n_missing = sum(one is None for one in ids)
        if n_missing:
            return f"{count(n_missing, 'sample')} {'has' if n_missing == 1 else 'have'} none"
        if not self.may_be_no_id:
            return ""
        if len(set(ids)) < len(ids):
            return "values repeat"
        has_digits = all(any(map(str.isdigit, one)) for one in ids if one is not None)
        return "" if has_digits else "values are no numbers"


def plain(name: str) -> str:
    """A column name in lower case, with ``_`` for blanks and dashes.

    Examples
    --------
    >>> plain(" Full-Text ")
    'full_text'
    """
    return re.sub(r"[\s_\-]+", "_", name.strip().lower())


def looks_like_header(row: Sequence[str]) -> bool:
    """Whether one of the fields is a usual name of texts."""
    return any(plain(name) in (*_BODIES, *_TITLES) for name in row)


def choose_columns(
    source: Source, line: int | None, names: Sequence[str], options: ReadOptions
) -> Columns:
    """The columns of `names` that the options name or that have usual names.

    `text` is empty where no column has a usual name, and so is `labels`.
    """
    text, text_remark = _text(source, line, names, options)
    labels: tuple[str, ...] = ()
    label_remark = ""
    if not options.ignore_labels:
        labels, label_remark = _labels(source, line, names, options, text)
    for name in labels:
        if name in text:
            raise source.error(
                line,
                f"the column {shown(name)} is taken for the text already; name another one by "
                f"{'label' if options.label_column is not None else 'text'}_column",
            )
    ident, id_remark = _id(source, line, names, options, {*text, *labels})
    remark = ", ".join(filter(None, (text_remark, label_remark)))
    used = {*text, *labels, ident, *(_label_names(names, options) if options.ignore_labels else ())}
    spare = tuple(name for name in names if name.strip() and name not in used)
    return Columns(text, labels, ident, remark, id_remark, spare)


def _label_names(names: Sequence[str], options: ReadOptions) -> list[str]:
    """The columns that would be read for labels, whose content is not looked at."""
    given = options.label_column
    listed = (given,) if isinstance(given, str) else given or ()
    known = {*options.label_columns_of_model, *listed}
    return [name for name in names if name in known or plain(name) in ("labels", *_LABELS)]


def _text(
    source: Source, line: int | None, names: Sequence[str], options: ReadOptions
) -> tuple[tuple[str, ...], str]:
    if options.text_column is not None:
        given = options.text_column
        columns = (given,) if isinstance(given, str) and given in names else options.text_columns
        for name in columns:
            require(source, line, names, name, "text", options.delimiter)
        return columns, ""
    known = options.text_columns_of_model
    if known and set(known) <= set(names):
        return known, "" if known == ("text",) else f"text from {' and '.join(map(shown, known))}"
    _warn_of_missing(source, names, known)
    if "text" in names:
        return ("text",), ""
    found = [name for name in names if plain(name) == "text"]
    if not found:
        bodies = [name for name in names if plain(name) in _BODIES] or [
            name for name in names if "text" in plain(name).split("_")
        ]
        titles = [name for name in names if plain(name) in _TITLES]
        for alike in (bodies, titles):
            if len(alike) > 1:
                raise _several(source, line, "text", alike)
        found = titles + bodies
    elif len(found) > 1:
        raise _several(source, line, "text", found)
    return tuple(found), f"text from {' and '.join(map(shown, found))}" if found else ""


def _warn_of_missing(source: Source, names: Sequence[str], known: Sequence[str]) -> None:
    """Warn of data that have some of the columns of texts that a model learned from, but not all.

    Columns that share no name with those of the model may hold the same texts, and are remarked.
    """
    missing = [name for name in known if name not in names]
    if 0 < len(missing) < len(known):
        warnings.warn(
            f"the model learned from {' and '.join(map(shown, known))}, and {source.name} has no "
            f"{' and no '.join(map(shown, missing))}; rename the column, or expect worse tags",
            LabelwoodWarning,
            stacklevel=user_stacklevel(),
        )


def _labels(
    source: Source,
    line: int | None,
    names: Sequence[str],
    options: ReadOptions,
    text: Sequence[str],
) -> tuple[tuple[str, ...], str]:
    given = options.label_column
    if given is not None:
        if given in names:
            return (str(given),), ""
        listed = [one.strip() for one in given.split(",")] if isinstance(given, str) else given
        columns = tuple(name for one in listed for name in _range(source, line, names, one))
        return columns, ""
    known = options.label_columns_of_model
    if known and set(known) <= set(names) - set(text):
        remark = f"labels from {some(map(shown, known))}"
        return known, "" if known == ("labels",) else remark
    found = [name for name in names if name == "labels" and name not in text]
    if found:
        return ("labels",), ""
    for wanted in (("labels",), _LABELS):
        found = [name for name in names if plain(name) in wanted and name not in text]
        if len(found) > 1:
            raise _several(source, line, "label", found)
        if found:
            return (found[0],), f"labels from {shown(found[0])}"
    # Of several columns that the model learned from, one alone would be read for names of labels.
    found = [name for name in known if name in names and name not in text]
    if len(found) > 1:
        return tuple(found), f"labels from {some(map(shown, found))}"
    return (), ""


def _range(source: Source, line: int | None, names: Sequence[str], one: str) -> Sequence[str]:
    """A column by its name, or all from ``first..last``."""
    first, dots, last = one.partition(RANGE)
    if one in names or not dots:
        require(source, line, names, one, "label")
        return (one,)
    for name in (first, last):
        require(source, line, names, name.strip(), "label")
    start, end = names.index(first.strip()), names.index(last.strip())
    return names[min(start, end) : max(start, end) + 1]


def _id(
    source: Source,
    line: int | None,
    names: Sequence[str],
    options: ReadOptions,
    used: set[str],
) -> tuple[str | None, str]:
    if options.id_column is not None:
        require(source, line, names, options.id_column, "id")
        return options.id_column, ""
    if "id" in names:
        return "id", ""
    for wanted in (_IDS, _NUMBERS):
        found = [name for name in names if plain(name) in wanted and name not in used]
        if len(found) == 1:
            return found[0], f"ids from {shown(found[0])}"
        if found:  # ids are a convenience: where it is in doubt, samples are numbered
            break
    return None, ""


def require(
    source: Source,
    line: int | None,
    names: Sequence[str],
    name: str,
    kind: str,
    delimiter: str | None = None,
) -> None:
    """Refuse a column that is not there; a `delimiter` that divides nothing may be the cause."""
    if name in names:
        return
    alike = [one for one in names if plain(one) == plain(name)]
    meant = f" (is {shown(alike[0])} meant?)" if alike else ""
    remedy = f"name the right one by {kind}_column"
    if len(names) == 1 and delimiter is not None:
        other = next((mark for mark in DELIMITERS if mark in names[0]), None)
        if other is not None:
            remedy = f"is {other!r} the delimiter, which was given as {delimiter!r}?"
    raise source.error(
        line,
        f"found the columns {some(map(shown, names)) or 'none'}, but no {name!r}{meant}; {remedy}",
    )


def _several(source: Source, line: int | None, kind: str, found: Sequence[str]) -> Exception:
    both = ",".join(found)
    return source.error(
        line,
        f"found the columns {some(map(shown, found))}, each of which may hold the {kind}"
        f"{'s' if kind == 'label' else ''}; give {kind}_column={found[-1]!r}, or several: "
        f"{kind}_column={both!r}",
    )


def without_labels(source: Source, names: Sequence[str], columns: Columns) -> str:
    """A description of data without a column of labels, with a warning if one looks like it."""
    others = [name for name in names if name not in (*columns.text, columns.id)]
    for name in others:
        if plain(name) == "subject":
            warnings.warn(
                f"{source.name} has no column 'labels', so its samples have no labels; if the "
                f"labels are in {shown(name)}, give label_column={name!r}",
                LabelwoodWarning,
                stacklevel=user_stacklevel(),
            )
            break
    return f"no labels among the columns {some(map(shown, names))}" if others else ""
