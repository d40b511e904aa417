"""Where the report's methods come from, as BibTeX: a paper cites what it used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """One publication; `key` is how text and BibTeX name it."""

    key: str
    kind: str
    fields: tuple[tuple[str, str], ...]

    def bibtex(self) -> str:
        """The entry, one field a line."""
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in self.fields)
        return f"@{self.kind}{{{self.key},\n{lines}}}\n"


def _source(key: str, kind: str, **fields: str) -> Source:
    return Source(key, kind, tuple(fields.items()))


SOURCES = {
    one.key: one
    for one in (
        _source(
            "zheng2023judging",
            "inproceedings",
            title="Judging {LLM}-as-a-Judge with {MT}-Bench and Chatbot Arena",
            author="Zheng, Lianmin and Chiang, Wei-Lin and Sheng, Ying and others",
            booktitle="Advances in Neural Information Processing Systems 36,"
            " Datasets and Benchmarks Track",
            year="2023",
            url="https://arxiv.org/abs/2306.05685",
        ),
        _source(
            "field2007bootstrapping",
            "article",
            title="Bootstrapping clustered data",
            author="Field, C. A. and Welsh, A. H.",
            journal="Journal of the Royal Statistical Society: Series B",
            volume="69",
            number="3",
            pages="369--390",
            year="2007",
            doi="10.1111/j.1467-9868.2007.00593.x",
        ),
        _source(
            "efron1987better",
            "article",
            title="Better bootstrap confidence intervals",
            author="Efron, Bradley",
            journal="Journal of the American Statistical Association",
            volume="82",
            number="397",
            pages="171--185",
            year="1987",
            doi="10.1080/01621459.1987.10478410",
        ),
        _source(
            "cohen1960coefficient",
            "article",
            title="A coefficient of agreement for nominal scales",
            author="Cohen, Jacob",
            journal="Educational and Psychological Measurement",
            volume="20",
            number="1",
            pages="37--46",
            year="1960",
            doi="10.1177/001316446002000104",
        ),
        _source(
            "krippendorff2018content",
            "book",
            title="Content Analysis: An Introduction to Its Methodology",
            author="Krippendorff, Klaus",
            edition="4",
            publisher="SAGE",
            year="2018",
        ),
        _source(
            "gwet2008computing",
            "article",
            title="Computing inter-rater reliability and its variance in the presence of high"
            " agreement",
            author="Gwet, Kilem Li",
            journal="British Journal of Mathematical and Statistical Psychology",
            volume="61",
            number="1",
            pages="29--48",
            year="2008",
            doi="10.1348/000711006X126600",
        ),
        _source(
            "barlow1991comparison",
            "article",
            title="A comparison of methods for calculating a stratified kappa",
            author="Barlow, William and Lai, Mei-Yin and Azen, Stanley P.",
            journal="Statistics in Medicine",
            volume="10",
            number="9",
            pages="1465--1472",
            year="1991",
            doi="10.1002/sim.4780100913",
        ),
        _source(
            "beran1988balanced",
            "article",
            title="Balanced simultaneous confidence sets",
            author="Beran, Rudolf",
            journal="Journal of the American Statistical Association",
            volume="83",
            number="403",
            pages="679--686",
            year="1988",
            doi="10.1080/01621459.1988.10478649",
        ),
        _source(
            "calderon2025alternative",
            "misc",
            title="The Alternative Annotator Test for {LLM}-as-a-Judge",
            author="Calderon, Nitay and Reichart, Roi and Dror, Rotem",
            year="2025",
            eprint="2501.10970",
            archiveprefix="arXiv",
        ),
        _source(
            "bradley1952rank",
            "article",
            title="Rank analysis of incomplete block designs: {I}. The method of paired"
            " comparisons",
            author="Bradley, Ralph Allan and Terry, Milton E.",
            journal="Biometrika",
            volume="39",
            pages="324--345",
            year="1952",
            doi="10.2307/2334029",
        ),
        _source(
            "dubois2024length",
            "misc",
            title="Length-Controlled {AlpacaEval}: A Simple Way to Debias Automatic Evaluators",
            author="Dubois, Yann and Galambosi, Bal{\\'a}zs and Liang, Percy and"
            " Hashimoto, Tatsunori B.",
            year="2024",
            eprint="2404.04475",
            archiveprefix="arXiv",
        ),
    )
}


def bibliography(keys: Iterable[str]) -> str:
    """BibTeX of the sources named, in alphabetical order, each once."""
    return "\n".join(SOURCES[key].bibtex() for key in sorted(set(keys)))
