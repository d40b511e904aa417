"""Any text as LaTeX for pdflatex: nothing in it is a command, and every character is printed.

Letters with accents, Greek and the usual signs become commands that every installation knows;
other characters become `[U+4E2D]`, which is plain but tells two names apart.
"""

from __future__ import annotations

import unicodedata

from judge.reporting.characters import one_line

_ASCII = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "`": r"\`{}",
    # After \\ these would be read as its argument.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}
_SIGNS = {
    "–": "--",
    "—": "---",
    "‐": "-",
    "‑": "-",
    "−": "$-$",
    "“": "``",
    "”": "''",
    "„": ",,",
    "‘": "`",
    "’": "'",
    "«": r"$\ll$",
    "»": r"$\gg$",
    "…": r"\ldots{}",
    "·": r"$\cdot$",
    "•": r"\textbullet{}",
    "×": r"$\times$",
    "÷": r"$\div$",
    "±": r"$\pm$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "≠": r"$\neq$",
    "≈": r"$\approx$",
    "∞": r"$\infty$",
    "√": r"$\surd$",
    "∑": r"$\sum$",
    "∈": r"$\in$",
    "→": r"$\rightarrow$",
    "←": r"$\leftarrow$",
    "↔": r"$\leftrightarrow$",
    "½": r"$\frac{1}{2}$",
    "¼": r"$\frac{1}{4}$",
    "¾": r"$\frac{3}{4}$",
    "⅓": r"$\frac{1}{3}$",
    "⅔": r"$\frac{2}{3}$",
    "°": r"$^{\circ}$",
    "²": r"$^{2}$",
    "³": r"$^{3}$",
    "¹": r"$^{1}$",
    "⁻": r"$^{-}$",
    "₀": r"$_{0}$",
    "₁": r"$_{1}$",
    "₂": r"$_{2}$",
    "§": r"\S{}",
    "©": r"\copyright{}",
    "£": r"\pounds{}",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "å": r"\aa{}",
    "Å": r"\AA{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "ı": r"\i{}",
}
_ACCENTS = {
    "\u0300": r"\`",
    "\u0301": r"\'",
    "\u0302": r"\^",
    "\u0303": r"\~",
    "\u0304": r"\=",
    "\u0306": r"\u",
    "\u0307": r"\.",
    "\u0308": r"\"",
    "\u030a": r"\r",
    "\u030b": r"\H",
    "\u030c": r"\v",
    "\u0327": r"\c",
}
_LOWER = [
    "alpha", "beta", "gamma", "delta", "varepsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "o", "pi", "rho", "varsigma", "sigma", "tau", "upsilon",
    "varphi", "chi", "psi", "omega",
]  # fmt: skip
_UPPER = {
    "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma",
    "Υ": "Upsilon", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
_GREEK = {chr(ord("α") + i): f"$\\{name}$" for i, name in enumerate(_LOWER)}
_GREEK |= {letter: f"$\\{name}$" for letter, name in _UPPER.items()}
_GREEK |= {"ο": "$o$", "ϕ": r"$\phi$", "µ": r"$\mu$"}


def latex_words(text: str) -> str:
    """Text for the body of a LaTeX document, in ASCII."""
    out = ""
    for character in unicodedata.normalize("NFC", one_line(text)):
        piece = _character(character)
        # Two of these in a row would be printed as one other sign, e.g. "--" as a dash.
        joins = out.endswith(piece[0]) and piece[0] in "-',`"
        out += f"{{}}{piece}" if joins else piece
    return out


def _character(character: str) -> str:
    known = _ASCII.get(character) or _SIGNS.get(character) or _GREEK.get(character)
    if known:
        return known
    if character.isascii():
        return character
    base, *marks = list(unicodedata.normalize("NFD", character))
    if len(marks) == 1 and marks[0] in _ACCENTS and base.isascii() and base.isalpha():
        # Over i and j an accent stands in the place of the dot.
        letter = f"\\{base}{{}}" if base in "ij" and marks[0] != "\u0327" else base
        return f"{_ACCENTS[marks[0]]}{{{letter}}}"
    return f"{{[}}U+{ord(character):04X}{{]}}\\allowbreak{{}}"
