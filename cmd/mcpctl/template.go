package main

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// expand returns the URI that operands make of a template. A URI that is no template takes none.
func expand(template string, operands []operand.Operand) (string, error) {
	values, err := texts(operands)
	if err != nil {
		return "", err
	}
	all, needed := operand.Variables(template)
	if len(all) == 0 && len(values) > 0 {
		return "", unsent("%s is not a template: it has no {variable} for %s", template, values[0].name)
	}
	given := map[string]string{}
	for _, v := range values {
		if err := checkName("the template", "variable", v.name, all); err != nil {
			return "", err
		}
		given[v.name] = v.text
	}
	var missing []string
	for _, name := range needed {
		if _, ok := given[name]; !ok {
			missing = append(missing, name+"=…")
		}
	}
	if len(missing) > 0 {
		return "", unsent("the template %s needs %s", template, strings.Join(missing, " "))
	}
	if len(all) == 0 {
		return template, nil
	}
	uri, err := (&mcp.ResourceTemplate{URITemplate: template}).Expand(given)
	if err != nil {
		return "", unsent("%s", err)
	}
	return uri, nil
}

// namedText is an operand whose value can only be text.
type namedText struct{ name, text string }

// texts returns operands whose values are text, in their order.
func texts(operands []operand.Operand) ([]namedText, error) {
	built, _, err := operand.Build(nil, operands, schema.Schema{})
	if err != nil {
		return nil, err
	}
	var out []namedText
	for _, m := range built.Members() {
		if m.Value.Kind() != doc.String {
			return nil, unsent("%s must be text: write %s=TEXT", m.Name, m.Name)
		}
		out = append(out, namedText{m.Name, m.Value.Str()})
	}
	return out, nil
}

// checkName returns an error for a name that is not among those declared.
func checkName(where, kind, name string, declared []string) error {
	for _, known := range declared {
		if name == known {
			return nil
		}
	}
	f := unsent("%s has no %s %s", where, kind, name)
	if near := suggest.Nearest(name, declared); len(near) > 0 {
		f.Message += "; did you mean " + near[0] + "?"
	} else if len(declared) > 0 {
		f.Add(kind+"s", "%s", strings.Join(declared, ", "))
	}
	return f
}

func unsent(format string, args ...any) *failure.Failure {
	return failure.Unsent(format, args...)
}
