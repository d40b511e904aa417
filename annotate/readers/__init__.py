"""Files become neutral records here, and nowhere else; nothing is stored.

`detect.sources` says what each file is; each reader streams records with their place
(file:line), or problems (file:line, field, reason). A broken line loses only itself.
"""

from .base import Found, Problem, Read, Record, Where
from .detect import Source, sources

__all__ = ["Found", "Problem", "Read", "Record", "Source", "Where", "sources"]
