"""The probabilities of a question's options, as columns that the formulas share."""

from __future__ import annotations

import polars as pl

from evaluators.components.options.orders import read_option_orders
from records.record import ROUNDING

NEVER = float("-inf")
"""The logarithm of probability 0."""

RIGHT, TOP, MASS = map(pl.col, ("right", "top", "mass"))
"""The log-probability of the right option and of the likeliest one, and the sum of all."""

SCALE, SQUARES = map(pl.col, ("scale", "squares"))
"""The sum of the probabilities in units of the largest one, and the sum of their squares."""

IS_SOME = TOP > NEVER
"""Whether any option has a probability."""

IS_TIED = pl.col("equals") > 1
"""Whether several options are the likeliest."""

IS_BEST = TOP == RIGHT
"""Whether the right option is the likeliest, or one of the likeliest."""

IS_SEVERAL = pl.col("options") > 1
"""Whether there is a wrong option."""

RIVAL = pl.when(IS_BEST & ~IS_TIED).then("next").otherwise(0.0)
"""The log-probability of the likeliest wrong option, less that of the likeliest one."""

SHARE = (RIGHT - TOP).exp() / SCALE
"""The probability of the right option among the options alone."""

OUTSIDE = 1 - MASS.clip(upper_bound=1.0)
"""The probability outside the options."""


def read_probabilities(samples: pl.DataFrame) -> pl.DataFrame:
    """Return what the formulas need of the log-probabilities, a row per sample.

    Args:
        samples: With `choice_logprobs`, `correct_choice`, `choices` and `extra`.

    Returns:
        `absent`: whether there are no log-probabilities. The others are null where the
        log-probabilities cannot be used. Logarithms: `right`, `top`, and `next`, that of the next
        likeliest option less `top`. Positions: `chosen`, the first of the likeliest options, and
        whether it is the right one, `first_best`; the same for the log-probability divided by the
        length of the option's text, `best_per_character` and `best_per_byte`. Counts: `options`,
        and `equals`, the likeliest ones. Sums: `mass`, and in units of the largest probability
        `scale` and `squares`. From `extra`: `bounded` and `order_spread`, see `read_option_orders`.
    """
    log, element = pl.col("log"), pl.element()
    read = pl.when(element.is_between(0, ROUNDING)).then(0.0).otherwise(element)
    texts = pl.col("choices").cast(pl.List(pl.String))
    options = samples.select(
        characters=texts.list.eval(element.str.len_chars()),
        bytes=texts.list.eval(element.str.len_bytes()),
        log=pl.col("choice_logprobs").list.eval(read.fill_null(NEVER)),
        place=pl.col("correct_choice").cast(pl.Int64),
        listed=pl.coalesce(pl.col("choices").list.len(), pl.col("choice_logprobs").list.len()),
    )
    count = log.list.len()
    usable = (
        pl.col("place").is_between(0, count - 1)
        & (count == pl.col("listed"))
        & (log.list.max() <= 0)
    )
    first = options.select(
        absent=count == 0,
        log=pl.when(usable).then(log),
        right=pl.when(usable).then(log.list.get(pl.col("place"), null_on_oob=True)),
        place="place",
        characters=pl.when(usable).then("characters"),
        bytes=pl.when(usable).then("bytes"),
    ).with_columns(top=log.list.max())
    # Distances from the most probable option: the shares stay exact where p itself is 0.
    behind = pl.when(IS_SOME).then(log - TOP)
    second = pl.when(element < 0).then(element)
    orders = read_option_orders(samples["extra"], samples["correct_choice"])
    return first.with_columns(*orders, behind=behind).select(
        "absent",
        "right",
        "top",
        "bounded",
        "order_spread",
        options=log.list.len(),
        first_best=log.list.arg_max() == pl.col("place"),
        best_per_character=(log / pl.col("characters")).list.arg_max() == pl.col("place"),
        best_per_byte=(log / pl.col("bytes")).list.arg_max() == pl.col("place"),
        chosen=pl.when(pl.col("behind").is_not_null()).then(log.list.arg_max()),
        equals=pl.col("behind").list.eval(element == 0).list.sum(),
        next=pl.col("behind").list.eval(second).list.max(),
        mass=log.list.eval(element.exp()).list.sum(),
        scale=pl.col("behind").list.eval(element.exp()).list.sum(),
        squares=pl.col("behind").list.eval((2 * element).exp()).list.sum(),
    )
