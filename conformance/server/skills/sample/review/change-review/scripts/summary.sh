#!/bin/sh
# Shows the files that differ from a branch, by default main.
git diff --stat "${1:-main}"...HEAD
