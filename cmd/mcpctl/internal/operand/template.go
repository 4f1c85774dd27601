package operand

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// expression is one {…} of a URI template: its operator and its variables.
var expression = lazyregexp.New(`\{([+#./;?&]?)([^{}]*)\}`)

// Variables returns the variables of a URI template, and those that need a value. A
// query works without some of its values; any other part would leave a hole in the URI.
func Variables(template string) (all, needed []string) {
	for _, found := range expression.FindAllStringSubmatch(template, -1) {
		for name := range strings.SplitSeq(found[2], ",") {
			name, _, _ = strings.Cut(strings.TrimSuffix(name, "*"), ":")
			all = append(all, name)
			if found[1] != "?" && found[1] != "&" {
				needed = append(needed, name)
			}
		}
	}
	return all, needed
}
