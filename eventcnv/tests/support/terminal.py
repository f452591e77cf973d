#!/usr/bin/env python3
"""Runs a command in a pseudo-terminal, and prints what it draws: terminal.py COMMAND..."""
import os, pty, sys

pid, end = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
try:
    while drawn := os.read(end, 65536):
        sys.stdout.buffer.write(drawn)
except OSError:
    pass
sys.exit(os.waitpid(pid, 0)[1] != 0)
