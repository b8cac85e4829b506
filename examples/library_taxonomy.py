"""Labels in a taxonomy: a hierarchical and a flat learner side by side."""

from dataclasses import replace

from labelwood import Dataset, HierarchicalRLSClassifier, OneVsRestSVM, Tagger, Taxonomy

PATHS = ["arts/music", "arts/painting", "science/physics", "science/biology"]
TEXTS = ["a violin and an orchestra", "oil on canvas", "quarks and gravity", "cells and genes"]


def main() -> None:
    """Train both learners on labels with all their ancestors, and compare them."""
    taxonomy = Taxonomy.from_paths(PATHS)
    labels = [[path, path.split("/")[0]] for path in PATHS] * 12
    texts = [f"{text} part {i}" for i in range(12) for text in TEXTS]
    data = replace(Dataset.from_lists(texts, labels), taxonomy=taxonomy)
    hierarchical = HierarchicalRLSClassifier(taxonomy=data.label_taxonomy)
    for learner in (hierarchical, OneVsRestSVM(random_state=0)):
        tagger = Tagger(learner).fit(data)
        found = tagger.evaluate(data, ks=(1,), n_bootstrap=0)
        print(f"{type(learner).__name__}: hierarchical F1 {found['hierarchical F1']:.2f}")
        print("  ", tagger.predict(["the genes of an orchestra"], at_least_one=True)[0])


if __name__ == "__main__":
    main()
