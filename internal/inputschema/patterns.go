package inputschema

import "regexp/syntax"

// Limits of patterns: "a{1000}" takes 7 bytes in a schema and 40 kB of memory while the schema is
// cached.
const (
	maxPattern = 4 << 10   // bytes of one
	maxProgram = 1_000_000 // instructions of all compiled patterns together
)

// addPatterns counts the patterns of an object.
func (m *measure) addPatterns(node map[string]any) {
	if pattern, isText := node["pattern"].(string); isText {
		m.addPattern(pattern)
	}
	patterns, _ := node["patternProperties"].(map[string]any)
	for pattern := range patterns {
		m.addPattern(pattern)
	}
}

func (m *measure) addPattern(pattern string) {
	if m.program > maxProgram {
		return
	}
	if len(pattern) > maxPattern {
		m.program = maxProgram + 1
		return
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return // the library reports it
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return
	}
	const runes = 8 // of a character class, in the memory of one instruction
	for i := range program.Inst {
		m.program += 1 + len(program.Inst[i].Rune)/runes
	}
}
