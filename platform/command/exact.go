package command

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// String is the plan as an owner reads it: whole paths of programs, arguments
// as they will be, quoted where they have to be.
func (p Plan) String() string {
	var b strings.Builder
	if p.Shell != "" {
		b.WriteString("with a shell in " + p.Dir + ": " + p.Shell)
	}
	dir := ""
	for i, line := range p.Lines {
		if i > 0 {
			b.WriteString(" " + joint(line.When) + " ")
		}
		if line.Dir != dir {
			dir = line.Dir
			b.WriteString("in " + quote(dir) + ": ")
		}
		if line.Not {
			b.WriteString("! ")
		}
		for k, s := range line.Steps {
			if k > 0 {
				b.WriteString(" | ")
			}
			s.write(&b)
		}
	}
	if p.Network {
		b.WriteString(" (with the network)")
	}
	return b.String()
}

func joint(when string) string {
	if when == "" {
		return ";"
	}
	return when
}

func (s Step) write(b *strings.Builder) {
	path := s.Path
	if path == "" {
		path = s.Args[0] + " (not found)"
	}
	b.WriteString(path)
	for _, a := range s.Args[1:] {
		b.WriteString(" " + quote(a))
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
	return quote(s)
}

// quote writes a word as Bash reads it.
func quote(s string) string {
	q, err := syntax.Quote(s, syntax.LangBash)
	if err != nil {
		return "?"
	}
	return q
}

// exact is the verdict's Exact: the plan, and the digests of what it runs.
func (l *look) exact() string {
	p := &l.verdict.Plan
	p.Digests = map[string]string{}
	add := func(path string) {
		if path == "" {
			return
		}
		sum, err := l.judge.digest(path)
		if err != nil {
			sum = "unreadable"
		}
		p.Digests[path] = sum
	}
	for _, line := range p.Lines {
		for _, s := range line.Steps {
			add(s.Path)
			l.scripts(line.Dir, s.Args, add)
		}
	}
	if p.Shell != "" {
		l.inShell(add)
	}
	var b strings.Builder
	b.WriteString(p.String())
	if p.Writes {
		b.WriteString(" (may write)")
	}
	paths := make([]string, 0, len(p.Digests))
	for path := range p.Digests {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		b.WriteString("; " + quote(path) + " is " + p.Digests[path][:min(32, len(p.Digests[path]))])
	}
	return b.String()
}

// inShell adds the shell, and the programs and scripts which a text for it names.
func (l *look) inShell(add func(string)) {
	shell, _ := l.judge.shell()
	add(shell)
	syntax.Walk(l.file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			if args, err := l.fields(l.dir, c.Args...); err == nil && len(args) > 0 {
				add(l.judge.find(l.dir, args[0]).path)
				l.scripts(l.dir, args, add)
			}
		}
		return true
	})
}

// maxScript bounds the size of a file that is taken for a script, in bytes.
const maxScript = 1 << 20

// scripts adds the files that a program which is not listed may run: an argument
// that is a file is one, for all that is known.
func (l *look) scripts(dir string, args []string, add func(string)) {
	if l.verdict.Listed {
		return
	}
	for i, a := range args {
		if i == 0 || i > 20 {
			continue
		}
		for _, part := range []string{a, a[strings.IndexByte(a, '=')+1:]} {
			if p := l.judge.place(dir, part); p.regular && sizeOf(p.abs) <= maxScript {
				add(p.abs)
			}
		}
	}
}
