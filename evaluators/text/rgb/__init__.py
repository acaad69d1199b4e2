"""Three sets of rules by which RGB tells right answers, rejections and detected errors."""
