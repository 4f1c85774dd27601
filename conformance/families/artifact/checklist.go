package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"
)

// A checklist is what validate_artifact judges a type of document by:
// {VALIDATION_RESOURCES_DIR}/<type>_validation_v<N>.json.
type checklist struct {
	ArtifactType string      `json:"artifact_type"`
	Version      int         `json:"version"`
	Criteria     []criterion `json:"criteria"`
}

// A criterion is one line of a checklist. Which of the members after CheckType
// are read depends on the check.
type criterion struct {
	ID             string `json:"id"`
	Category       string `json:"category"`
	Description    string `json:"description"`
	ValidationType string `json:"validation_type"`
	CheckType      string `json:"check_type,omitempty"`
	// AppliesTo is v1, v2+ or all (the same as absent): the versions of a
	// document the criterion is for.
	AppliesTo        string   `json:"applies_to,omitempty"`
	RequiredSections []string `json:"required_sections,omitempty"`
	Pattern          string   `json:"pattern,omitempty"`
	// Then is a pattern that must follow Pattern on the same line.
	Then string `json:"then,omitempty"`
	// Section is where what is not found belongs, for the details.
	Section string `json:"section,omitempty"`
	// Prefix is that of the id in the first heading.
	Prefix string `json:"prefix,omitempty"`
	// Fields are fields of the metadata by our names, which all must be as
	// store_artifact reads them; AnyOf are keys of which one must have a value.
	// Pattern is about their values.
	Fields []string `json:"fields,omitempty"`
	AnyOf  []string `json:"any_of,omitempty"`
	// Phrases are words in their order, each with its alternatives.
	Phrases            [][]string          `json:"phrases,omitempty"`
	AllowedMarkers     []string            `json:"allowed_markers,omitempty"`
	MarkerSubFields    map[string][]string `json:"marker_sub_fields,omitempty"`
	ProhibitedPatterns []string            `json:"prohibited_patterns,omitempty"`
	SpecialValidations []specialValidation `json:"special_validations,omitempty"`
	ErrorMessages      map[string]string   `json:"error_message_templates,omitempty"`
	pattern            *pattern
	prohibited         []*pattern
	then               *pattern
}

// A specialValidation restricts the value of a marker's sub-field.
type specialValidation struct {
	Marker      string   `json:"marker"`
	Field       string   `json:"field"`
	ValidValues []string `json:"valid_values"`
}

// The validation types of a criterion.
const (
	automated = "automated"
	agent     = "agent"
	manual    = "manual"
)

var (
	criterionID     = regexp.MustCompile(`^[A-Z]{2}-\d{2}$`)
	categories      = []string{"content_quality", "traceability", "consistency", "open_questions_markers"}
	validationTypes = []string{automated, agent, manual}
	appliesTo       = []string{"", "v1", "v2+", "all"}
)

// parseChecklist decodes and checks a checklist for documents of a type. An
// unknown check_type is no fault of the file: that criterion fails on its own.
func parseChecklist(data []byte, typeName string) (*checklist, error) {
	var c checklist
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, err
	}
	if c.ArtifactType != typeName {
		return nil, fmt.Errorf("artifact_type is %q, want %q", c.ArtifactType, typeName)
	}
	if c.Version < 1 {
		return nil, errors.New("version must be 1 or more")
	}
	if len(c.Criteria) == 0 {
		return nil, errors.New("criteria is missing or empty")
	}
	seen := make(map[string]bool, len(c.Criteria))
	for i := range c.Criteria {
		cr := &c.Criteria[i]
		if err := cr.compile(); err != nil {
			return nil, fmt.Errorf("criteria[%d] (%s): %w", i, cr.ID, err)
		}
		if seen[cr.ID] {
			return nil, fmt.Errorf("criteria[%d]: id %s appears twice", i, cr.ID)
		}
		seen[cr.ID] = true
	}
	return &c, nil
}

// prohibitedIn returns the prohibited patterns that a document may have.
func (cr *criterion) prohibitedIn(d *document) []*pattern {
	return slices.DeleteFunc(slices.Clone(cr.prohibited), func(p *pattern) bool { return !p.mayBeIn(d) })
}

// compile checks a criterion and its regular expressions.
func (cr *criterion) compile() error {
	switch {
	case !criterionID.MatchString(cr.ID):
		return errors.New("id must be two capitals, a hyphen and two digits, such as CQ-01")
	case !slices.Contains(categories, cr.Category):
		return fmt.Errorf("unknown category %q", cr.Category)
	case utf8.RuneCountInString(cr.Description) < 10:
		return errors.New("description must be at least 10 characters")
	case !slices.Contains(validationTypes, cr.ValidationType):
		return fmt.Errorf("unknown validation_type %q", cr.ValidationType)
	case !slices.Contains(appliesTo, cr.AppliesTo):
		return fmt.Errorf("unknown applies_to %q", cr.AppliesTo)
	case cr.ValidationType == automated && cr.CheckType == "":
		return errors.New("an automated criterion needs a check_type")
	case cr.CheckType == "template_sections" && len(cr.RequiredSections) == 0:
		return errors.New("template_sections needs required_sections")
	case cr.CheckType == "id_format" && cr.Pattern == "":
		return errors.New("id_format needs a pattern")
	case cr.CheckType == "title_id" && cr.Prefix == "":
		return errors.New("title_id needs a prefix")
	case cr.CheckType == "metadata_field" && len(cr.Fields) == 0 && len(cr.AnyOf) == 0:
		return errors.New("metadata_field needs fields or any_of")
	case cr.CheckType == "phrases" && len(cr.Phrases) == 0:
		return errors.New("phrases needs phrases")
	}
	for _, name := range cr.Fields {
		if !slices.Contains([]string{"artifact_id", "title", "status", "version", "parent"}, name) {
			return fmt.Errorf("unknown field %q", name)
		}
	}
	for _, words := range cr.Phrases {
		if len(words) == 0 || slices.Contains(words, "") {
			return errors.New("a phrase needs words")
		}
	}
	for _, s := range cr.SpecialValidations {
		if s.Marker == "" || s.Field == "" || len(s.ValidValues) == 0 {
			return errors.New("special_validations need marker, field and valid_values")
		}
	}
	if cr.Pattern != "" {
		compiled, err := compilePattern(cr.Pattern)
		if err != nil {
			return fmt.Errorf("pattern: %w", err)
		}
		cr.pattern = compiled
	}
	if cr.Then != "" {
		compiled, err := compilePattern(cr.Then)
		if err != nil {
			return fmt.Errorf("then: %w", err)
		}
		cr.then = compiled
	}
	for _, p := range cr.ProhibitedPatterns {
		compiled, err := compilePattern(p)
		if err != nil {
			return fmt.Errorf("prohibited_patterns: %w", err)
		}
		cr.prohibited = append(cr.prohibited, compiled)
	}
	return nil
}
