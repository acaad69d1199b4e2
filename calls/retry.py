"""Repeats calls that failed for a while: after pauses that grow, or as long as a server asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import tenacity


def retrying(
    *,
    attempts: int,
    first_pause_s: float,
    most_pause_s: float,
    is_worth_it: Callable[[BaseException, int], bool],
) -> tenacity.AsyncRetrying:
    """Return what repeats a call; the last failure is raised.

    Args:
        attempts: The most attempts.
        first_pause_s: The wait after the first failure, in seconds; it doubles with each failure,
            and a random part of it is added. A failure with `retry_after` sets the wait itself.
        most_pause_s: The longest wait without the random part.
        is_worth_it: Returns whether another attempt may succeed, from a failure and the number of
            attempts so far.
    """
    import tenacity

    growing = tenacity.wait_exponential(first_pause_s, most_pause_s)
    waits = growing + tenacity.wait_random(0, first_pause_s)

    def failure_of(state: tenacity.RetryCallState) -> BaseException | None:
        return None if state.outcome is None else state.outcome.exception()

    def wait(state: tenacity.RetryCallState) -> float:
        requested: float | None = getattr(failure_of(state), "retry_after", None)
        return waits(state) if requested is None else requested

    def retry(state: tenacity.RetryCallState) -> bool:
        failure = failure_of(state)
        return failure is not None and is_worth_it(failure, state.attempt_number)

    return tenacity.AsyncRetrying(
        stop=tenacity.stop_after_attempt(attempts), retry=retry, wait=wait, reraise=True
    )
