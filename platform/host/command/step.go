package command

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// stepJudgment is the result for one program of a plan.
type stepJudgment struct {
	why     string // why it is not listed
	pattern string
	writes  bool
	network bool
	need    Need
}

// judgeStep resolves the program of a step and checks its arguments.
func (l *analysis) judgeStep(dir string, s *Step) stepJudgment {
	p := l.judge.findProgram(dir, s.Args[0])
	s.Path = p.path
	if entry := l.findAllowedEntry(s.Args); entry != nil && p.path != "" && (p.system || filepath.IsAbs(entry[0])) {
		return stepJudgment{pattern: strings.Join(entry, " ") + " *", writes: true, network: hasNetworkAccess(s.Args)}
	}
	switch {
	case !plainName(s.Args[0]):
		return stepJudgment{why: fmt.Sprintf("%q looks like the name of a program, but contains letters from another script", s.Args[0])}
	case p.path == "":
		return stepJudgment{why: "program not found: " + s.Args[0]}
	}
	base := filepath.Base(s.Args[0])
	t := l.judge.table()
	if _, ok := t.entries[base]; !ok {
		return stepJudgment{why: base + " is not one of the read-only programs"}
	}
	if !p.system {
		return stepJudgment{why: p.path + " is not a program of the system"}
	}
	args := append([]string{base}, s.Args[1:]...)
	run := args
	if base == "git" {
		var why string
		if args, run, s.Env, why = l.checkGit(dir, args); why != "" {
			return stepJudgment{why: why}
		}
	}
	e, used := t.findEntry(args)
	if e == nil {
		return stepJudgment{why: strings.Join(args[:min(2, len(args))], " ") + " is not known to be read-only"}
	}
	a, why := l.judgeArguments(dir, e, args[used:])
	if why != "" {
		return stepJudgment{why: why}
	}
	if base != "git" {
		run = append([]string{base}, a.form.args...)
	}
	s.Args = append([]string{s.Args[0]}, run[1:]...)
	if base != "env" && base != "printenv" {
		s.Env = append(s.Env, "HOME=/nonexistent") // ignore .jq, .magic and similar files
	}
	j := stepJudgment{pattern: e.name + " *"}
	j.need, s.Hand = l.accessNeed(dir, a)
	return j
}

// plainName rejects names that look like "ls" but contain letters of another script.
func plainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._+-/[", c) >= 0
		if !ok {
			return false
		}
	}
	return true
}

// findAllowedEntry returns the user's entry that matches a program and its arguments.
func (l *analysis) findAllowedEntry(args []string) []string {
	for _, entry := range l.judge.allow {
		if len(args) >= len(entry) && slices.Equal(args[:len(entry)], entry) {
			return entry
		}
	}
	return nil
}

// judgeArguments parses the arguments of a program in the table. why explains why they have no
// listed form.
func (l *analysis) judgeArguments(dir string, e *tableEntry, args []string) (a acceptedForm, why string) {
	switch {
	case len(e.only) > 0 && (len(args) != 1 || !slices.Contains(e.only, args[0])):
		return a, e.name + " is allowed only with " + strings.Join(e.only, " or ")
	case len(e.only) > 0:
		return asWritten(args, e.opens), ""
	case e.check != "":
		check, ok := argumentChecks()[e.check]
		if !ok {
			return a, e.name + " has no listed form"
		}
		if a, why = check(l, dir, args); why != "" {
			return a, why
		}
		return a, l.judgeValues(dir, e, a.form)
	}
	if a.form, why = e.parseArgs(args); why != "" {
		return a, why
	}
	a.opens = e.opens
	a.listsIn = (e.name == "ls" || e.name == "dir") && !a.form.hasAny([]string{"-d"})
	if e.name == "file" {
		a.inputArg = "-"
	}
	a.recursive = e.recurse || a.form.hasAny(e.recurses)
	switch {
	case e.isolated || a.form.hasAny(e.isolates):
		a.need = NeedIsolation
	case a.form.hasAny(e.confines):
		a.need = NeedSandbox
	}
	if why := l.judgeValues(dir, e, a.form); why != "" || !a.recursive {
		return a, why
	}
	return a, l.checkSearchFolders(dir, a.form.pathArguments())
}

// pathArguments returns the arguments that may be paths.
func (f parsedForm) pathArguments() []string {
	var out []string
	for _, a := range f.found {
		if a.kind == pathKind || a.kind == text {
			out = append(out, a.value)
		}
	}
	return out
}

// judgeValues checks the paths, and the values that may expand to something other than themselves.
func (l *analysis) judgeValues(dir string, e *tableEntry, f parsedForm) string {
	for _, a := range f.found {
		if strings.HasPrefix(a.value, "@") && (a.kind != word || e.name == "strings") {
			return a.value + " may refer to a file of arguments" // all binutils programs read such files (libiberty, expandargv)
		}
		switch a.kind {
		case pathKind:
			if a.value == "-" {
				continue
			}
			if why := l.checkReadable(dir, a.value); why != "" {
				return why
			}
		case text:
			if why := l.mayRead(dir, a.value); why != "" {
				return why
			}
		case word:
			if strings.Contains(a.value, "%G") || strings.Contains(a.value, "signature") && strings.HasPrefix(e.name, "git ") {
				return e.name + " would run a program to check a signature"
			}
		case flag, num, digits:
		}
	}
	return ""
}

// mayRead checks a string that a program could interpret as a path. It has an effect only if the
// file exists.
func (l *analysis) mayRead(dir, value string) string {
	if p := l.judge.resolvePlace(dir, value); !p.exists && p.protected == "" {
		return ""
	}
	return l.checkReadable(dir, value)
}

// checkSearchFolders prevents recursive searches from reaching protected paths.
func (l *analysis) checkSearchFolders(dir string, paths []string) string {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	for _, path := range append(paths, ".") {
		p := l.judge.resolvePlace(dir, path)
		if !p.folder {
			continue
		}
		if held := l.judge.opt.Places.ProtectedInside(p.abs); held != "" {
			return "the search includes " + held + ", a protected path"
		}
	}
	return ""
}
