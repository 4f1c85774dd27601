package corpus

import (
	_ "embed"
	"fmt"
	"math"
	"strings"
)

//go:embed floors.tsv
var floorsFile string

// A Floor is what a document must reach at least: what it reached when the floors were
// written, less a hundredth.
type Floor struct{ Recall, Precision, Order float64 }

// Floors returns the floors of the corpus by the SHA-256 of the document.
func Floors() (map[string]Floor, error) {
	floors := map[string]Floor{}
	for line := range strings.Lines(floorsFile) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var sum, name string
		var f Floor
		if _, err := fmt.Sscan(line, &sum, &f.Recall, &f.Precision, &f.Order, &name); err != nil {
			return nil, fmt.Errorf("floors: %q: %w", line, err)
		}
		floors[sum] = f
	}
	return floors, nil
}

// FormatFloors is the file of the floors for results as they are.
func FormatFloors(results []Result) string {
	var out strings.Builder
	out.WriteString("# Written by corpus.sh --floors: sha256, recall, precision, order, name\n")
	for _, r := range results {
		name := strings.ReplaceAll(r.Name(), " ", "_")
		fmt.Fprintf(&out, "%s %.2f %.2f %.2f %s\n", r.SHA256, floored(r.Recall), floored(r.Precision), floored(r.Order), name)
	}
	return out.String()
}

// floored is a hundredth under a share, in hundredths.
func floored(share float64) float64 { return max(math.Floor(share*100-1)/100, 0) }

// Fallen lists the results that are under their floor, or have none.
func Fallen(results []Result, floors map[string]Floor) []string {
	var out []string
	for _, r := range results {
		f, ok := floors[r.SHA256]
		if !ok {
			out = append(out, r.Name()+" has no floor: corpus.sh --floors writes it")
			continue
		}
		for _, share := range []struct {
			name      string
			is, floor float64
		}{{"recall", r.Recall, f.Recall}, {"precision", r.Precision, f.Precision}, {"order", r.Order, f.Order}} {
			if share.is < share.floor {
				out = append(out, fmt.Sprintf("%s: %s %.3f is under its floor of %.2f", r.Name(), share.name, share.is, share.floor))
			}
		}
	}
	return out
}
