"""Systems that are HTTP services: requests, and the fields of a prediction in answers."""
