"""What a system makes of the options of a multiple-choice question."""
