package flags

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// sameServer are the flags that decide which server is reached, and how. An
// example line repeats them.
var sameServer = map[string]bool{
	"server": true, "mcp-config": true, "input": true, "era": true, "protocol-version": true, "header": true, "token-store": true, "user-agent": true, "env": true, "env-file": true,
	"inherit-env": true, "cwd": true, "start-timeout": true, "connect-timeout": true,
}

// Typed returns the flags of this run that an example line needs, as they were
// typed: ${NAME} in a header is not replaced. also names more flags.
func Typed(cmd *cobra.Command, also ...map[string]bool) []string {
	var out []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !sameServer[f.Name] && !slices.ContainsFunc(also, func(m map[string]bool) bool { return m[f.Name] }) {
			return
		}
		flag := "--" + f.Name
		if f.NoOptDefVal != "" { // a value must not be the next word
			if f.Value.String() != f.NoOptDefVal {
				flag += "=" + f.Value.String()
			}
			out = append(out, flag)
			return
		}
		if f.Shorthand != "" {
			flag = "-" + f.Shorthand
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			out = append(out, flag, shown(f.Name, v))
		}
	})
	return out
}

// shown is the value of a flag without what may be secret in it.
func shown(flag, value string) string {
	switch flag {
	case "input":
		if id, given, _ := strings.Cut(value, "="); !strings.HasPrefix(given, "@") {
			return id + "=VALUE"
		}
	case "mcp-config":
		if strings.HasPrefix(strings.TrimSpace(value), "{") {
			return "{…}"
		}
	}
	return value
}
