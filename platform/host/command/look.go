package command

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// analysis is the analysis of one command.
type analysis struct {
	judge *Analyzer
	cmd   Command
	dir   string
	file  *syntax.File

	verdict  Verdict
	asides   []string // reasons that matter only if the table does not list the command
	bases    []string // base folders of relative paths
	assigned map[string]bool
	expanded map[string]string // folders in which patterns were expanded, and digests of the names in them
	folders  int
	entries  int
}

func (l *analysis) analyzeCommand() {
	if err := checkText(l.cmd.Text); err != nil {
		l.verdict.Refused = err
		return
	}
	var err error
	if l.dir, err = l.judge.resolveDir(l.cmd.Dir); err != nil {
		l.verdict.Refused = err
		return
	}
	if l.file, err = parseBash(l.cmd.Text); err != nil {
		l.verdict.Refused = err
		return
	}
	l.bases, l.assigned, l.expanded = []string{l.dir}, map[string]bool{}, map[string]string{}
	l.verdict.Egress = l.cmd.Network
	if l.cmd.Network {
		l.noteObjection("the command requests network access")
	}
	l.surveyTree()
	if l.refusesProtected() {
		return
	}
	l.planCommand()
}

// noteObjection records a reason why the command is not listed.
func (l *analysis) noteObjection(text string) {
	if !slices.Contains(l.verdict.Why, text) && len(l.verdict.Why) < 8 {
		l.verdict.Why = append(l.verdict.Why, text)
	}
}

func (l *analysis) refuseProtected(p pathTarget) {
	if l.verdict.Refused == nil {
		l.verdict.Refused = l.judge.protectedPlace(p)
	}
}

// surveyTree walks the complete syntax tree. It records assignments, entered folders, and the known
// effects of each program.
func (l *analysis) surveyTree() {
	syntax.Walk(l.file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				l.assigned[n.Name.Value] = true
				l.noteAssignment(n.Name.Value)
			}
		case *syntax.Redirect:
			l.noteRedirection(n)
		case *syntax.CallExpr:
			l.noteCall(n)
		case *syntax.Stmt:
			if n.Background || n.Coprocess || n.Disown {
				l.noteObjection("the command continues in the background")
			}
		case *syntax.FuncDecl:
			l.noteObjection("the command defines a function")
		}
		return true
	})
}

// noteAssignment records an assignment to a variable that changes the behavior of programs.
func (l *analysis) noteAssignment(name string) {
	up := strings.ToUpper(name)
	switch {
	case strings.HasPrefix(up, "LD_"), strings.HasPrefix(up, "DYLD_"), up == "PATH", up == "IFS", up == "BASH_ENV", up == "ENV", up == "PROMPT_COMMAND", up == "SHELLOPTS", strings.HasPrefix(up, "GIT_"),
		strings.HasSuffix(up, "PAGER"), strings.HasSuffix(up, "EDITOR"), strings.HasSuffix(up, "PATH"), strings.HasSuffix(up, "OPTIONS"), strings.HasSuffix(up, "OPTS"), up == "BROWSER", up == "LESSOPEN":
		l.noteObjection("the command sets " + name + ", which makes programs run other code")
	case strings.HasSuffix(up, "_PROXY"):
		l.noteObjection("the command sets " + name + ", which redirects programs to another address")
	default:
		l.noteObjection("the command sets the variable " + name)
	}
}

func (l *analysis) noteRedirection(r *syntax.Redirect) {
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrInOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrAllClob, syntax.AppAllClob, syntax.AppClob:
	case syntax.DplOut:
		if isFD(r.Word.Lit()) {
			return
		}
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc != nil && l.dynamicReason(r.Hdoc.Parts, false) != "" {
			l.noteObjection("the shell expands a here-document in the command")
		}
		return
	default:
		return
	}
	words, err := l.expandFields(l.dir, r.Word)
	if err == nil && len(words) == 1 && words[0] == "/dev/null" {
		return
	}
	l.verdict.Writes = true
	target := "a file"
	if err == nil && len(words) == 1 {
		target = words[0]
	}
	l.noteObjection("the command writes to " + target)
}

func isFD(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" || s == "-" }

// noteCall records the known effects of a simple command.
func (l *analysis) noteCall(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		return
	}
	var args []string
	for _, w := range c.Args {
		f, err := l.expandFields(l.dir, w)
		if err != nil {
			f = []string{l.wordPattern(l.dir, w.Parts, false)}
		}
		args = append(args, f...)
	}
	if len(args) == 0 {
		return
	}
	l.noteEnteredFolders(args)
	if l.findAllowedEntry(args) != nil {
		return // one of the user's own entries allows it
	}
	l.noteEffects(args)
}

// noteEnteredFolders adds the folders that the command enters to the base folders of later paths.
func (l *analysis) noteEnteredFolders(args []string) {
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

// refusesProtected refuses a command that names a protected path anywhere: in an expanded word, in
// a part of a word ("--file=~/.ssh/id"), in a string passed to another program, or in the possible
// values of an unknown word.
func (l *analysis) refusesProtected() bool {
	syntax.Walk(l.file, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok && w != nil {
			l.checkWord(w)
		}
		return l.verdict.Refused == nil
	})
	l.checkMentions(l.cmd.Text)
	return l.verdict.Refused != nil
}

func (l *analysis) checkWord(w *syntax.Word) {
	for _, base := range l.bases {
		words, err := l.expandFields(base, w)
		if err != nil {
			shape := l.wordPattern(base, w.Parts, false)
			words = append(words, shape)
			switch {
			case strings.HasPrefix(shape, "*") || !strings.Contains(shape, "/"): // the pattern may match anything
			case filepath.IsAbs(shape):
				words = append(words, l.matchFiles(shape)...)
			default:
				words = append(words, l.matchFiles(base+"/"+shape)...)
			}
		}
		for _, f := range words {
			l.checkMentions(f)
			if p := l.judge.resolvePlace(base, f); p.protected != "" && (p.exists || strings.Contains(f, "/")) {
				l.refuseProtected(p)
				return
			}
		}
	}
}

// checkMentions checks all parts of text that may be a path.
func (l *analysis) checkMentions(text string) {
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
				if p := l.judge.resolvePlace(base, candidate); p.protected != "" {
					l.refuseProtected(p)
					return
				}
			}
		}
	}
}

// expansionReason returns the reason for an expansion error.
func expansionReason(err error) string {
	if u, ok := errors.AsType[*unknownWordError](err); ok {
		return u.why
	}
	return err.Error()
}
