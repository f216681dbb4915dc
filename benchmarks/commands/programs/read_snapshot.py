"""A snapshot read, and nothing done with it."""

import sys

import rmqalloc

rmqalloc.read(sys.argv[1])
