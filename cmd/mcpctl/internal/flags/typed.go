package flags

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// sameServer are the flags that decide which server is reached, and how. An
// example line repeats them.
var sameServer = map[string]bool{
	"server": true, "era": true, "protocol-version": true, "header": true, "token-store": true, "user-agent": true, "env": true, "env-file": true,
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
			out = append(out, flag, v)
		}
	})
	return out
}
