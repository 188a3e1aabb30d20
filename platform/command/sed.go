package command

import (
	"slices"
	"strings"
)

// sedArgs accepts -n, -E and similar options, scripts that only print, and files.
func (l *look) sedArgs(_ string, args []string) (accepted, string) {
	var options, scripts, operands []string
	ended := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		valued := a == "--expression" || strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.HasSuffix(a, "e") && strings.Trim(a[1:len(a)-1], "nErsuz") == ""
		switch {
		case ended || a == "-" || !strings.HasPrefix(a, "-"):
			operands = append(operands, a)
			continue
		case a == "--":
			ended = true
			continue
		case valued && i+1 < len(args):
			i++
			options, scripts = append(options, a, args[i]), append(scripts, args[i])
			continue
		case slices.Contains([]string{"--quiet", "--silent", "--regexp-extended", "--separate", "--null-data", "--unbuffered", "--sandbox"}, a):
		case strings.HasPrefix(a, "--expression="):
			scripts = append(scripts, strings.TrimPrefix(a, "--expression="))
		case strings.Trim(a[1:], "nErsuz") == "":
		default:
			return accepted{}, notListed("sed", a)
		}
		options = append(options, a)
	}
	if ended {
		options = append(options, "--")
	}
	if len(scripts) == 0 {
		if len(operands) == 0 {
			return accepted{}, "sed script is missing"
		}
		scripts, operands, options = operands[:1], operands[1:], append(options, operands[0])
	}
	for _, s := range scripts {
		if why := sedScript(s); why != "" {
			return accepted{}, why
		}
	}
	files := make([]argument, 0, len(operands))
	for _, o := range operands {
		files = append(files, argument{pathKind, o})
	}
	return asWritten(append(options, operands...), opensInput, files...), ""
}

// sedScript returns why a script may do more than print: the commands e, r, R, w, W, the
// flags e and w, or syntax that it cannot parse.
func sedScript(src string) string {
	s := &sedReader{src: src}
	for {
		s.skip(" \t\n;{}")
		if s.done() {
			return ""
		}
		if !s.addresses() || s.done() {
			return "the sed script is not known to be read-only"
		}
		c := s.src[s.at]
		s.at++
		switch {
		case strings.IndexByte("pdDPgGhHnNx=lzF}", c) >= 0, c == '{':
		case c == 'q' || c == 'Q':
			s.skip(" 0123456789")
		case c == 's':
			if !s.substitution(true) {
				return "the sed script is not known to be read-only"
			}
		case c == 'y':
			if !s.substitution(false) {
				return "the sed script is not known to be read-only"
			}
		default:
			return "the command " + string(c) + " of sed is not known to be read-only"
		}
		s.skip(" \t")
		if !s.done() && strings.IndexByte(";\n}{", s.src[s.at]) < 0 && c != '{' {
			return "the sed script is not known to be read-only"
		}
	}
}

type sedReader struct {
	src string
	at  int
}

func (s *sedReader) done() bool { return s.at >= len(s.src) }

func (s *sedReader) skip(set string) {
	for !s.done() && strings.IndexByte(set, s.src[s.at]) >= 0 {
		s.at++
	}
}

// addresses parses "1,$" and "/a/,/b/!".
func (s *sedReader) addresses() bool {
	for {
		if s.done() {
			return false
		}
		switch c := s.src[s.at]; {
		case strings.IndexByte("0123456789$,+~! \t", c) >= 0:
			s.at++
		case c == '/':
			s.at++
			if !s.until('/') {
				return false
			}
			s.skip("I")
		default:
			return true
		}
	}
}

// until skips a pattern up to its end. Systems differ on a delimiter inside brackets, so
// such a pattern is rejected.
func (s *sedReader) until(end byte) bool {
	brackets := 0
	for ; !s.done(); s.at++ {
		switch c := s.src[s.at]; {
		case c == '\n':
			return false
		case c == '\\':
			s.at++
			if !s.done() && s.src[s.at] == '\n' {
				return false
			}
		case c == end:
			s.at++
			return brackets == 0
		case c == '[':
			if rest := strings.TrimPrefix(s.src[s.at+1:], "^"); strings.HasPrefix(rest, "]") {
				return false
			}
			brackets++
		case c == ']' && brackets > 0:
			brackets--
		}
	}
	return false
}

// substitution parses "/a/b/flags" after s or y.
func (s *sedReader) substitution(flags bool) bool {
	if s.done() {
		return false
	}
	end := s.src[s.at]
	if end == '\\' || end == '\n' || end == '[' || end == ']' || end >= 0x80 || end == ' ' {
		return false
	}
	s.at++
	for range 2 { // the pattern and its replacement
		if !s.until(end) {
			return false
		}
	}
	if flags {
		s.skip("gpiIm0123456789")
	}
	return true
}
