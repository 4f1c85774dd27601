package flags

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// ByteCount is a flag that takes a number of bytes: 1000000, 64KiB, 64MiB, 1GiB.
type ByteCount int

// LargestCount is larger than any message, and fits an int of 32 bits.
const LargestCount = 1 << 30

var byteUnits = []struct {
	suffix string
	factor int64
}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"b", 1}, {"", 1}}

// String implements [pflag.Value].
func (b *ByteCount) String() string { return strings.ReplaceAll(jsonrpc.Size(int(*b)), " ", "") }

// Set implements [pflag.Value].
func (b *ByteCount) Set(s string) error {
	for _, unit := range byteUnits {
		digits, ok := strings.CutSuffix(strings.ToLower(s), unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n <= 0 || n > LargestCount/unit.factor {
			break
		}
		*b = ByteCount(n * unit.factor)
		return nil
	}
	return fmt.Errorf("must be a size up to 1GiB, such as 64MiB")
}

// Type implements [pflag.Value].
func (b *ByteCount) Type() string { return "size" }
