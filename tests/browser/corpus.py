"""Strings that break rating pages, each with the text that a rater must see.

`visible` is given only where Markdown's own marks legitimately go (stars, fences, heads);
everything else must be on the page exactly as it was written.
"""

from __future__ import annotations

from dataclasses import dataclass

ATTACK = "window.evenhandHit = 1"
OUTSIDE = "http://outside.invalid"
ROWS = "||".join(["cell"] * 3)


@dataclass(frozen=True, slots=True)
class Nasty:
    """A source text and what is visible of it."""

    name: str
    text: str
    shown: str | None = None

    @property
    def visible(self) -> str:
        """What a rater sees."""
        return self.text if self.shown is None else self.shown


CORPUS = (
    # Tags and types
    Nasty("tags", "Use <div> and </b>, then <T extends Foo>."),
    Nasty("generics", "std::vector<int> v; Map<String, List<Integer>> m; a<b && c>d"),
    Nasty("script", f"<script>{ATTACK}</script>"),
    Nasty("script in a block", f"before\n\n<script>\n{ATTACK}\n</script>\n\nafter"),
    Nasty("img onerror", f'<img src=x onerror="{ATTACK}">'),
    Nasty("svg onload", f'<svg onload="{ATTACK}"><circle r="9"/></svg>'),
    Nasty("style", "<style>* { display: none !important } body { background: red }</style>"),
    Nasty("iframe", f'<iframe src="{OUTSIDE}/frame"></iframe>'),
    Nasty("form", f'<form action="{OUTSIDE}/"><input name=q><button>Go</button></form>'),
    Nasty(
        "fixed overlay",
        '<div style="position:fixed;inset:0;z-index:99999;background:#fff">gone</div>',
    ),
    Nasty("textarea end", f"</textarea></div></main><script>{ATTACK}</script>"),
    Nasty("link and base", f'<link rel="stylesheet" href="{OUTSIDE}/x"><base href="{OUTSIDE}/">'),
    Nasty("meta refresh", f'<meta http-equiv="refresh" content="0;url={OUTSIDE}/">'),
    Nasty("HTML comment", "a <!-- not shown? --> b\n\n<!-- a whole block -->"),
    Nasty("entities", "&lt;b&gt; &amp;amp; &copy; &#x41; &nbsp;| &quot;"),
    Nasty("CDATA and instruction", "<![CDATA[ x ]]> <?php echo 1; ?> <!DOCTYPE html>"),
    # Links and images
    Nasty("javascript link", f"[click](javascript:{ATTACK}) here"),
    Nasty("markdown link", f"See [the docs]({OUTSIDE}/docs 'title') and [ref][1]."),
    Nasty("remote image", f"![alt text]({OUTSIDE}/pixel.png)"),
    Nasty("data image", "![x](data:image/svg+xml;base64,PHN2Zy8+)"),
    Nasty("autolinks", f"<{OUTSIDE}/a> and {OUTSIDE}/b and <me@outside.invalid>"),
    Nasty("reference definition", f"[1]: {OUTSIDE}/hidden 'secret'\n\ntext with [1]"),
    # Markdown that must not eat characters
    Nasty("dunder", "__init__ and __main__ and _private_ and ___"),
    Nasty("snake case", "my_long_variable_name + other_name_"),
    Nasty("stars as times", "2*3*4 = 24 and 2 * 3 * 4 and f(*args, **kwargs)"),
    Nasty("emphasis", "**bold**, *italic* and ***both***", "bold, italic and both"),
    Nasty("money", "It costs $5 and $10, or $5$ each."),
    Nasty("LaTeX", r"\(x^2\) and \[ y_1 \] and $$z_{i}^{2}$$ and \\frac{1}{2}"),
    Nasty("backslashes", r"C:\new\*table\_x \\server\share \# \` \< end\ "),
    Nasty("code span", "call `a<b>` and ``x ` y`` now", "call a<b> and x ` y now"),
    Nasty("lone backtick", "a ` b and ``` c"),
    Nasty("template syntax", "${7*7} {{7*7}} {% raw %} #{x} <%= y %> {x!r} %s %(name)s"),
    Nasty("setext", "Heading?\n========\n\nmore\n======"),
    Nasty("rule", "above\n\n---\n\nbelow", "above\n\nbelow"),
    Nasty("heading", "# One\n\n## C# and F#\n\n#hashtag", "One\n\nC# and F#\n\n#hashtag"),
    Nasty("numbers", "7. seven\n9. nine\n\n1986. a year", "seven\nnine\na year"),
    Nasty("bullets", "- one\n- two\n  - deep\n* star", "one\ntwo\ndeep\nstar"),
    Nasty("nested quotes", "> said\n>> replied\n>>> again", "said\nreplied\nagain"),
    Nasty("a hundred quotes", ">" * 100 + " bottom", ">" * 50 + " bottom"),
    Nasty("fifty lists", "- " * 50 + "bottom", "- " * 25 + "bottom"),
    Nasty("table", "| a | b |\n|---|:-:|\n| 1 | <b> |", "a\tb\n1\t<b>"),
    Nasty(
        "table with a longer row",
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 | 5 | lost? |",
        "a\tb\n1\t2\n| 3 | 4 | 5 | lost? |",
    ),
    Nasty("not a table", f"{ROWS}\n-----\n|x", f"{ROWS}\n|x"),
    # Code
    Nasty("fence", "```python\nif a < b:\n    x = '<b>'\n```", "python\nif a < b:\n    x = '<b>'"),
    Nasty("unclosed fence", "text\n```\nno </code></pre> end", "text\nno </code></pre> end"),
    Nasty("nested fences", "````md\n```js\nlet a;\n```\n````", "md\n```js\nlet a;\n```"),
    Nasty("fence with attack", f'```"><img src=x onerror="{ATTACK}">\nx\n```',
          f'"><img src=x onerror="{ATTACK}">\nx'),
    Nasty("unknown language", "```nosuchlang {1,2}\n<i>\n```", "nosuchlang {1,2}\n<i>"),
    Nasty("tilde fence", "~~~\n~ x ~\n~~~", "~ x ~"),
    # White space
    Nasty("indentation", "def f():\n    if x:\n        return 1\n    return 2"),
    Nasty("indented code", "    first\n      second\n    third"),
    Nasty("tabs", "\tindented\n\t\ttwice\ta\tb"),
    Nasty("leading spaces", "   three\n two"),
    Nasty("trailing spaces", "one  \ntwo   \nthree"),
    Nasty("blank lines", "one\n\n\n\n\ntwo"),
    Nasty("CRLF", "one\r\ntwo\r\n\r\nthree", "one\ntwo\n\nthree"),
    Nasty("lone CR", "one\rtwo", "one\ntwo"),
    Nasty("form feed and vertical tab", "a\x0cb\x0bc"),
    Nasty("no-break and thin spaces", "a\u00a0b\u2009c\u3000d\u2028e"),
    # Scripts and code points
    Nasty("right to left", "שלום עולם, مرحبا بالعالم!"),
    Nasty("mixed direction", "The word שלום means (peace) 123.\n\nמילה word מילה."),
    Nasty("bidi override", "user\u202etxt.exe\u202c and \u2066isolated\u2069 and \u202e open"),
    Nasty("zalgo", "Z̸̧̛͎̰͔̈́̿̊a̷͈͌l̵̹͝g̶͖͐o̸̜͋" * 5),
    Nasty("zero width", "zero\u200bwidth\u200djoin\u2060er\ufeff end"),
    Nasty("emoji", "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇪🇺 1️⃣"),
    Nasty("astral", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𠜎 \U000e0041"),
    Nasty("control characters", "bell\x07 escape\x1b[31m del\x7f nel\x85."),
    Nasty("NUL", "a\x00b", "a\ufffdb"),
    # Size
    Nasty("very long word", "x" * 3000),
    Nasty("very long line", "word and " * 2000 + "end"),
    Nasty("long code line", "```\n" + "y" * 3000 + "\n```", "y" * 3000),
)  # fmt: skip

_TAIL = "\n\x00 & the very end"
_LINES = "".join(f"Line {n}: **not bold** <b>{'z' * 60}</b>\n" for n in range(2_300))
HUGE = _LINES[: 200_000 - len(_TAIL)] + _TAIL
"""200,000 characters: shown as plain text, on both sides."""


def lines(text: str) -> list[str]:
    """Lines with something in them; how blocks are spaced is Markdown's and CSS's business."""
    return [line for line in text.split("\n") if line.strip()]
