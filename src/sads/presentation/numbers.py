"""Numbers as people read them."""

from collections.abc import Iterable


def sizes(shape: Iterable[int]) -> str:
    """A shape as the command line takes it.

    >>> sizes((1, 16, 16))
    '1x16x16'
    """
    return "x".join(map(str, shape))


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "seed"), counted(1200, "seed")
    ('1 seed', '1,200 seeds')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def with_error(value: float, error: float | None, digits: int = 4) -> str:
    """A number with its standard error, where that is known.

    >>> with_error(12.3456, 0.123), with_error(12.3456, 0.123, 3), with_error(2.0, None)
    ('12.35 ± 0.12', '12.3 ± 0.12', '2')
    >>> with_error(647.1, 163.0, 3)
    '647 ± 160'
    """
    known = _digits(value, digits)
    return known if error is None else f"{known} ± {_digits(error, 2)}"


def _digits(value: float, digits: int) -> str:
    """A number with this many digits; whole numbers of up to six places are written out."""
    short = f"{value:.{digits}g}"
    return f"{float(short):.0f}" if "e+0" in short and abs(value) < 1e6 else short


def percentage(share: float) -> str:
    """A share in per cent with two digits.

    >>> percentage(0.0417), percentage(0.999), percentage(12.3), percentage(-0.0)
    ('4.2 %', '100 %', '1,230 %', '0 %')
    """
    rounded = float(f"{100 * share:.2g}") + 0.0 if share < 1 else round(100 * share)
    return f"{rounded:,g} %" if rounded < 1e6 else f"{rounded:.1g} %"


def span(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> [span(s) for s in (0.04, 12.3, 150, 8000, 3e5)]
    ['0.04 s', '12 s', '2.5 min', '2.2 h', '3.5 days']
    """
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            number = seconds / size
            return f"{number:.2g} {unit}" if number < 100 else f"{number:,.0f} {unit}"
    return f"{seconds:.2g} s" if seconds < 100 else f"{seconds:.0f} s"
