package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// byteCount is a flag that takes a number of bytes: 1000000, 64KiB, 64MiB, 1GiB.
type byteCount int

// largestCount is more than fits any message and less than an int of 32 bits.
const largestCount = 1 << 30

var byteUnits = []struct {
	suffix string
	factor int64
}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"b", 1}, {"", 1}}

// String implements [pflag.Value].
func (b *byteCount) String() string { return strings.ReplaceAll(jsonrpc.Size(int(*b)), " ", "") }

// Set implements [pflag.Value].
func (b *byteCount) Set(s string) error {
	for _, unit := range byteUnits {
		digits, ok := strings.CutSuffix(strings.ToLower(s), unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n <= 0 || n > largestCount/unit.factor {
			break
		}
		*b = byteCount(n * unit.factor)
		return nil
	}
	return fmt.Errorf("must be a size up to 1GiB, such as 64MiB")
}

// Type implements [pflag.Value].
func (b *byteCount) Type() string { return "size" }
