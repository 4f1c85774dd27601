// Package drawing turns a text into a picture: boxes in layers, from top to bottom,
// with an arrow from each to the next. It exists for one picture, the path of a call
// in docs/design.md, so that the picture can be reviewed as text and a test can hold
// it against the code.
//
// A line of the text is a step: its name, the file that does it, and what it does,
// separated by "|". A line that begins with ">" is what a step may lead back to. A
// line that begins with "#" is a comment.
package drawing

import (
	"errors"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf8"
)

// Step is one box.
type Step struct {
	// Name is what the box says, File the file it is in, relative to the root of the
	// module, and Does a short sentence.
	Name, File, Does string
	// Back are the names of earlier steps that this one may lead back to, each with the
	// reason.
	Back []Back
}

// Back is an arrow up.
type Back struct{ To, Why string }

// Parse reads the text of a drawing.
func Parse(text string) ([]Step, error) {
	var steps []Step
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, ">"):
			to, why, ok := strings.Cut(strings.TrimSpace(line[1:]), "|")
			back := Back{strings.TrimSpace(to), strings.TrimSpace(why)}
			known := slices.ContainsFunc(steps, func(s Step) bool { return s.Name == back.To })
			if !ok || !known {
				return nil, fmt.Errorf("line %d: %q leads to no earlier step, or has no reason", i+1, line)
			}
			last := &steps[len(steps)-1]
			last.Back = append(last.Back, back)
		default:
			parts := strings.SplitN(line, "|", 3)
			if len(parts) != 3 {
				return nil, fmt.Errorf("line %d: %q is not name | file | what it does", i+1, line)
			}
			steps = append(steps, Step{Name: strings.TrimSpace(parts[0]), File: strings.TrimSpace(parts[1]), Does: strings.TrimSpace(parts[2])})
		}
	}
	if len(steps) == 0 {
		return nil, errors.New("the drawing has no steps")
	}
	return steps, nil
}

// Sizes in pixels.
const (
	margin    = 20
	boxWidth  = 640
	boxHeight = 52
	gap       = 24
	backWidth = 46 // for each arrow up
	letter    = 6.6
)

// SVG draws the steps. The same steps give the same bytes.
func SVG(title string, steps []Step) []byte {
	backs, widest := 0, 0
	for _, s := range steps {
		for _, b := range s.Back {
			backs++
			widest = max(widest, utf8.RuneCountInString(b.Why))
		}
	}
	width := 2*margin + boxWidth + backs*backWidth + int(float64(widest)*letter)
	height := 2*margin + len(steps)*(boxHeight+gap)
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="Helvetica, Arial, sans-serif">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&out, "<title>%s</title>\n", html.EscapeString(title))
	out.WriteString(`<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="6" refY="3" orient="auto"><path d="M0,0 L6,3 L0,6 z" fill="#555"/></marker></defs>` + "\n")
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	lane := 0
	for i, s := range steps {
		y := top(i)
		fmt.Fprintf(&out, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="#eef3fa" stroke="#4a6fa5"/>`+"\n", margin, y, boxWidth, boxHeight)
		fmt.Fprintf(&out, `<text x="%d" y="%d" font-size="14" font-weight="bold">%s</text>`+"\n", margin+12, y+21, html.EscapeString(s.Name))
		fmt.Fprintf(&out, `<text x="%d" y="%d" font-size="11" fill="#4a6fa5" text-anchor="end">%s</text>`+"\n", margin+boxWidth-12, y+21, html.EscapeString(s.File))
		fmt.Fprintf(&out, `<text x="%d" y="%d" font-size="12">%s</text>`+"\n", margin+12, y+40, html.EscapeString(s.Does))
		if i+1 < len(steps) {
			x := margin + boxWidth/2
			fmt.Fprintf(&out, `<path d="M%d,%d L%d,%d" stroke="#555" marker-end="url(#tip)"/>`+"\n", x, y+boxHeight, x, y+boxHeight+gap-2)
		}
		for _, b := range s.Back {
			lane++
			to := slices.IndexFunc(steps, func(s Step) bool { return s.Name == b.To })
			right, up := margin+boxWidth+lane*backWidth, top(to)+boxHeight/2+lane*4
			from := y + boxHeight/2 - lane*4
			fmt.Fprintf(&out, `<path d="M%d,%d H%d V%d H%d" fill="none" stroke="#a55" stroke-dasharray="4 3" marker-end="url(#tip)"/>`+"\n",
				margin+boxWidth, from, right, up, margin+boxWidth+4)
			fmt.Fprintf(&out, `<text x="%d" y="%d" font-size="11" fill="#a55">%s</text>`+"\n", right+5, from-4-12*(lane%3), html.EscapeString(b.Why))
		}
	}
	out.WriteString("</svg>\n")
	return []byte(out.String())
}

func top(i int) int { return margin + i*(boxHeight+gap) }
