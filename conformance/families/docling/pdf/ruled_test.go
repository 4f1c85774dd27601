package pdf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// stroke draws a line, as most programs draw borders; bar draws it as a thin
// filled area, as others do.
func stroke(x1, y1, x2, y2 float64) string { return fmt.Sprintf("%v %v m %v %v l S\n", x1, y1, x2, y2) }

func bar(x1, y1, x2, y2 float64) string {
	return fmt.Sprintf("%v %v %v %v re f\n", x1-0.25, y1-0.25, x2-x1+0.5, y2-y1+0.5)
}

// square draws the border of one cell, apart from that of its neighbours.
func square(x1, y1, x2, y2 float64) string {
	return fmt.Sprintf("q 1 0 0 1 %v %v cm 0 0 %v %v re S Q\n", x1+0.5, y1+0.5, x2-x1-1, y2-y1-1)
}

const running = "This is running text of the page, of which there is more than of anything else."

func TestConvert_RuledTables_S2_CONV_01(t *testing.T) {
	t.Parallel()
	text := at("F1", 10, 50, 700, running)
	lattice := func(line func(x1, y1, x2, y2 float64) string, xs, ys []float64) string {
		var out strings.Builder
		for _, x := range xs {
			out.WriteString(line(x, ys[len(ys)-1], x, ys[0]))
		}
		for _, y := range ys {
			out.WriteString(line(xs[0], y, xs[len(xs)-1], y))
		}
		return out.String()
	}
	small := at("F2", 10, 55, 654, "Meter") + at("F2", 10, 107, 654, "Old") +
		at("F1", 10, 52, 634, "Electricity") + at("F1", 10, 102, 634, "10234") + at("F1", 10, 50, 620, "right below it, and it ends here.")
	table := `
text "This is running text of the page, of which there is more than of anything else." p1
table 2x2
  0,0 "Meter" header
  0,1 "Old" header
  1,0 "Electricity"
  1,1 "10234"
text "right below it, and it ends here." p1
`
	squares := ""
	for _, cell := range [][4]float64{{50, 650, 100, 670}, {100, 650, 130, 670}, {50, 630, 100, 650}, {100, 630, 130, 650}} {
		squares += square(cell[0], cell[1], cell[2], cell[3])
	}
	xs, ys := []float64{50, 100, 130}, []float64{670, 650, 630}
	for _, tt := range []struct{ name, page, want string }{
		{"a small one, close columns, text right below", text + lattice(stroke, xs, ys) + small, table},
		{"of filled bars", text + lattice(bar, xs, ys) + small, table},
		{"of squares that do not touch", text + squares + small, table},
		{"drawn after a move, left open", text + "q 1 0 0 1 50 630 cm 0 0 80 40 re S 50 0 m 50 40 l S 0 20 m 80 20 l 80 20 l s Q " + small, table},
		{
			"wrapped and spanning cells", text + lattice(stroke, []float64{50, 150, 200}, []float64{650, 630, 600, 580}) +
				stroke(250, 580, 250, 650) + stroke(200, 650, 250, 650) + stroke(200, 630, 250, 630) + stroke(200, 580, 250, 580) +
				at("F2", 10, 60, 635, "Station") + at("F2", 10, 155, 635, "2023") + at("F2", 10, 205, 635, "2024") +
				at("F1", 10, 52, 618, "Mittelwehr am") + at("F1", 10, 52, 606, "langen Kanal") + at("F1", 10, 155, 618, "1.90") + at("F1", 10, 205, 600, "both") +
				at("F1", 10, 52, 585, "Hafen"), `
text "This is running text of the page, of which there is more than of anything else." p1
table 3x3
  0,0 "Station" header
  0,1 "2023" header
  0,2 "2024" header
  1,0 "Mittelwehr am langen Kanal"
  1,1 "1.90"
  1,2 "both"
  2,0 "Hafen"
  2,1 ""
`,
		},
		{"a frame is no table", text + lattice(stroke, []float64{40, 500}, []float64{680, 600}) + at("F1", 10, 50, 640, "Framed."), `
text "This is running text of the page, of which there is more than of anything else." p1
text "Framed." p1
`},
		{"a drawing is no table", text + lattice(stroke, []float64{50, 100, 150, 200, 250}, []float64{650, 600, 550, 500}) + at("F1", 10, 60, 640, "peak") + at("F1", 10, 210, 520, "low") +
			"1 0 0 1 0 0 cm 10 10 m 20 20 30 30 40 40 c S 1 w 5 l h re 3 re S", `
text "This is running text of the page, of which there is more than of anything else." p1
text "peak" p1
text "low" p1
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, strings.TrimPrefix(tt.want, "\n"), outline(t, file("", tt.page)))
		})
	}
}

// TestLattices_Bounds: rules without end are a drawing, and cost little.
func TestLattices_Bounds(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	for i := range 3000 {
		page.WriteString(stroke(0, float64(i)*4, 599, float64(i)*4) + stroke(float64(i)*4, 0, float64(i)*4, 799))
	}
	page.WriteString(at("F1", 10, 50, 640, "In a net."))
	require.Equal(t, "text \"In a net.\" p1\n", outline(t, file("", page.String())))
}

// FuzzLattices draws rules anywhere: the cells of what is found cover each place
// of the table once.
func FuzzLattices(f *testing.F) {
	f.Add([]byte("rules anywhere, four bytes for each of them"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var across, down []rule
		for i := 0; i+4 <= len(data) && i < 800; i += 4 {
			r := rule{float64(data[i]), float64(min(data[i+1], data[i+2])), float64(max(data[i+1], data[i+2]))}
			if data[i+3]%2 == 0 {
				across = append(across, r)
			} else {
				down = append(down, r)
			}
		}
		for _, l := range lattices(across, down) {
			cells, at := l.cells()
			places := 0
			for _, c := range cells {
				places += c.rows * c.cols
				for y := c.row; y < c.row+c.rows; y++ {
					for x := c.col; x < c.col+c.cols; x++ {
						require.Same(t, c, at[y][x])
					}
				}
			}
			require.Equal(t, (len(l.xs)-1)*(len(l.ys)-1), places)
		}
	})
}

// TestConvert_DensePage: tens of thousands of signs that stand apart would take
// minutes if every one of them were tried as the edge of a column.
func TestConvert_DensePage(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("one goroutine works through a large input, there is nothing to race with")
	}
	var page strings.Builder
	for y := range 200 {
		fmt.Fprintf(&page, "BT /F1 1 Tf 1 0 0 1 1 %d Tm%s ET\n", 10+y, strings.Repeat(" (i) Tj 1.7 0 Td", 300))
	}
	d, err := Convert(file("", page.String()), Options{})
	require.NoError(t, err)
	require.NotEmpty(t, d.Tables)
}
