package llm

import "regexp"

// secrets are the forms of what must not leave for a language model's vendor.
// The first group, where there is one, stays.
var secrets = []*regexp.Regexp{
	regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`),
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`),                                                                                   // a JSON web token
	regexp.MustCompile(`\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{12,}`),                                                                                                             // OpenAI, Anthropic, Stripe
	regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|npm_|hf_)[A-Za-z0-9_-]{10,}`),                                                                       // tokens with a vendor's prefix
	regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`),                                                                                                                    // AWS
	regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`),                                                                                                                         // Google
	regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}`),                                                                                                // an Authorization header
	regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@]*:)[^\s@/]+(@)`),                                                                                                // a password in a URL
	regexp.MustCompile(`(?i)(["']?[a-z0-9_-]*(?:password|passwd|secret|api[_-]?key|access[_-]?key|token|credential)s?["']?\s*[:=]\s*)(?:"[^"\n]*"|'[^'\n]*'|[^\s,;"'}]+)`), // NAME=value
}

// Redact returns s with what looks like a secret replaced.
func Redact(s string) string {
	for _, re := range secrets {
		switch re.NumSubexp() {
		case 0:
			s = re.ReplaceAllString(s, "[redacted]")
		case 1:
			s = re.ReplaceAllString(s, "${1}[redacted]")
		default:
			s = re.ReplaceAllString(s, "${1}[redacted]${2}")
		}
	}
	return s
}
