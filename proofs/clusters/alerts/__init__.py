"""What ``deploy/`` has, in real use: alerts, panels and the hook before a stop, on a real cluster."""
