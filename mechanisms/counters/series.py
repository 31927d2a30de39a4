"""Power series with integer coefficients, and their inverses with proven error bounds.

Integers throughout: series are multiplied exactly, by flint. Reads no data.
"""

from flint import fmpz_poly


def inverse_of(
    series: fmpz_poly, bits: int, fraction: int, count: int, off: int = 0
) -> tuple[fmpz_poly, int]:
    """The inverse of a series that begins with 1, up to z^(count - 1), by Newton's iteration.

    With F an approximation of 1/C and H = 1 - F C, 1/C - F = H/C. In the norm |.| that adds up
    absolute coefficients, |1/C| <= |F|/(1 - |H|), so |1/C - F| <= |F||H|/(1 - |H|).

    Args:
        series: C times 2**bits. off: at least |what the series misses of C|, times 2**bits.
        fraction: fraction bits of the inverse, at least `bits`.

    Returns:
        F times 2**fraction, and at least |1/C - F| times 2**fraction.
    """
    inverse, known, whole = fmpz_poly([1 << fraction]), 1, 1 << (bits + fraction)
    while known < count:  # each round doubles the number of coefficients
        known = min(2 * known, count)
        rest = fmpz_poly([2 * whole]) - _cut(_cut(series, known) * inverse, known)
        inverse = _shifted(_cut(inverse * rest, known), bits + fraction)
    missing = norm(fmpz_poly([whole]) - _cut(series * inverse, count)) + norm(inverse) * off
    assert 2 * missing < whole
    return inverse, -(-norm(inverse) * missing // (whole - missing))


def listed(series: fmpz_poly, count: int) -> list[int]:
    """The first coefficients, with zeros where the series ends."""
    found = [int(each) for each in series.coeffs()[:count]]
    return found + [0] * (count - len(found))


def norm(series: fmpz_poly) -> int:
    """The sum of absolute coefficients."""
    return sum(abs(int(each)) for each in series.coeffs())


def _cut(series: fmpz_poly, count: int) -> fmpz_poly:
    return fmpz_poly(series.coeffs()[:count])


def _shifted(series: fmpz_poly, bits: int) -> fmpz_poly:
    return fmpz_poly([each >> bits for each in series.coeffs()])
