package artifact

import (
	"slices"
	"strings"
)

// The classifications of an input.
const (
	mandatory   = "mandatory"
	recommended = "recommended"
	conditional = "conditional"
)

// A generator is what makes artifacts of one type, and the inputs it works
// from. S0 prepares this table beforehand; nobody reads generator XML at run
// time.
type generator struct {
	Output artifactType
	// Mandatory are the types of the artifacts without which it cannot run. An
	// input has the name of its type.
	Mandatory []string
	// Recommended are names of research documents.
	Recommended []string
}

// inputsOf is the configuration of the generators by the type they make. The
// ones for technical specifications and tasks, which approving a story starts,
// are ours; those that are not here have no mandatory input.
func inputsOf(typeName string) (mandatory, recommended []string) {
	switch typeName {
	case "prd":
		return []string{"epic"}, []string{"business_research", "implementation_research"}
	case "hls":
		return []string{"prd"}, []string{"business_research", "implementation_research"}
	case "backlog_story":
		return []string{"hls"}, []string{"implementation_research"}
	case "tech_spec", "task":
		return []string{"backlog_story"}, []string{"implementation_research"}
	}
	return nil, nil
}

func generatorFor(t artifactType) generator {
	g := generator{Output: t}
	g.Mandatory, g.Recommended = inputsOf(t.Name)
	return g
}

// Name is the type with hyphens and "-generator".
func (g generator) Name() string {
	return strings.ReplaceAll(g.Output.Name, "_", "-") + "-generator"
}

func findGenerator(name string) (generator, bool) {
	i := slices.IndexFunc(types, func(t artifactType) bool { return generatorFor(t).Name() == name })
	if i < 0 {
		return generator{}, false
	}
	return generatorFor(types[i]), true
}

// children are the types an approved artifact of type t is broken down into.
func children(t artifactType) []string {
	switch t.Name {
	case "epic":
		return []string{"prd"}
	case "prd":
		return []string{"hls"}
	case "hls":
		return []string{"backlog_story"}
	case "backlog_story":
		return []string{"tech_spec", "task"}
	}
	return nil
}

func typeNamed(name string) (artifactType, bool) {
	i := slices.IndexFunc(types, func(t artifactType) bool { return t.Name == name })
	if i < 0 {
		return artifactType{}, false
	}
	return types[i], true
}
