//go:build !race

package jsonrpc

const raced = false
