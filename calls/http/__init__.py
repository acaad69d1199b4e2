"""HTTP: answers within limits, redirects within an origin, and the transport of LiteLLM."""
