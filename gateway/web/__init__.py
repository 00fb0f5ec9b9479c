"""The gateway's HTTP face: handlers only convert."""
