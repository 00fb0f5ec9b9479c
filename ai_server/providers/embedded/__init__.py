"""The keyless twins that ship: nothing to install, nothing to pay."""
