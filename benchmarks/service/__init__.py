"""How fast the service answers, beside a handler that does nothing but one durable insert."""
