package pdf

import "slices"

// sideGap is the white, in sizes, that parts texts beside each other which are
// no table: two boxes, or a list and what stands beside it.
const sideGap = 3.0

// beside puts texts that stand beside each other after each other: the one where lines
// begin first, of each group of lines.
func (r ruler) beside(lines []line) []line {
	var out []line
	for i := 0; i < len(lines); {
		if n, ok := tableAt(lines[i:], r); ok {
			out = append(out, lines[i:i+n]...)
			i += n
			continue
		}
		n := 1
		for i+n < len(lines) && lines[i].table() == nil && lines[i+n].table() == nil && !r.apart(&lines[i+n-1], &lines[i+n]) {
			if _, ok := tableAt(lines[i+n:], r); ok {
				break
			}
			n++
		}
		out = append(out, sides(lines[i:i+n])...)
		i += n
	}
	return out
}

// sides is the lines of a group, those on one side of a wide gap first. They stay as
// they are where a line crosses it, or no line has one.
func sides(group []line) []line {
	if len(group) < 2 {
		return group
	}
	at := 0.0
	for i := range group {
		for j, s := range group[i].segments[1:] {
			if at == 0 && s.box.l-group[i].segments[j].box.r > sideGap*s.size {
				at = s.box.l - 0.1
			}
		}
	}
	if at == 0 || slices.ContainsFunc(group, func(l line) bool { return crosses(l.segments, at) }) {
		return group
	}
	var left, right []line
	for _, l := range group {
		n := slices.IndexFunc(l.segments, func(s segment) bool { return s.box.l >= at })
		if n < 0 {
			n = len(l.segments)
		}
		if n > 0 {
			left = append(left, newLine(l.page, l.segments[:n]))
		}
		if n < len(l.segments) {
			right = append(right, newLine(l.page, l.segments[n:]))
		}
	}
	if group[0].segments[0].fromRight() {
		left, right = right, left
	}
	return append(left, right...)
}
