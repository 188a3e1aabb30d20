package command

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// look is the analysis of one command.
type look struct {
	judge *Judge
	cmd   Command
	dir   string
	file  *syntax.File

	verdict  Verdict
	asides   []string // reasons that count only if the table does not list it
	bases    []string // base folders of relative paths
	assigned map[string]bool
	expanded map[string]string // folders that patterns were expanded from, and digests of their names
	folders  int
	entries  int
}

func (l *look) run() {
	if err := checkText(l.cmd.Text); err != nil {
		l.verdict.Refused = err
		return
	}
	var err error
	if l.dir, err = l.judge.dir(l.cmd.Dir); err != nil {
		l.verdict.Refused = err
		return
	}
	if l.file, err = parse(l.cmd.Text); err != nil {
		l.verdict.Refused = err
		return
	}
	l.bases, l.assigned, l.expanded = []string{l.dir}, map[string]bool{}, map[string]string{}
	l.verdict.Egress = l.cmd.Network
	if l.cmd.Network {
		l.why("it requests network access")
	}
	l.survey()
	if l.protected() {
		return
	}
	l.plan()
}

// why records a reason why the command is not listed.
func (l *look) why(text string) {
	if !slices.Contains(l.verdict.Why, text) && len(l.verdict.Why) < 8 {
		l.verdict.Why = append(l.verdict.Why, text)
	}
}

func (l *look) refuse(p place) {
	if l.verdict.Refused == nil {
		l.verdict.Refused = l.judge.protectedPlace(p)
	}
}

// survey walks the whole syntax tree and records assignments, entered folders, and the
// known effects of each program.
func (l *look) survey() {
	syntax.Walk(l.file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				l.assigned[n.Name.Value] = true
				l.assignment(n.Name.Value)
			}
		case *syntax.Redirect:
			l.redirection(n)
		case *syntax.CallExpr:
			l.call(n)
		case *syntax.Stmt:
			if n.Background || n.Coprocess || n.Disown {
				l.why("it continues in the background")
			}
		case *syntax.FuncDecl:
			l.why("it defines a function")
		}
		return true
	})
}

// assignment records variables that change what a program does.
func (l *look) assignment(name string) {
	up := strings.ToUpper(name)
	switch {
	case strings.HasPrefix(up, "LD_"), strings.HasPrefix(up, "DYLD_"), up == "PATH", up == "IFS", up == "BASH_ENV", up == "ENV", up == "PROMPT_COMMAND", up == "SHELLOPTS", strings.HasPrefix(up, "GIT_"),
		strings.HasSuffix(up, "PAGER"), strings.HasSuffix(up, "EDITOR"), strings.HasSuffix(up, "PATH"), strings.HasSuffix(up, "OPTIONS"), strings.HasSuffix(up, "OPTS"), up == "BROWSER", up == "LESSOPEN":
		l.why("it sets " + name + ", which makes programs run other code")
	case strings.HasSuffix(up, "_PROXY"):
		l.why("it sets " + name + ", which redirects programs to another address")
	default:
		l.why("it sets the variable " + name)
	}
}

func (l *look) redirection(r *syntax.Redirect) {
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrInOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrAllClob, syntax.AppAllClob, syntax.AppClob:
	case syntax.DplOut:
		if isFD(r.Word.Lit()) {
			return
		}
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc != nil && l.dynamic(r.Hdoc.Parts, false) != "" {
			l.why("the shell expands a here-document in it")
		}
		return
	default:
		return
	}
	words, err := l.fields(l.dir, r.Word)
	if err == nil && len(words) == 1 && words[0] == "/dev/null" {
		return
	}
	l.verdict.Writes = true
	target := "a file"
	if err == nil && len(words) == 1 {
		target = words[0]
	}
	l.why("it writes to " + target)
}

func isFD(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" || s == "-" }

// call records the known effects of a simple command.
func (l *look) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		return
	}
	var args []string
	for _, w := range c.Args {
		f, err := l.fields(l.dir, w)
		if err != nil {
			f = []string{l.shape(l.dir, w.Parts, false)}
		}
		args = append(args, f...)
	}
	if len(args) == 0 {
		return
	}
	l.entered(args)
	if l.allowed(args) != nil {
		return // the user's own entry
	}
	l.effects(args)
}

// entered adds the folders that the command enters to the base folders of later paths.
func (l *look) entered(args []string) {
	add := func(base string) {
		if !filepath.IsAbs(base) {
			base = l.dir + "/" + base
		}
		if len(l.bases) < 10 {
			l.bases = append(l.bases, base)
		}
	}
	if args[0] == "cd" || args[0] == "pushd" {
		add(l.judge.opt.Home)
		add(args[len(args)-1])
	}
	for i, a := range args {
		if (a == "-C" || a == "--directory" || a == "--chdir") && i+1 < len(args) {
			add(args[i+1])
		}
		if value, ok := strings.CutPrefix(a, "--directory="); ok {
			add(value)
		}
	}
}

// protected refuses a command that names a protected place anywhere: in an expanded word,
// in a part of a word ("--file=~/.ssh/id"), in a text passed to another program, or in the
// possible values of an unknown word.
func (l *look) protected() bool {
	syntax.Walk(l.file, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok && w != nil {
			l.word(w)
		}
		return l.verdict.Refused == nil
	})
	l.mentions(l.cmd.Text)
	return l.verdict.Refused != nil
}

func (l *look) word(w *syntax.Word) {
	for _, base := range l.bases {
		words, err := l.fields(base, w)
		if err != nil {
			shape := l.shape(base, w.Parts, false)
			words = append(words, shape)
			switch {
			case strings.HasPrefix(shape, "*") || !strings.Contains(shape, "/"): // it may match anything
			case filepath.IsAbs(shape):
				words = append(words, l.fits(shape)...)
			default:
				words = append(words, l.fits(base+"/"+shape)...)
			}
		}
		for _, f := range words {
			l.mentions(f)
			if p := l.judge.place(base, f); p.protected != "" && (p.exists || strings.Contains(f, "/")) {
				l.refuse(p)
				return
			}
		}
	}
}

// mentions checks everything in a text that may be a path.
func (l *look) mentions(text string) {
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;|&<>(),:=@[]{}\\", r) }) {
		part = strings.NewReplacer("${HOME}", l.judge.opt.Home, "$HOME", l.judge.opt.Home).Replace(part)
		at := strings.IndexAny(part, "/~")
		if at < 0 {
			continue
		}
		for _, candidate := range []string{part, part[at:]} {
			if ownHome(candidate, true) {
				candidate = l.judge.opt.Home + candidate[1:]
			}
			for _, base := range l.bases {
				if p := l.judge.place(base, candidate); p.protected != "" {
					l.refuse(p)
					return
				}
			}
		}
	}
}

// reason returns the reason for an error of expansion.
func reason(err error) string {
	if u, ok := errors.AsType[*unknown](err); ok {
		return u.why
	}
	return err.Error()
}
