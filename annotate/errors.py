"""Errors meant for a person: one base, one line each, no traceback.

EvenhandError
├── UsageError              wrong use; the command exits 2
├── DataError               a file or record is not what it should be
├── StoreError              the study's database cannot do what was asked
│   ├── StoreMissing        there is no study here
│   ├── StoreNewer          written by a newer Evenhand
│   ├── StoreUnsafe         on a network file system, or already served
│   └── StoreUnavailable    disk full, read-only, or locked too long
├── RatingError             a rater's action was not accepted (nothing was lost)
│   ├── NotInvited          no valid invitation or session
│   ├── NoConsent           consent is not given, or was taken back
│   ├── UnknownScreen       the screen is not this rater's
│   ├── AlreadyVoted        another vote for this screen stands
│   └── LeaseLost           the pair was handed to someone else meanwhile
├── ServiceError            something outside did not answer as needed
└── NothingComputable       a report or run has nothing to work on; the command exits 3

A message says where, what was found, what was expected and what to do.
"""

from __future__ import annotations


class EvenhandError(Exception):
    """Base of every error that is shown to a person as one line."""

    exit_code = 3


class UsageError(EvenhandError):
    """The command or function was called in a way it does not allow."""

    exit_code = 2


class DataError(EvenhandError):
    """A file or a record is not what was expected."""


class StoreError(EvenhandError):
    """The study's database cannot do what was asked."""


class StoreMissing(StoreError):
    """There is no study at the given place."""

    exit_code = 2


class StoreNewer(StoreError):
    """The database was written by a newer Evenhand than this one."""


class StoreUnsafe(StoreError):
    """Using the database here could lose votes (network file system, second server)."""


class StoreUnavailable(StoreError):
    """The database could not be written: disk full, read-only, or locked for too long."""


class RatingError(EvenhandError):
    """A rater's action was not accepted; what they typed is kept on their screen."""

    status = 409
    code = "not_accepted"


class NotInvited(RatingError):
    """No valid invitation or session came with the request."""

    status = 401
    code = "not_invited"


class NoConsent(RatingError):
    """The rater has not agreed to the study's present consent text, or took it back."""

    status = 403
    code = "no_consent"


class UnknownScreen(RatingError):
    """The screen does not exist or belongs to someone else."""

    status = 404
    code = "unknown_screen"


class AlreadyVoted(RatingError):
    """Another vote for the same screen was saved first, and stands."""

    code = "already_voted"


class LeaseLost(RatingError):
    """The pair's time ran out and it was given to another rater."""

    code = "lease_lost"


class ServiceError(EvenhandError):
    """A service outside (judge endpoint, local model) did not do what was needed."""


class NothingComputable(EvenhandError):
    """There is nothing to work on: no votes, no pairs, no usable verdict."""
