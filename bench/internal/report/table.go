package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/bench/internal/clients"
	"github.com/mainstay-mcp/mainstay/bench/internal/workload"
)

// metric takes one figure out of a result; less is better, 0 is none.
type metric func(workload.Result) float64

// cost is the time a workload is about, as microseconds or as the inverse of a
// rate.
func cost(c workload.Cell) metric {
	switch {
	case c.Workload == "W2" && c.Variant != workload.Hold:
		return func(r workload.Result) float64 { return inverse(r.PerSecond) }
	case c.Workload == "W3" || c.Workload == "W4":
		return func(r workload.Result) float64 { return inverse(r.MBPerSecond) }
	case c.Workload == "W6":
		return func(r workload.Result) float64 { return r.Held }
	}
	return func(r workload.Result) float64 { return r.P50 }
}

func inverse(f float64) float64 {
	if f <= 0 {
		return 0
	}
	return 1 / f
}

func cpu(r workload.Result) float64 { return r.CPU }

// best is the least value of a client over the rounds, 0 when there is none.
func (o Outcome) best(client string, m metric) float64 {
	least := 0.0
	for _, round := range o.Rounds {
		r, ok := round[client]
		if v := m(r); ok && r.Err == "" && v > 0 && (least == 0 || v < least) {
			least = v
		}
	}
	return least
}

// median is the middle of a figure over the rounds.
func (o Outcome) median(client string, m metric) float64 {
	var all []float64
	for _, round := range o.Rounds {
		if r, ok := round[client]; ok && r.Err == "" {
			all = append(all, m(r))
		}
	}
	return middle(all)
}

// ratio is how many times other a client needs: best over best, and the median
// of the rounds' own ratios. ok is false without both.
func (o Outcome) ratio(client, other string, m metric) (best, median float64, ok bool) {
	a, b := o.best(client, m), o.best(other, m)
	if a == 0 || b == 0 {
		return 0, 0, false
	}
	var all []float64
	for _, round := range o.Rounds {
		x, y := m(round[client]), m(round[other])
		if x > 0 && y > 0 {
			all = append(all, x/y)
		}
	}
	return a / b, middle(all), true
}

func middle(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

// failure is why a client has no figures, "" when it has.
func (o Outcome) failure(client string) string {
	text := ""
	for _, round := range o.Rounds {
		r, ok := round[client]
		if ok && r.Err == "" {
			return ""
		}
		text = r.Err
	}
	return text
}

const header = `| workload | client | p50 µs | p99 µs | calls/s | MB/s | CPU µs | allocs | bytes | memory | held | time x floor | CPU x floor | Mainstay is faster | less CPU |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|
`

// Table writes all figures as one table.
func Table(w io.Writer, outcomes []Outcome) error {
	var b strings.Builder
	b.WriteString(header)
	for _, o := range outcomes {
		for i, name := range o.Clients {
			label := ""
			if i == 0 {
				label = o.Cell.Name()
			}
			o.row(&b, label, name)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (o Outcome) row(b *strings.Builder, label, name string) {
	fmt.Fprintf(b, "| %s | %s |", label, name)
	if why := o.failure(name); why != "" {
		fmt.Fprintf(b, " n/a: %s | | | | | | | | | | | | |\n", cell(why))
		return
	}
	c := o.Cell
	figure := func(m metric) float64 { return o.best(name, m) }
	perSecond := inverse(figure(func(r workload.Result) float64 { return inverse(r.PerSecond) }))
	perMB := inverse(figure(func(r workload.Result) float64 { return inverse(r.MBPerSecond) }))
	if c.Workload != "W2" && c.Workload != "W9" {
		perSecond = 0
	}
	for _, text := range []string{
		short(figure(func(r workload.Result) float64 { return r.P50 })),
		short(figure(func(r workload.Result) float64 { return r.P99 })),
		short(perSecond), short(perMB), short(figure(cpu)),
		o.allocs(name), o.bytes(name), o.memory(name), o.held(name),
		o.times(name, clients.Floor, cost(c)), o.times(name, clients.Floor, cpu),
		o.ours(name, cost(c)), o.ours(name, cpu),
	} {
		fmt.Fprintf(b, " %s |", text)
	}
	b.WriteByte('\n')
}

// times writes "2.1 (1.9)": best over best and the median of the rounds.
func (o Outcome) times(name, other string, m metric) string {
	if name == other || !slices.Contains(o.Clients, other) {
		return ""
	}
	best, median, ok := o.ratio(name, other, m)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s (%s)", short(best), short(median))
}

func (o Outcome) ours(name string, m metric) string {
	if name != clients.GoSDK && name != clients.MCPGo {
		return ""
	}
	return o.times(name, clients.Mainstay, m)
}

func (o Outcome) allocs(name string) string {
	switch o.Cell.Workload {
	case "W6", "W7", "W8", "W9":
		return ""
	}
	return exact(o.median(name, func(r workload.Result) float64 { return r.Allocs }))
}

// bytes is what a call allocates; as a multiple of the payload where there is one.
func (o Outcome) bytes(name string) string {
	v := o.median(name, func(r workload.Result) float64 { return r.Bytes })
	switch o.Cell.Workload {
	case "W3", "W4":
		return fmt.Sprintf("%.2fx", v/float64(o.Cell.N))
	case "W6", "W7", "W8", "W9":
		return ""
	}
	return exact(v)
}

func (o Outcome) memory(name string) string {
	v := o.median(name, func(r workload.Result) float64 { return r.Memory })
	switch o.Cell.Workload {
	case "W3", "W4":
		return fmt.Sprintf("%.2fx", v/float64(o.Cell.N))
	case "W6":
		return exact(v)
	case "W9":
		return megabytes(v)
	}
	return ""
}

// held is what has no column of its own: connections and requests the server
// saw, heap and goroutines of a session.
func (o Outcome) held(name string) string {
	m := func(f metric) float64 { return o.median(name, f) }
	connections := m(func(r workload.Result) float64 { return float64(r.Connections) })
	switch {
	case o.Cell.Workload == "W6":
		return fmt.Sprintf("%s B, %.1f goroutines", exact(m(func(r workload.Result) float64 { return r.Held })),
			math.Max(0, m(func(r workload.Result) float64 { return r.Goroutines })))
	case o.Cell.Workload == "W9":
		return fmt.Sprintf("%s, %.0f goroutines", megabytes(m(func(r workload.Result) float64 { return r.Held })),
			m(func(r workload.Result) float64 { return r.Goroutines }))
	case o.Cell.Variant == workload.Cached:
		return fmt.Sprintf("%.0f requests", m(func(r workload.Result) float64 { return float64(r.Lists) }))
	case connections > 0:
		return fmt.Sprintf("%.0f connections", connections)
	}
	return ""
}

// megabytes writes bytes as 10^6 bytes.
func megabytes(v float64) string { return strconv.FormatFloat(v/1e6, 'f', 1, 64) + " MB" }

// short writes three digits that count.
func short(v float64) string {
	switch {
	case v == 0:
		return ""
	case v >= 1000:
		return exact(v)
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// exact writes a whole number with separators; less than ten keeps a digit.
func exact(v float64) string {
	if v > 0 && v < 10 {
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	}
	s := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	digits := strings.TrimPrefix(s, "-")
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if strings.HasPrefix(s, "-") {
		return "-" + digits
	}
	return digits
}

// cell makes text safe for a table.
func cell(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 160 {
		s = s[:160] + "…"
	}
	return strings.ReplaceAll(s, "|", `\|`)
}
