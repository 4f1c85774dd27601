package console

import "strings"

// Marks are the signs of findings, in one character each.
type Marks struct{ Good, Warning, Bad, Arrow string }

// Marks returns signs that the terminal can show: letters where its locale or its type has no
// others.
func (c *Console) Marks() Marks {
	if c.ASCII() {
		return Marks{Good: "+", Warning: "!", Bad: "x", Arrow: "->"}
	}
	return Marks{Good: "✓", Warning: "!", Bad: "✗", Arrow: "→"}
}

// ASCII reports whether the terminal shows nothing but ASCII: its locale names another encoding
// than UTF-8, or it is the one of the Linux kernel.
func (c *Console) ASCII() bool {
	if term, _ := c.Env("TERM"); term == "linux" {
		return true
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale, ok := c.Env(name); ok && locale != "" {
			locale = strings.ToUpper(locale)
			return !strings.Contains(locale, "UTF-8") && !strings.Contains(locale, "UTF8")
		}
	}
	return false
}
