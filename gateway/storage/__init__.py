"""Where the gateway keeps what it must not forget: one unit of work, so that an act and its events commit together."""
