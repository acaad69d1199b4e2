"""Paid calls of models and systems: how they are sent, limited, priced and stored."""
