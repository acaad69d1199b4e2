"""The three rule sets of RGB for correct answers, rejections and detected errors."""
