package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// String formats the plan for the user: the absolute paths of the programs and the final arguments,
// quoted if necessary.
func (p Plan) String() string {
	var b strings.Builder
	if p.Shell != "" {
		b.WriteString("with a shell in " + p.Dir + ": " + p.Shell)
	}
	dir := ""
	for i, line := range p.Lines {
		if i > 0 {
			b.WriteString(" " + separatorOf(line.When) + " ")
		}
		if line.Dir != dir {
			dir = line.Dir
			b.WriteString("in " + quoteWord(dir) + ": ")
		}
		if line.Not {
			b.WriteString("! ")
		}
		for k, s := range line.Steps {
			if k > 0 {
				b.WriteString(" | ")
			}
			s.writeExact(&b)
		}
	}
	if p.Network {
		b.WriteString(" (with the network)")
	}
	return b.String()
}

func separatorOf(when string) string {
	if when == "" {
		return ";"
	}
	return when
}

func (s Step) writeExact(b *strings.Builder) {
	path := s.Path
	if path == "" {
		path = s.Args[0] + " (not found)"
	}
	b.WriteString(path)
	for _, a := range s.Args[1:] {
		b.WriteString(" " + quoteWord(a))
	}
	for _, r := range [][2]string{{" < ", quoteIf(s.In)}, {" > ", s.Out}, {" 2> ", s.Err}} {
		if r[1] != "" {
			b.WriteString(r[0] + r[1])
		}
	}
}

func quoteIf(s string) string {
	if s == "" {
		return ""
	}
	return quoteWord(s)
}

// quoteWord quotes a word for Bash.
func quoteWord(s string) string {
	q, err := syntax.Quote(s, syntax.LangBash)
	if err != nil {
		return "?"
	}
	return q
}

// maxNamed is the maximum number of files that Exact names individually.
const maxNamed = 16

// exactText returns the verdict's Exact: the plan and the digests of the code that it runs.
func (l *analysis) exactText() string {
	p := &l.verdict.Plan
	b := &binding{look: l, all: map[string]string{}, values: map[string][]string{}, open: map[string]bool{}}
	b.bindsCode = !l.verdict.Listed || l.verdict.Writes // the user's own entries run code and may need approval too
	l.folders, l.entries = 0, 0                         // patterns are expanded again for each folder
	p.Digests = map[string]string{}
	for _, line := range p.Lines {
		for _, s := range line.Steps {
			b.bindProgram(s.Path)
		}
	}
	if p.Shell != "" {
		shell, _ := l.judge.shellCommand()
		b.bindProgram(shell)
	}
	if b.bindsCode {
		b.bindCode(l.file, l.cmd.Text, []string{l.dir}, 0)
		l.verdict.Unbound = b.loose
	}
	if p.Shell != "" {
		p.Folders = map[string]string{}
		for dir, sum := range l.expanded {
			if l.judge.resolvePlace("/", dir).inside {
				p.Folders[dir] = sum
			}
		}
	}
	var out strings.Builder
	out.WriteString(p.String())
	if p.Writes {
		out.WriteString(" (may write)")
	}
	b.writeDigests(&out)
	return out.String()
}
