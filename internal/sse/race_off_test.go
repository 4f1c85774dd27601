//go:build !race

package sse_test

const raced = false
