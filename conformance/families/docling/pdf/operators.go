package pdf

import (
	"bytes"
	"math"
	"strconv"
)

// An operand is a value of a content stream.
type operand struct {
	kind valueKind
	num  float64
	text []byte    // of a string or a name
	list []operand // of an array or a dictionary
}

// The limits of the operands of an operator, which a malformed stream can make
// endless.
const (
	maxOperands = 64
	maxNesting  = 16
)

// A scanner reads the operators of a content stream.
type scanner struct {
	data []byte
	at   int
	// spare is the elements of an operator's first array, used again for the
	// next operator.
	spare []operand
	taken bool
}

// each calls run with every operator and its operands, which are valid during
// the call only.
func (s *scanner) each(run func(op []byte, args []operand)) {
	var args []operand
	for {
		s.space()
		if s.at >= len(s.data) {
			return
		}
		if c := s.data[s.at]; isRegular(c) && !isNumeric(c) {
			op := s.word()
			switch string(op) {
			case "true", "false", "null":
				args = append(args, operand{})
				continue
			case "BI":
				s.image()
			default:
				run(op, args)
			}
			args, s.taken = args[:0], false
			continue
		}
		if v, ok := s.operand(0); ok {
			if len(args) >= maxOperands {
				args = args[:0] // no operator takes so many
			}
			args = append(args, v)
		}
	}
}

// operand reads a value; ok is false for a sign that begins none.
func (s *scanner) operand(depth int) (v operand, ok bool) {
	switch c := s.data[s.at]; {
	case c == '/':
		s.at++
		return operand{kind: nameKind, text: unescapeName(s.word())}, true
	case c == '(':
		return operand{kind: stringKind, text: s.literal()}, true
	case c == '<':
		if s.at+1 < len(s.data) && s.data[s.at+1] == '<' {
			s.at += 2
			return operand{kind: dictKind, list: s.until('>', depth)}, true
		}
		return operand{kind: stringKind, text: s.hex()}, true
	case c == '[':
		s.at++
		return operand{kind: arrayKind, list: s.until(']', depth)}, true
	case isNumeric(c):
		return operand{kind: numberKind, num: s.number()}, true
	case isRegular(c):
		s.word()
		return operand{}, true
	}
	s.at++ // a bracket that closes nothing
	return operand{}, false
}

// until reads values up to a closing bracket; those of a dictionary alternate with their
// keys.
func (s *scanner) until(end byte, depth int) []operand {
	var own []operand
	spare := end == ']' && depth == 0 && !s.taken
	if spare {
		own, s.taken = s.spare[:0], true
	}
	for {
		s.space()
		if s.at >= len(s.data) {
			break
		}
		if s.data[s.at] == end {
			s.at++
			if end == '>' && s.at < len(s.data) && s.data[s.at] == '>' {
				s.at++
			}
			break
		}
		if depth >= maxNesting {
			s.at++
			continue
		}
		if v, ok := s.operand(depth + 1); ok {
			own = append(own, v)
		}
	}
	if spare {
		s.spare = own
	}
	return own
}

// space skips white space and comments.
func (s *scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\n', '\r', '\t', '\f', 0:
			s.at++
		case '%':
			n := bytes.IndexAny(s.data[s.at:], "\r\n")
			if n < 0 {
				s.at = len(s.data)
				return
			}
			s.at += n
		default:
			return
		}
	}
}

// word reads regular signs.
func (s *scanner) word() []byte {
	from := s.at
	for s.at < len(s.data) && isRegular(s.data[s.at]) {
		s.at++
	}
	return s.data[from:s.at]
}

// number reads a number. What follows a second sign or point is left out, as
// other readers do.
func (s *scanner) number() float64 {
	const exact = 15 // digits that a float64 has
	var value float64
	negative, point := false, false
	digits, places := 0, 0
	for from := s.at; s.at < len(s.data) && isNumeric(s.data[s.at]); s.at++ {
		c := s.data[s.at]
		switch {
		case c == '.' && !point:
			point = true
		case c == '-' && s.at == from:
			negative = true
		case (c == '-' || c == '+') && digits == 0 && !point:
		case c < '0' || c > '9':
			for s.at < len(s.data) && isNumeric(s.data[s.at]) {
				s.at++
			}
			s.at--
		case !point:
			value = value*10 + float64(c-'0')
			digits++
		case digits+places < exact:
			value = value*10 + float64(c-'0')
			places++
		}
	}
	if places > 0 {
		value /= math.Pow10(places)
	}
	if negative {
		value = -value
	}
	if math.IsInf(value, 0) {
		return 0
	}
	return value
}

// literal reads a string in parentheses.
func (s *scanner) literal() []byte {
	s.at++
	from := s.at
	// Most strings have nothing to take out of them.
	for i := from; i < len(s.data); i++ {
		c := s.data[i]
		if c == ')' {
			s.at = i + 1
			return s.data[from:i]
		}
		if c == '\\' || c == '(' || c == '\r' {
			break
		}
	}
	var out []byte
	depth := 1
	for s.at < len(s.data) {
		c := s.data[s.at]
		s.at++
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return out
			}
		case '\r':
			if s.at < len(s.data) && s.data[s.at] == '\n' {
				s.at++
			}
			c = '\n'
		case '\\':
			var ok bool
			if c, ok = s.escape(); !ok {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// escape reads what follows a backslash; ok is false where it stands for nothing.
func (s *scanner) escape() (c byte, ok bool) {
	if s.at >= len(s.data) {
		return 0, false
	}
	c = s.data[s.at]
	s.at++
	switch c {
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case '\r':
		if s.at < len(s.data) && s.data[s.at] == '\n' {
			s.at++
		}
		return 0, false
	case '\n':
		return 0, false
	}
	if c < '0' || c > '7' {
		return c, true
	}
	n := int(c - '0')
	for i := 0; i < 2 && s.at < len(s.data) && s.data[s.at] >= '0' && s.data[s.at] <= '7'; i++ {
		n = n<<3 | int(s.data[s.at]-'0')
		s.at++
	}
	return byte(n), true
}

// hex reads a string in hexadecimal.
func (s *scanner) hex() []byte {
	s.at++
	var out []byte
	half, high := false, byte(0)
	for s.at < len(s.data) {
		c := s.data[s.at]
		s.at++
		if c == '>' {
			break
		}
		d := hexDigit(c)
		switch {
		case d > 15:
		case half:
			out, half = append(out, high<<4|d), false
		default:
			high, half = d, true
		}
	}
	if half {
		out = append(out, high<<4)
	}
	return out
}

func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

// image skips an image within the content: its end is the word EI with white
// space on both sides, which its data may have by chance too.
func (s *scanner) image() {
	n := bytes.Index(s.data[s.at:], []byte("ID"))
	if n < 0 {
		s.at = len(s.data)
		return
	}
	for s.at += n + 2; s.at < len(s.data); {
		n := bytes.Index(s.data[s.at:], []byte("EI"))
		if n < 0 {
			s.at = len(s.data)
			return
		}
		end := s.at + n
		s.at = end + 2
		if isSpace(s.data[end-1]) && (s.at >= len(s.data) || isSpace(s.data[s.at])) && isText(s.data[s.at:min(s.at+16, len(s.data))]) {
			return
		}
	}
}

func isText(data []byte) bool {
	for _, c := range data {
		if c >= 0x7f || c < ' ' && !isSpace(c) {
			return false
		}
	}
	return true
}

func unescapeName(name []byte) []byte {
	if bytes.IndexByte(name, '#') < 0 {
		return name
	}
	var out []byte
	for i := 0; i < len(name); i++ {
		if name[i] == '#' && i+2 < len(name) {
			if c, err := strconv.ParseUint(string(name[i+1:i+3]), 16, 8); err == nil {
				out = append(out, byte(c))
				i += 2
				continue
			}
		}
		out = append(out, name[i])
	}
	return out
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isNumeric(c byte) bool { return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' }

func isRegular(c byte) bool {
	switch c {
	case ' ', '\n', '\r', '\t', '\f', 0, '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return false
	}
	return true
}
