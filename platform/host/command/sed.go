package command

import (
	"slices"
	"strings"
)

// sedArgs accepts -n, -E and similar options, scripts that only print, and files.
func (l *analysis) sedArgs(_ string, args []string) (acceptedForm, string) {
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
			return acceptedForm{}, notListed("sed", a)
		}
		options = append(options, a)
	}
	if ended {
		options = append(options, "--")
	}
	if len(scripts) == 0 {
		if len(operands) == 0 {
			return acceptedForm{}, "sed script is missing"
		}
		scripts, operands, options = operands[:1], operands[1:], append(options, operands[0])
	}
	for _, s := range scripts {
		if why := sedScript(s); why != "" {
			return acceptedForm{}, why
		}
	}
	files := make([]argument, 0, len(operands))
	for _, o := range operands {
		files = append(files, argument{pathKind, o})
	}
	return asWritten(append(options, operands...), opensInput, files...), ""
}

// sedScript returns the reason why a script may do more than print: it contains the commands e, r,
// R, w or W, the flags e or w, or syntax that cannot be parsed.
func sedScript(src string) string {
	s := &sedReader{src: src}
	for {
		s.skipChars(" \t\n;{}")
		if s.atEnd() {
			return ""
		}
		if !s.readAddresses() || s.atEnd() {
			return "the sed script is not known to be read-only"
		}
		c := s.src[s.at]
		s.at++
		switch {
		case strings.IndexByte("pdDPgGhHnNx=lzF}", c) >= 0, c == '{':
		case c == 'q' || c == 'Q':
			s.skipChars(" 0123456789")
		case c == 's':
			if !s.readSubstitution(true) {
				return "the sed script is not known to be read-only"
			}
		case c == 'y':
			if !s.readSubstitution(false) {
				return "the sed script is not known to be read-only"
			}
		default:
			return "the command " + string(c) + " of sed is not known to be read-only"
		}
		s.skipChars(" \t")
		if !s.atEnd() && strings.IndexByte(";\n}{", s.src[s.at]) < 0 && c != '{' {
			return "the sed script is not known to be read-only"
		}
	}
}

type sedReader struct {
	src string
	at  int
}

func (s *sedReader) atEnd() bool { return s.at >= len(s.src) }

func (s *sedReader) skipChars(set string) {
	for !s.atEnd() && strings.IndexByte(set, s.src[s.at]) >= 0 {
		s.at++
	}
}

// readAddresses parses "1,$" and "/a/,/b/!".
func (s *sedReader) readAddresses() bool {
	for {
		if s.atEnd() {
			return false
		}
		switch c := s.src[s.at]; {
		case strings.IndexByte("0123456789$,+~! \t", c) >= 0:
			s.at++
		case c == '/':
			s.at++
			if !s.skipPattern('/') {
				return false
			}
			s.skipChars("I")
		default:
			return true
		}
	}
}

// skipPattern skips a pattern up to its end. It rejects a delimiter inside brackets, because
// systems interpret that differently.
func (s *sedReader) skipPattern(end byte) bool {
	brackets := 0
	for ; !s.atEnd(); s.at++ {
		switch c := s.src[s.at]; {
		case c == '\n':
			return false
		case c == '\\':
			s.at++
			if !s.atEnd() && s.src[s.at] == '\n' {
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

// readSubstitution parses "/a/b/flags" after s or y.
func (s *sedReader) readSubstitution(flags bool) bool {
	if s.atEnd() {
		return false
	}
	end := s.src[s.at]
	if end == '\\' || end == '\n' || end == '[' || end == ']' || end >= 0x80 || end == ' ' {
		return false
	}
	s.at++
	for range 2 { // the pattern and its replacement
		if !s.skipPattern(end) {
			return false
		}
	}
	if flags {
		s.skipChars("gpiIm0123456789")
	}
	return true
}
