"""The gRPC face: handlers only convert; one file a service."""
